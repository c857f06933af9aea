//! The one timeout of a socket (O-16).

use super::Socket;
use super::end::Farewell;
use crate::time::Timestamp;
use crate::transport::lane_set::LaneSet;

impl Socket {
    /// Earliest time at which `handle_timeout` has something to do.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        [
            self.deadlines.next(&self.operations),
            self.connectors.next_timeout(),
            self.set_timers.first().map(|&(at, _)| at),
            self.linger_end(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Ends what is due and lets clocks of sets and endpoints act. Afterwards `poll_timeout` is `None` or later than `now`.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.advance(now);
        self.run_connectors();
        while let Some(&(at, slot)) = self.set_timers.first() {
            if at > self.now {
                break;
            }
            self.disarm_set_timer(slot);
            self.run_set_timer(slot);
        }
        self.end_linger_if_due();
    }

    fn run_set_timer(&mut self, slot: u32) {
        let set = self.sets.at(slot);
        if set.finish_at.is_some_and(|at| at <= self.now) {
            let reason = set.finish_reason;
            return self.end_set(slot, reason, Farewell::Silent);
        }
        if self.end_if_not_admitted(slot) {
            return;
        }
        self.run_liveness(slot);
        if self.sets.try_at_mut(slot).is_some_and(|set| set.is_connected()) {
            self.arm_set_timer(slot);
        }
    }

    /// Registers the earliest time at which something of this set is due.
    pub(super) fn arm_set_timer(&mut self, slot: u32) {
        self.disarm_set_timer(slot);
        let set = self.sets.at_mut(slot);
        if let Some(at) = next_of(set) {
            set.timer = Some(at);
            self.set_timers.insert((at, slot));
        }
    }

    pub(super) fn disarm_set_timer(&mut self, slot: u32) {
        if let Some(at) = self.sets.at_mut(slot).timer.take() {
            self.set_timers.remove(&(at, slot));
        }
    }
}

fn next_of(set: &LaneSet) -> Option<Timestamp> {
    let liveness = set.liveness.as_ref().and_then(|liveness| liveness.poll_timeout());
    let admission = set.admission.as_ref().and_then(|admission| admission.poll_timeout());
    [set.finish_at, liveness, admission].into_iter().flatten().min()
}
