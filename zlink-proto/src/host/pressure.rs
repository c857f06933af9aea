//! Pressure: the hysteresis over permits in use (H-30 to H-34).
//!
//! ```text
//!               in_use >= pause
//!    running ────────────────────▶ paused
//!            ◀────────────────────
//!               in_use <= resume
//! ```

use crate::time::Timestamp;
use crate::wire::Flow;
use core::time::Duration;

/// `ceil(limit * percent / 100)` (H-30).
pub(super) const fn pause_mark(limit: u32, percent: u32) -> u32 {
    // The product is below 2^31 * 100 and the result at most `limit`.
    (limit as u64 * percent as u64).div_ceil(100) as u32
}

/// `floor(limit * percent / 100)` (H-30).
pub(super) const fn resume_mark(limit: u32, percent: u32) -> u32 {
    (limit as u64 * percent as u64 / 100) as u32
}

/// State, sequence and statistics.
#[derive(Clone, Debug)]
pub(super) struct Pressure {
    pause: u32,
    resume: u32,
    state: Flow,
    sequence: u64,
    entered_running: u64,
    entered_paused: u64,
    paused_since: Timestamp,
    /// Pauses of this epoch that are over.
    paused_before: Duration,
    epoch_start: Timestamp,
}

impl Pressure {
    /// Running, sequence 0 (H-31).
    pub(super) fn new(pause: u32, resume: u32, now: Timestamp) -> Self {
        Self {
            pause,
            resume,
            state: Flow::Running,
            sequence: 0,
            entered_running: 0,
            entered_paused: 0,
            paused_since: Timestamp::ZERO,
            paused_before: Duration::ZERO,
            epoch_start: now,
        }
    }

    pub(super) fn state(&self) -> Flow {
        self.state
    }

    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(super) fn pause(&self) -> u32 {
        self.pause
    }

    pub(super) fn resume(&self) -> u32 {
        self.resume
    }

    /// Times that {running, paused} was entered in this epoch.
    pub(super) fn transitions(&self) -> (u64, u64) {
        (self.entered_running, self.entered_paused)
    }

    /// Called inside the step that changed `in_use` (H-31). The clock is read at a transition only.
    #[inline]
    pub(super) fn evaluate(&mut self, in_use: u32, clock: impl FnOnce() -> Timestamp) {
        match self.state {
            Flow::Running if in_use >= self.pause => self.enter_paused(clock()),
            Flow::Paused if in_use <= self.resume => self.enter_running(clock()),
            Flow::Running | Flow::Paused => {}
        }
    }

    fn enter_paused(&mut self, now: Timestamp) {
        self.state = Flow::Paused;
        self.sequence += 1;
        self.entered_paused = self.entered_paused.saturating_add(1);
        self.paused_since = now;
    }

    fn enter_running(&mut self, now: Timestamp) {
        self.paused_before = self.cumulative_pause(now);
        self.state = Flow::Running;
        self.sequence += 1;
        self.entered_running = self.entered_running.saturating_add(1);
    }

    /// How long the pause that is on has lasted; zero while running. A reset does not shorten it (M-42).
    pub(super) fn current_pause(&self, now: Timestamp) -> Duration {
        match self.state {
            Flow::Running => Duration::ZERO,
            Flow::Paused => now.saturating_since(self.paused_since),
        }
    }

    /// Time paused in this epoch (M-42).
    pub(super) fn cumulative_pause(&self, now: Timestamp) -> Duration {
        match self.state {
            Flow::Running => self.paused_before,
            Flow::Paused => {
                let since = self.paused_since.max(self.epoch_start);
                self.paused_before.saturating_add(now.saturating_since(since))
            }
        }
    }

    /// Counters to zero; state, sequence and the running pause stay (H-34, M-41).
    pub(super) fn reset(&mut self, now: Timestamp) {
        self.entered_running = 0;
        self.entered_paused = 0;
        self.paused_before = Duration::ZERO;
        self.epoch_start = now;
    }

    /// H-30, H-31.
    pub(super) fn check_invariants(&self, limit: u32, in_use: u32) {
        assert!(1 <= self.pause && self.pause <= limit && self.resume < self.pause, "marks in order");
        match self.state {
            Flow::Running => assert!(in_use < self.pause, "running below the pause mark"),
            Flow::Paused => assert!(in_use > self.resume, "paused above the resume mark"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t31_marks_are_exact_for_every_small_limit_and_near_the_largest() {
        let large = [2_147_483_645_u32, 2_147_483_646, 2_147_483_647];
        for limit in (1..=1_000).chain(large) {
            let exact = u64::from(limit);
            // resume grows with R, so the largest legal R stands for all of them in `resume < pause`.
            let mut resume_of = [0_u32; 100];
            for percent in 0..100_u32 {
                let resume = resume_mark(limit, percent);
                let (r, p) = (u64::from(resume), u64::from(percent));
                assert!(r * 100 <= exact * p && exact * p < (r + 1) * 100, "floor, M {limit} R {percent}");
                resume_of[percent as usize] = resume;
            }
            for percent in 1..=100_u32 {
                let pause = pause_mark(limit, percent);
                let (m, p) = (u64::from(pause), u64::from(percent));
                assert!(m * 100 >= exact * p && exact * p + 100 > m * 100, "ceil, M {limit} P {percent}");
                assert!(1 <= pause && pause <= limit);
                for resume in &resume_of[..percent as usize] {
                    assert!(*resume < pause, "M {limit} P {percent}");
                }
            }
        }
    }

    #[test]
    fn h30_the_table_of_marks() {
        let rows = [
            (1, 1, 0),
            (2, 2, 1),
            (3, 3, 1),
            (4, 4, 2),
            (5, 4, 3),
            (10, 8, 6),
            (32, 26, 19),
            (64, 52, 38),
            (128, 103, 76),
            (256, 205, 153),
            (1_024, 820, 614),
            (2_147_483_647, 1_717_986_918, 1_288_490_188),
        ];
        for (limit, pause, resume) in rows {
            assert_eq!((pause_mark(limit, 80), resume_mark(limit, 60)), (pause, resume), "M {limit}");
        }
    }
}
