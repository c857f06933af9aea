//! Sends and requests: which set they go to, and whether they go at once (N-50 to N-53, N-60a to N-65, N-68).

use super::close::Lifecycle;
use super::waiting::{Destination, Waiting};
use super::{Refused, Socket, Submitted, Target};
use crate::error::{ErrorKind, Failure};
use crate::id::OperationId;
use crate::message::Outgoing;
use crate::time::{Timestamp, round_timeout};
use crate::transport::deadlines::NONE;
use crate::transport::operations::{Family, Place};
use crate::wire::{Kind, PARTS_MAX, SocketType, charge};
use core::time::Duration;

/// Size of a record that was checked against the limits of this socket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) bytes: u64,
    pub(super) charge: u64,
}

/// Whether a record may go at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(super) enum Test {
    /// Its charge is booked.
    Admitted,
    /// The byte test was made and refused it.
    Refused,
    /// Something else stops it.
    Blocked,
}

/// Where a submission goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice {
    /// To this set; it may have to wait there.
    Set(u32),
    /// It waits for a set.
    Wait(Destination),
}

pub(super) const NOT_OPEN: Failure =
    Failure::not_submitted(ErrorKind::ShuttingDown, "the socket is closing or closed");
pub(super) const SET_ENDED: Failure = Failure::not_submitted(ErrorKind::Unavailable, "the peer's set ended");
pub(super) const TOO_LARGE: Failure =
    Failure::not_submitted(ErrorKind::InvalidOperation, "the record is above the message size limit");

impl Socket {
    /// Submits a one-way record. `Admitted`: this process accepted it (O-05); `Waiting`: it waits at most `timeout`, or the
    /// option `send_timeout` if that is shorter or no timeout is given (O-12). The clock is read only if it has to wait.
    ///
    /// # Errors
    /// `Failed`: ended at once, nothing was or will be submitted.
    pub fn send<M: Outgoing>(
        &mut self,
        target: Target<'_>,
        record: &mut M,
        timeout: Option<Duration>,
        clock: impl FnOnce() -> Timestamp,
    ) -> Result<Submitted, Refused> {
        let measured = self.measure(record)?;
        if self.send_easily(target, record, measured) {
            return Ok(Submitted::Admitted);
        }
        let choice = self.choose_for_send(target, measured)?;
        let passes_pause = target_passes_pause(target);
        let mut was_tested = false;
        if let Choice::Set(slot) = choice {
            match self.admit_at_once(slot, measured, passes_pause) {
                Test::Admitted => {
                    self.push_now(slot, Kind::Data, 0, record, measured.charge);
                    return Ok(Submitted::Admitted);
                }
                Test::Refused => was_tested = true,
                Test::Blocked => {}
            }
        }
        let timeout = self.send_timeout(timeout)?;
        self.advance(clock());
        let waiting = Waiting {
            family: Family::Send,
            sequence: 0,
            measured,
            passes_pause,
            was_tested,
            timeout,
            token: NONE,
        };
        let slot = self.wait_for_room(waiting, self.destination(choice), record)?;
        Ok(Submitted::Waiting(self.operations.id(slot)))
    }

    /// Submits a one-way record only if it can be admitted at once.
    ///
    /// # Errors
    /// `Full` if it would have to wait; the record stays with the caller in every case.
    pub fn try_send<M: Outgoing>(&mut self, target: Target<'_>, record: &mut M) -> Result<(), Refused> {
        let measured = self.measure(record)?;
        if self.send_easily(target, record, measured) {
            return Ok(());
        }
        match self.choose_for_send(target, measured)? {
            Choice::Set(slot) => match self.admit_at_once(slot, measured, target_passes_pause(target)) {
                Test::Admitted => {
                    self.push_now(slot, Kind::Data, 0, record, measured.charge);
                    Ok(())
                }
                Test::Refused | Test::Blocked => Err(Refused::Full),
            },
            Choice::Wait(Destination::Endpoint(_)) => {
                Err(Failure::not_submitted(ErrorKind::Unavailable, "the peer is away").into())
            }
            Choice::Wait(Destination::Unfixed | Destination::Blocked | Destination::Set(_)) => {
                Err(Refused::Full)
            }
        }
    }

    /// Submits a request. One deadline covers waiting, admission and reply (N-52): `timeout`, longer or shorter than the option
    /// `request_timeout`, which is the default. Its end comes as a `Settled`.
    ///
    /// # Errors
    /// `CapacityExceeded` if no completion slot, no place or work on a link (N-50, N-51) or no room for waiting bytes (O-44) is
    /// left; nothing was or will be submitted.
    pub fn request<M: Outgoing>(
        &mut self,
        target: Target<'_>,
        record: &mut M,
        timeout: Option<Duration>,
        now: Timestamp,
    ) -> Result<OperationId, Failure> {
        self.advance(now);
        let sequence = self.next_sequence;
        record.assign_sequence(sequence);
        let measured = self.measure(record)?;
        let timeout = match timeout {
            Some(timeout) => round_timeout(timeout).map_err(|_| BAD_TIMEOUT)?,
            None => self.options.request_timeout,
        };
        if self.completion_slots >= self.options.pending_requests_max {
            return Err(Failure::not_submitted(ErrorKind::CapacityExceeded, "no completion slot is free"));
        }
        let choice = self.choose_for_request(target, measured)?;
        let passes_pause = target_passes_pause(target);
        let mut was_tested = false;
        if let Choice::Set(slot) = choice {
            match self.admit_at_once(slot, measured, passes_pause) {
                Test::Admitted => {
                    let operation = self.begin_request(slot, sequence, measured, timeout);
                    self.push_now(slot, Kind::Request, sequence, record, measured.charge);
                    return Ok(self.operations.id(operation));
                }
                Test::Refused => was_tested = true,
                Test::Blocked => {}
            }
        }
        let waiting = Waiting {
            family: Family::Request,
            sequence,
            measured,
            passes_pause,
            was_tested,
            timeout,
            token: NONE,
        };
        let slot = self.wait_for_room(waiting, self.destination(choice), record)?;
        self.next_sequence += 1;
        self.completion_slots += 1;
        Ok(self.operations.id(slot))
    }

    /// The common case: one peer is meant and nothing at all stands in the way. False: nothing changed.
    #[inline]
    fn send_easily<M: Outgoing>(&mut self, target: Target<'_>, record: &M, measured: Measured) -> bool {
        let slot = match target {
            Target::Any if self.unfixed.is_empty() => self.selector.only().map(|only| only.slot),
            Target::Named(name) => self.names.get(name).map(|known| known.ready).filter(|&slot| slot != NONE),
            Target::Set(set) => self.sets.get(set).map(|set| set.id.slot),
            Target::Any | Target::Admission(_) => None,
        };
        let Some(slot) = slot else { return false };
        let is_legal = self.is_target_legal(target);
        let set = self.sets.at_mut(slot);
        if !is_legal
            || !set.blockers.is_clear()
            || !set.has_no_line()
            || measured.bytes > set.message_max
            || self.lifecycle != Lifecycle::Open
            || !set.send.meter.admit_easily(measured.charge)
        {
            return false;
        }
        if set.send.push(Kind::Data, 0, record, measured.charge) {
            self.wake(slot);
        }
        true
    }

    #[inline]
    fn is_target_legal(&self, target: Target<'_>) -> bool {
        match target {
            Target::Any => self.socket_type == SocketType::Dealer,
            Target::Named(_) => self.socket_type == SocketType::Router,
            Target::Set(_) | Target::Admission(_) => true,
        }
    }

    /// Registers a request whose record is admitted in the same step (N-53).
    fn begin_request(&mut self, slot: u32, sequence: u64, measured: Measured, timeout: Duration) -> u32 {
        let deadline = self.now.saturating_add(timeout);
        let operation = self.operations.insert(Family::Request, self.now, deadline);
        self.deadlines.arm(&mut self.operations, operation, self.now, timeout);
        self.next_sequence += 1;
        self.completion_slots += 1;
        let set = self.sets.at_mut(slot);
        set.unanswered += 1;
        set.work += measured.charge;
        let entry = &mut self.operations[operation];
        entry.place = Place::Pending;
        entry.set = set.id;
        entry.sequence = sequence;
        entry.charge = measured.charge;
        self.operations.push_back(&mut set.pending, operation);
        self.operations.register(operation);
        operation
    }

    /// Checks number and size of the parts (W-12, W-14, B-04).
    #[inline]
    pub(super) fn measure<M: Outgoing>(&self, record: &M) -> Result<Measured, Failure> {
        let parts = record.part_count();
        if parts == 0 || parts > PARTS_MAX {
            return Err(Failure::not_submitted(ErrorKind::InvalidOperation, "a record has 1 to 1,024 parts"));
        }
        let mut bytes = 0u64;
        for index in 0..parts {
            let part = record.part(index).len() as u64;
            if part > u64::from(u32::MAX) {
                return Err(TOO_LARGE);
            }
            bytes += part;
        }
        let max = self.options.max_message_size;
        if max != 0 && bytes > max {
            return Err(TOO_LARGE);
        }
        Ok(Measured { bytes, charge: charge(bytes, parts as u64) })
    }

    /// O-12: the earlier one of the option and the caller's timeout.
    pub(super) fn send_timeout(&self, timeout: Option<Duration>) -> Result<Duration, Failure> {
        match timeout {
            Some(timeout) => {
                let rounded = round_timeout(timeout).map_err(|_| BAD_TIMEOUT)?;
                Ok(rounded.min(self.options.send_timeout))
            }
            None => Ok(self.options.send_timeout),
        }
    }

    /// The byte test, and everything that comes before it (B-24).
    pub(super) fn admit_at_once(&mut self, slot: u32, measured: Measured, passes_pause: bool) -> Test {
        let set = self.sets.at_mut(slot);
        let is_blocked = set.blockers.hold
            | set.blockers.ending
            | (set.blockers.paused && !passes_pause)
            | !set.has_no_line();
        if is_blocked {
            Test::Blocked
        } else if set.send.meter.admit_record(measured.charge, true) {
            Test::Admitted
        } else {
            Test::Refused
        }
    }

    /// Encodes a record whose charge was booked.
    #[inline]
    pub(super) fn push_now<M: Outgoing>(
        &mut self,
        slot: u32,
        kind: Kind,
        sequence: u64,
        record: &M,
        charge: u64,
    ) {
        if self.sets.at_mut(slot).send.push(kind, sequence, record, charge) {
            self.wake(slot);
        }
    }
}

pub(super) const NO_LINK_ROOM: Failure =
    Failure::not_submitted(ErrorKind::CapacityExceeded, "too many unanswered requests on this link");
pub(super) const BAD_TIMEOUT: Failure =
    Failure::not_submitted(ErrorKind::InvalidOperation, "a timeout is 1 ms to 2147483647 ms");

fn target_passes_pause(target: Target<'_>) -> bool {
    match target {
        Target::Admission(_) => true,
        Target::Any | Target::Named(_) | Target::Set(_) => false,
    }
}
