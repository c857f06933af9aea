//! Waiting lines: who waits for what, who goes next, and how a wait ends (B-11, B-29, B-30, O-20 to O-33).

use super::submit::{Measured, RECORD_TOO_LARGE, Selected};
use super::{CANDIDATE_WAIT, Outcome, Settled, Slot, Socket};
use crate::error::{ErrorKind, Failure, Submission};
use crate::id::{OperationId, SetId};
use crate::message::Outgoing;
use crate::time::Timestamp;
use crate::transport::operations::{Family, Operation, Place};
use crate::transport::tokens::TokenState;
use crate::wire::{Kind, Outbox};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

/// What the waiting operations of one family hold (O-22).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Waiters {
    pub(super) count: u32,
    pub(super) bytes: u64,
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

/// Who goes next at one set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Operation(u32),
    /// An error reply: place of its token.
    Error(u32),
    Slot(Slot),
}

impl Socket {
    /// Puts a record that cannot go now into a line, encoded.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn wait_for_room<M: Outgoing>(
        &mut self,
        family: Family,
        destination: Destination,
        kind: Kind,
        sequence: u64,
        record: &M,
        measured: Measured,
        is_admission: bool,
        timeout: Duration,
    ) -> Result<u32, Failure> {
        self.check_waiters(family, measured.charge)?;
        let mut encoded = Box::new(Outbox::default());
        if family != Family::Reservation {
            encoded.push_record(kind, sequence, record);
        }
        let slot = self.operations.insert(family, self.now, self.now.saturating_add(timeout));
        let entry = &mut self.operations[slot];
        entry.is_admission = is_admission;
        entry.sequence = sequence;
        entry.charge = measured.charge;
        entry.bytes = measured.bytes;
        entry.payload = Some(encoded);
        self.book_waiter(family, measured.charge);
        if family == Family::Request {
            self.operations.register(slot);
        }
        let is_candidate_wait =
            destination == Destination::Unfixed && self.options.service_selection && timeout > CANDIDATE_WAIT;
        let due = if is_candidate_wait { CANDIDATE_WAIT } else { timeout };
        self.deadlines.arm(&mut self.operations, slot, self.now, due);
        self.line_up(slot, destination);
        Ok(slot)
    }

    fn line_up(&mut self, slot: u32, destination: Destination) {
        match destination {
            Destination::Unfixed => {
                self.operations[slot].place = Place::Unfixed;
                self.operations.push_back(&mut self.unfixed, slot);
            }
            Destination::Blocked => {
                let (measured, is_request) = measured_of(&self.operations[slot]);
                match self.select_blocked(measured, is_request) {
                    Some(set) => self.fix(slot, set, false),
                    None => self.line_up(slot, Destination::Unfixed),
                }
            }
            Destination::Endpoint(endpoint) => {
                self.operations[slot].place = Place::Endpoint(endpoint);
                self.operations.push_back(self.connectors.line(endpoint), slot);
            }
            Destination::Set(set) => self.fix(slot, set, true),
        }
    }

    /// Fixes an operation on a set, at the end of its line. `was_tested`: its byte test was made at submission.
    fn fix(&mut self, slot: u32, set_slot: u32, was_tested: bool) {
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

    fn unbook_waiter(&mut self, family: Family, charge: u64) {
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

    /// Serves the lines of a set, oldest head first, until nothing may go (B-11, B-25).
    pub(super) fn serve(&mut self, set_slot: u32) {
        loop {
            let set = self.sets.at_mut(set_slot);
            if set.has_no_line()
                || set.blockers.hold
                || set.blockers.ending
                || set.send.meter.is_full()
                || set.send.meter.is_deferred()
            {
                return;
            }
            let Some(next) = self.next_waiting(set_slot) else { return };
            if !self.admit_next(set_slot, next) {
                return;
            }
        }
    }

    fn next_waiting(&self, set_slot: u32) -> Option<Next> {
        let set = self.sets.at(set_slot);
        let is_paused = set.blockers.paused;
        let passes = !is_paused || self.options.replies_pass_pause;
        let line = set.line.head().filter(|&head| !is_paused || self.operations[head].is_admission);
        let replies = set.reply_line.head().filter(|_| passes);
        let errors = set.errors.head().filter(|_| passes);
        let slots = [
            (set.probe.as_ref(), Slot::Probe),
            (set.ack.as_ref(), Slot::Ack),
            (set.update.as_ref(), Slot::Update),
        ];
        let operations = [line, replies]
            .into_iter()
            .flatten()
            .map(|head| (self.operations[head].serial, Next::Operation(head)));
        let errors = errors.into_iter().filter_map(|head| match self.tokens.get(head).state {
            TokenState::Error { order, .. } => Some((order, Next::Error(head))),
            TokenState::Free | TokenState::Live | TokenState::Claimed => None,
        });
        let slots = slots
            .into_iter()
            .filter_map(|(record, slot)| record.filter(|_| !is_paused).map(|record| (record.order, Next::Slot(slot))));
        operations.chain(errors).chain(slots).min_by_key(|&(order, _)| order).map(|(_, next)| next)
    }

    fn admit_next(&mut self, set_slot: u32, next: Next) -> bool {
        match next {
            Next::Operation(slot) => self.admit_operation(set_slot, slot),
            Next::Error(token) => self.admit_error(set_slot, token),
            Next::Slot(slot) => self.admit_slot(set_slot, slot),
        }
    }

    fn admit_operation(&mut self, set_slot: u32, slot: u32) -> bool {
        let set = self.sets.at_mut(set_slot);
        let entry = &mut self.operations[slot];
        let is_first_test = !core::mem::replace(&mut entry.is_tested, true);
        let meter = &mut set.send.meter;
        let is_admitted = if entry.family == Family::Reservation {
            meter.admit_reservation(entry.charge, is_first_test)
        } else {
            meter.admit_record(entry.charge, is_first_test)
        };
        if !is_admitted {
            return false;
        }
        let (family, charge) = (entry.family, entry.charge);
        let payload = entry.payload.take();
        let line = if self.options.replies_pass_pause && family == Family::Reply {
            &mut set.reply_line
        } else {
            &mut set.line
        };
        self.operations.unlink(line, slot);
        if let Some(mut encoded) = payload.filter(|encoded| !encoded.is_empty()) {
            if set.send.append(&mut encoded, charge) {
                self.wake(set_slot);
            }
        }
        self.unbook_waiter(family, charge);
        self.go_on_admitted(set_slot, slot, family);
        true
    }

    fn go_on_admitted(&mut self, set_slot: u32, slot: u32, family: Family) {
        match family {
            Family::Send => self.settle(slot, Outcome::Sent),
            Family::Request => {
                self.operations[slot].place = Place::Pending;
                let set = self.sets.at_mut(set_slot);
                self.operations.push_back(&mut set.pending, slot);
            }
            Family::Reply => {
                let token = self.operations[slot].token;
                self.end_token(token);
                self.settle(slot, Outcome::Sent);
            }
            Family::Reservation => {
                self.deadlines.disarm(&mut self.operations, slot);
                let timeout = self.options.send_timeout;
                self.deadlines.arm(&mut self.operations, slot, self.now, timeout);
                self.operations[slot].place = Place::Reserved;
                let set = self.sets.at_mut(set_slot);
                self.operations.push_back(&mut set.reservations, slot);
                let operation = self.operations.id(slot);
                self.settled.push(Settled { operation, outcome: Outcome::Sent });
            }
        }
    }

    /// Tells the result of an operation that is in no line and in no table any more.
    pub(super) fn settle(&mut self, slot: u32, outcome: Outcome) {
        self.deadlines.disarm(&mut self.operations, slot);
        self.operations[slot].place = Place::Uncollected;
        let operation = self.operations.id(slot);
        self.settled.push(Settled { operation, outcome });
    }

    /// Takes an operation out of whatever it is in and gives back all that it holds but its completion slot (O-31).
    pub(super) fn withdraw(&mut self, slot: u32) {
        self.deadlines.disarm(&mut self.operations, slot);
        let entry = &mut self.operations[slot];
        let (family, charge, place, id) = (entry.family, entry.charge, entry.place, entry.set);
        entry.payload = None;
        match place {
            Place::Free | Place::Uncollected => return,
            Place::Unfixed => self.operations.unlink(&mut self.unfixed, slot),
            Place::Endpoint(endpoint) => self.operations.unlink(self.connectors.line(endpoint), slot),
            Place::Waiting => {
                if let Some(set) = self.sets.get_mut(id) {
                    let line = if self.options.replies_pass_pause && family == Family::Reply {
                        &mut set.reply_line
                    } else {
                        &mut set.line
                    };
                    self.operations.unlink(line, slot);
                }
            }
            Place::Pending => {
                if let Some(set) = self.sets.get_mut(id) {
                    self.operations.unlink(&mut set.pending, slot);
                }
            }
            Place::Reserved => self.withdraw_reservation(slot, id, charge),
        }
        if matches!(place, Place::Unfixed | Place::Endpoint(_) | Place::Waiting) {
            self.unbook_waiter(family, charge);
        }
        if family == Family::Request {
            self.operations.unregister(slot);
            if matches!(place, Place::Waiting | Place::Pending) {
                if let Some(set) = self.sets.get_mut(id) {
                    set.unanswered -= 1;
                    set.work -= charge;
                }
            }
        }
    }

    /// Ends an operation by failure. The caller serves the lines that this may have freed.
    pub(super) fn fail(&mut self, slot: u32, failure: Failure) {
        self.withdraw(slot);
        self.settle(slot, Outcome::Failed(failure));
    }

    /// Ends an operation for its caller, who dropped the call (O-35). True: it was live, nothing more comes of it, and it was never
    /// submitted unless it is a request that was admitted. False: its `Settled` is there or was taken; `collected` is still due.
    pub fn cancel(&mut self, operation: OperationId, now: Timestamp) -> bool {
        // A cancel at the very instant of the deadline still wins; after it the deadline does (O-33).
        self.see(now);
        self.expire_before_now();
        let place = self.operations.find(operation).map(|entry| entry.place);
        match place {
            None | Some(Place::Free | Place::Uncollected | Place::Reserved) => return false,
            Some(Place::Unfixed | Place::Endpoint(_) | Place::Waiting | Place::Pending) => {}
        }
        let slot = operation.slot;
        let entry = &self.operations[slot];
        let (family, set, token) = (entry.family, entry.set, entry.token);
        self.withdraw(slot);
        if place == Some(Place::Pending) {
            self.give_credit(set);
        }
        self.free_operation(slot);
        if family == Family::Reply {
            self.turn_into_error(token, super::reply::IO_ERROR);
        }
        self.serve_after(place, set);
        true
    }

    /// After an operation left a line something behind it may go.
    pub(super) fn serve_after(&mut self, place: Option<Place>, set: SetId) {
        match place {
            Some(Place::Unfixed) => self.serve_unfixed(),
            Some(Place::Waiting | Place::Reserved) if self.sets.get(set).is_some() => self.serve(set.slot),
            Some(
                Place::Waiting
                | Place::Reserved
                | Place::Free
                | Place::Endpoint(_)
                | Place::Pending
                | Place::Uncollected,
            )
            | None => {}
        }
    }

    /// A request that had been admitted ended without an answer: one late reply is not unsolicited (N-58).
    pub(super) fn give_credit(&mut self, set: SetId) {
        if let Some(set) = self.sets.get_mut(set) {
            set.credit += 1;
        }
    }

    /// The caller took the result of a settled operation: its place and, for a request, its completion slot are free (O-43).
    pub fn collected(&mut self, operation: OperationId) {
        let is_over = self.operations.find(operation).is_some_and(|entry| entry.place == Place::Uncollected);
        if is_over {
            self.free_operation(operation.slot);
        }
    }

    pub(super) fn free_operation(&mut self, slot: u32) {
        if self.operations[slot].family == Family::Request {
            self.completion_slots -= 1;
        }
        self.operations.free(slot);
    }

    /// A candidate appeared, or the head of the line left: unfixed operations select, oldest first (N-62, N-63).
    pub(super) fn serve_unfixed(&mut self) {
        while let Some(slot) = self.unfixed.head() {
            let (measured, is_request) = measured_of(&self.operations[slot]);
            let chosen = match self.select_open(measured, is_request) {
                Selected::Set(set) => Some(set),
                Selected::Blocked => self.select_blocked(measured, is_request),
                Selected::Nobody => return,
                Selected::NoLinkRoom => {
                    self.fail(
                        slot,
                        Failure::not_submitted(
                            ErrorKind::CapacityExceeded,
                            "too many unanswered requests on this link",
                        ),
                    );
                    continue;
                }
                Selected::TooLarge => {
                    self.fail(slot, RECORD_TOO_LARGE);
                    continue;
                }
            };
            let Some(set) = chosen else { return };
            self.operations.unlink(&mut self.unfixed, slot);
            self.fix_late(slot, set);
        }
    }

    /// Fixes an operation that waited without a set, and serves the set's line.
    pub(super) fn fix_late(&mut self, slot: u32, set: u32) {
        let entry = &self.operations[slot];
        if entry.due.at != entry.deadline {
            // Its wait for a candidate was limited; from now on its own deadline counts.
            let deadline = entry.deadline;
            self.deadlines.disarm(&mut self.operations, slot);
            self.deadlines.arm_at(&mut self.operations, slot, deadline);
        }
        self.fix(slot, set, false);
        self.serve(set);
    }

    /// Takes note of the time; it never goes back (O-14).
    pub(super) fn see(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
    }

    /// Takes note of the time and ends what is due (O-33: before the input at hand is applied).
    #[inline]
    pub(super) fn advance(&mut self, now: Timestamp) {
        self.see(now);
        self.expire(self.now);
    }

    fn expire_before_now(&mut self) {
        if let Some(before) = self.now.as_nanos().checked_sub(1) {
            self.expire(Timestamp::from_nanos(before));
        }
    }

    /// All that is due ends before anything goes on by the room that this makes (O-33).
    fn expire(&mut self, until: Timestamp) {
        let mut left = Vec::new();
        while let Some(slot) = self.deadlines.due(&self.operations, until) {
            left.push(self.end_by_deadline(slot, until));
        }
        for (place, set) in left {
            self.serve_after(Some(place), set);
        }
    }

    fn end_by_deadline(&mut self, slot: u32, now: Timestamp) -> (Place, SetId) {
        let entry = &self.operations[slot];
        let (family, place, set, token) = (entry.family, entry.place, entry.set, entry.token);
        let is_deadline = entry.deadline <= now;
        let submission = if place == Place::Pending { Submission::Unknown } else { Submission::NotSubmitted };
        let (kind, reason) = match place {
            Place::Unfixed if !is_deadline => (ErrorKind::NotFound, "no candidate within 5 s"),
            Place::Endpoint(_) if family == Family::Request => {
                (ErrorKind::Unavailable, "the peer did not come back in time")
            }
            Place::Unfixed => (ErrorKind::DeadlineExceeded, "no peer was ready in time"),
            Place::Endpoint(_) => (ErrorKind::DeadlineExceeded, "the peer did not come back in time"),
            Place::Waiting => (ErrorKind::DeadlineExceeded, "the peer's send queue had no room in time"),
            Place::Pending => (ErrorKind::DeadlineExceeded, "no reply in time"),
            Place::Reserved | Place::Free | Place::Uncollected => {
                self.end_reservation(slot);
                return (place, set);
            }
        };
        self.fail(slot, Failure { kind, submission, reason });
        if place == Place::Pending {
            self.give_credit(set);
        }
        if family == Family::Reply {
            self.turn_into_error(token, super::reply::TIMED_OUT);
        }
        (place, set)
    }
}

fn measured_of(operation: &Operation) -> (Measured, bool) {
    let measured = Measured { bytes: operation.bytes, charge: operation.charge };
    (measured, operation.family == Family::Request)
}
