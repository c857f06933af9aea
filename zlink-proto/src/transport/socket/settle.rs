//! How operations end, each once (O-30 to O-34, O-43).

use super::{Outcome, Settled, Socket};
use crate::error::{ErrorKind, Failure, Submission};
use crate::id::{OperationId, SetId};
use crate::time::Timestamp;
use crate::transport::operations::{Family, Place};
use alloc::vec::Vec;

impl Socket {
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
