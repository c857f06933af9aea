//! Taking received records (N-24, N-54, N-60, N-66).

use super::{Head, Received, Socket};
use crate::id::SetId;
use crate::time::Timestamp;
use crate::transport::ReplyToken;
use crate::transport::deadlines::NONE;
use crate::transport::lane_set::{LaneSet, Phase};
use crate::wire::{Fault, FaultCode, Kind, Record, SocketType};
use alloc::vec::Vec;

impl Socket {
    /// The next set whose records became takeable. Each is given once until `heads` or `take` saw its end.
    pub fn poll_readable(&mut self) -> Option<SetId> {
        while let Some(id) = self.announced.pop_front() {
            if self.sets.get(id).is_some_and(|set| set.is_announced && is_takeable(set, self.is_service())) {
                return Some(id);
            }
        }
        None
    }

    fn is_service(&self) -> bool {
        self.options.service_selection
    }

    /// Tells that a set has something to take, once until somebody looked.
    pub(super) fn announce(&mut self, slot: u32) {
        let is_service = self.is_service();
        let set = self.sets.at_mut(slot);
        if set.waits_for_token || !is_takeable(set, is_service) {
            return;
        }
        let id = set.id;
        if !set.is_announced {
            set.is_announced = true;
            self.announced.push_back(id);
        }
        if !set.is_rotating && !is_service {
            set.is_rotating = true;
            self.rotation.push_back(id);
        }
    }

    /// Looks at the next records of a set, at most `count`, and moves nothing. Replies between them are left out. A set that has
    /// nothing to take is announced again when it has.
    pub fn heads(&mut self, set: SetId, count: usize, into: &mut Vec<Head>) {
        let is_service = self.is_service();
        let places = self.token_places(set);
        let Some(set) = self.sets.get_mut(set) else { return };
        if !is_takeable(set, is_service) {
            set.is_announced = false;
            return;
        }
        let count = if set.is_behind { count.min(1) } else { count };
        let mut requests = 0;
        for record in set.receive.iter().filter(|record| is_ordinary(record.kind())).take(count) {
            if record.kind() == Kind::Request {
                requests += 1;
                if requests > places {
                    return;
                }
            }
            into.push(Head { charge: record.charge(), record: record.clone() });
        }
    }

    /// Requests of this set that can be taken before a token's place is missing.
    fn token_places(&self, set: SetId) -> u32 {
        let Some(set) = self.sets.get(set) else { return 0 };
        if set.phase == Phase::Ended {
            return u32::MAX;
        }
        // Error replies that wait for a peer's RUNNING give their places up to its next requests: RUNNING comes behind those on the
        // same connection, so that not reading them would wait for ever.
        let given_up = if set.blockers.paused { set.errors.len() } else { 0 };
        let own = (self.options.requests_per_link_max + given_up)
            .saturating_sub(set.tokens.len() + set.errors.len());
        let all =
            (self.options.reply_tokens_max as usize + given_up as usize).saturating_sub(self.tokens.len());
        own.min(u32::try_from(all).unwrap_or(u32::MAX))
    }

    /// A set that waits for a place can now have that of an error reply of its own.
    pub(super) fn retry_for_token(&mut self, slot: u32) {
        let set = self.sets.at(slot);
        let id = set.id;
        if set.waits_for_token && self.token_places(id) > 0 {
            self.token_waiters.retain(|&other| other != id);
            self.sets.at_mut(slot).waits_for_token = false;
            self.announce(slot);
        }
    }

    /// A place for a request that `token_places` counted.
    fn make_token_place(&mut self, slot: u32) {
        let set = self.sets.at_mut(slot);
        let has_own = set.tokens.len() + set.errors.len() < self.options.requests_per_link_max;
        if has_own && self.tokens.len() < self.options.reply_tokens_max as usize {
            return;
        }
        if let Some(oldest) = set.errors.head() {
            set.unanswered_sequences.remove(&self.tokens.get(oldest).sequence);
            self.tokens.remove(&mut set.errors, oldest);
            self.counts.error_replies_given_up += 1;
        }
    }

    /// Takes up to `count` records of a set; their charges end (B-16). Replies that come to the head settle in passing (N-54).
    /// True: there is more to take. False: the set is announced again when there is.
    pub fn take(&mut self, set: SetId, count: usize, into: &mut Vec<Received>, now: Timestamp) -> bool {
        self.advance(now);
        let is_service = self.is_service();
        let Some(found) = self.sets.get_mut(set) else { return false };
        if !is_takeable(found, is_service) {
            found.is_announced = false;
            return false;
        }
        let count = if found.is_behind { count.min(1) } else { count };
        self.take_records(set.slot, count, &mut |received| into.push(received));
        self.after_take(set)
    }

    /// Moves records and ends their charges in one step.
    fn take_records(&mut self, slot: u32, count: usize, put: &mut impl FnMut(Received)) -> usize {
        let (mut taken, mut charge) = (0, 0);
        loop {
            let set = self.sets.at_mut(slot);
            let (data, of_data) = set.receive.leading_data(count - taken);
            let (id, name) = (set.id, &set.routing_id);
            for record in set.receive.drain(data) {
                put(Received { set: id, from: name.clone(), record, token: None });
            }
            taken += data;
            charge += of_data;
            let is_request = set.receive.front().is_some_and(|front| front.kind() == Kind::Request);
            if taken == count || !is_request {
                break;
            }
            let Some(received) = self.take_request(slot) else { break };
            taken += 1;
            charge += received.record.charge();
            put(received);
        }
        self.sets.at_mut(slot).has_given |= taken > 0;
        self.end_receive_charge(slot, charge, taken as u64);
        taken
    }

    /// The request at the head with its token. `None`: there is no place for a token (N-60).
    fn take_request(&mut self, slot: u32) -> Option<Received> {
        let id = self.sets.at(slot).id;
        let has_place = self.token_places(id) > 0;
        let set = self.sets.at_mut(slot);
        if !has_place {
            set.waits_for_token = true;
            self.token_waiters.push_back(id);
            return None;
        }
        let record = set.receive.pop()?;
        let from = set.routing_id.clone();
        let token = self.new_token(slot, record.sequence());
        Some(Received { set: id, from, record, token: Some(token) })
    }

    /// The token of a request that is taken; of an ended set it is used up already.
    fn new_token(&mut self, slot: u32, sequence: u64) -> ReplyToken {
        if self.sets.at(slot).phase == Phase::Ended {
            return ReplyToken::new(self.sets.at(slot).id, sequence, NONE);
        }
        self.make_token_place(slot);
        let set = self.sets.at_mut(slot);
        let place = self.tokens.insert(&mut set.tokens, set.id, sequence);
        ReplyToken::new(set.id, sequence, place)
    }

    fn end_receive_charge(&mut self, slot: u32, charge: u64, count: u64) {
        let set = self.sets.at_mut(slot);
        if set.phase == Phase::Ended {
            self.undrained_bytes = self.undrained_bytes.saturating_sub(charge);
        }
        if set.receive.end(charge, count) {
            self.wake(slot);
        }
    }

    /// Settles replies at the head, and says whether there is more to take.
    fn after_take(&mut self, id: SetId) -> bool {
        self.settle_head_replies(id.slot);
        let is_service = self.is_service();
        let Some(set) = self.sets.get_mut(id) else { return false };
        let has_more = is_takeable(set, is_service) && !set.waits_for_token;
        if !has_more {
            set.is_announced = false;
            if set.receive.is_empty() {
                self.emptied(id.slot);
            }
        }
        has_more
    }

    /// The receive queue became empty.
    fn emptied(&mut self, slot: u32) {
        self.update_standing(slot);
        let set = self.sets.at_mut(slot);
        set.receive.release();
        if set.phase == Phase::Ended {
            self.drained(slot);
        }
    }

    /// Replies at the head of the queue settle at once (N-54). A fault ends the set.
    pub(super) fn settle_head_replies(&mut self, slot: u32) {
        loop {
            let set = self.sets.at_mut(slot);
            if set.receive.front().is_none_or(|front| is_ordinary(front.kind())) {
                return;
            }
            let Some(record) = set.receive.pop() else { return };
            self.end_receive_charge(slot, record.charge(), 1);
            if let Err(fault) = self.settle_reply(slot, record) {
                self.fault_set(slot, fault);
                return;
            }
        }
    }

    /// Takes up to `max` records, one per peer in turn (N-66). Returns how many.
    pub fn receive(&mut self, max: usize, into: &mut Vec<Received>, now: Timestamp) -> usize {
        self.receive_with(max, now, |received| into.push(received))
    }

    /// As `receive`; each record is moved once, to where the caller wants it.
    pub fn receive_with(&mut self, max: usize, now: Timestamp, mut put: impl FnMut(Received)) -> usize {
        self.advance(now);
        let mut received = 0;
        while received < max {
            let Some(id) = self.rotation.pop_front() else { break };
            if !self.rotation.is_empty() && self.receive_one(id, &mut put) {
                received += 1;
                continue;
            }
            // Alone in turn, a peer gives all at once: the order is the same.
            let count = if self.rotation.is_empty() { max - received } else { 1 };
            let Some(set) = self.sets.get_mut(id) else { continue };
            set.is_rotating = false;
            if !is_takeable(set, false) {
                continue;
            }
            received += self.take_records(id.slot, count, &mut put);
            if self.after_take(id) {
                self.announce(id.slot);
            }
        }
        received
    }

    /// The common case of a turn: one data record of a set that has more of them. False: nothing changed.
    fn receive_one(&mut self, id: SetId, put: &mut impl FnMut(Received)) -> bool {
        let Some(set) = self.sets.get_mut(id) else { return false };
        if set.phase == Phase::Ended || set.is_behind || set.receive.len() < 2 {
            return false;
        }
        let Some((record, reads_on)) = set.receive.pop_data() else { return false };
        set.has_given = true;
        put(Received { set: id, from: set.routing_id.clone(), record, token: None });
        self.rotation.push_back(id);
        if reads_on {
            self.wake(id.slot);
        }
        true
    }

    /// Not a delivery in the sense of N-41: of the records that were taken from this set, `count` were probes or acks.
    pub fn discount(&mut self, set: SetId, count: u32) {
        if let Some(set) = self.sets.get_mut(set) {
            set.flow.delivered = set.flow.delivered.saturating_sub(count);
        }
    }

    /// The common case of `queue_records`.
    fn queue_data(&mut self, slot: u32, records: &mut Vec<Record>) {
        let (mut charge, mut largest) = (0, 0);
        for record in records.iter() {
            let of_record = record.charge();
            charge += of_record;
            largest = largest.max(of_record);
        }
        let count = records.len() as u64;
        let queue = &mut self.sets.at_mut(slot).receive;
        queue.append(records);
        queue.commit(charge, count, largest);
    }

    /// Adds completed records to a set's receive queue. Replies settle directly if nothing is ahead of them.
    pub(super) fn queue_records(&mut self, slot: u32, records: &mut Vec<Record>) -> Result<(), Fault> {
        if self.is_open() && records.iter().all(|record| record.kind() == Kind::Data) {
            self.queue_data(slot, records);
            return Ok(());
        }
        let (mut charge, mut count, mut largest) = (0, 0, 0);
        let is_router = self.socket_type == SocketType::Router;
        let (mut result, mut is_any_settled) = (Ok(()), false);
        let is_discarding = !self.is_open();
        for record in records.drain(..) {
            match record.kind() {
                Kind::Data if !is_discarding => {}
                Kind::Request if is_router && !is_discarding => {
                    // A sequence that is still unanswered on this connection (W-25 row 38).
                    if !self.sets.at_mut(slot).unanswered_sequences.insert(record.sequence()) {
                        result = Err(Fault::standard(FaultCode::RequestSequenceInvalid));
                        break;
                    }
                }
                Kind::Data | Kind::Request => {
                    self.counts.discarded_records += 1;
                    is_any_settled = true;
                    continue;
                }
                Kind::Reply | Kind::ErrorReply => {
                    if self.sets.at(slot).receive.is_empty() {
                        is_any_settled = true;
                        if let Err(fault) = self.settle_reply(slot, record) {
                            result = Err(fault);
                            break;
                        }
                        continue;
                    }
                }
            }
            let of_record = record.charge();
            charge += of_record;
            count += 1;
            largest = largest.max(of_record);
            self.sets.at_mut(slot).receive.push(record);
        }
        self.sets.at_mut(slot).receive.commit(charge, count, largest);
        if is_any_settled {
            self.sets.at_mut(slot).receive.meter.settled();
        }
        result
    }
}

/// Something that the application can take now (N-24).
pub(super) fn is_takeable(set: &LaneSet, is_service: bool) -> bool {
    if set.receive.is_empty() {
        return false;
    }
    // A service socket takes the admission record of a newer set at any time.
    !set.is_behind || (is_service && !set.has_given)
}

pub(super) fn is_ordinary(kind: Kind) -> bool {
    match kind {
        Kind::Data | Kind::Request => true,
        Kind::Reply | Kind::ErrorReply => false,
    }
}
