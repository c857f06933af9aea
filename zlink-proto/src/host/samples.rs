//! The one job in 64 that is timed, and the turns that are pending (M-03, M-38).

use super::fifo::{Fifo, Linked, Links};
use super::owners::OwnerId;
use crate::time::Timestamp;
use alloc::vec::Vec;
use core::time::Duration;

/// One job in so many is timed.
const SAMPLE_EVERY: u32 = 64;
/// Upper bounds: 1 µs, 2 µs, 4 µs, … 2^26 µs (67 s), and everything above.
const BUCKETS: usize = 28;

/// Durations by powers of two of microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Histogram {
    /// Bucket n counts durations of at most 2^n microseconds that no smaller bucket has; the last one counts all others.
    pub buckets: [u64; BUCKETS],
    /// Sum of all.
    pub sum: Duration,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: [0; BUCKETS], sum: Duration::ZERO }
    }
}

impl Histogram {
    fn add(&mut self, duration: Duration) {
        let microseconds = duration.as_nanos().div_ceil(1_000).max(1);
        let exponent = microseconds.next_power_of_two().trailing_zeros() as usize;
        let bucket = &mut self.buckets[exponent.min(BUCKETS - 1)];
        *bucket = bucket.saturating_add(1);
        self.sum = self.sum.saturating_add(duration);
    }

    /// How many were timed.
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, &bucket| sum.saturating_add(bucket))
    }
}

/// What is remembered about a running handler that is timed or pending; most are neither.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Observed {
    pub(super) started_at: Option<Timestamp>,
    pub(super) pending: Option<u32>,
}

/// Decides which jobs are timed, and keeps the result.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    accepted: u32,
    /// `zlink.host.job.wait`: acceptance to start.
    pub(super) wait: Histogram,
    /// `zlink.host.handler.duration`: start to terminal.
    pub(super) duration: Histogram,
}

impl Samples {
    /// The stamp of a job that is timed.
    #[inline]
    pub(super) fn accept(&mut self, now: Timestamp) -> Option<Timestamp> {
        let is_timed = self.accepted % SAMPLE_EVERY == 0;
        self.accepted = self.accepted.wrapping_add(1);
        is_timed.then_some(now)
    }

    pub(super) fn started(&mut self, waited: Duration) {
        self.wait.add(waited);
    }

    pub(super) fn ended(&mut self, ran: Duration) {
        self.duration.add(ran);
    }

    pub(super) fn reset(&mut self) {
        self.wait = Histogram::default();
        self.duration = Histogram::default();
    }
}

#[derive(Clone, Copy, Debug)]
struct PendingTurn {
    owner: OwnerId,
    since: Timestamp,
    links: Links,
}

impl Linked for PendingTurn {
    fn links(&self) -> Links {
        self.links
    }
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// Turns that returned pending, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingTurns {
    turns: Vec<PendingTurn>,
    free: Vec<u32>,
    order: Fifo,
}

impl PendingTurns {
    pub(super) fn add(&mut self, owner: OwnerId, since: Timestamp) -> u32 {
        let turn = PendingTurn { owner, since, links: Links::default() };
        let index = match self.free.pop() {
            Some(index) => {
                self.turns[index as usize] = turn;
                index
            }
            None => {
                self.turns.push(turn);
                (self.turns.len() - 1) as u32
            }
        };
        self.order.push(&mut self.turns, index);
        index
    }

    pub(super) fn remove(&mut self, index: u32) {
        self.order.remove(&mut self.turns, index);
        self.free.push(index);
    }

    /// The host stopped: nothing is running for it any more.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The turn that has been pending longest.
    pub(super) fn longest(&self) -> Option<(OwnerId, Timestamp)> {
        self.order.first().map(|index| (self.turns[index as usize].owner, self.turns[index as usize].since))
    }
}
