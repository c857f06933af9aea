//! What a socket holds, for status and tests; none of it decides anything (B-28, B-47, B-48).

use super::{Counts, Socket};
use crate::id::{ConnectionNumber, EndpointId, RoutingId, SetId};
use crate::time::Timestamp;
use crate::transport::lane_set::{LaneSet, Phase};
use crate::transport::meter::Meter;
use crate::transport::operations::Place;
use crate::transport::{FlowCounts, Statistics};
use crate::wire::{Flow, SocketType};
use alloc::vec::Vec;

/// Reasons why a new record to a peer would not be admitted (B-23).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PeerBlockers {
    /// Its set is not ready.
    pub hold: bool,
    /// It said PAUSED.
    pub remote_paused: bool,
    /// Since when.
    pub paused_since: Option<Timestamp>,
    /// Its queue is full, or a lowered limit is deferred.
    pub bytes: bool,
    /// It ends.
    pub ending: bool,
}

/// One direction of one peer (B-47).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueStatus {
    /// The limit that is wanted; 0 = unlimited.
    pub planned: u64,
    /// The limit in force.
    pub applied: u64,
    /// Charge that the queue holds.
    pub used: u64,
    /// Its provisional part (B-19).
    pub provisional: u64,
    /// Refuses everything (B-10).
    pub is_full: bool,
    /// A lowered limit waits (B-21).
    pub is_deferred: bool,
    /// Complete records that it holds.
    pub records: u64,
    /// Attempts, blocked ones, oversize admissions.
    pub statistics: Statistics,
}

/// One peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerInfo {
    /// Its set.
    pub set: SetId,
    /// Its connection.
    pub connection: ConnectionNumber,
    /// Its name.
    pub routing_id: RoutingId,
    /// Its type.
    pub socket_type: Option<SocketType>,
    /// Our endpoint, if we connected.
    pub endpoint: Option<EndpointId>,
    /// True between PeerReady and its end.
    pub is_ready: bool,
    /// It ended; its receive queue can still be taken.
    pub is_ended: bool,
    /// Since when it is ready.
    pub ready_at: Timestamp,
    /// The peer's announced maximum; 0 = none.
    pub announced_max: u64,
    /// What stops new records.
    pub blockers: PeerBlockers,
    /// The state that the peer was told last.
    pub told_flow: Flow,
    /// The peer's weight.
    pub weight: u32,
    /// Sending queue.
    pub send: QueueStatus,
    /// Receiving queue.
    pub receive: QueueStatus,
    /// Operations that wait for this peer.
    pub waiting: u32,
    /// Sum of their charges.
    pub waiting_bytes: u64,
    /// Since when the oldest of them waits (B-28).
    pub waiting_since: Option<Timestamp>,
    /// Requests fixed on this link, and the sum of their charges (N-50, N-51).
    pub unanswered: u32,
    /// See `unanswered`.
    pub work: u64,
    /// Live reply tokens.
    pub tokens: u32,
    /// Replies to nothing on this set (N-58).
    pub unsolicited: u32,
}

/// One consistent picture of a socket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SocketStatus {
    /// Type.
    pub socket_type: SocketType,
    /// Our name.
    pub routing_id: RoutingId,
    /// Ready peers.
    pub ready_peers: u32,
    /// Undrained sets and their charge (N-24).
    pub undrained_sets: u32,
    /// See `undrained_sets`.
    pub undrained_bytes: u64,
    /// Charge that all queues hold.
    pub accounted: u64,
    /// Its provisional part.
    pub provisional: u64,
    /// Sums of both directions of all peers.
    pub statistics: Statistics,
    /// floor(blocked × 1,000,000 / attempts); 0 without attempts (B-48).
    pub blocked_ratio_ppm: u64,
    /// Waiting sends and reservations.
    pub waiting_sends: u32,
    /// Sum of their charges.
    pub waiting_send_bytes: u64,
    /// Waiting replies.
    pub waiting_replies: u32,
    /// Sum of their charges.
    pub waiting_reply_bytes: u64,
    /// Charge of requests that wait for room (O-44).
    pub waiting_request_bytes: u64,
    /// Operations without a target.
    pub unfixed: u32,
    /// Completion slots in use (O-43).
    pub completion_slots: u32,
    /// Requests that have no end yet.
    pub pending_requests: u32,
    /// Reply tokens and error replies that wait.
    pub reply_tokens: u32,
    /// Our receive flow state.
    pub receive_flow: Flow,
    /// Pauses of the peers.
    pub flow: FlowCounts,
    /// Numbers that only grow.
    pub counts: Counts,
    /// All sets, by place.
    pub peers: Vec<PeerInfo>,
}

impl Socket {
    /// What is known about one set.
    pub fn peer(&self, set: SetId) -> Option<PeerInfo> {
        self.sets.get(set).map(|set| self.peer_info(set))
    }

    /// The ready set of this name.
    pub fn peer_named(&self, name: &RoutingId) -> Option<SetId> {
        let slot = self.names.get(name)?.ready;
        (slot != crate::transport::deadlines::NONE).then(|| self.sets.at(slot).id)
    }

    /// One consistent picture, without effect on any decision (B-47). Sums are formed now.
    pub fn snapshot(&self) -> SocketStatus {
        let peers: Vec<PeerInfo> = self.sets.iter().map(|set| self.peer_info(set)).collect();
        let mut statistics = Statistics::default();
        for queue in peers.iter().flat_map(|peer| [&peer.send, &peer.receive]) {
            statistics.attempts += queue.statistics.attempts;
            statistics.blocked += queue.statistics.blocked;
            statistics.oversize_count += queue.statistics.oversize_count;
            statistics.largest_oversize = statistics.largest_oversize.max(queue.statistics.largest_oversize);
        }
        let sum = |of: fn(&QueueStatus) -> u64| peers.iter().map(|p| of(&p.send) + of(&p.receive)).sum();
        let ratio = u128::from(statistics.blocked) * 1_000_000;
        SocketStatus {
            socket_type: self.socket_type,
            routing_id: self.routing_id.clone(),
            ready_peers: self.ready_peers,
            undrained_sets: self.undrained.len() as u32,
            undrained_bytes: self.undrained_bytes,
            accounted: sum(|queue| queue.used),
            provisional: sum(|queue| queue.provisional),
            statistics,
            blocked_ratio_ppm: ratio.checked_div(u128::from(statistics.attempts)).unwrap_or(0) as u64,
            waiting_sends: self.send_waiters.count,
            waiting_send_bytes: self.send_waiters.bytes,
            waiting_replies: self.reply_waiters.count,
            waiting_reply_bytes: self.reply_waiters.bytes,
            waiting_request_bytes: self.request_waiting_bytes,
            unfixed: self.unfixed.len(),
            completion_slots: self.completion_slots,
            pending_requests: self.operations.registered() as u32,
            reply_tokens: self.tokens.len() as u32,
            receive_flow: self.receive_flow.state,
            flow: self.receive_flow.counts,
            counts: self.counts,
            peers,
        }
    }

    /// Begins a new epoch of attempts, blocked ones and oversize counts (B-49).
    pub fn reset_statistics(&mut self) {
        for slot in self.sets.slots() {
            let set = self.sets.at_mut(slot);
            set.send.meter.reset_statistics();
            set.receive.meter.reset_statistics();
        }
    }

    /// Places of operations in use, for tests.
    #[cfg(test)]
    pub(super) fn table_size(&self) -> usize {
        self.operations.in_use()
    }

    fn peer_info(&self, set: &LaneSet) -> PeerInfo {
        PeerInfo {
            set: set.id,
            connection: set.connection,
            routing_id: set.routing_id.clone(),
            socket_type: set.socket_type,
            endpoint: set.endpoint,
            is_ready: set.phase == Phase::Ready,
            is_ended: set.phase == Phase::Ended,
            ready_at: set.ready_at,
            announced_max: set.announced_max,
            blockers: PeerBlockers {
                hold: set.blockers.hold,
                remote_paused: set.blockers.paused,
                paused_since: set.flow.paused_since,
                bytes: set.send.meter.is_full() || set.send.meter.is_deferred(),
                ending: set.blockers.ending,
            },
            told_flow: set.flow.told(),
            weight: set.flow.weight,
            send: queue_status(&set.send.meter, set.send.records()),
            receive: queue_status(&set.receive.meter, set.receive.len() as u64),
            waiting: set.waiting(),
            waiting_bytes: self.waiting_bytes(set),
            waiting_since: self.waiting_since(set),
            unanswered: set.unanswered,
            work: set.work,
            tokens: set.tokens.len(),
            unsolicited: set.unsolicited,
        }
    }

    fn waiting_since(&self, set: &LaneSet) -> Option<Timestamp> {
        let heads = [set.line.head(), set.reply_line.head()];
        heads.into_iter().flatten().map(|head| self.operations[head].since).min()
    }

    fn waiting_bytes(&self, set: &LaneSet) -> u64 {
        let mut bytes = 0;
        for line in [&set.line, &set.reply_line] {
            let mut next = line.head();
            while let Some(slot) = next {
                bytes += self.operations[slot].charge;
                next = self.operations.after(slot);
            }
        }
        bytes
    }

    /// Panics if sums, sets and states do not match each other. For tests and fuzzing.
    pub fn check_invariants(&self) {
        self.deadlines.check_invariants(&self.operations);
        self.check_operations();
        let max = match self.options.max_message_size {
            0 => None,
            max => Some(max + 65_536),
        };
        let (mut tokens, mut ready) = (0, 0);
        for set in self.sets.iter() {
            set.send.check_invariants(max);
            set.receive.check_invariants(max);
            tokens += set.tokens.len() + set.errors.len();
            ready += u32::from(set.phase == Phase::Ready);
            assert_eq!(set.is_connected(), self.connections.get(&set.connection) == Some(&set.id.slot));
            self.check_set(set);
        }
        assert_eq!(tokens as usize, self.tokens.len(), "tokens of all sets");
        assert_eq!(ready, self.ready_peers, "ready peers");
        let counted = self.sets.iter().filter(|set| set.is_counted).count();
        assert_eq!(counted, self.peers as usize, "peers");
        let undrained: u64 = self
            .undrained
            .iter()
            .filter_map(|&id| self.sets.get(id))
            .map(|set| set.receive.meter.used())
            .sum();
        assert_eq!(undrained, self.undrained_bytes, "charge of undrained sets");
    }

    fn check_set(&self, set: &LaneSet) {
        match set.phase {
            Phase::Ready => assert!(!set.blockers.ending && !set.blockers.hold),
            Phase::Ended | Phase::Finishing => {
                assert!(set.blockers.ending);
                assert_eq!(set.waiting(), 0, "nobody waits for a set that ends");
            }
            Phase::Joining => assert!(set.blockers.hold),
        }
        let is_head_reply =
            set.receive.front().is_some_and(|record| !super::receive::is_ordinary(record.kind()));
        assert!(!is_head_reply, "a reply at the head settles at once");
        let can_go = set.blockers.is_clear() && !set.send.meter.is_full() && !set.send.meter.is_deferred();
        assert!(!can_go || set.has_no_line(), "somebody waits although nothing stops him");
        let stops_taking =
            set.waits_for_token || !super::receive::is_takeable(set, self.options.service_selection);
        let is_service = self.options.service_selection;
        assert!(stops_taking || is_service || set.is_rotating, "a takeable set is in turn");
    }

    fn check_operations(&self) {
        let (mut sends, mut replies, mut requests, mut slots, mut pending) = ((0, 0), (0, 0), 0, 0, 0);
        for (_, operation) in self.operations.iter() {
            use crate::transport::operations::Family;
            let waits = matches!(operation.place, Place::Unfixed | Place::Endpoint(_) | Place::Waiting);
            match operation.family {
                Family::Send | Family::Reservation if waits => {
                    sends = (sends.0 + 1, sends.1 + operation.charge);
                }
                Family::Reply if waits => replies = (replies.0 + 1, replies.1 + operation.charge),
                Family::Request => {
                    slots += 1;
                    pending += usize::from(operation.place != Place::Uncollected);
                    requests += if waits { operation.charge } else { 0 };
                }
                Family::Send | Family::Reservation | Family::Reply => {}
            }
        }
        assert_eq!(sends, (self.send_waiters.count, self.send_waiters.bytes), "waiting sends");
        assert_eq!(replies, (self.reply_waiters.count, self.reply_waiters.bytes), "waiting replies");
        assert_eq!(requests, self.request_waiting_bytes, "waiting requests");
        assert_eq!(slots, self.completion_slots, "completion slots");
        assert_eq!(pending, self.operations.registered(), "registered requests");
    }
}

fn queue_status(meter: &Meter, records: u64) -> QueueStatus {
    QueueStatus {
        planned: meter.planned(),
        applied: meter.applied(),
        used: meter.used(),
        provisional: meter.provisional(),
        is_full: meter.is_full(),
        is_deferred: meter.is_deferred(),
        records,
        statistics: meter.statistics(),
    }
}
