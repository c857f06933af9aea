//! Whether a peer is still there: probes and the deadline of silence (S-40 to S-44).

use crate::time::Timestamp;
use core::time::Duration;

/// A probe is due when for so long nothing was heard or nothing was written (S-40).
pub const PROBE_AFTER: Duration = Duration::from_secs(5);
/// A set ends when for so long nothing was heard (S-42).
pub const SILENCE_MAX: Duration = Duration::from_secs(15);

/// What a set has to do now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LivenessOutput {
    /// Put a probe with this id into the set's probe slot.
    ProbeDue {
        /// Never zero. The same id until it is acknowledged.
        id: u64,
    },
    /// Nothing was heard for 15 s: the set ends with reason `liveness` (S-42).
    Dead,
}

/// A matching ack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acked {
    /// It answers the probe of `fence`: everything that the peer had for us came before it (M-62a).
    pub was_fence: bool,
}

/// The clocks of one admitted set. It writes and reads nothing: its owner tells it what was heard and written.
///
/// ```text
/// probe     idle ──5 s nothing heard, or nothing written──▶ outstanding(id) ──first matching ack──▶ idle
///                                                            │      ▲ again unchanged each 5 s
/// silence   counting ──15 s──▶ dead                          └──────┘
///             │  ▲
///             ▼  │   we do not read, or somebody set PAUSED (S-43)
///           standing still
/// ```
#[derive(Clone, Debug)]
pub struct Liveness {
    last_heard: Timestamp,
    last_written: Timestamp,
    /// When the last probe was handed out: a slot that cannot be written is not filled without end.
    last_probe: Option<Timestamp>,
    /// As `last_heard`, moved later by the time that the clock stood still.
    silent_since: Timestamp,
    stands_still_since: Option<Timestamp>,
    outstanding: Option<Probe>,
    /// Ids given so far on this connection; the next is one more.
    probes: u64,
    is_dead: bool,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    id: u64,
    is_fence: bool,
}

impl Liveness {
    /// Starts at admission (S-40).
    pub const fn new(now: Timestamp) -> Self {
        Self {
            last_heard: now,
            last_written: now,
            last_probe: None,
            silent_since: now,
            stands_still_since: None,
            outstanding: None,
            probes: 0,
            is_dead: false,
        }
    }

    /// Bytes came: any complete frame, or a piece of a frame under reception (S-41).
    pub fn heard(&mut self, now: Timestamp) {
        self.last_heard = now;
        self.silent_since = now;
        if let Some(since) = &mut self.stands_still_since {
            *since = now;
        }
    }

    /// Bytes of this set were taken by the transport.
    pub fn written(&mut self, now: Timestamp) {
        self.last_written = now;
    }

    /// Stops or continues the clock of silence (S-43). It continues where it stopped.
    pub fn stand_still(&mut self, stands_still: bool, now: Timestamp) {
        match (self.stands_still_since, stands_still) {
            (None, true) => self.stands_still_since = Some(now),
            (Some(since), false) => {
                self.stands_still_since = None;
                self.silent_since = self.silent_since.saturating_add(now.saturating_since(since));
            }
            (None, false) | (Some(_), true) => {}
        }
    }

    /// A new probe for the drain fence (M-62a), to be put into the slot now. It replaces an outstanding one.
    pub fn fence(&mut self, now: Timestamp) -> u64 {
        self.begin_probe(true, now)
    }

    /// Id of the probe that waits for its ack.
    pub fn outstanding_id(&self) -> Option<u64> {
        self.outstanding.map(|probe| probe.id)
    }

    /// An ack came. `None`: repeated, or of another id; it is ignored (S-41).
    pub fn ack(&mut self, id: u64) -> Option<Acked> {
        let probe = self.outstanding.take_if(|probe| probe.id == id)?;
        Some(Acked { was_fence: probe.is_fence })
    }

    /// Earliest time at which `handle_timeout` has something to do.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        if self.is_dead {
            return None;
        }
        let probe = self.probe_due();
        Some(self.silence_due().map_or(probe, |silence| silence.min(probe)))
    }

    /// What is due at `now`. `Dead` comes once, and nothing after it.
    pub fn handle_timeout(&mut self, now: Timestamp) -> Option<LivenessOutput> {
        if self.is_dead {
            return None;
        }
        if self.silence_due().is_some_and(|due| due <= now) {
            self.is_dead = true;
            return Some(LivenessOutput::Dead);
        }
        if self.probe_due() > now {
            return None;
        }
        let id = match self.outstanding {
            Some(probe) => {
                self.last_probe = Some(now);
                probe.id
            }
            None => self.begin_probe(false, now),
        };
        Some(LivenessOutput::ProbeDue { id })
    }

    fn begin_probe(&mut self, is_fence: bool, now: Timestamp) -> u64 {
        // 2^64 probes do not happen: the ids of a connection never repeat and are never zero.
        self.probes = self.probes.saturating_add(1);
        self.outstanding = Some(Probe { id: self.probes, is_fence });
        self.last_probe = Some(now);
        self.probes
    }

    fn probe_due(&self) -> Timestamp {
        let since = match (self.outstanding, self.last_probe) {
            (Some(_), Some(probe)) => probe,
            (Some(_) | None, None) => self.last_heard.min(self.last_written),
            (None, Some(probe)) => self.last_heard.min(self.last_written).max(probe),
        };
        since.saturating_add(PROBE_AFTER)
    }

    fn silence_due(&self) -> Option<Timestamp> {
        match self.stands_still_since {
            Some(_) => None,
            None => Some(self.silent_since.saturating_add(SILENCE_MAX)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const fn s(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    /// Lets every due timeout up to `until` act, at its time.
    fn run(liveness: &mut Liveness, until: Timestamp) -> Vec<(u64, LivenessOutput)> {
        let mut outputs = Vec::new();
        while let Some(due) = liveness.poll_timeout().filter(|&due| due <= until) {
            if let Some(output) = liveness.handle_timeout(due) {
                outputs.push((due.as_nanos() / 1_000_000_000, output));
            }
            assert!(
                liveness.poll_timeout().is_none_or(|next| next > due),
                "a timeout that is over came again"
            );
        }
        outputs
    }

    const fn probe(id: u64) -> LivenessOutput {
        LivenessOutput::ProbeDue { id }
    }

    #[test]
    fn t94_a_silent_peer_is_probed_with_one_id_and_ends_at_15_s() {
        let mut liveness = Liveness::new(s(0));
        let outputs = run(&mut liveness, s(100));
        assert_eq!(outputs, [(5, probe(1)), (10, probe(1)), (15, LivenessOutput::Dead)]);
        assert_eq!(liveness.handle_timeout(s(200)), None);
    }

    #[test]
    fn t94_nothing_is_due_before_its_time() {
        let mut liveness = Liveness::new(s(0));
        assert_eq!(liveness.handle_timeout(Timestamp::from_nanos(4_999_999_999)), None);
        assert_eq!(liveness.handle_timeout(s(5)), Some(probe(1)));
        liveness.heard(s(6));
        liveness.written(s(6));
        assert_eq!(liveness.ack(1), Some(Acked { was_fence: false }));
        assert_eq!(liveness.poll_timeout(), Some(s(11)));
    }

    #[test]
    fn t94_data_both_ways_every_second_needs_no_probe() {
        let mut liveness = Liveness::new(s(0));
        for second in 1..=60 {
            assert_eq!(run(&mut liveness, s(second)), []);
            liveness.heard(s(second));
            liveness.written(s(second));
        }
    }

    #[test]
    fn t94_an_unanswered_probe_does_not_end_a_peer_that_is_heard() {
        let mut liveness = Liveness::new(s(0));
        let mut outputs = Vec::new();
        for second in 1..=60 {
            liveness.heard(s(second));
            outputs.extend(run(&mut liveness, s(second)));
        }
        assert!(outputs.iter().all(|&(_, output)| output == probe(1)), "{outputs:?}");
        assert_eq!(outputs.len(), 12, "once each 5 s: {outputs:?}");
    }

    #[test]
    fn s40_one_direction_of_silence_is_enough_for_a_probe() {
        let mut writes_only = Liveness::new(s(0));
        let mut hears_only = Liveness::new(s(0));
        for second in 1..=5 {
            writes_only.written(s(second));
            hears_only.heard(s(second));
        }
        assert_eq!(writes_only.handle_timeout(s(5)), Some(probe(1)));
        assert_eq!(hears_only.handle_timeout(s(5)), Some(probe(1)));
    }

    #[test]
    fn s41_each_new_probe_has_a_new_id_and_only_the_first_matching_ack_counts() {
        let mut liveness = Liveness::new(s(0));
        assert_eq!(liveness.handle_timeout(s(5)), Some(probe(1)));
        assert_eq!(liveness.ack(2), None);
        assert_eq!(liveness.ack(0), None);
        assert_eq!(liveness.ack(1), Some(Acked { was_fence: false }));
        assert_eq!(liveness.ack(1), None);
        assert_eq!(liveness.handle_timeout(s(10)), Some(probe(2)));
    }

    #[test]
    fn s41_a_probe_that_cannot_be_written_is_not_due_without_end() {
        let mut liveness = Liveness::new(s(0));
        assert_eq!(liveness.handle_timeout(s(5)), Some(probe(1)));
        liveness.heard(s(5));
        assert!(liveness.ack(1).is_some());
        assert_eq!(liveness.poll_timeout(), Some(s(10)), "although nothing was written since 0 s");
    }

    #[test]
    fn t94_a_clock_that_stands_still_ends_nobody_and_goes_on_where_it_stopped() {
        let mut liveness = Liveness::new(s(0));
        assert_eq!(run(&mut liveness, s(10)).len(), 2);
        liveness.stand_still(true, s(10));
        liveness.stand_still(true, s(30));
        let outputs = run(&mut liveness, s(70));
        assert!(outputs.iter().all(|&(_, output)| output == probe(1)), "{outputs:?}");
        liveness.stand_still(false, s(70));
        liveness.stand_still(false, s(71));
        assert_eq!(run(&mut liveness, s(100)).last(), Some(&(75, LivenessOutput::Dead)));
    }

    #[test]
    fn s43_what_is_heard_while_the_clock_stands_still_begins_a_new_silence() {
        let mut liveness = Liveness::new(s(0));
        liveness.stand_still(true, s(14));
        liveness.heard(s(20));
        liveness.stand_still(false, s(30));
        assert_eq!(run(&mut liveness, s(100)).last(), Some(&(45, LivenessOutput::Dead)));
    }

    #[test]
    fn m62a_a_fence_replaces_the_outstanding_probe() {
        let mut liveness = Liveness::new(s(0));
        assert_eq!(liveness.handle_timeout(s(5)), Some(probe(1)));
        let fence = liveness.fence(s(6));
        assert_eq!(fence, 2);
        assert_eq!(liveness.ack(1), None, "the old id is not the fence");
        assert_eq!(liveness.handle_timeout(s(11)), Some(probe(2)), "again unchanged");
        assert_eq!(liveness.ack(2), Some(Acked { was_fence: true }));
    }
}
