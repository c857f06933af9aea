//! When a connector tries again (N-32 to N-36).

use core::time::Duration;

/// Shortest delay (N-32).
const DELAY_MIN: Duration = Duration::from_millis(1);

/// Options of a connector's delays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BackoffOptions {
    /// Bound after the first failure; 1 ms to 1 h, at most `cap`.
    pub first: Duration,
    /// Largest bound; 1 ms to 1 h.
    pub cap: Duration,
    /// A set that was ready for so long counts as a success (N-33).
    pub stable_after: Duration,
}

impl Default for BackoffOptions {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(100),
            cap: Duration::from_secs(5),
            stable_after: Duration::from_secs(5),
        }
    }
}

/// The delays of one endpoint. Attempts never end by themselves (N-35): there is always a next delay.
///
/// ```text
///            failed            ended, ready ≥ stable_after: 1; shorter: k + 1        refused
///   k ────────────────▶ k + 1       unparked: 1                     the first k whose bound is the cap
/// ```
#[derive(Clone, Debug)]
pub struct Backoff {
    options: BackoffOptions,
    random: SplitMix64,
    failures: u32,
}

impl Backoff {
    /// No failure so far. The same seed gives the same delays.
    pub const fn new(options: BackoffOptions, seed: u64) -> Self {
        Self { options, random: SplitMix64(seed), failures: 0 }
    }

    /// Consecutive failures so far.
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// An attempt or a handshake failed: the delay until the next attempt (N-32).
    pub fn failed(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.delay()
    }

    /// A set that was ready for `ready_for` ended (N-33).
    pub fn ended(&mut self, ready_for: Duration) -> Duration {
        if ready_for >= self.options.stable_after {
            self.failures = 0;
        }
        self.failed()
    }

    /// The end was something that haste does not cure: fault 02 or 05, sent or received, or a duplicate routing id that
    /// does not park (N-34).
    pub fn refused(&mut self) -> Duration {
        let mut failures = self.failures.max(1);
        while self.bound(failures) < self.options.cap {
            failures += 1;
        }
        self.failures = failures;
        self.delay()
    }

    /// The set for which the endpoint was parked ended: it starts with the first delay (N-29).
    pub fn unparked(&mut self) -> Duration {
        self.failures = 1;
        self.delay()
    }

    /// Upper end of the delay after `failures` consecutive failures: min(cap, first × 2^(failures − 1)).
    pub fn bound(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1);
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        self.options.first.checked_mul(factor).map_or(self.options.cap, |bound| bound.min(self.options.cap))
    }

    fn delay(&mut self) -> Duration {
        let bound = self.bound(self.failures);
        let span = nanoseconds(bound.saturating_sub(DELAY_MIN));
        DELAY_MIN + Duration::from_nanos(self.random.up_to(span))
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The splitmix64 generator: enough to keep connectors from marching in step.
#[derive(Clone, Debug)]
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in 0 to `max`, both included.
    fn up_to(&mut self, max: u64) -> u64 {
        let scaled = (u128::from(self.next()) * (u128::from(max) + 1)) >> 64;
        u64::try_from(scaled).unwrap_or(max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn backoff(seed: u64) -> Backoff {
        Backoff::new(BackoffOptions::default(), seed)
    }

    #[test]
    fn n36_bounds_of_the_first_eight_failures() {
        let bounds: Vec<u128> = (1..=8).map(|k| backoff(0).bound(k).as_millis()).collect();
        assert_eq!(bounds, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        for k in [9, 32, 33, 34, 64, 65, u32::MAX] {
            assert_eq!(backoff(0).bound(k).as_millis(), 5_000, "{k} failures");
        }
    }

    #[test]
    fn n32_delays_lie_between_one_millisecond_and_the_bound() {
        for seed in 0..200 {
            let mut backoff = backoff(seed);
            for k in 1..=10 {
                let delay = backoff.failed();
                assert!(
                    delay >= DELAY_MIN && delay <= backoff.bound(k),
                    "seed {seed}, failure {k}: {delay:?}"
                );
            }
        }
    }

    #[test]
    fn n32_delays_fill_the_whole_range() {
        let mut eighths = [0_u32; 8];
        for seed in 0..4_000 {
            let position = (backoff(seed).failed() - DELAY_MIN).as_nanos() * 8 / 99_000_001;
            eighths[usize::try_from(position).expect("below 8")] += 1;
        }
        assert!(eighths.iter().all(|&count| (400..=600).contains(&count)), "{eighths:?}");
    }

    #[test]
    fn n32_a_bound_of_one_millisecond_gives_exactly_that() {
        let ms = Duration::from_millis(1);
        let mut backoff = Backoff::new(BackoffOptions { first: ms, cap: ms, stable_after: ms }, 3);
        assert!((0..50).all(|_| backoff.failed() == ms));
    }

    #[test]
    fn n32_the_same_seed_gives_the_same_delays() {
        let delays = |seed| {
            let mut backoff = backoff(seed);
            (0..20).map(|_| backoff.failed()).collect::<Vec<_>>()
        };
        assert_eq!(delays(7), delays(7));
        assert_ne!(delays(7), delays(8));
    }

    #[test]
    fn n33_a_stable_set_starts_again_a_short_one_goes_on_counting() {
        let mut backoff = backoff(1);
        let _ = (backoff.failed(), backoff.failed());
        let _ = backoff.ended(Duration::from_millis(4_999));
        assert_eq!(backoff.failures(), 3);
        let _ = backoff.ended(Duration::from_secs(5));
        assert_eq!(backoff.failures(), 1);
    }

    #[test]
    fn n34_a_refusal_waits_within_the_cap() {
        let mut backoff = backoff(1);
        let _ = backoff.refused();
        assert_eq!(backoff.bound(backoff.failures()), Duration::from_secs(5));
        assert_eq!(backoff.failures(), 7);
        let _ = backoff.failed();
        let _ = backoff.refused();
        assert_eq!(backoff.failures(), 8, "a refusal never shortens the count");
    }

    #[test]
    fn n29_an_unparked_endpoint_starts_with_the_first_delay() {
        let mut backoff = backoff(1);
        let _ = backoff.refused();
        assert!(backoff.unparked() <= Duration::from_millis(100));
        assert_eq!(backoff.failures(), 1);
    }
}
