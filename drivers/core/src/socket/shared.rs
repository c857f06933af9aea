//! What all tasks and handles of one socket share: the machine and who waits for it, behind one lock (S).

use super::slots::Slots;
use crate::net::NetOptions;
use crate::runtime::Runtime;
use crate::sync::{WakerSet, Wakes, lock, note_waker};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use zlink_proto::error::Failure;
use zlink_proto::id::{ConnectionNumber, EndpointId, ListenerId, SetId};
use zlink_proto::node::SocketSide;
use zlink_proto::time::Timestamp;
use zlink_proto::transport::endpoint::Endpoint;
use zlink_proto::transport::{Settled, Socket, SocketOutput};

/// One socket.
pub(crate) struct Shared<R> {
    pub(crate) runtime: R,
    pub(crate) net: NetOptions,
    /// The host whose socket this is.
    observer: Option<Arc<dyn Observer>>,
    locked: Mutex<Locked>,
}

/// A host: told of what concerns it, outside every lock.
pub(crate) trait Observer: std::marker::Send + Sync {
    /// These sets have something to take (the vector is emptied); there is news in the socket's side; something may have come
    /// closer to its end while the host drains.
    fn observe(&self, readable: &mut Vec<SetId>, has_news: bool, has_progress: bool);
}

/// What is to be done behind a section, outside the lock. Used again by whoever has many sections.
#[derive(Default)]
pub(crate) struct After {
    wakes: Wakes,
    readable: Vec<SetId>,
    has_news: bool,
    has_progress: bool,
}

impl After {
    pub(crate) const fn new() -> Self {
        Self { wakes: Wakes::new(), readable: Vec::new(), has_news: false, has_progress: false }
    }

    #[inline]
    fn run(&mut self, observer: Option<&Arc<dyn Observer>>) {
        if let Some(observer) = observer {
            if self.has_news || self.has_progress || !self.readable.is_empty() {
                observer.observe(&mut self.readable, self.has_news, self.has_progress);
                (self.has_news, self.has_progress) = (false, false);
            }
        }
        self.wakes.wake_all();
    }

    /// Gives back memory.
    pub(crate) fn release(&mut self) {
        self.wakes.release();
        if self.readable.capacity() > 0 {
            self.readable = Vec::new();
        }
    }
}

/// Everything behind the lock.
pub(crate) struct Locked {
    pub(crate) socket: Socket,
    /// What the composition keeps beside the socket of a host.
    pub(crate) side: Option<SocketSide>,
    /// Wakers of the connection tasks.
    pub(crate) connections: HashMap<u64, Waker, BuildHasherDefault<Spread>>,
    pub(crate) slots: Slots,
    pub(crate) receivers: WakerSet,
    pub(crate) ready_waiters: WakerSet,
    pub(crate) close_waiters: WakerSet,
    pub(crate) event_waiters: WakerSet,
    pub(crate) task: SocketTaskState,
    pub(crate) listeners: Vec<ListenerEntry>,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) endpoints: Vec<(Endpoint, EndpointId)>,
    pub(crate) ready_peers: u32,
    pub(crate) is_closed: bool,
    /// The host drains.
    pub(crate) tells_progress: bool,
    /// Bytes admitted since a connection last met the socket, or since a sender last stood aside for it.
    pub(crate) unflushed: usize,
    settled: Vec<Settled>,
    outputs: Vec<SocketOutput>,
    events_told: u64,
}

/// What the socket task has to do.
#[derive(Default)]
pub(crate) struct SocketTaskState {
    pub(crate) waker: Option<Waker>,
    /// The time to which its timer is set.
    pub(crate) armed: Option<Timestamp>,
    /// Orders to open connections, in order.
    pub(crate) orders: VecDeque<ConnectOrder>,
}

/// Open a connection.
pub(crate) struct ConnectOrder {
    pub(crate) number: ConnectionNumber,
    pub(crate) address: String,
}

/// An attempt that is under way: abandoned by taking its entry away.
pub(crate) struct Attempt {
    pub(crate) number: ConnectionNumber,
    pub(crate) waker: Option<Waker>,
}

/// A listener.
pub(crate) struct ListenerEntry {
    pub(crate) id: ListenerId,
    pub(crate) endpoint: String,
    pub(crate) waker: Option<Waker>,
}

impl<R: Runtime> Shared<R> {
    pub(crate) fn new(
        runtime: R,
        socket: Socket,
        net: NetOptions,
        host: Option<(SocketSide, Arc<dyn Observer>)>,
    ) -> Arc<Self> {
        let (side, observer) = host.unzip();
        let locked = Locked {
            socket,
            side,
            connections: HashMap::default(),
            slots: Slots::default(),
            receivers: WakerSet::default(),
            ready_waiters: WakerSet::default(),
            close_waiters: WakerSet::default(),
            event_waiters: WakerSet::default(),
            task: SocketTaskState::default(),
            listeners: Vec::new(),
            attempts: Vec::new(),
            endpoints: Vec::new(),
            ready_peers: 0,
            is_closed: false,
            tells_progress: false,
            unflushed: 0,
            settled: Vec::new(),
            outputs: Vec::new(),
            events_told: 0,
        };
        Arc::new(Self { runtime, net, observer, locked: Mutex::new(locked) })
    }

    /// One section: `act` under the lock, then everything that it made visible is handed on.
    pub(crate) fn section<T>(&self, act: impl FnOnce(&mut Locked) -> T) -> T {
        self.section_with(&mut After::new(), act)
    }

    /// As `section`, with buffers that are used again.
    #[inline]
    pub(crate) fn section_with<T>(&self, after: &mut After, act: impl FnOnce(&mut Locked) -> T) -> T {
        let result = {
            let mut locked = lock(&self.locked);
            let result = act(&mut locked);
            locked.hand_on(after, &self.runtime);
            result
        };
        after.run(self.observer.as_ref());
        result
    }

    /// The section of a send: a record that was admitted can only have woken its connection. `act` says whether anything else
    /// may have happened.
    #[inline]
    pub(crate) fn submit<T>(&self, act: impl FnOnce(&mut Locked) -> (T, bool)) -> T {
        let mut after = After::new();
        let result = {
            let mut locked = lock(&self.locked);
            let (result, is_more) = act(&mut locked);
            if is_more {
                locked.hand_on(&mut after, &self.runtime);
            } else {
                locked.wake_connections(&mut after.wakes);
            }
            result
        };
        after.run(self.observer.as_ref());
        result
    }
}

impl Locked {
    /// Behind every section: wakes connections, callers with results, receivers, the socket task; collects what the host is told.
    fn hand_on<R: Runtime>(&mut self, after: &mut After, runtime: &R) {
        match &mut self.side {
            Some(side) => {
                side.sift(&mut self.socket, &mut self.settled, &mut self.outputs, || runtime.now());
                after.has_news = side.has_news();
                after.has_progress = self.tells_progress;
                while let Some(set) = self.socket.poll_readable() {
                    after.readable.push(set);
                }
            }
            None => {
                if self.socket.has_settled() {
                    self.socket.take_settled(&mut self.settled);
                }
                while let Some(output) = self.socket.poll_output() {
                    self.outputs.push(output);
                }
                self.call_receivers(&mut after.wakes);
            }
        }
        let wakes = &mut after.wakes;
        self.wake_connections(wakes);
        if !self.settled.is_empty() {
            self.settle(wakes);
        }
        if !self.outputs.is_empty() {
            let mut outputs = std::mem::take(&mut self.outputs);
            outputs.drain(..).for_each(|output| self.note_output(output, wakes));
            self.outputs = outputs;
        }
        self.call_timer(wakes);
        let told = self.socket.events_told();
        if std::mem::replace(&mut self.events_told, told) != told {
            self.event_waiters.wake_into(wakes);
        }
    }

    #[inline]
    fn call_receivers(&mut self, wakes: &mut Wakes) {
        let mut is_readable = false;
        while self.socket.poll_readable().is_some() {
            is_readable = true;
        }
        if is_readable {
            self.receivers.wake_into(wakes);
        }
    }

    /// New calls are refused once the host shuts down (M-61).
    #[inline]
    pub(crate) fn check_sealed(&self) -> Result<(), Failure> {
        self.side.as_ref().map_or(Ok(()), SocketSide::check_sealed)
    }

    #[inline]
    fn wake_connections(&mut self, wakes: &mut Wakes) {
        while let Some(number) = self.socket.poll_wake() {
            if let Some(waker) = self.connections.get(&number.0) {
                wakes.push(waker.clone());
            }
        }
    }

    fn settle(&mut self, wakes: &mut Wakes) {
        let mut settled = std::mem::take(&mut self.settled);
        for settled in settled.drain(..) {
            // Its caller left in the same step: the place is free.
            if let Some(unclaimed) = self.slots.settle(settled, wakes) {
                self.socket.collected(unclaimed.operation);
            }
        }
        self.settled = settled;
    }

    /// The socket task's timer is set for later than the machine wants.
    fn call_timer(&mut self, wakes: &mut Wakes) {
        let due = self.socket.poll_timeout();
        if let Some(due) = due.filter(|due| self.task.armed.is_none_or(|armed| *due < armed)) {
            self.task.armed = Some(due);
            self.call_task(wakes);
        }
    }

    fn call_task(&mut self, wakes: &mut Wakes) {
        if let Some(waker) = self.task.waker.take() {
            wakes.push(waker);
        }
    }

    fn note_output(&mut self, output: SocketOutput, wakes: &mut Wakes) {
        match output {
            SocketOutput::Connect { endpoint: _, number, address } => {
                self.attempts.push(Attempt { number, waker: None });
                self.task.orders.push_back(ConnectOrder { number, address });
                self.call_task(wakes);
            }
            SocketOutput::Abandon(number) => self.end_attempt(number, wakes),
            SocketOutput::StopListening(listener) => self.end_listener(listener, wakes),
            SocketOutput::PeerReady { set, routing_id, socket_type, endpoint: _ } => {
                self.ready_peers += 1;
                self.ready_waiters.wake_into(wakes);
                tracing::info!(generation = set.generation, %routing_id, ?socket_type, "zlink.socket.peer_ready");
            }
            SocketOutput::PeerLost { set } => {
                self.ready_peers = self.ready_peers.saturating_sub(1);
                tracing::info!(generation = set.generation, "zlink.socket.peer_lost");
            }
            // For hosts, who sifted them. Receivers of raw sockets see the end of a source by its silence, and nobody probes.
            SocketOutput::Drained(_) | SocketOutput::ProbeDue(_) => {}
            SocketOutput::Closed => {
                self.is_closed = true;
                self.receivers.wake_into(wakes);
                self.ready_waiters.wake_into(wakes);
                self.close_waiters.wake_into(wakes);
                self.call_task(wakes);
                tracing::info!("zlink.socket.closed");
            }
        }
    }

    /// Takes the entry of an attempt away; whoever runs it sees that.
    pub(crate) fn end_attempt(&mut self, number: ConnectionNumber, wakes: &mut Wakes) {
        if let Some(place) = self.attempts.iter().position(|attempt| attempt.number == number) {
            let attempt = self.attempts.swap_remove(place);
            attempt.waker.into_iter().for_each(|waker| wakes.push(waker));
        }
    }

    fn end_listener(&mut self, listener: ListenerId, wakes: &mut Wakes) {
        if let Some(place) = self.listeners.iter().position(|entry| entry.id == listener) {
            let entry = self.listeners.swap_remove(place);
            entry.waker.into_iter().for_each(|waker| wakes.push(waker));
        }
    }

    /// True while the attempt was not abandoned; keeps its waker up to date.
    pub(crate) fn watch_attempt(&mut self, number: ConnectionNumber, waker: &Waker) -> bool {
        let entry = self.attempts.iter_mut().find(|attempt| attempt.number == number);
        entry.map(|attempt| note_waker(&mut attempt.waker, waker)).is_some()
    }

    /// True while the listener was not stopped; keeps its waker up to date.
    pub(crate) fn watch_listener(&mut self, listener: ListenerId, waker: &Waker) -> bool {
        let entry = self.listeners.iter_mut().find(|entry| entry.id == listener);
        entry.map(|entry| note_waker(&mut entry.waker, waker)).is_some()
    }

    /// Gives back what only busy sockets need.
    pub(crate) fn release_buffers(&mut self) {
        self.settled = Vec::new();
        self.outputs = Vec::new();
    }
}

/// Spreads connection numbers, which this process chose itself.
#[derive(Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}

/// A fresh seed: std's own per-process random keys.
pub(crate) fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().build_hasher().finish()
}
