//! Receive-flow registry: which socket was told which state (H-40 to H-46).
//!
//! ```text
//!   register ─▶ Applying(first) ─ok─▶ Synced(seq) ──newer state──▶ Applying(seq') ─ok─▶ Synced(seq')
//!                   │ error                │ ◀──error: counted, diagnosed, stays registered──┘
//!                   ▼                      ▼ remove (close)
//!              start fails             Removed: pending state dropped; close waits for a running apply
//! ```
//!
//! States are absolute, so "the newest that was noted" is always the current one: nothing is stored for it.

use crate::wire::Flow;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// A socket of the host. Indexes are dense and used again; a key of a removed socket matches nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SocketKey {
    index: u32,
    epoch: u32,
}

impl SocketKey {
    /// A place for this socket in a vector beside the host.
    pub const fn index(self) -> usize {
        self.index as usize
    }
}

/// A flow state to apply to a socket, outside every lock of the host (H-41). Ended by `applied`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub struct Apply {
    /// Which socket.
    pub socket: SocketKey,
    /// The absolute state.
    pub state: Flow,
    /// Pressure sequence at which the state was entered.
    pub sequence: u64,
}

impl Apply {
    /// Grows with each apply of a socket that differs; never 0.
    pub const fn serial(&self) -> u64 {
        self.sequence + 1
    }
}

/// What an apply led to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applied {
    /// First apply done: the socket may bind and connect (H-43).
    Started,
    /// First apply failed: the socket fails to start, remove it (H-43).
    StartFailed,
    /// Done. A newer state, if there is one, is due.
    Synced,
    /// Failed and counted: the value is unknown, the next state is applied whatever it is (H-45).
    Failed,
    /// The socket was removed, or the host stopped, meanwhile: nothing is counted (H-44, H-45).
    Removed,
}

/// What a socket was told last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AppliedFlow {
    /// `None`: unknown, nothing was applied yet or the last apply failed.
    pub state: Option<Flow>,
    /// Pressure sequence of the last apply that ended.
    pub sequence: u64,
}

#[derive(Clone, Debug)]
struct Target {
    epoch: u32,
    is_used: bool,
    is_removed: bool,
    is_started: bool,
    is_due: bool,
    applying: Option<u64>,
    state: Option<Flow>,
    /// Sequence of the newest apply that ended, well or not.
    tried: Option<u64>,
}

/// All flow targets of a host.
#[derive(Clone, Debug, Default)]
pub(super) struct Registry {
    targets: Vec<Target>,
    free: Vec<u32>,
    /// Targets that may differ from the current state; each at most once.
    due: VecDeque<u32>,
    current: Flow,
    sequence: u64,
    failures: u64,
    is_closed: bool,
}

impl Registry {
    /// Registers a socket; the current state is due for it at once, RUNNING too (H-43).
    pub(super) fn register(&mut self) -> SocketKey {
        let index = self.free.pop().unwrap_or_else(|| {
            let target = Target {
                epoch: 0,
                is_used: false,
                is_removed: false,
                is_started: false,
                is_due: false,
                applying: None,
                state: None,
                tried: None,
            };
            self.targets.push(target);
            (self.targets.len() - 1) as u32
        });
        let target = &mut self.targets[index as usize];
        *target = Target {
            epoch: target.epoch,
            is_used: true,
            is_removed: false,
            is_started: false,
            is_due: target.is_due,
            applying: None,
            state: None,
            tried: None,
        };
        let key = SocketKey { index, epoch: target.epoch };
        self.note(index);
        key
    }

    fn target(&self, key: SocketKey) -> Option<&Target> {
        self.targets
            .get(key.index())
            .filter(|target| target.is_used && !target.is_removed && target.epoch == key.epoch)
    }

    /// True while `key` is registered.
    pub(super) fn contains(&self, key: SocketKey) -> bool {
        self.target(key).is_some()
    }

    /// True from the end of the first apply on: its sources may receive (H-43).
    pub(super) fn is_published(&self, key: SocketKey) -> bool {
        self.target(key).is_some_and(|target| target.is_started)
    }

    pub(super) fn applied_flow(&self, key: SocketKey) -> Option<AppliedFlow> {
        self.target(key)
            .map(|target| AppliedFlow { state: target.state, sequence: target.tried.unwrap_or_default() })
    }

    /// Registered sockets in the order of their places.
    pub(super) fn sockets(&self) -> impl Iterator<Item = SocketKey> + '_ {
        self.targets
            .iter()
            .enumerate()
            .filter(|(_, target)| target.is_used && !target.is_removed)
            .map(|(index, target)| SocketKey { index: index as u32, epoch: target.epoch })
    }

    /// Sequence of the current state.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(super) fn failures(&self) -> u64 {
        self.failures
    }

    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    /// A transition: every target that differs becomes due (H-41).
    pub(super) fn set_current(&mut self, state: Flow, sequence: u64) {
        self.current = state;
        self.sequence = sequence;
        for index in 0..self.targets.len() as u32 {
            self.note(index);
        }
    }

    /// H-42: not while an apply runs, not an equal state, and after a failure only a newer one.
    fn is_wanting(&self, target: &Target) -> bool {
        if !target.is_used || target.is_removed || target.applying.is_some() || self.is_closed {
            return false;
        }
        let is_newer = target.tried.is_none_or(|tried| self.sequence > tried);
        is_newer && target.state != Some(self.current)
    }

    fn note(&mut self, index: u32) {
        let target = &self.targets[index as usize];
        if !target.is_due && self.is_wanting(target) {
            self.targets[index as usize].is_due = true;
            self.due.push_back(index);
        }
    }

    pub(super) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// The next apply to run.
    pub(super) fn poll_due(&mut self) -> Option<Apply> {
        while let Some(index) = self.due.pop_front() {
            self.targets[index as usize].is_due = false;
            if self.is_wanting(&self.targets[index as usize]) {
                let target = &mut self.targets[index as usize];
                target.applying = Some(self.sequence);
                let socket = SocketKey { index, epoch: target.epoch };
                return Some(Apply { socket, state: self.current, sequence: self.sequence });
            }
        }
        None
    }

    /// The apply that is due for one target; its place in the list finds nothing later.
    pub(super) fn due_for(&mut self, key: SocketKey) -> Option<Apply> {
        if !self.target(key).is_some_and(|target| self.is_wanting(target)) {
            return None;
        }
        self.targets[key.index()].applying = Some(self.sequence);
        Some(Apply { socket: key, state: self.current, sequence: self.sequence })
    }

    /// An apply ended. An end that does not belong to a running apply is ignored.
    pub(super) fn applied(&mut self, apply: Apply, is_ok: bool) -> Applied {
        let index = apply.socket.index;
        let Some(target) = self.targets.get_mut(apply.socket.index()) else { return Applied::Removed };
        if target.epoch != apply.socket.epoch || target.applying != Some(apply.sequence) {
            return Applied::Removed;
        }
        target.applying = None;
        if target.is_removed {
            self.forget(index);
            return Applied::Removed;
        }
        if self.is_closed && !is_ok {
            return Applied::Removed;
        }
        target.tried = Some(apply.sequence);
        target.state = is_ok.then_some(apply.state);
        let was_started = target.is_started;
        target.is_started |= is_ok;
        if !is_ok {
            self.failures = self.failures.saturating_add(1);
        }
        self.note(index);
        match (is_ok, was_started) {
            (true, false) => Applied::Started,
            (true, true) => Applied::Synced,
            (false, false) => Applied::StartFailed,
            (false, true) => Applied::Failed,
        }
    }

    /// Removes a socket: it gets no call any more. True: an apply runs, close the socket after its end (H-44).
    pub(super) fn remove(&mut self, key: SocketKey) -> bool {
        if !self.contains(key) {
            return false;
        }
        let target = &mut self.targets[key.index()];
        target.is_removed = true;
        let is_applying = target.applying.is_some();
        if !is_applying {
            self.forget(key.index);
        }
        is_applying
    }

    fn forget(&mut self, index: u32) {
        let target = &mut self.targets[index as usize];
        target.is_used = false;
        target.epoch = target.epoch.wrapping_add(1);
        self.free.push(index);
    }

    /// The host stops: no further call, no last apply is waited for (H-46).
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    pub(super) fn check_invariants(&self) {
        let due = self.targets.iter().filter(|target| target.is_due).count();
        assert_eq!(due, self.due.len(), "each due target is listed once");
        for target in &self.targets {
            assert!(!self.is_wanting(target) || target.is_due, "a target that differs is due");
            assert!(
                !target.is_removed || !target.is_used || target.applying.is_some(),
                "removed and applying"
            );
        }
    }
}
