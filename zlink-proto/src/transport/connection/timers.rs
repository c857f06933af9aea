//! The three limits of a connection (§10 of the wire rules, N-89).

use crate::time::Timestamp;
use core::time::Duration;

/// Longest wait for the peer's end after our own (N-89).
pub(super) const FINISH_LIMIT: Duration = Duration::from_secs(1);

/// When they end. A limit that does not run has no deadline.
#[derive(Debug)]
pub(super) struct Timers {
    /// Total time of the handshake.
    handshake: Option<Timestamp>,
    /// The handshake limit passed while its completion was not yet told to the socket (W-37).
    pub(super) is_handshake_judged_late: bool,
    progress_limit: Duration,
    /// The last byte that came, or the moment at which reading went on.
    progress_since: Timestamp,
    finish: Option<Timestamp>,
}

impl Timers {
    pub(super) fn new(handshake_limit: Duration, progress_limit: Duration, now: Timestamp) -> Self {
        Self {
            handshake: Some(now.saturating_add(handshake_limit)),
            is_handshake_judged_late: false,
            progress_limit,
            progress_since: now,
            finish: None,
        }
    }

    pub(super) fn end_handshake(&mut self) {
        self.handshake = None;
        self.is_handshake_judged_late = false;
    }

    /// The limit is over, but what is not yet told may show that it was kept.
    pub(super) fn judge_handshake_late(&mut self) {
        self.handshake = None;
        self.is_handshake_judged_late = true;
    }

    /// A byte came, or reading goes on.
    pub(super) fn restart_progress(&mut self, now: Timestamp) {
        self.progress_since = now;
    }

    pub(super) fn start_finish(&mut self, now: Timestamp) {
        self.finish = Some(now.saturating_add(FINISH_LIMIT));
    }

    pub(super) fn end_all(&mut self) {
        self.end_handshake();
        self.finish = None;
    }

    pub(super) fn is_handshake_over(&self, now: Timestamp) -> bool {
        self.handshake.is_some_and(|due| due <= now)
    }

    pub(super) fn is_progress_over(&self, now: Timestamp) -> bool {
        self.progress_due() <= now
    }

    pub(super) fn is_finish_over(&self, now: Timestamp) -> bool {
        self.finish.is_some_and(|due| due <= now)
    }

    /// The earliest end. `is_progress_running`: a frame or record is begun and reading is on.
    pub(super) fn earliest(&self, is_progress_running: bool) -> Option<Timestamp> {
        let progress = is_progress_running.then(|| self.progress_due());
        [self.handshake, progress, self.finish].into_iter().flatten().min()
    }

    fn progress_due(&self) -> Timestamp {
        self.progress_since.saturating_add(self.progress_limit)
    }
}
