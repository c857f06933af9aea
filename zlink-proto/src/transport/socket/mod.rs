//! DEALER and ROUTER sockets: peers, lane sets, byte queues, waiting operations, requests. No IO and no clock.
//!
//! ```text
//!  submit ──▶ choose a set ──room──▶ send queue ──▶ Connection::exchange ──▶ wire
//!                   └──no room──▶ waiting line ──room, RUNNING──▶ send queue
//!  wire ──▶ Connection::exchange ──▶ deliver ──▶ receive queue ──▶ take / receive
//!                                       └──reply at the head──▶ settled operation
//! ```

mod admission;
mod change;
mod choose;
mod close;
mod connector;
mod end;
mod exchange;
mod flow;
mod handshake;
mod listener;
mod receive;
mod reconnecting;
mod reply;
mod reserve;
mod serve;
mod settle;
mod slots;
mod status;
mod submit;
#[cfg(test)]
mod tests;
mod timers;
mod types;
mod waiting;

pub use status::{PeerBlockers, PeerInfo, QueueStatus, SocketStatus};
pub use types::{
    Head, Outcome, Received, Refused, Reservation, Settled, Slot, SocketOutput, Submitted, Target,
};

use super::deadlines::Deadlines;
use super::event::{Event, EventReader, Events};
use super::flow::FlowCounts;
use super::keyed::Keyed;
use super::lane_set::{Closing, LaneSet, Name, SetLimits, Sets};
use super::operations::{Line, Operations};
use super::options::{HWM_DEFAULT, OptionsError, SocketOptions};
use super::selector::Selector;
use super::tokens::Tokens;
use crate::id::{ConnectionNumber, RoutingId, SetId};
use crate::time::Timestamp;
use crate::wire::SocketType;
use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;
pub use close::CloseReport;
use close::Lifecycle;
use connector::Connectors;
use core::time::Duration;
use flow::ReceiveFlow;
use hashbrown::HashMap;
use listener::Listeners;
use waiting::Waiters;

/// Longest wait of a service socket for a candidate (O-55).
pub const CANDIDATE_WAIT: Duration = Duration::from_secs(5);

/// A DEALER or ROUTER without IO. Times that are given to it never go back for it: an earlier one counts as the latest (O-14).
#[derive(Debug)]
pub struct Socket {
    socket_type: SocketType,
    options: Box<SocketOptions>,
    routing_id: RoutingId,
    random: Random,
    hash_key: Keyed,
    lifecycle: Lifecycle,
    /// The latest time seen.
    now: Timestamp,

    sets: Sets,
    connections: HashMap<ConnectionNumber, u32, Keyed>,
    closing: HashMap<ConnectionNumber, Closing, Keyed>,
    names: HashMap<RoutingId, Name, Keyed>,
    next_local_name: u32,
    next_connection: u64,
    connectors: Connectors,
    listeners: Listeners,
    /// Ready, undrained and validated joining sets (N-20).
    peers: u32,
    ready_peers: u32,

    operations: Operations,
    deadlines: Deadlines,
    next_sequence: u64,
    /// Requests whose result was not collected (O-43).
    completion_slots: u32,
    send_waiters: Waiters,
    reply_waiters: Waiters,
    request_waiting_bytes: u64,
    settled: Vec<Settled>,
    selector: Selector,
    unfixed: Line,
    tokens: Tokens,
    token_waiters: VecDeque<SetId>,

    receive_flow: ReceiveFlow,
    weight: u32,
    undrained: VecDeque<SetId>,
    undrained_bytes: u64,

    wakes: VecDeque<ConnectionNumber>,
    announced: VecDeque<SetId>,
    rotation: VecDeque<SetId>,
    noticed: VecDeque<SetId>,
    outputs: VecDeque<SocketOutput>,
    set_timers: BTreeSet<(Timestamp, u32)>,
    events: Events,
    counts: Counts,
    close_report: CloseReport,
    /// `Closed` is the last output.
    tells_closed: bool,
}

/// Numbers that only grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Faults that we found in peers' bytes.
    pub faults: u64,
    /// ERROR frames received.
    pub peer_errors: u64,
    /// Frames consumed and dropped (W-25).
    pub ignored_frames: u64,
    /// Replies to requests that had ended by deadline or cancel (O-46).
    pub late_replies: u64,
    /// Replies to nothing (N-58).
    pub unsolicited_replies: u64,
    /// Records discarded while closing (N-88).
    pub discarded_records: u64,
    /// Submissions refused because the waiters of their family were full (O-22).
    pub waiters_full: u64,
    /// Records of undrained sets that were given up (N-24).
    pub undrained_discarded: u64,
    /// Error replies that made place for new requests of a peer that has us paused.
    pub error_replies_given_up: u64,
    /// FLOWSTATE frames written.
    pub flow_frames_written: u64,
}

impl Socket {
    /// Makes a socket. `seed` feeds everything random in it: the routing id if none is configured, reconnect delays, the keys of
    /// hash tables.
    ///
    /// # Errors
    /// Names every option that is out of range.
    ///
    /// # Panics
    /// If `socket_type` is neither DEALER nor ROUTER: the other types are other machines.
    pub fn new(socket_type: SocketType, options: SocketOptions, seed: u64) -> Result<Self, OptionsError> {
        assert!(socket_type.has_lanes(), "a Socket is a DEALER or a ROUTER");
        let options = Box::new(options.validated()?);
        let mut random = Random(seed);
        let hash_key = Keyed { key: [random.next(), random.next()] };
        let routing_id = options.routing_id.clone().unwrap_or_else(|| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&random.next().to_be_bytes());
            bytes[8..].copy_from_slice(&random.next().to_be_bytes());
            RoutingId::random(bytes)
        });
        Ok(Self {
            socket_type,
            weight: options.weight,
            options,
            routing_id,
            next_local_name: random.next() as u32,
            random,
            hash_key,
            lifecycle: Lifecycle::Open,
            now: Timestamp::ZERO,
            sets: Sets::default(),
            connections: HashMap::with_hasher(hash_key),
            closing: HashMap::with_hasher(hash_key),
            names: HashMap::with_hasher(hash_key),
            next_connection: 1,
            connectors: Connectors::default(),
            listeners: Listeners::default(),
            peers: 0,
            ready_peers: 0,
            operations: Operations::new(),
            deadlines: Deadlines::default(),
            next_sequence: 1,
            completion_slots: 0,
            send_waiters: Waiters::default(),
            reply_waiters: Waiters::default(),
            request_waiting_bytes: 0,
            settled: Vec::new(),
            selector: Selector::default(),
            unfixed: Line::default(),
            tokens: Tokens::default(),
            token_waiters: VecDeque::new(),
            receive_flow: ReceiveFlow::default(),
            undrained: VecDeque::new(),
            undrained_bytes: 0,
            wakes: VecDeque::new(),
            announced: VecDeque::new(),
            rotation: VecDeque::new(),
            noticed: VecDeque::new(),
            outputs: VecDeque::new(),
            set_timers: BTreeSet::new(),
            events: Events::default(),
            counts: Counts::default(),
            close_report: CloseReport::default(),
            tells_closed: false,
        })
    }

    /// DEALER or ROUTER.
    pub fn socket_type(&self) -> SocketType {
        self.socket_type
    }

    /// Our name on the wire.
    pub fn routing_id(&self) -> &RoutingId {
        &self.routing_id
    }

    /// The options in force.
    pub fn options(&self) -> &SocketOptions {
        &self.options
    }

    /// Moves all results that are there to the end of `into` (O-45: they are never run inside the deciding step).
    pub fn take_settled(&mut self, into: &mut Vec<Settled>) {
        if into.is_empty() {
            core::mem::swap(into, &mut self.settled);
        } else {
            into.append(&mut self.settled);
        }
    }

    /// True if `take_settled` has something.
    pub fn has_settled(&self) -> bool {
        !self.settled.is_empty()
    }

    /// The next connection that should exchange soon. Each is given at most once until its next exchange.
    pub fn poll_wake(&mut self) -> Option<ConnectionNumber> {
        while let Some(number) = self.wakes.pop_front() {
            let wake = match self.connections.get(&number) {
                Some(&slot) => &mut self.sets.at_mut(slot).wake,
                None => match self.closing.get_mut(&number) {
                    Some(closing) => &mut closing.wake,
                    None => continue,
                },
            };
            wake.is_listed = false;
            if wake.is_wanted {
                wake.is_wanted = false;
                wake.is_given = true;
                return Some(number);
            }
        }
        None
    }

    /// Asks for an exchange of the connection of a set.
    fn wake(&mut self, slot: u32) {
        let set = self.sets.at_mut(slot);
        if set.wake.is_given || set.wake.is_wanted || !set.is_connected() {
            return;
        }
        set.wake.is_wanted = true;
        if !set.wake.is_listed {
            set.wake.is_listed = true;
            self.wakes.push_back(set.connection);
        }
    }

    /// Tells what the outside has to do or to know, until there is nothing.
    pub fn poll_output(&mut self) -> Option<SocketOutput> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        while let Some(&id) = self.noticed.front() {
            let Some(output) = self.next_notice(id) else {
                self.noticed.pop_front();
                if let Some(set) = self.sets.get_mut(id) {
                    set.notices.is_listed = false;
                    self.forget_if_over(id.slot);
                }
                continue;
            };
            return Some(output);
        }
        core::mem::take(&mut self.tells_closed).then_some(SocketOutput::Closed)
    }

    fn next_notice(&mut self, id: SetId) -> Option<SocketOutput> {
        let set = self.sets.get_mut(id)?;
        if core::mem::take(&mut set.notices.ready) {
            return Some(SocketOutput::PeerReady {
                set: id,
                routing_id: set.routing_id.clone(),
                socket_type: set.socket_type?,
                endpoint: set.endpoint,
            });
        }
        if core::mem::take(&mut set.notices.probe) {
            return Some(SocketOutput::ProbeDue(id));
        }
        if core::mem::take(&mut set.notices.lost) {
            set.was_told_lost = true;
            return Some(SocketOutput::PeerLost { set: id });
        }
        core::mem::take(&mut set.notices.drained).then_some(SocketOutput::Drained(id))
    }

    /// Puts a set into the list of `poll_output`; its notices say why.
    fn notice(&mut self, slot: u32) {
        let set = self.sets.at_mut(slot);
        if !set.notices.is_listed {
            set.notices.is_listed = true;
            self.noticed.push_back(set.id);
        }
    }

    /// A reader of events; it misses what happened before.
    pub fn add_event_reader(&mut self) -> EventReader {
        self.events.add_reader()
    }

    /// Ends a reader.
    pub fn remove_event_reader(&mut self, reader: EventReader) {
        self.events.remove_reader(reader);
    }

    /// The oldest event that this reader has not read.
    pub fn poll_event(&mut self, reader: EventReader) -> Option<Event> {
        self.events.next(reader)
    }

    /// Counts the events that any reader was told: a change means that somebody has something to read.
    pub fn events_told(&self) -> u64 {
        self.events.told()
    }

    /// Events that this reader lost because its list was full (N-90).
    pub fn lost_events(&self, reader: EventReader) -> u64 {
        self.events.lost(reader)
    }

    /// Numbers that only grow.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Pauses of the peers (N-47).
    pub fn flow_counts(&self) -> FlowCounts {
        self.receive_flow.counts
    }

    fn set_limits(&self) -> SetLimits {
        SetLimits {
            send_hwm: self.options.send_hwm.unwrap_or(HWM_DEFAULT),
            receive_hwm: self.options.receive_hwm.unwrap_or(HWM_DEFAULT),
            hash_key: self.hash_key,
        }
    }

    fn new_connection_number(&mut self) -> ConnectionNumber {
        let number = ConnectionNumber(self.next_connection);
        self.next_connection += 1;
        number
    }

    /// A set for a connection that is up.
    fn new_set(&mut self, number: ConnectionNumber) -> u32 {
        let limits = self.set_limits();
        let slot = self.sets.insert(|id| LaneSet::new(id, number, limits));
        self.connections.insert(number, slot);
        slot
    }
}

/// The splitmix64 generator: names, seeds and keys.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
