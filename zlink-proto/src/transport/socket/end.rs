//! The end of a set, and what is left of it (N-21 to N-25a).

use super::receive::is_ordinary;
use super::{Outcome, Socket};
use crate::error::{ErrorKind, Failure};
use crate::id::{RoutingId, SetId};
use crate::message::Outgoing;
use crate::time::Timestamp;
use crate::transport::deadlines::NONE;
use crate::transport::lane_set::{Closing, Phase, WakeState};
use crate::transport::operations::{Family, Place};
use crate::transport::{EndReason, EventKind};
use crate::wire::{Fault, Kind};
use core::time::Duration;

/// What the connection of an ended set still has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Farewell {
    /// Nothing: it told us the end.
    Done,
    /// Close.
    Silent,
    /// Write ERROR, then close.
    Error(Fault),
}

const LOST: &str = "the peer's set ended";

impl Socket {
    /// Ends a set at once for a reason of the caller (N-21).
    pub fn close_set(&mut self, set: SetId, reason: EndReason) {
        if self.sets.get(set).is_some_and(|found| found.is_connected()) {
            let farewell = match reason {
                EndReason::Fault(code, reason) => Farewell::Error(Fault { code, reason }),
                EndReason::Service(reason) => Farewell::Error(Fault::other(reason)),
                EndReason::PeerError(_)
                | EndReason::End
                | EndReason::Reset
                | EndReason::ConnectFailed
                | EndReason::Duplicate
                | EndReason::Liveness
                | EndReason::Disconnected
                | EndReason::Closed => Farewell::Silent,
            };
            self.end_set(set.slot, reason, farewell);
        }
    }

    /// Ends a set after its last record (N-25a): nothing new is admitted, what is admitted is transmitted, then the orderly end of
    /// N-89; at `limit` the set ends with whatever is left.
    pub fn finish_set(&mut self, set: SetId, reason: EndReason, limit: Duration, now: Timestamp) {
        self.advance(now);
        if self.sets.get(set).is_some_and(|found| found.phase == Phase::Ready) {
            self.begin_finish(set.slot, reason, limit);
        }
    }

    /// As `finish_set`, with one last record, which is admitted whatever blocks the set: at most one, so that memory stays bounded.
    pub fn finish_set_with<M: Outgoing>(
        &mut self,
        set: SetId,
        last: &mut M,
        reason: EndReason,
        limit: Duration,
        now: Timestamp,
    ) {
        self.advance(now);
        if self.sets.get(set).is_none_or(|found| found.phase != Phase::Ready) {
            return;
        }
        if let Ok(measured) = self.measure(last) {
            self.sets.at_mut(set.slot).send.meter.commit(measured.charge, 1);
            self.push_now(set.slot, Kind::Data, 0, last, measured.charge);
        }
        self.begin_finish(set.slot, reason, limit);
    }

    pub(super) fn begin_finish(&mut self, slot: u32, reason: EndReason, limit: Duration) {
        let finish_at = self.now.saturating_add(limit);
        let set = self.sets.at_mut(slot);
        set.phase = Phase::Finishing;
        set.blockers.ending = true;
        set.finish_reason = reason;
        set.finish_at = Some(finish_at);
        set.probe = None;
        set.ack = None;
        set.update = None;
        set.admission = None;
        let (id, name) = (set.id, set.routing_id.clone());
        self.ready_peers -= 1;
        self.selector.remove(id);
        self.fail_waiting(slot, ErrorKind::Unavailable, LOST);
        if let Some(known) = self.names.get_mut(&name) {
            known.ready = NONE;
            known.older.push(slot);
        }
        self.update_order_of_name(&name);
        self.arm_set_timer(slot);
        self.wake(slot);
    }

    /// Ends a set (N-22). Everything in the order of the rule, each once.
    pub(super) fn end_set(&mut self, slot: u32, reason: EndReason, farewell: Farewell) {
        let set = self.sets.at_mut(slot);
        if set.phase == Phase::Ended {
            return;
        }
        let phase = core::mem::replace(&mut set.phase, Phase::Ended);
        set.blockers.ending = true;
        let (id, connection, name) = (set.id, set.connection, set.routing_id.clone());
        let (endpoint, ready_at) = (set.endpoint, set.ready_at);
        self.detach_connection(slot, farewell);
        self.selector.remove(id);
        let kind = if self.is_open() { ErrorKind::Unavailable } else { ErrorKind::ShuttingDown };
        self.fail_pending(slot, kind);
        self.fail_waiting(slot, kind, LOST);
        let (unsent_records, unsent_bytes) = self.sets.at_mut(slot).send.discard();
        self.end_tokens(slot);
        self.end_pause(slot);
        self.clear_set(slot);
        self.ready_peers -= u32::from(phase == Phase::Ready);
        self.close_report.unsent_records += if self.is_open() { 0 } else { unsent_records };
        self.close_report.unsent_bytes += if self.is_open() { 0 } else { unsent_bytes };
        let was_ready = phase != Phase::Joining;
        let routing_id = name.clone();
        self.events.tell(self.now, Some(connection), || {
            if was_ready {
                EventKind::PeerLost { set: id, routing_id, reason, unsent_records, unsent_bytes }
            } else {
                EventKind::HandshakeFailed { reason }
            }
        });
        self.leave_name(slot, &name, was_ready);
        self.settle_remains(slot, was_ready);
        if let Some(endpoint) = endpoint {
            let ready_for = (phase != Phase::Joining).then(|| self.now.saturating_since(ready_at));
            self.connector_ended(endpoint, ready_for, reason, &name);
        }
        self.unpark(&name);
        self.close_if_over();
    }

    fn detach_connection(&mut self, slot: u32, farewell: Farewell) {
        let set = self.sets.at_mut(slot);
        let (connection, listener) = (set.connection, set.listener);
        self.connections.remove(&connection);
        if let Some(listener) = listener {
            self.listeners.validated(listener, slot);
        }
        let fault = match farewell {
            Farewell::Done => return,
            Farewell::Silent => None,
            Farewell::Error(fault) => Some(fault),
        };
        let wake = WakeState { is_wanted: true, is_listed: true, is_given: false };
        self.closing.insert(connection, Closing { fault, wake });
        self.wakes.push_back(connection);
    }

    /// N-22, 1.
    pub(super) fn fail_pending(&mut self, slot: u32, kind: ErrorKind) {
        while let Some(operation) = self.sets.at(slot).pending.head() {
            self.fail(operation, Failure::unknown(kind, LOST));
        }
    }

    /// N-22, 2: operations that wait for this set, and reservations on it.
    pub(super) fn fail_waiting(&mut self, slot: u32, kind: ErrorKind, reason: &'static str) {
        loop {
            let set = self.sets.at(slot);
            let Some(operation) = set.line.head().or(set.reply_line.head()) else { break };
            let (family, token) = (self.operations[operation].family, self.operations[operation].token);
            self.fail(operation, Failure::not_submitted(kind, reason));
            if family == Family::Reply {
                // It failed without being admitted: the token is used up (N-57).
                self.end_token(token);
            }
        }
        while let Some(operation) = self.sets.at(slot).reservations.head() {
            self.end_reservation(operation);
        }
    }

    /// N-22, 4.
    fn end_tokens(&mut self, slot: u32) {
        let set = self.sets.at_mut(slot);
        while let Some(place) = set.tokens.head() {
            self.tokens.remove(&mut set.tokens, place);
        }
        while let Some(place) = set.errors.head() {
            self.tokens.remove(&mut set.errors, place);
        }
        set.unanswered_sequences = hashbrown::HashSet::with_hasher(self.hash_key);
        set.receive.roll_back();
        if core::mem::take(&mut set.waits_for_token) {
            let id = set.id;
            self.token_waiters.retain(|&other| other != id);
        }
        self.token_place_freed();
    }

    fn clear_set(&mut self, slot: u32) {
        self.disarm_set_timer(slot);
        let set = self.sets.at_mut(slot);
        set.probe = None;
        set.ack = None;
        set.update = None;
        set.admission = None;
        set.liveness = None;
        set.finish_at = None;
        set.flow.is_listed = false;
    }

    fn leave_name(&mut self, slot: u32, name: &RoutingId, was_ready: bool) {
        let Some(known) = self.names.get_mut(name) else { return };
        for place in [&mut known.ready, &mut known.joining_in, &mut known.joining_out] {
            if *place == slot {
                *place = NONE;
            }
        }
        if was_ready && !known.older.contains(&slot) {
            known.older.push(slot);
        }
    }

    /// N-24: complete records stay takeable, replies among them are dropped.
    fn settle_remains(&mut self, slot: u32, was_ready: bool) {
        let set = self.sets.at_mut(slot);
        set.notices.lost = was_ready;
        set.receive.drop_where(|kind| !is_ordinary(kind));
        let is_empty = set.receive.is_empty();
        if !was_ready || is_empty || !self.is_open() {
            return self.drained(slot);
        }
        let set = self.sets.at_mut(slot);
        let id = set.id;
        self.undrained_bytes += set.receive.meter.used();
        self.undrained.push_back(id);
        let name = set.routing_id.clone();
        self.notice(slot);
        self.update_order_of_name(&name);
        self.announce(slot);
        let options = &self.options;
        let (sets_max, bytes_max) = (options.undrained_sets_max as usize, options.undrained_bytes_max);
        while self.undrained.len() > sets_max || self.undrained_bytes > bytes_max {
            let Some(&oldest) = self.undrained.front() else { break };
            self.discard_undrained(oldest);
        }
    }

    /// Gives up the records of an undrained set; tells how many.
    fn discard_undrained(&mut self, id: SetId) {
        let Some(set) = self.sets.get_mut(id) else {
            self.undrained.pop_front();
            return;
        };
        let (records, bytes) = (set.receive.len() as u64, set.receive.meter.used());
        let name = set.routing_id.clone();
        set.receive.drop_where(|_| true);
        self.undrained_bytes = self.undrained_bytes.saturating_sub(bytes);
        self.counts.undrained_discarded += records;
        self.events.tell(self.now, None, || EventKind::UndrainedDiscarded {
            routing_id: name,
            generation: id.generation,
            records,
            bytes,
        });
        self.drained(id.slot);
    }

    /// Nothing is left of an ended set: its source ends, newer sets of its name go on.
    pub(super) fn drained(&mut self, slot: u32) {
        let set = self.sets.at_mut(slot);
        if set.is_drained {
            return;
        }
        set.is_drained = true;
        let was_ready = set.notices.lost || set.was_told_lost;
        set.notices.drained = was_ready;
        let (id, name) = (set.id, set.routing_id.clone());
        if core::mem::take(&mut set.is_counted) {
            self.peers -= 1;
        }
        self.undrained.retain(|&other| other != id);
        if let Some(known) = self.names.get_mut(&name) {
            known.older.retain(|&other| other != slot);
        }
        self.update_order_of_name(&name);
        if was_ready {
            self.notice(slot);
        } else {
            self.sets.remove(slot);
        }
        self.forget_name_if_unused(&name);
    }

    /// Frees a set of which nothing is left and about which everything was told.
    pub(super) fn forget_if_over(&mut self, slot: u32) {
        let Some(set) = self.sets.try_at_mut(slot) else { return };
        if set.is_drained && !set.notices.is_listed {
            self.sets.remove(slot);
        }
    }

    /// Whose turn it is among the sets of one name (N-24).
    pub(super) fn update_order_of_name(&mut self, name: &RoutingId) {
        let Some(known) = self.names.get(name) else { return };
        let (first, count, ready) = (known.older.first().copied(), known.older.len(), known.ready);
        let older = known.older.clone();
        for slot in older.into_iter().chain((ready != NONE).then_some(ready)) {
            let is_live = slot == ready;
            let set = self.sets.at_mut(slot);
            let was_unread = core::mem::replace(&mut set.is_unread, is_live && count >= 2);
            set.is_behind = first.is_some_and(|first| first != slot);
            if was_unread && is_live && count < 2 {
                self.wake(slot);
            }
            self.announce(slot);
        }
    }

    pub(super) fn forget_name_if_unused(&mut self, name: &RoutingId) {
        if self.names.get(name).is_some_and(|known| known.is_unused()) {
            self.names.remove(name);
        }
    }

    /// Ends the place of an operation that its caller still holds; used for reservations, which have no `Settled` any more.
    pub(super) fn end_reservation(&mut self, slot: u32) {
        self.withdraw(slot);
        self.operations[slot].place = Place::Uncollected;
    }

    /// Ends everything that waits without a set (close).
    pub(super) fn fail_unfixed(&mut self, failure: Failure) {
        while let Some(slot) = self.unfixed.head() {
            self.withdraw(slot);
            self.settle(slot, Outcome::Failed(failure));
        }
    }
}
