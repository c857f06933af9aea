//! Close with linger (N-88, N-89).
//!
//! ```text
//! open ──close(linger)──▶ lingering ──send queues empty, or linger over──▶ ending ──no connection left──▶ closed
//! ```

use super::Socket;
use super::end::Farewell;
use super::reply::SHUTDOWN;
use crate::error::{ErrorKind, Failure};
use crate::time::Timestamp;
use crate::transport::lane_set::Phase;
use crate::transport::{EndReason, EventKind};
use core::time::Duration;

/// Longest linger (N-88).
const LINGER_MAX: Duration = Duration::from_secs(86_400);
/// Longest orderly end of a connection, with some room for its own timer (N-89).
const FINISH_LIMIT: Duration = Duration::from_secs(2);

/// Where the socket is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lifecycle {
    Open,
    /// Admitted records are transmitted until then.
    Lingering(Timestamp),
    /// Connections end in order.
    Ending,
    Closed,
}

/// What close left undone (N-89).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CloseReport {
    /// Records that were admitted and not transmitted.
    pub unsent_records: u64,
    /// Their charge.
    pub unsent_bytes: u64,
    /// Records that were received and not taken.
    pub undelivered_records: u64,
    /// Waiting operations that ended `ShuttingDown`.
    pub ended_waiting: u64,
    /// Requests that ended `ShuttingDown` after they were admitted.
    pub ended_requests: u64,
}

impl Socket {
    /// Submissions are accepted.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.lifecycle == Lifecycle::Open
    }

    /// Closed for good, or its connections just end.
    pub fn is_closed(&self) -> bool {
        matches!(self.lifecycle, Lifecycle::Ending | Lifecycle::Closed)
    }

    /// What close left undone; complete once `Closed` was told.
    pub fn close_report(&self) -> CloseReport {
        self.close_report
    }

    /// Closes: nothing new is accepted, waiting operations end `ShuttingDown`, what is admitted is transmitted for at most
    /// `linger` (none = the option). `Closed` is told at the end, always. A second call can only shorten the linger.
    pub fn close(&mut self, linger: Option<Duration>, now: Timestamp) {
        self.advance(now);
        let end = self.now.saturating_add(linger.unwrap_or(self.options.linger).min(LINGER_MAX));
        match self.lifecycle {
            Lifecycle::Open => self.begin_close(end),
            Lifecycle::Lingering(earlier) => self.lifecycle = Lifecycle::Lingering(earlier.min(end)),
            Lifecycle::Ending | Lifecycle::Closed => return,
        }
        self.end_linger_if_due();
    }

    fn begin_close(&mut self, end: Timestamp) {
        self.answer_tokens_with_shutdown();
        self.lifecycle = Lifecycle::Lingering(end);
        let failure = Failure::not_submitted(ErrorKind::ShuttingDown, "the socket closes");
        let waiting = self.send_waiters.count + self.reply_waiters.count;
        let requests = self.operations.registered() as u64;
        self.fail_unfixed(failure);
        for slot in self.sets.slots() {
            self.fail_waiting(slot, ErrorKind::ShuttingDown, "the socket closes");
        }
        self.remove_connectors();
        let waiting_requests = requests - self.operations.registered() as u64;
        self.close_report.ended_waiting = u64::from(waiting) + waiting_requests;
        for listener in self.listeners.take_all() {
            self.tell_listener_closed(listener);
        }
        for slot in self.sets.slots() {
            self.discard_received(slot);
            match self.sets.try_at_mut(slot).map(|set| set.phase) {
                Some(Phase::Joining) => self.end_set(slot, EndReason::Closed, Farewell::Silent),
                Some(Phase::Ended) => self.drained(slot),
                Some(Phase::Ready | Phase::Finishing) | None => {}
            }
        }
    }

    /// N-57: 108 for what can still be written.
    fn answer_tokens_with_shutdown(&mut self) {
        for slot in self.sets.slots() {
            while let Some(place) = self.sets.at(slot).tokens.head() {
                if self.sets.at(slot).phase != Phase::Ready || !self.sets.at(slot).line.is_empty() {
                    break;
                }
                self.turn_into_error(place, SHUTDOWN);
            }
            self.serve(slot);
        }
    }

    fn discard_received(&mut self, slot: u32) {
        let Some(set) = self.sets.try_at_mut(slot) else { return };
        let before = set.receive.len();
        set.receive.drop_where(super::receive::is_ordinary);
        self.close_report.undelivered_records += (before - set.receive.len()) as u64;
        self.settle_head_replies(slot);
        if self.sets.try_at_mut(slot).is_some_and(|set| set.is_connected()) {
            self.wake(slot);
        }
    }

    pub(super) fn linger_end(&self) -> Option<Timestamp> {
        match self.lifecycle {
            Lifecycle::Lingering(end) => Some(end),
            Lifecycle::Open | Lifecycle::Ending | Lifecycle::Closed => None,
        }
    }

    /// Lingering ends when its time is over or nothing is left to transmit (N-88).
    pub(super) fn end_linger_if_due(&mut self) {
        let Lifecycle::Lingering(end) = self.lifecycle else { return };
        let is_over = end <= self.now;
        let has_unsent = self.sets.iter().any(|set| set.is_connected() && !set.send.is_idle());
        if !is_over && has_unsent {
            return;
        }
        self.lifecycle = Lifecycle::Ending;
        for slot in self.sets.slots() {
            let Some(set) = self.sets.try_at_mut(slot) else { continue };
            let (is_idle, phase) = (set.send.is_idle(), set.phase);
            let pending = u64::from(set.pending.len());
            self.close_report.ended_requests += pending;
            self.fail_pending(slot, ErrorKind::ShuttingDown);
            match phase {
                Phase::Ready if is_idle => self.begin_finish(slot, EndReason::Closed, FINISH_LIMIT),
                Phase::Finishing if is_idle => {}
                Phase::Joining | Phase::Ready | Phase::Finishing => {
                    self.end_set(slot, EndReason::Closed, Farewell::Silent);
                }
                Phase::Ended => {}
            }
        }
        self.close_if_over();
    }

    /// Tells `Closed` when no set is left.
    pub(super) fn close_if_over(&mut self) {
        match self.lifecycle {
            Lifecycle::Open | Lifecycle::Closed => return,
            Lifecycle::Lingering(_) => return self.end_linger_if_alone(),
            Lifecycle::Ending => {}
        }
        if self.sets.iter().any(|set| set.is_connected()) {
            return;
        }
        self.lifecycle = Lifecycle::Closed;
        self.tells_closed = true;
        self.events.tell(self.now, None, || EventKind::Closed);
    }

    fn end_linger_if_alone(&mut self) {
        if !self.sets.iter().any(|set| set.is_connected()) {
            self.end_linger_if_due();
        }
    }
}
