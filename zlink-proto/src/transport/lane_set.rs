//! One lane set: the connection to one peer and everything that ends with it (N-10 to N-25a).
//!
//! ```text
//! joining ──HELLO, READY both ways──▶ ready ──finish_set──▶ finishing ──▶ ended ──last record taken──▶ gone
//!    └───────────────────────────────────┴────────────────────────────────▲
//! ```

use super::admission::AdmissionClock;
use super::deadlines::NONE;
use super::event::EndReason;
use super::flow::{Blockers, SetFlow};
use super::keyed::Keyed;
use super::liveness::Liveness;
use super::operations::Line;
use super::receive_queue::ReceiveQueue;
use super::send_queue::SendQueue;
use super::tokens::TokenList;
use crate::id::{ConnectionNumber, EndpointId, ListenerId, RoutingId, SetId};
use crate::time::Timestamp;
use crate::wire::{Fault, Outbox, SocketType};
use alloc::boxed::Box;
use alloc::vec::Vec;
use hashbrown::HashSet;

/// Life of a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Handshake under way.
    Joining,
    /// Records flow.
    Ready,
    /// Nothing new is admitted; what is admitted is transmitted (N-25a).
    Finishing,
    /// No connection any more; its receive queue can still be taken (N-24).
    Ended,
}

/// Something about the set that `poll_output` has not told yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Notices {
    pub(crate) ready: bool,
    pub(crate) lost: bool,
    pub(crate) drained: bool,
    pub(crate) probe: bool,
    /// The set is in the socket's list of sets with notices.
    pub(crate) is_listed: bool,
}

/// A record of the service layer that waits in its own slot (S-40, S-44).
#[derive(Debug)]
pub(crate) struct SlotRecord {
    pub(crate) encoded: Outbox,
    pub(crate) charge: u64,
    /// Its place among everything that waits for this set.
    pub(crate) order: u64,
}

/// What the connection has to be told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Orders {
    pub(crate) send_ready: bool,
    pub(crate) open: bool,
    pub(crate) is_finish_given: bool,
}

/// Whether a connection is in the list of those that must exchange.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WakeState {
    pub(crate) is_wanted: bool,
    pub(crate) is_listed: bool,
    /// It was told and has not exchanged since.
    pub(crate) is_given: bool,
}

/// One set.
#[derive(Debug)]
pub(crate) struct LaneSet {
    pub(crate) id: SetId,
    pub(crate) connection: ConnectionNumber,
    pub(crate) endpoint: Option<EndpointId>,
    pub(crate) listener: Option<ListenerId>,
    pub(crate) phase: Phase,
    pub(crate) routing_id: RoutingId,
    pub(crate) socket_type: Option<SocketType>,
    /// The peer's announced maximum; 0 = none.
    pub(crate) announced_max: u64,
    /// Largest record that may be sent here: `u64::MAX` = no limit (W-14, S-37).
    pub(crate) message_max: u64,
    pub(crate) is_ready_received: bool,
    pub(crate) is_ready_transmitted: bool,
    /// It counts for `peers_max`.
    pub(crate) is_counted: bool,
    pub(crate) ready_at: Timestamp,
    pub(crate) orders: Orders,
    pub(crate) wake: WakeState,
    pub(crate) notices: Notices,

    pub(crate) blockers: Blockers,
    pub(crate) flow: SetFlow,
    /// The next FLOWSTATE is the one behind READY: written whatever it says (N-42).
    pub(crate) tells_first_flow: bool,
    pub(crate) send: SendQueue,
    /// Sends and requests, and replies unless `replies_pass_pause`.
    pub(crate) line: Line,
    /// Replies with `replies_pass_pause`.
    pub(crate) reply_line: Line,
    /// Error replies that wait for room.
    pub(crate) errors: TokenList,
    pub(crate) probe: Option<Box<SlotRecord>>,
    pub(crate) ack: Option<Box<SlotRecord>>,
    pub(crate) update: Option<Box<SlotRecord>>,

    /// Requests admitted here.
    pub(crate) pending: Line,
    /// Requests fixed here, waiting ones included, and the sum of their charges (N-50, N-51).
    pub(crate) unanswered: u32,
    pub(crate) work: u64,
    /// Requests that ended without an answer, minus late replies (N-58).
    pub(crate) credit: u64,
    pub(crate) unsolicited: u32,
    /// Granted reservations.
    pub(crate) reservations: Line,

    pub(crate) receive: ReceiveQueue,
    /// Tokens that the application holds, and those whose reply waits.
    pub(crate) tokens: TokenList,
    /// Sequences of requests that were received and not answered (W-25 row 38).
    pub(crate) unanswered_sequences: HashSet<u64, Keyed>,
    /// The set waits for a token's place (N-60).
    pub(crate) waits_for_token: bool,
    /// The source was told that there is something to take.
    pub(crate) is_announced: bool,
    /// In the list of `receive`.
    pub(crate) is_rotating: bool,
    /// An older set with the same name is not drained (N-24).
    pub(crate) is_behind: bool,
    /// Two older sets are not drained: not read.
    pub(crate) is_unread: bool,
    /// A record of this set was taken.
    pub(crate) has_given: bool,
    /// It ended and nothing is left to take.
    pub(crate) is_drained: bool,
    /// `PeerLost` was told.
    pub(crate) was_told_lost: bool,

    pub(crate) liveness: Option<Box<Liveness>>,
    /// Runs until the set is admitted (S-31).
    pub(crate) admission: Option<AdmissionClock>,
    pub(crate) finish_at: Option<Timestamp>,
    pub(crate) finish_reason: EndReason,
    /// Registered time in the socket's list of set timers.
    pub(crate) timer: Option<Timestamp>,
}

/// Limits with which a set begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetLimits {
    pub(crate) send_hwm: u64,
    pub(crate) receive_hwm: u64,
    pub(crate) hash_key: Keyed,
}

impl LaneSet {
    pub(crate) fn new(id: SetId, connection: ConnectionNumber, limits: SetLimits) -> Self {
        Self {
            id,
            connection,
            endpoint: None,
            listener: None,
            phase: Phase::Joining,
            routing_id: RoutingId::default(),
            socket_type: None,
            announced_max: 0,
            message_max: u64::MAX,
            is_ready_received: false,
            is_ready_transmitted: false,
            is_counted: false,
            ready_at: Timestamp::ZERO,
            orders: Orders::default(),
            wake: WakeState::default(),
            notices: Notices::default(),
            blockers: Blockers { hold: true, paused: false, ending: false },
            flow: SetFlow::new(),
            tells_first_flow: false,
            send: SendQueue::new(limits.send_hwm),
            line: Line::default(),
            reply_line: Line::default(),
            errors: TokenList::default(),
            probe: None,
            ack: None,
            update: None,
            pending: Line::default(),
            unanswered: 0,
            work: 0,
            credit: 0,
            unsolicited: 0,
            reservations: Line::default(),
            receive: ReceiveQueue::new(limits.receive_hwm),
            tokens: TokenList::default(),
            unanswered_sequences: HashSet::with_hasher(limits.hash_key),
            waits_for_token: false,
            is_announced: false,
            is_rotating: false,
            is_behind: false,
            is_unread: false,
            has_given: false,
            is_drained: false,
            was_told_lost: false,
            liveness: None,
            admission: None,
            finish_at: None,
            finish_reason: EndReason::Closed,
            timer: None,
        }
    }

    /// Nothing waits for this set: a newcomer passes nobody.
    #[inline]
    pub(crate) fn has_no_line(&self) -> bool {
        self.line.is_empty()
            && self.reply_line.is_empty()
            && self.errors.len() == 0
            && self.probe.is_none()
            && self.ack.is_none()
            && self.update.is_none()
    }

    /// Operations that wait here.
    pub(crate) fn waiting(&self) -> u32 {
        self.line.len() + self.reply_line.len()
    }

    /// N-61: ready, no blocker, nobody waits, room for this record, which is not above the peer's limit.
    #[inline]
    pub(crate) fn is_open_for(&self, bytes: u64, charge: u64) -> bool {
        self.blockers.is_clear()
            && self.has_no_line()
            && bytes <= self.message_max
            && self.send.meter.has_room(charge)
    }

    /// N-50, N-51: a place and work for one more request of this charge.
    pub(crate) fn has_link_room(&self, charge: u64, unanswered_max: u32, work_max: u64) -> bool {
        self.unanswered < unanswered_max
            && (self.unanswered == 0 || self.work.checked_add(charge).is_some_and(|work| work <= work_max))
    }

    /// True while the connection is attached.
    pub(crate) fn is_connected(&self) -> bool {
        self.phase != Phase::Ended
    }
}

/// The sets of a socket, by place.
#[derive(Debug, Default)]
pub(crate) struct Sets {
    places: Vec<Option<Box<LaneSet>>>,
    free: Vec<u32>,
    next_generation: u64,
}

impl Sets {
    pub(crate) fn insert(&mut self, make: impl FnOnce(SetId) -> LaneSet) -> u32 {
        self.next_generation += 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            (self.places.len() - 1) as u32
        });
        self.places[slot as usize] = Some(Box::new(make(SetId { generation: self.next_generation, slot })));
        slot
    }

    pub(crate) fn remove(&mut self, slot: u32) -> Option<Box<LaneSet>> {
        let removed = self.places.get_mut(slot as usize)?.take();
        if removed.is_some() {
            self.free.push(slot);
        }
        removed
    }

    /// The set that a handle names, unless it is gone.
    #[inline]
    pub(crate) fn get(&self, id: SetId) -> Option<&LaneSet> {
        self.places.get(id.slot as usize)?.as_deref().filter(|set| set.id == id)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: SetId) -> Option<&mut LaneSet> {
        self.places.get_mut(id.slot as usize)?.as_deref_mut().filter(|set| set.id == id)
    }

    /// The set at a place that is known to be in use.
    #[inline]
    pub(crate) fn at(&self, slot: u32) -> &LaneSet {
        self.places[slot as usize].as_deref().expect("place of a set in use")
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, slot: u32) -> &mut LaneSet {
        self.places[slot as usize].as_deref_mut().expect("place of a set in use")
    }

    #[inline]
    pub(crate) fn try_at_mut(&mut self, slot: u32) -> Option<&mut LaneSet> {
        self.places.get_mut(slot as usize)?.as_deref_mut()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &LaneSet> {
        self.places.iter().filter_map(|place| place.as_deref())
    }

    /// Places in use, in ascending order.
    pub(crate) fn slots(&self) -> Vec<u32> {
        self.iter().map(|set| set.id.slot).collect()
    }
}

/// Who has a routing id.
#[derive(Debug)]
pub(crate) struct Name {
    /// The ready set.
    pub(crate) ready: u32,
    /// Sets whose handshake is under way: one that we initiated, one that the peer initiated.
    pub(crate) joining_out: u32,
    pub(crate) joining_in: u32,
    /// Sets that are not drained, oldest first (N-24).
    pub(crate) older: Vec<u32>,
    /// Our endpoint at which this peer was seen (N-68).
    pub(crate) endpoint: Option<EndpointId>,
}

impl Default for Name {
    fn default() -> Self {
        Self { ready: NONE, joining_out: NONE, joining_in: NONE, older: Vec::new(), endpoint: None }
    }
}

impl Name {
    pub(crate) fn is_unused(&self) -> bool {
        self.ready == NONE
            && self.joining_out == NONE
            && self.joining_in == NONE
            && self.older.is_empty()
            && self.endpoint.is_none()
    }

    /// A set of this name is ready or joining.
    pub(crate) fn is_taken(&self) -> bool {
        [self.ready, self.joining_out, self.joining_in].iter().any(|&slot| slot != NONE)
    }
}

/// A connection that still has to be told to close.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closing {
    pub(crate) fault: Option<Fault>,
    pub(crate) wake: WakeState,
}
