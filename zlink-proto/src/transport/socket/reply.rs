//! Replies, reply tokens and answers to our requests (N-54 to N-60).

use super::submit::{NOT_OPEN, Test};
use super::waiting::{Destination, Waiting};
use super::{Outcome, Socket, Submitted};
use crate::error::{ErrorKind, Failure, Submission};
use crate::id::SetId;
use crate::message::Outgoing;
use crate::time::Timestamp;
use crate::transport::ReplyToken;
use crate::transport::deadlines::NONE;
use crate::transport::lane_set::Phase;
use crate::transport::operations::Family;
use crate::transport::tokens::TokenState;
use crate::wire::{Fault, Kind, Record, charge};

/// Error number of a token that ended without an admitted reply (N-57).
pub(super) const IO_ERROR: u32 = 5;
/// Error number of a reply whose own deadline came first.
pub(super) const TIMED_OUT: u32 = 110;
/// Error number of tokens that close ends.
pub(super) const SHUTDOWN: u32 = 108;
/// Unsolicited replies on one set; one more is a fault (N-58).
const UNSOLICITED_MAX: u32 = 1_000;
/// An error reply is one part of four bytes.
const ERROR_CHARGE: u64 = charge(4, 1);

const TOKEN_ENDED: Failure = Failure::not_submitted(ErrorKind::Unavailable, "the requester is gone");

impl Socket {
    /// Answers a request, once. It waits for room at most `reply_timeout`; the clock is read only then.
    ///
    /// # Errors
    /// `Unavailable` if the token ended with its set, `DeadlineExceeded` if too many replies wait. `InvalidOperation` for a record
    /// that is too large: the token is used up and the requester gets error number 5, so check `message_limit` before.
    pub fn reply<M: Outgoing>(
        &mut self,
        token: ReplyToken,
        record: &mut M,
        clock: impl FnOnce() -> Timestamp,
    ) -> Result<Submitted, Failure> {
        self.reply_with(token, record, false, clock)
    }

    /// As `reply`, exempt from remote PAUSED: the answer to a hello (S-31).
    ///
    /// # Errors
    /// As `reply`.
    pub fn reply_admission<M: Outgoing>(
        &mut self,
        token: ReplyToken,
        record: &mut M,
        clock: impl FnOnce() -> Timestamp,
    ) -> Result<Submitted, Failure> {
        self.reply_with(token, record, true, clock)
    }

    fn reply_with<M: Outgoing>(
        &mut self,
        token: ReplyToken,
        record: &mut M,
        is_admission: bool,
        clock: impl FnOnce() -> Timestamp,
    ) -> Result<Submitted, Failure> {
        let place = self.tokens.find(&token).ok_or(TOKEN_ENDED)?;
        let checked = self.check_reply(token.set(), record);
        let measured = match checked {
            Ok(measured) => measured,
            Err(failure) => {
                self.turn_into_error(place, IO_ERROR);
                self.serve(token.set().slot);
                return Err(failure);
            }
        };
        let slot = token.set().slot;
        let passes = is_admission || self.options.replies_pass_pause;
        let was_tested = match self.admit_at_once(slot, measured, passes) {
            Test::Admitted => {
                self.push_now(slot, Kind::Reply, token.sequence(), record, measured.charge);
                self.end_token(place);
                return Ok(Submitted::Admitted);
            }
            Test::Refused => true,
            Test::Blocked => false,
        };
        self.advance(clock());
        // Time may have ended the set's finish: the token with it.
        let place = self.tokens.find(&token).ok_or(TOKEN_ENDED)?;
        self.tokens.set_state(place, TokenState::Claimed);
        let waiting = Waiting {
            family: Family::Reply,
            sequence: token.sequence(),
            measured,
            passes_pause: is_admission,
            was_tested,
            timeout: self.options.reply_timeout,
            token: place,
        };
        match self.wait_for_room(waiting, Destination::Set(slot), record) {
            Ok(operation) => Ok(Submitted::Waiting(self.operations.id(operation))),
            Err(failure) => {
                self.turn_into_error(place, IO_ERROR);
                self.serve(slot);
                Err(failure)
            }
        }
    }

    fn check_reply<M: Outgoing>(&self, set: SetId, record: &M) -> Result<super::submit::Measured, Failure> {
        if self.is_closed() {
            return Err(NOT_OPEN);
        }
        let measured = self.measure(record)?;
        match self.sets.get(set) {
            Some(set) if measured.bytes > set.message_max => Err(super::submit::TOO_LARGE),
            Some(set) if set.blockers.ending => Err(TOKEN_ENDED),
            Some(_) => Ok(measured),
            None => Err(TOKEN_ENDED),
        }
    }

    /// Answers with an error number (spec 3 §8); it waits for room as state in the token's place, without an operation.
    pub fn reply_error(&mut self, token: ReplyToken, number: u32) {
        if let Some(place) = self.tokens.find(&token) {
            // Zero is no error number (W-10).
            self.turn_into_error(place, if number == 0 { IO_ERROR } else { number });
            self.serve(token.set().slot);
        }
    }

    /// Gives up the right to answer: the requester gets error number 5 (N-57).
    pub fn drop_token(&mut self, token: ReplyToken) {
        self.reply_error(token, IO_ERROR);
    }

    /// True while the set of this token lives and the token was not used: `is_requester_gone` is its opposite.
    pub fn is_token_live(&self, token: &ReplyToken) -> bool {
        self.tokens.find(token).is_some()
    }

    /// A token ends without an admitted reply: its error reply takes its turn among what waits for the set, whose lines the caller
    /// serves.
    pub(super) fn turn_into_error(&mut self, place: u32, number: u32) {
        if place == NONE || self.tokens.get(place).state == TokenState::Free {
            return;
        }
        let order = self.operations.next_order();
        let id = self.tokens.get(place).set;
        let Some(set) = self.sets.get_mut(id) else { return };
        if matches!(self.tokens.get(place).state, TokenState::Error { .. }) {
            return;
        }
        self.tokens.set_state(place, TokenState::Error { number, order });
        self.tokens.relink(&mut set.tokens, &mut set.errors, place);
        if set.blockers.ending {
            // Nothing new is admitted on a set that ends (N-25a).
            self.end_error(place);
        } else {
            self.retry_for_token(id.slot);
        }
    }

    /// Writes the error reply at the head of a set's list, if there is room.
    pub(super) fn admit_error(&mut self, set_slot: u32, place: u32) -> bool {
        let token = self.tokens.get(place);
        let TokenState::Error { number, .. } = token.state else { return false };
        let sequence = token.sequence;
        let set = self.sets.at_mut(set_slot);
        if !set.send.meter.admit_record(ERROR_CHARGE, true) {
            return false;
        }
        let body = number.to_be_bytes();
        self.push_now(set_slot, Kind::ErrorReply, sequence, &body.as_slice(), ERROR_CHARGE);
        self.end_error(place);
        true
    }

    fn end_error(&mut self, place: u32) {
        let (id, sequence) = (self.tokens.get(place).set, self.tokens.get(place).sequence);
        if let Some(set) = self.sets.get_mut(id) {
            self.tokens.remove(&mut set.errors, place);
            set.unanswered_sequences.remove(&sequence);
        }
        self.token_place_freed();
    }

    /// A reply was admitted: the token is used.
    pub(super) fn end_token(&mut self, place: u32) {
        let (id, sequence) = (self.tokens.get(place).set, self.tokens.get(place).sequence);
        if let Some(set) = self.sets.get_mut(id) {
            self.tokens.remove(&mut set.tokens, place);
            set.unanswered_sequences.remove(&sequence);
        }
        self.token_place_freed();
    }

    /// A place is free: peers that wait for one go on in turn (N-60), as many as there are free places. One of them may leave its
    /// place unused; that is why it is not one peer for each place.
    pub(super) fn token_place_freed(&mut self) {
        let max = self.options.reply_tokens_max as usize;
        let mut places = max.saturating_sub(self.tokens.len());
        for _ in 0..self.token_waiters.len() {
            if places == 0 {
                return;
            }
            let Some(id) = self.token_waiters.pop_front() else { return };
            let Some(set) = self.sets.get_mut(id).filter(|set| set.waits_for_token) else { continue };
            if set.tokens.len() + set.errors.len() >= self.options.requests_per_link_max {
                self.token_waiters.push_back(id);
                continue;
            }
            places -= 1;
            set.waits_for_token = false;
            self.announce(id.slot);
        }
    }

    /// Takes the answer to one of our requests. Unmatched ones are dropped; too many are a fault (N-55, N-58).
    pub(super) fn settle_reply(&mut self, set_slot: u32, record: Record) -> Result<(), Fault> {
        let id = self.sets.at(set_slot).id;
        let Some(slot) = self.operations.take_answered(record.sequence(), id) else {
            return self.count_unmatched(set_slot);
        };
        let set = self.sets.at_mut(set_slot);
        set.unanswered -= 1;
        set.work -= self.operations[slot].charge;
        self.operations.unlink(&mut set.pending, slot);
        let outcome = match record.kind() {
            Kind::ErrorReply => Outcome::Failed(error_reply(&record)),
            Kind::Reply | Kind::Data | Kind::Request => Outcome::Reply(record),
        };
        self.settle(slot, outcome);
        Ok(())
    }

    fn count_unmatched(&mut self, set_slot: u32) -> Result<(), Fault> {
        let set = self.sets.at_mut(set_slot);
        if set.credit > 0 {
            set.credit -= 1;
            self.counts.late_replies += 1;
            return Ok(());
        }
        set.unsolicited += 1;
        self.counts.unsolicited_replies += 1;
        if set.unsolicited > UNSOLICITED_MAX && set.phase != Phase::Ended {
            return Err(Fault::other("too many replies"));
        }
        Ok(())
    }
}

/// Maps the error number of an error reply (spec 3 §8, W-10).
fn error_reply(record: &Record) -> Failure {
    let first = record.part(0);
    let number = first.and_then(|part| <[u8; 4]>::try_from(part).ok()).map(u32::from_be_bytes);
    let (kind, reason) = match number {
        None | Some(0) => (ErrorKind::ProtocolError, "malformed error reply"),
        Some(2) => (ErrorKind::NotFound, "error reply: no entry"),
        Some(5) => (ErrorKind::InternalFailure, "error reply: I/O"),
        Some(11 | 105) => (ErrorKind::Unavailable, "error reply: try again"),
        Some(13 | 111 | 125 | 91) => (ErrorKind::Rejected, "error reply: refused"),
        Some(16) => (ErrorKind::Unavailable, "error reply: busy"),
        Some(22 | 14 | 95) => (ErrorKind::InvalidOperation, "error reply: invalid"),
        Some(107 | 113) => (ErrorKind::Unavailable, "error reply: not connected"),
        Some(108 | 156_384_765) => (ErrorKind::ShuttingDown, "error reply: shutting down"),
        Some(110) => (ErrorKind::DeadlineExceeded, "error reply: timed out"),
        Some(114 | 156_384_763) => (ErrorKind::InvalidOperation, "error reply: wrong state"),
        Some(116) => (ErrorKind::Unavailable, "error reply: stale"),
        Some(17) => (ErrorKind::AlreadyExists, "error reply: exists"),
        Some(71 | 156_384_764) => (ErrorKind::ProtocolError, "error reply: protocol"),
        Some(_) => (ErrorKind::InternalFailure, "error reply"),
    };
    Failure { kind, submission: Submission::Unknown, reason }
}
