//! Permits: how many jobs may be accepted and not started (H-10 to H-28).
//!
//! ```text
//!             request: nobody waits and in_use < M                 attach to a job
//!   (free) ──────────────────────────────────────────▶ reserved ─────────────────▶ queued
//!      ▲   hand-off: release gives it to the oldest       │ release                  │ release
//!      └──────────────────────────────────────────────────┴──────────────────────────┘
//! ```
//!
//! Reserved permits are counted at their source, which has one place in the FIFO at most; a queued one is a [`Permit`]
//! inside its job. Indexes of sources are the caller's.

use super::fifo::{Fifo, Linked, Links};
use super::pressure::Pressure;
use crate::time::Timestamp;
use core::time::Duration;

use alloc::vec::Vec;

/// One queued permit (H-28): exists only while it is booked, and is eaten by [`Permits::release`].
#[derive(Debug)]
#[must_use]
pub(super) struct Permit {
    _booked: (),
}

/// Answer to a request (table of §2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Requested {
    Granted,
    Waiting,
    AlreadyWaiting,
    AlreadyGranted,
    Closed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    Waiting,
    /// Holds at least one reserved permit.
    Granted,
    Closed,
}

#[derive(Clone, Debug)]
struct Source {
    state: State,
    /// In the list of grants that nobody has fetched.
    is_handed: bool,
    /// Reserved permits.
    held: u32,
    links: Links,
    asked_at: Timestamp,
    asked_epoch: u32,
}

impl Linked for Source {
    fn links(&self) -> Links {
        self.links
    }
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// What reset and status look at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct PermitCounts {
    pub(super) reserved: u32,
    pub(super) queued: u32,
    pub(super) peak: u32,
    pub(super) waiters: u32,
    pub(super) waits: u64,
    pub(super) wait_duration: Duration,
}

/// The one permit queue of a host.
#[derive(Clone, Debug)]
pub(super) struct Permits {
    limit: u32,
    reserved: u32,
    queued: u32,
    is_closed: bool,
    sources: Vec<Source>,
    waiting: Fifo,
    /// Handed-off grants in order, until they are fetched.
    handed: Fifo,
    pressure: Pressure,
    peak: u32,
    waits: u64,
    wait_duration: Duration,
    epoch: u32,
}

impl Permits {
    pub(super) fn new(limit: u32, pressure: Pressure) -> Self {
        Self {
            limit,
            reserved: 0,
            queued: 0,
            is_closed: false,
            sources: Vec::new(),
            waiting: Fifo::default(),
            handed: Fifo::default(),
            pressure,
            peak: 0,
            waits: 0,
            wait_duration: Duration::ZERO,
            epoch: 0,
        }
    }

    pub(super) fn in_use(&self) -> u32 {
        self.reserved + self.queued
    }

    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    pub(super) fn pressure(&self) -> &Pressure {
        &self.pressure
    }

    /// Permits that a request would get at once.
    pub(super) fn obtainable(&self) -> u32 {
        if self.is_closed || !self.waiting.is_empty() { 0 } else { self.limit - self.in_use() }
    }

    pub(super) fn has_handed(&self) -> bool {
        !self.handed.is_empty()
    }

    pub(super) fn counts(&self) -> PermitCounts {
        PermitCounts {
            reserved: self.reserved,
            queued: self.queued,
            peak: self.peak,
            waiters: self.waiting.len(),
            waits: self.waits,
            wait_duration: self.wait_duration,
        }
    }

    /// The source that waits longest, and since when.
    pub(super) fn oldest_waiter(&self) -> Option<(u32, Timestamp)> {
        self.waiting.first().map(|index| (index, self.sources[index as usize].asked_at))
    }

    /// Makes `source` known and Idle. Indexes are dense.
    pub(super) fn open_source(&mut self, source: u32) {
        let index = source as usize;
        if index >= self.sources.len() {
            let closed = Source {
                state: State::Closed,
                is_handed: false,
                held: 0,
                links: Links::default(),
                asked_at: Timestamp::ZERO,
                asked_epoch: 0,
            };
            self.sources.resize(index + 1, closed);
        }
        self.sources[index].state = State::Idle;
    }

    /// Asks for the first permit of a turn: at once only if nobody waits and one is free (H-13).
    pub(super) fn request(&mut self, source: u32, now: Timestamp) -> Requested {
        let is_free = self.obtainable() > 0;
        let entry = &mut self.sources[source as usize];
        match entry.state {
            State::Closed => Requested::Closed,
            State::Waiting => Requested::AlreadyWaiting,
            State::Granted => Requested::AlreadyGranted,
            State::Idle if self.is_closed => Requested::Closed,
            State::Idle if is_free => {
                entry.state = State::Granted;
                entry.held = 1;
                self.reserve(1, now);
                Requested::Granted
            }
            State::Idle => {
                entry.state = State::Waiting;
                entry.asked_at = now;
                entry.asked_epoch = self.epoch;
                self.waiting.push(&mut self.sources, source);
                self.waits = self.waits.saturating_add(1);
                Requested::Waiting
            }
        }
    }

    /// More for a turn that holds one: only what is free while nobody waits (H-16). Returns how many.
    pub(super) fn request_more(&mut self, source: u32, count: u32, now: Timestamp) -> u32 {
        let count = count.min(self.obtainable());
        let entry = &mut self.sources[source as usize];
        if entry.state != State::Granted || count == 0 {
            return 0;
        }
        entry.held += count;
        self.reserve(count, now);
        count
    }

    fn reserve(&mut self, count: u32, now: Timestamp) {
        self.reserved += count;
        let in_use = self.in_use();
        self.peak = self.peak.max(in_use);
        self.pressure.evaluate(in_use, || now);
    }

    /// The next source that a hand-off granted, oldest first. It holds one permit.
    pub(super) fn fetch_handed(&mut self) -> Option<u32> {
        let source = self.handed.pop(&mut self.sources)?;
        self.sources[source as usize].is_handed = false;
        Some(source)
    }

    /// One reserved permit of `source` becomes the queued one of a job (H-12). `None` if it holds none.
    #[inline]
    pub(super) fn attach(&mut self, source: u32) -> Option<Permit> {
        let entry = &mut self.sources[source as usize];
        entry.held = entry.held.checked_sub(1)?;
        if entry.held == 0 {
            self.settle_idle(source);
        }
        self.reserved -= 1;
        self.queued += 1;
        Some(Permit { _booked: () })
    }

    /// Ends a queued permit: immediately before the callback's first instruction, or when the job ended early (H-12 4).
    #[inline]
    pub(super) fn release(&mut self, permit: Permit, clock: impl FnOnce() -> Timestamp) {
        let Permit { _booked: () } = permit;
        self.queued -= 1;
        self.hand_off(clock);
    }

    /// Ends one reserved permit of `source`: a control or malformed record was handled (H-12 3b).
    pub(super) fn release_one(&mut self, source: u32, now: Timestamp) {
        let entry = &mut self.sources[source as usize];
        if entry.held == 0 {
            return;
        }
        entry.held -= 1;
        if entry.held == 0 {
            self.settle_idle(source);
        }
        self.reserved -= 1;
        self.hand_off(|| now);
    }

    /// Ends all reserved permits of `source`: the turn is over (H-16), or nothing was there (H-17).
    pub(super) fn release_held(&mut self, source: u32, now: Timestamp) {
        let entry = &mut self.sources[source as usize];
        let held = core::mem::take(&mut entry.held);
        if entry.state == State::Granted {
            self.settle_idle(source);
        }
        for _ in 0..held {
            self.reserved -= 1;
            self.hand_off(|| now);
        }
    }

    /// A source whose last reserved permit ended.
    fn settle_idle(&mut self, source: u32) {
        let entry = &mut self.sources[source as usize];
        entry.state = State::Idle;
        if core::mem::take(&mut entry.is_handed) {
            self.handed.remove(&mut self.sources, source);
        }
    }

    /// Gives the permit that was just ended to the oldest waiter; else it is free. One step with the pressure (H-14).
    #[inline]
    fn hand_off(&mut self, clock: impl FnOnce() -> Timestamp) {
        match self.waiting.pop(&mut self.sources) {
            Some(next) => {
                let entry = &mut self.sources[next as usize];
                if entry.asked_epoch == self.epoch {
                    let waited = clock().saturating_since(entry.asked_at);
                    self.wait_duration = self.wait_duration.saturating_add(waited);
                }
                entry.state = State::Granted;
                entry.held = 1;
                entry.is_handed = true;
                self.handed.push(&mut self.sources, next);
                self.reserved += 1;
            }
            None => self.pressure.evaluate(self.reserved + self.queued, clock),
        }
    }

    /// The source no longer wants a permit: waiting ends, or a grant moves on to the next waiter (H-22).
    #[cfg(test)]
    pub(super) fn withdraw(&mut self, source: u32, now: Timestamp) {
        match self.sources[source as usize].state {
            State::Idle | State::Closed => {}
            State::Waiting => self.stop_waiting(source, State::Idle, now),
            State::Granted => self.release_held(source, now),
        }
    }

    /// The source ends: its waiter is removed, its reservations go on, its queued jobs keep their permits (H-22).
    pub(super) fn close_source(&mut self, source: u32, now: Timestamp) {
        match self.sources[source as usize].state {
            State::Idle | State::Closed => {}
            State::Waiting => self.stop_waiting(source, State::Closed, now),
            State::Granted => self.release_held(source, now),
        }
        self.sources[source as usize].state = State::Closed;
    }

    fn stop_waiting(&mut self, source: u32, state: State, now: Timestamp) {
        self.waiting.remove(&mut self.sources, source);
        self.end_wait(source, state, now);
    }

    /// A wait's time counts at its end, in the epoch in which it began (M-22, M-43).
    fn end_wait(&mut self, source: u32, state: State, now: Timestamp) {
        let entry = &mut self.sources[source as usize];
        entry.state = state;
        if entry.asked_epoch == self.epoch {
            let waited = now.saturating_since(entry.asked_at);
            self.wait_duration = self.wait_duration.saturating_add(waited);
        }
    }

    /// The host stops: all waits end, later requests are refused, releases grant nobody (H-23). Returns how many waited.
    pub(super) fn close(&mut self, now: Timestamp) -> u32 {
        self.is_closed = true;
        let waiters = self.waiting.len();
        while let Some(source) = self.waiting.pop(&mut self.sources) {
            self.end_wait(source, State::Idle, now);
        }
        waiters
    }

    /// A new epoch: gauges stay, the peak is the current value, counts are zero (M-41, M-43).
    pub(super) fn reset(&mut self, now: Timestamp) {
        self.epoch = self.epoch.wrapping_add(1);
        self.peak = self.in_use();
        self.waits = 0;
        self.wait_duration = Duration::ZERO;
        self.pressure.reset(now);
    }

    /// H-87 without the jobs.
    pub(super) fn check_invariants(&self) {
        assert!(self.in_use() <= self.limit, "in_use <= M");
        assert!(self.peak >= self.in_use() && self.peak <= self.limit, "peak");
        let held: u32 = self.sources.iter().map(|source| source.held).sum();
        assert_eq!(held, self.reserved, "reserved permits belong to sources");
        for source in &self.sources {
            let is_granted = source.state == State::Granted;
            assert_eq!(is_granted, source.held > 0, "granted holds permits, others hold none");
            assert!(!source.is_handed || is_granted, "a grant that nobody fetched is live");
        }
        let waiting = self.waiting.iter(&self.sources).inspect(|&index| {
            assert_eq!(self.sources[index as usize].state, State::Waiting, "waiters are live");
        });
        let waiters = self.sources.iter().filter(|source| source.state == State::Waiting).count();
        assert_eq!(waiting.count(), waiters, "each waiter is in the FIFO once");
        let handed = self.sources.iter().filter(|source| source.is_handed).count();
        assert_eq!(self.handed.iter(&self.sources).count(), handed, "each unfetched grant is listed once");
        assert!(waiters == 0 || self.in_use() == self.limit, "waiters only at the limit");
        self.pressure.check_invariants(self.limit, self.in_use());
    }
}

#[cfg(test)]
#[path = "permits_tests.rs"]
mod tests;
