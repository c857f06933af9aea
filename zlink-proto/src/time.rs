//! Time as the machines see it: an argument, never a clock (O-14).

use core::fmt;
use core::time::Duration;

/// A point of the caller's one monotonic clock, in nanoseconds since an origin of the caller's choice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The origin.
    pub const ZERO: Self = Self(0);

    /// The point `nanoseconds` after the origin.
    pub const fn from_nanos(nanoseconds: u64) -> Self {
        Self(nanoseconds)
    }

    /// The point `milliseconds` after the origin.
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// This point moved later by `duration`; the end of time if that cannot be expressed.
    pub fn saturating_add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// Time since `earlier`; zero if `earlier` is later.
    pub fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// Rounds a timeout up to whole milliseconds and checks it against 1 ms to 2^31 - 1 ms (O-10).
///
/// # Errors
/// Gives the duration back if it is zero or too large.
pub fn round_timeout(timeout: Duration) -> Result<Duration, Duration> {
    let milliseconds = timeout.as_nanos().div_ceil(1_000_000);
    match u64::try_from(milliseconds) {
        Ok(ms) if (1..=0x7fff_ffff).contains(&ms) => Ok(Duration::from_millis(ms)),
        _ => Err(timeout),
    }
}
