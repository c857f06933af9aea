//! How long a set may take until it is admitted (S-31).

use crate::time::Timestamp;
use core::time::Duration;

/// A clock that can stand still.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdmissionClock {
    left: Duration,
    /// `None`: it stands still.
    running_since: Option<Timestamp>,
    /// We connected: the peer's PAUSED stops the clock.
    pub(crate) is_connector: bool,
}

impl AdmissionClock {
    pub(crate) const fn new(limit: Duration, is_connector: bool, now: Timestamp) -> Self {
        Self { left: limit, running_since: Some(now), is_connector }
    }

    /// Stops or continues it.
    pub(crate) fn stand_still(&mut self, stands_still: bool, now: Timestamp) {
        match (self.running_since, stands_still) {
            (Some(since), true) => {
                self.left = self.left.saturating_sub(now.saturating_since(since));
                self.running_since = None;
            }
            (None, false) => self.running_since = Some(now),
            (Some(_), false) | (None, true) => {}
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Timestamp> {
        self.running_since.map(|since| since.saturating_add(self.left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s31_the_clock_goes_on_where_it_stopped() {
        let at = |seconds: u64| Timestamp::from_millis(seconds * 1_000);
        let mut clock = AdmissionClock::new(Duration::from_secs(5), true, at(0));
        assert_eq!(clock.poll_timeout(), Some(at(5)));
        clock.stand_still(true, at(3));
        clock.stand_still(true, at(9));
        assert_eq!(clock.poll_timeout(), None);
        clock.stand_still(false, at(60));
        clock.stand_still(false, at(61));
        assert_eq!(clock.poll_timeout(), Some(at(62)));
    }
}
