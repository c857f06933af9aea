//! Which points are recorded, and how often (M-21, M-30, M-31, M-33).

use super::Host;
use super::options::DiagnosticsLevel;
use crate::time::Timestamp;
use core::time::Duration;

/// Phase of a message in `zlink.message_flow`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)] // The names are those of 7-observability §4.
pub enum Phase {
    Received,
    Admitted,
    Dispatched,
    Completed,
    Replied,
    Sent,
    ReplyReceived,
    /// A send really had to wait, or ended because of it (M-34).
    Backpressured,
    Dropped,
}

impl Phase {
    /// The word in the record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Admitted => "admitted",
            Self::Dispatched => "dispatched",
            Self::Completed => "completed",
            Self::Replied => "replied",
            Self::Sent => "sent",
            Self::ReplyReceived => "reply_received",
            Self::Backpressured => "backpressured",
            Self::Dropped => "dropped",
        }
    }

    /// The lowest level at which it is recorded (M-30).
    pub const fn level(self) -> DiagnosticsLevel {
        match self {
            Self::Backpressured | Self::Dropped => DiagnosticsLevel::Errors,
            Self::Received | Self::Dispatched | Self::Completed | Self::Replied => DiagnosticsLevel::Normal,
            Self::Admitted | Self::Sent | Self::ReplyReceived => DiagnosticsLevel::Detailed,
        }
    }
}

impl DiagnosticsLevel {
    /// True if `phase` of a message whose flow id hashes to `flow_hash` is recorded. `sample_rate` (0.0 to 1.0) thins out what
    /// Normal and Detailed add; errors, backpressured and dropped are never sampled away (M-31).
    pub fn records(self, phase: Phase, sample_rate: f64, flow_hash: u64) -> bool {
        if self < phase.level() {
            return false;
        }
        // The hash's upper 53 bits as a fraction of 1: exact in an f64.
        let place = (flow_hash >> 11) as f64 / (1_u64 << 53) as f64;
        phase.level() == DiagnosticsLevel::Errors || place < sample_rate
    }
}

/// Why a message ended without being handled: the labels of `messages.dropped` (M-21).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DropReason {
    /// Nothing is registered for its packet.
    NoHandler,
    /// Its record or payload is malformed.
    DecodeError,
    /// A full owner refused a one-way under `owner_overflow` = Refuse.
    Backpressure,
    /// Its owner moved away or is closed.
    StaleTarget,
    /// The host drains or stopped.
    Shutdown,
}

/// Counts of `messages.dropped` by reason. No load indicator: waiting never raises one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
pub struct Dropped {
    pub no_handler: u64,
    pub decode_error: u64,
    pub backpressure: u64,
    pub stale_target: u64,
    pub shutdown: u64,
}

impl Dropped {
    /// One more.
    pub(super) fn count(&mut self, reason: DropReason) {
        let counter = match reason {
            DropReason::NoHandler => &mut self.no_handler,
            DropReason::DecodeError => &mut self.decode_error,
            DropReason::Backpressure => &mut self.backpressure,
            DropReason::StaleTarget => &mut self.stale_target,
            DropReason::Shutdown => &mut self.shutdown,
        };
        *counter = counter.saturating_add(1);
    }

    /// All together.
    pub fn total(&self) -> u64 {
        [self.no_handler, self.decode_error, self.backpressure, self.stale_target, self.shutdown]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

impl<T> Host<T> {
    /// Counts a received one-way that ended for a reason which the composition found. Those that `attach` refuses are counted there.
    pub fn count_dropped(&mut self, reason: DropReason) {
        self.counters.dropped.count(reason);
    }
}

/// At most 100 records a second of one reason pass; the others are counted (M-33).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateLimit {
    window: Timestamp,
    passed: u32,
    held_back: u64,
}

impl RateLimit {
    /// Records a second.
    pub const RECORDS_MAX: u32 = 100;

    /// `None`: do not write this record. Else write it, and first a summary of so many that were held back, if not 0.
    pub fn pass(&mut self, now: Timestamp) -> Option<u64> {
        if now.saturating_since(self.window) >= Duration::from_secs(1) {
            (self.window, self.passed) = (now, 0);
        }
        if self.passed < Self::RECORDS_MAX {
            self.passed += 1;
            return Some(core::mem::take(&mut self.held_back));
        }
        self.held_back = self.held_back.saturating_add(1);
        None
    }
}
