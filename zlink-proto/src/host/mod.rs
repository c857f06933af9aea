//! The jobs authority: permits, receive turns, owners (rules H-, O-8x, M-).
//!
//! This commit fixes the shapes; bodies follow.
#![allow(clippy::todo, missing_docs, unused_variables, dead_code)]

use crate::id::SetId;
use crate::time::Timestamp;
use crate::wire::Flow;
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::time::Duration;

/// A socket of the host. Dense: the host gives them out, a driver keeps its sockets in a vector beside.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SocketKey(pub u32);

/// One peer connection (lane set) that competes for permits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SourceId {
    /// Its socket.
    pub socket: SocketKey,
    /// Its set.
    pub set: SetId,
}

/// One owner of work: a queue and a gate. A handle of a closed owner matches nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OwnerId {
    index: u32,
    epoch: u32,
}

/// What an owner is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OwnerKind {
    /// The handlers of one channel.
    Channel,
}

/// How to make an owner. Limits come from the host's options.
#[derive(Clone, Debug)]
pub struct OwnerConfig {
    pub kind: OwnerKind,
    /// For people: the channel's name.
    pub name: String,
    /// H-72: 1..65,535.
    pub concurrency: u32,
}

/// First look at the next record of a source, before it is taken (H-88).
#[derive(Clone, Copy, Debug)]
pub struct HeadInfo {
    /// Whom it is for. `None`: control, malformed, unknown handler: takes no room.
    pub owner: Option<OwnerId>,
    /// Payload and metadata bytes (the fixed cost an item is added by the host).
    pub bytes: u64,
    /// Charge in the transport's receive queue: counts against `rotation_bytes_max` (H-51).
    pub charge: u64,
    /// Requests never park (H-88).
    pub is_request: bool,
}

/// A taken record on its way to its owner.
#[derive(Debug)]
pub struct NewJob<T> {
    pub owner: OwnerId,
    pub bytes: u64,
    pub is_request: bool,
    pub payload: T,
}

/// Why a submission was refused (H-63, H-64).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Items or bytes of the owner are used up: 106/18, or an observation `backpressure`.
    OwnerFull,
    /// The owner is closed: 102/14, or an observation `target_closed`.
    TargetClosed,
    /// The host drains or is stopped: 103/0, or an observation `shutdown`.
    ShuttingDown,
}

/// A refused submission; nothing changed (H-64).
#[derive(Debug)]
pub struct Refused<T> {
    pub reason: Refusal,
    pub payload: T,
}

/// One turn of one source: the right to take records with the permits that it holds. Ended by `end_turn`, always.
#[derive(Debug)]
#[must_use]
pub struct Turn {
    source: SourceId,
    look: usize,
    deadline: Timestamp,
}

impl Turn {
    /// Whose turn it is.
    pub fn source(&self) -> SourceId {
        self.source
    }
    /// How many heads to look at (S1), 1..=64.
    pub fn look(&self) -> usize {
        self.look
    }
    /// Look at the time after each 16 taken records (S2); take no more from here on (H-51).
    pub fn deadline(&self) -> Timestamp {
        self.deadline
    }
}

/// Records between two looks at the time within one turn (H-51).
pub const ROTATION_RECORDS_PER_LOOK: usize = 16;

/// The right to run one drain of an owner: given by `poll_ready`, eaten by `start`.
#[derive(Debug)]
#[must_use]
pub struct Drain {
    owner: OwnerId,
}

/// The reservation of a running handler and its drain: eaten by `next` at the handler's terminal (H-62).
#[derive(Debug)]
#[must_use]
pub struct Running {
    owner: OwnerId,
}

/// A started job: its permit is released, the callback's first instruction comes now (H-74).
#[derive(Debug)]
#[must_use]
pub struct Job<T> {
    pub payload: T,
    pub running: Running,
}

/// A flow state to apply to a socket, outside every lock of the host (H-41).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub struct Apply {
    pub socket: SocketKey,
    pub state: Flow,
    /// Grows; never 0.
    pub serial: u64,
}

/// What an apply led to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applied {
    /// First apply done: bind and connect now (H-43).
    Started,
    /// First apply failed: the socket fails to start (H-43).
    StartFailed,
    /// In step, or the next state is due (`flow_due`).
    Synced,
    /// Failed: counted, the next state is applied whatever it is (H-45).
    Failed,
    /// The socket was removed meanwhile: it may be closed now (H-44).
    Removed,
}

#[derive(Clone, Debug, Default)]
pub struct HostOptions {}
#[derive(Clone, Debug)]
pub struct OptionsError {}
#[derive(Clone, Debug)]
pub struct HostStatus {}

/// The jobs authority without IO, clock, threads.
#[derive(Debug)]
pub struct Host<T> {
    jobs: PhantomData<T>,
}

impl<T> Host<T> {
    /// Validates the options together (H-01).
    pub fn new(options: HostOptions, now: Timestamp) -> Result<Self, OptionsError> {
        todo!()
    }

    // sockets and flow states

    /// A new DEALER or ROUTER; its first apply is due at once (H-43).
    pub fn add_socket(&mut self, now: Timestamp) -> SocketKey {
        todo!()
    }
    /// Forgets a socket and its sources. True: an apply is running, close after its `applied` (H-44).
    pub fn remove_socket(&mut self, socket: SocketKey, now: Timestamp) -> bool {
        todo!()
    }
    /// The next state to apply. At most one runs per socket (H-42).
    pub fn flow_due(&mut self) -> Option<Apply> {
        todo!()
    }
    /// An apply ended.
    pub fn applied(&mut self, apply: Apply, is_ok: bool, now: Timestamp) -> Applied {
        todo!()
    }

    // sources

    /// A set that was admitted becomes a member of the ring (H-50).
    pub fn add_source(&mut self, source: SourceId, now: Timestamp) {
        todo!()
    }
    /// Its last record was taken or discarded.
    pub fn remove_source(&mut self, source: SourceId, now: Timestamp) {
        todo!()
    }
    /// Edge from the transport: there is something to take.
    pub fn readable(&mut self, source: SourceId, now: Timestamp) {
        todo!()
    }

    // receive turn

    /// True if `begin_turn` would give a turn: wake the host task.
    pub fn needs_turn(&self) -> bool {
        todo!()
    }
    /// H1. The next source to serve; `None` ends the rotation (then `needs_turn` says whether another one is due at once).
    pub fn begin_turn(&mut self, now: Timestamp) -> Option<Turn> {
        todo!()
    }
    /// H2. How many of `heads` to take: permits, rotation bounds and room at the owners are reserved for exactly these.
    pub fn room(&mut self, turn: &mut Turn, heads: &[HeadInfo]) -> usize {
        todo!()
    }
    /// H3, per taken record in order: a job for an owner.
    pub fn attach(&mut self, turn: &mut Turn, job: NewJob<T>) -> Result<(), Refused<T>> {
        todo!()
    }
    /// H3, per taken record in order: control or malformed, its handling is over; the permit returns (H-12 3b).
    pub fn finish_control(&mut self, turn: &mut Turn) {
        todo!()
    }
    /// Ends the turn. `more`: the source has more to take.
    pub fn end_turn(&mut self, turn: Turn, more: bool, now: Timestamp) {
        todo!()
    }

    // owners

    /// A new owner, Active.
    pub fn add_owner(&mut self, config: OwnerConfig) -> OwnerId {
        todo!()
    }
    /// Closes it: queued items end (their payloads are pushed to `ended`), running handlers go on.
    pub fn close_owner(&mut self, owner: OwnerId, ended: &mut Vec<T>, now: Timestamp) {
        todo!()
    }
    /// An owner for which a drain must be scheduled, once per drain.
    pub fn poll_ready(&mut self) -> Option<Drain> {
        todo!()
    }
    /// First job of a drain. `None`: the drain is over.
    pub fn start(&mut self, drain: Drain, clock: impl FnOnce() -> Timestamp) -> Option<Job<T>> {
        todo!()
    }
    /// The handler's terminal, and the next job. `None`: the drain is over (if its slice ended with work left, `poll_ready` gives it again).
    pub fn next(&mut self, ended: Running, clock: impl FnOnce() -> Timestamp) -> Option<Job<T>> {
        todo!()
    }
    /// The handler returned pending for the first time (M-38).
    pub fn pending(&mut self, running: &mut Running, now: Timestamp) {
        todo!()
    }

    // time, status, shutdown

    /// Earliest time at which `handle_timeout` has something to do.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        todo!()
    }
    /// Lets timers act.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        todo!()
    }
    /// One immutable value (M-10).
    pub fn status(&self, now: Timestamp) -> HostStatus {
        todo!()
    }
    /// A new epoch (M-40).
    pub fn reset_metrics(&mut self, now: Timestamp) {
        todo!()
    }
    /// Seals the host (M-61); a second call may shorten the deadline.
    pub fn shutdown(&mut self, within: Duration, now: Timestamp) {
        todo!()
    }
    /// The peer acknowledged the probe behind the drain update, or is gone (M-62a).
    pub fn fence_over(&mut self, source: SourceId) {
        todo!()
    }
    /// Panics if a sum or set does not match (H-87).
    pub fn check_invariants(&self) {
        todo!()
    }
}
