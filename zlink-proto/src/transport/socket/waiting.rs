//! Waiting lines: who waits for what, who goes next, and how a wait ends (B-11, B-29, B-30, O-20 to O-33).

use super::submit::Measured;
use super::{CANDIDATE_WAIT, Socket};
use crate::error::{ErrorKind, Failure};
use crate::message::Outgoing;
use crate::transport::operations::{Family, Operation, Place};
use crate::wire::{Kind, Outbox};
use alloc::boxed::Box;
use core::time::Duration;

/// What the waiting operations of one family hold (O-22).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Waiters {
    pub(super) count: u32,
    pub(super) bytes: u64,
}

/// A submission that has to wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) family: Family,
    /// Of a request, or of the request that a reply answers.
    pub(super) sequence: u64,
    pub(super) measured: Measured,
    /// Exempt from remote PAUSED (S-31).
    pub(super) passes_pause: bool,
    /// Its byte test was made and refused it.
    pub(super) was_tested: bool,
    pub(super) timeout: Duration,
    /// Place of the token that a reply answers.
    pub(super) token: u32,
}

/// What an operation waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Destination {
    /// A peer, in the DEALER's own line (N-62).
    Unfixed,
    /// Room at one of the ready peers, none of which is open: it is fixed on one of them now.
    Blocked,
    /// The return of the peer of this endpoint (N-68).
    Endpoint(u32),
    /// Room at this set.
    Set(u32),
}

impl Socket {
    /// Puts a record that cannot go now into a line, encoded. What time brought while the call looked at the clock may let it go on at
    /// once; its `Settled` tells.
    pub(super) fn wait_for_room<M: Outgoing>(
        &mut self,
        waiting: Waiting,
        destination: Destination,
        record: &M,
    ) -> Result<u32, Failure> {
        let Waiting { family, measured, timeout, .. } = waiting;
        self.check_waiters(family, measured.charge)?;
        let slot = self.operations.insert(family, self.now, self.now.saturating_add(timeout));
        let entry = &mut self.operations[slot];
        entry.is_admission = waiting.passes_pause;
        entry.sequence = waiting.sequence;
        entry.token = waiting.token;
        entry.charge = measured.charge;
        entry.bytes = measured.bytes;
        entry.payload = encode(family, waiting.sequence, record);
        self.book_waiter(family, measured.charge);
        if family == Family::Request {
            self.operations.register(slot);
        }
        let is_candidate_wait =
            destination == Destination::Unfixed && self.options.service_selection && timeout > CANDIDATE_WAIT;
        let due = if is_candidate_wait { CANDIDATE_WAIT } else { timeout };
        self.deadlines.arm(&mut self.operations, slot, self.now, due);
        self.line_up(slot, destination, waiting.was_tested);
        let entry = &self.operations[slot];
        self.serve_after(Some(entry.place), entry.set);
        Ok(slot)
    }

    fn line_up(&mut self, slot: u32, destination: Destination, was_tested: bool) {
        match destination {
            Destination::Unfixed => {
                self.operations[slot].place = Place::Unfixed;
                self.operations.push_back(&mut self.unfixed, slot);
            }
            Destination::Blocked => {
                let (measured, is_request) = measured_of(&self.operations[slot]);
                match self.select_blocked(measured, is_request) {
                    Some(set) => self.fix(slot, set, false),
                    None => self.line_up(slot, Destination::Unfixed, false),
                }
            }
            Destination::Endpoint(endpoint) => {
                self.operations[slot].place = Place::Endpoint(endpoint);
                self.operations.push_back(self.connectors.line(endpoint), slot);
            }
            Destination::Set(set) => self.fix(slot, set, was_tested),
        }
    }

    /// Fixes an operation on a set, at the end of its line. `was_tested`: its byte test was made at submission.
    pub(super) fn fix(&mut self, slot: u32, set_slot: u32, was_tested: bool) {
        let set = self.sets.at_mut(set_slot);
        let entry = &mut self.operations[slot];
        entry.place = Place::Waiting;
        entry.set = set.id;
        let meets_test = set.blockers.is_clear() && set.has_no_line();
        entry.is_tested = meets_test && was_tested;
        if meets_test && !was_tested && !set.send.meter.has_room(entry.charge) {
            // Refused by bytes alone: that is its first test, and marks the queue full.
            entry.is_tested = !set.send.meter.admit_record(entry.charge, true);
        }
        if entry.family == Family::Request {
            set.unanswered += 1;
            set.work += entry.charge;
        }
        let line = if self.options.replies_pass_pause && entry.family == Family::Reply {
            &mut set.reply_line
        } else {
            &mut set.line
        };
        self.operations.push_back(line, slot);
    }

    /// O-22, O-44.
    pub(super) fn check_waiters(&mut self, family: Family, charge: u64) -> Result<(), Failure> {
        let options = &self.options;
        let (has_room, failure) = match family {
            Family::Request => (
                self.request_waiting_bytes == 0
                    || self.request_waiting_bytes.saturating_add(charge) <= options.request_waiting_bytes_max,
                Failure::not_submitted(
                    ErrorKind::CapacityExceeded,
                    "too many bytes of requests wait for room",
                ),
            ),
            Family::Send | Family::Reservation | Family::Reply => {
                let waiters = if family == Family::Reply { self.reply_waiters } else { self.send_waiters };
                let has_room = waiters.count < options.waiters_max
                    && (waiters.count == 0
                        || waiters.bytes.saturating_add(charge) <= options.waiting_bytes_max);
                (
                    has_room,
                    Failure::not_submitted(
                        ErrorKind::DeadlineExceeded,
                        "too many concurrent sends wait here",
                    ),
                )
            }
        };
        if has_room {
            return Ok(());
        }
        self.counts.waiters_full += u64::from(family != Family::Request);
        Err(failure)
    }

    fn book_waiter(&mut self, family: Family, charge: u64) {
        match family {
            Family::Request => self.request_waiting_bytes += charge,
            Family::Send | Family::Reservation => {
                self.send_waiters.count += 1;
                self.send_waiters.bytes += charge;
            }
            Family::Reply => {
                self.reply_waiters.count += 1;
                self.reply_waiters.bytes += charge;
            }
        }
    }

    pub(super) fn unbook_waiter(&mut self, family: Family, charge: u64) {
        match family {
            Family::Request => self.request_waiting_bytes -= charge,
            Family::Send | Family::Reservation => {
                self.send_waiters.count -= 1;
                self.send_waiters.bytes -= charge;
            }
            Family::Reply => {
                self.reply_waiters.count -= 1;
                self.reply_waiters.bytes -= charge;
            }
        }
    }
}

pub(super) fn measured_of(operation: &Operation) -> (Measured, bool) {
    let measured = Measured { bytes: operation.bytes, charge: operation.charge };
    (measured, operation.family == Family::Request)
}

fn encode<M: Outgoing>(family: Family, sequence: u64, record: &M) -> Option<Box<Outbox>> {
    let kind = match family {
        Family::Send => Kind::Data,
        Family::Request => Kind::Request,
        Family::Reply => Kind::Reply,
        Family::Reservation => return None,
    };
    let mut encoded = Box::new(Outbox::default());
    encoded.push_record(kind, sequence, record);
    Some(encoded)
}
