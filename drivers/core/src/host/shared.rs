//! What all tasks and handles of one host share: the host's side behind one lock (H), and its sockets.

use super::context::TurnState;
use super::handler::Handlers;
use super::status::SocketName;
use super::worker::Worker;
use crate::runtime::Runtime;
use crate::socket::shared::{Observer, Shared};
use crate::sync::{WakerSet, Wakes, lock};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::task::Waker;
use zlink_proto::host::{Drain, HostOutput, OwnerId, ShutdownReport, SocketKey};
use zlink_proto::id::SetId;
use zlink_proto::node::{HostSide, Observation, Reach, ReplyId, SocketSide};
use zlink_proto::time::Timestamp;
use zlink_proto::transport::Socket;

/// One host.
pub(crate) struct HostShared<R: Runtime> {
    pub(crate) runtime: R,
    locked: Mutex<HostLocked<R>>,
    /// By place of their key.
    sockets: RwLock<Vec<Option<Entry<R>>>>,
}

struct Entry<R: Runtime> {
    key: SocketKey,
    name: SocketName,
    shared: Arc<Shared<R>>,
}

/// Everything behind the lock.
pub(crate) struct HostLocked<R: Runtime> {
    pub(crate) side: HostSide,
    pub(crate) task: HostTaskState,
    pub(crate) channels: Vec<Channel<R>>,
    /// Waits for peers of any role; who is not meant waits again.
    pub(crate) peer_waiters: WakerSet,
    pub(crate) stop_waiters: WakerSet,
    pub(crate) report: Option<ShutdownReport>,
    pub(crate) is_draining: bool,
    /// Turns whose requester is gone; told behind the section.
    gone: Vec<Arc<TurnState>>,
    /// Sockets whose role was removed: forgotten once they are told to close.
    pub(crate) retired: Vec<SocketKey>,
}

/// What the host task has to do.
#[derive(Default)]
pub(crate) struct HostTaskState {
    pub(crate) waker: Option<Waker>,
    /// Asked for by somebody else than the host's side.
    pub(crate) is_called: bool,
}

/// One channel that is served here: its handlers and the workers that run them.
pub(crate) struct Channel<R: Runtime> {
    pub(crate) owner: OwnerId,
    pub(crate) socket: SocketKey,
    pub(crate) handlers: Arc<Handlers<R>>,
    pub(crate) workers: Vec<WorkerEntry>,
}

/// A worker as the others see it.
#[derive(Default)]
pub(crate) struct WorkerEntry {
    /// Work for it; it sleeps without.
    pub(crate) drain: Option<Drain>,
    pub(crate) waker: Option<Waker>,
    pub(crate) is_busy: bool,
    /// The request that it runs, and how to tell its handler that nobody waits any more.
    pub(crate) turn: Option<(ReplyId, Arc<TurnState>)>,
}

/// What is to be done behind a section, outside the lock.
pub(crate) struct HostAfter<R: Runtime> {
    /// The host task.
    task: Option<Waker>,
    /// A worker that sleeps: one at most in nearly every section.
    worker: Option<Waker>,
    /// Everything else: rarely there, and a section for each job has to end quickly.
    rare: Option<Box<Rare<R>>>,
}

struct Rare<R: Runtime> {
    wakes: Wakes,
    workers: Vec<Worker<R>>,
    gone: Vec<Arc<TurnState>>,
}

impl<R: Runtime> HostAfter<R> {
    fn rare(&mut self) -> &mut Rare<R> {
        self.rare.get_or_insert_with(|| {
            Box::new(Rare { wakes: Wakes::new(), workers: Vec::new(), gone: Vec::new() })
        })
    }

    #[inline]
    fn run(self, runtime: &R) {
        if let Some(rare) = self.rare {
            rare.run(runtime);
        }
        if let Some(worker) = self.worker {
            worker.wake();
        }
        if let Some(task) = self.task {
            task.wake();
        }
    }
}

impl<R: Runtime> Rare<R> {
    #[cold]
    fn run(mut self, runtime: &R) {
        self.gone.iter().for_each(|turn| turn.set_gone());
        self.workers.drain(..).for_each(|worker| runtime.spawn(worker));
        self.wakes.wake_all();
    }
}

impl<R: Runtime> HostShared<R> {
    pub(crate) fn new(runtime: R, side: HostSide) -> Arc<Self> {
        let locked = HostLocked {
            side,
            task: HostTaskState::default(),
            channels: Vec::new(),
            peer_waiters: WakerSet::default(),
            stop_waiters: WakerSet::default(),
            report: None,
            is_draining: false,
            gone: Vec::new(),
            retired: Vec::new(),
        };
        Arc::new(Self { runtime, locked: Mutex::new(locked), sockets: RwLock::new(Vec::new()) })
    }

    /// One section of the host, then everything that it made visible is handed on.
    pub(crate) fn section<T>(self: &Arc<Self>, act: impl FnOnce(&mut HostLocked<R>) -> T) -> T {
        self.section_then(act, |locked| locked.side.has_work())
    }

    /// The section between two jobs: it makes no actions, and is the only one for each message.
    #[inline]
    pub(crate) fn job_section<T>(self: &Arc<Self>, act: impl FnOnce(&mut HostLocked<R>) -> T) -> T {
        self.section_then(act, |_| false)
    }

    #[inline]
    fn section_then<T>(
        self: &Arc<Self>,
        act: impl FnOnce(&mut HostLocked<R>) -> T,
        has_more: impl FnOnce(&HostLocked<R>) -> bool,
    ) -> T {
        let mut after = HostAfter { task: None, worker: None, rare: None };
        let result = {
            let mut locked = lock(&self.locked);
            let result = act(&mut locked);
            locked.hand_on(self, &mut after, has_more);
            result
        };
        after.run(&self.runtime);
        result
    }

    pub(crate) fn put_socket(&self, key: SocketKey, name: SocketName, shared: Arc<Shared<R>>) {
        let mut sockets = self.sockets.write().unwrap_or_else(PoisonError::into_inner);
        if sockets.len() <= key.index() {
            sockets.resize_with(key.index() + 1, || None);
        }
        if let Some(place) = sockets.get_mut(key.index()) {
            *place = Some(Entry { key, name, shared });
        }
    }

    pub(crate) fn remove_socket(&self, key: SocketKey) {
        let mut sockets = self.sockets.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = sockets.get_mut(key.index()) {
            if place.as_ref().is_some_and(|entry| entry.key == key) {
                *place = None;
            }
        }
    }

    pub(crate) fn socket(&self, key: SocketKey) -> Option<Arc<Shared<R>>> {
        let sockets = self.sockets.read().unwrap_or_else(PoisonError::into_inner);
        let entry = sockets.get(key.index())?.as_ref().filter(|entry| entry.key == key)?;
        Some(Arc::clone(&entry.shared))
    }

    /// All sockets with their names, outside every lock.
    pub(crate) fn named_sockets(&self) -> Vec<(SocketName, Arc<Shared<R>>)> {
        let sockets = self.sockets.read().unwrap_or_else(PoisonError::into_inner);
        sockets.iter().flatten().map(|entry| (entry.name.clone(), Arc::clone(&entry.shared))).collect()
    }

    /// All sockets, outside every lock.
    pub(crate) fn sockets(&self) -> Vec<(SocketKey, Arc<Shared<R>>)> {
        let sockets = self.sockets.read().unwrap_or_else(PoisonError::into_inner);
        sockets.iter().flatten().map(|entry| (entry.key, Arc::clone(&entry.shared))).collect()
    }
}

impl<R: Runtime> HostLocked<R> {
    /// Behind every section: workers for ready owners, the host task if it has something to do.
    #[inline]
    fn hand_on(
        &mut self,
        shared: &Arc<HostShared<R>>,
        after: &mut HostAfter<R>,
        has_more: impl FnOnce(&Self) -> bool,
    ) {
        while let Some(drain) = self.side.host_mut().poll_ready() {
            self.hand_over(drain, shared, after);
        }
        while let Some(reply) = self.side.poll_gone() {
            self.tell_handler(reply);
        }
        if self.task.waker.is_some() && (self.is_task_due() || has_more(self)) {
            after.task = self.task.waker.take();
        }
        if !self.gone.is_empty() {
            after.rare().gone.append(&mut self.gone);
        }
    }

    /// The host task has something to do, actions apart.
    #[inline]
    pub(crate) fn is_task_due(&self) -> bool {
        let host = self.side.host();
        self.task.is_called || host.needs_turn() || host.has_flow_due()
    }

    /// Gives a drain to a worker of its owner that sleeps, or to a new one. There are never more than the owner's concurrency.
    fn hand_over(&mut self, drain: Drain, shared: &Arc<HostShared<R>>, after: &mut HostAfter<R>) {
        let owner = drain.owner();
        let Some(channel) = self.channels.iter_mut().find(|channel| channel.owner == owner) else { return };
        let place =
            channel.workers.iter().position(|worker| !worker.is_busy).unwrap_or(channel.workers.len());
        if place == channel.workers.len() {
            channel.workers.push(WorkerEntry::default());
            let worker =
                Worker::new(Arc::clone(shared), Arc::clone(&channel.handlers), channel.socket, owner, place);
            after.rare().workers.push(worker);
        }
        if let Some(worker) = channel.workers.get_mut(place) {
            worker.is_busy = true;
            worker.drain = Some(drain);
            if let Some(waker) = worker.waker.take() {
                if let Some(second) = after.worker.replace(waker) {
                    after.rare().wakes.push(second);
                }
            }
        }
    }

    pub(crate) fn worker(&mut self, owner: OwnerId, place: usize) -> Option<&mut WorkerEntry> {
        let channel = self.channels.iter_mut().find(|channel| channel.owner == owner)?;
        channel.workers.get_mut(place)
    }

    /// Tells what changed to who waits for it.
    pub(crate) fn tell_changes(&mut self, wakes: &mut Wakes) {
        let mut has_changed = false;
        while self.side.poll_change().is_some() {
            has_changed = true;
        }
        if has_changed {
            self.peer_waiters.wake_into(wakes);
        }
        while let Some(output) = self.side.host_mut().poll_output() {
            log_output(output);
        }
        while let Some(observation) = self.side.poll_observation() {
            log_observation(&observation);
        }
    }

    /// A handler whose requester is gone learns it (O-47).
    fn tell_handler(&mut self, reply: ReplyId) {
        let workers = self.channels.iter().flat_map(|channel| &channel.workers);
        let mut turns = workers.filter_map(|worker| worker.turn.as_ref());
        self.gone.extend(turns.find(|(known, _)| *known == reply).map(|(_, turn)| Arc::clone(turn)));
    }

    /// The handlers of a removed role: sleeping workers end, those that run end after their turn.
    pub(crate) fn end_channel(&mut self, socket: SocketKey, wakes: &mut Wakes) {
        let Some(place) = self.channels.iter().position(|channel| channel.socket == socket) else { return };
        let channel = self.channels.swap_remove(place);
        channel.workers.into_iter().for_each(|worker| wakes.extend(worker.waker));
    }

    /// The host stops by force: all running handlers learn it (M-64), and sleeping workers end.
    pub(crate) fn end_workers(&mut self, wakes: &mut Wakes) {
        for worker in self.channels.iter_mut().flat_map(|channel| &mut channel.workers) {
            wakes.extend(worker.waker.take());
            self.gone.extend(worker.turn.as_ref().map(|(_, turn)| Arc::clone(turn)));
        }
    }
}

/// State changes are one line each (M-36, M-37).
fn log_output(output: HostOutput) {
    match output {
        HostOutput::PressureChanged { state, sequence } => {
            tracing::info!(
                ?state,
                sequence,
                hint = "see job permits in use and handler durations",
                "zlink.runtime.host.pressure_changed"
            );
        }
        HostOutput::StateChanged(state) => tracing::info!(%state, "zlink.runtime.host.termination_changed"),
        HostOutput::OwnerLimitBelowJobLimit => tracing::warn!("owner_limit_below_job_limit"),
    }
}

/// What was dropped or refused (7-observability §4).
fn log_observation(observation: &Observation) {
    tracing::warn!(target: "zlink.dispatch_error", what = ?observation.what, set = observation.set.generation);
}

/// Ties a socket to its host.
pub(crate) struct Link<R: Runtime> {
    pub(crate) key: SocketKey,
    pub(crate) host: Weak<HostShared<R>>,
}

impl<R: Runtime> Observer for Link<R> {
    fn observe(&self, readable: &mut Vec<SetId>, has_news: bool, has_progress: bool) {
        let Some(host) = self.host.upgrade() else { return };
        let now = host.runtime.now();
        host.section(|locked| {
            readable.drain(..).for_each(|set| locked.side.readable(self.key, set, now));
            if has_news {
                locked.side.mark(self.key);
            }
            locked.task.is_called |= has_progress;
        });
    }
}

/// How the steps of the composition get at the host and its sockets: each access is one section.
pub(crate) struct Sections<'a, R: Runtime>(pub(crate) &'a Arc<HostShared<R>>);

impl<R: Runtime> Reach for Sections<'_, R> {
    fn host<T>(&mut self, step: impl FnOnce(&mut HostSide) -> T) -> T {
        self.0.section(|locked| step(&mut locked.side))
    }

    fn socket<T>(
        &mut self,
        key: SocketKey,
        step: impl FnOnce(&mut Socket, &mut SocketSide, &dyn Fn() -> Timestamp) -> T,
    ) -> Option<T> {
        let socket = self.0.socket(key)?;
        let runtime = &self.0.runtime;
        socket.section(|locked| {
            let side = locked.side.as_mut()?;
            Some(step(&mut locked.socket, side, &|| runtime.now()))
        })
    }

    fn now(&self) -> Timestamp {
        self.0.runtime.now()
    }
}
