//! Who goes on when there is room, a blocker clears or a candidate appears (B-11, B-25, N-62).

use super::choose::Selected;
use super::submit::TOO_LARGE;
use super::waiting::measured_of;
use super::{Outcome, Settled, Slot, Socket};
use crate::error::{ErrorKind, Failure};
use crate::transport::operations::{Family, Place};
use crate::transport::tokens::TokenState;

/// Who goes next at one set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Operation(u32),
    /// An error reply: place of its token.
    Error(u32),
    Slot(Slot),
}

impl Socket {
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
        let slots = slots.into_iter().filter_map(|(record, slot)| {
            record.filter(|_| !is_paused).map(|record| (record.order, Next::Slot(slot)))
        });
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
        if let Some(mut encoded) = payload {
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
                    self.fail(slot, TOO_LARGE);
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
}
