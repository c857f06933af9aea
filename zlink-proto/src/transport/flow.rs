//! Flow state and weight of one set, both directions, and the blockers (N-40 to N-49, B-23 to B-28).

use crate::time::Timestamp;
use crate::wire::{Flow, FlowState, WEIGHT_DEFAULT};

/// Blockers of a peer besides bytes, which its queue knows (B-23).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Blockers {
    /// The set is not ready.
    pub(crate) hold: bool,
    /// The peer said PAUSED.
    pub(crate) paused: bool,
    /// Close, removal, fault or finish.
    pub(crate) ending: bool,
}

impl Blockers {
    /// None holds.
    #[inline]
    pub(crate) fn is_clear(self) -> bool {
        !(self.hold | self.paused | self.ending)
    }
}

/// What we tell the peer, and what it told us.
#[derive(Debug)]
pub(crate) struct SetFlow {
    /// State last written on this connection; a new set starts as RUNNING (N-42).
    told: Flow,
    epochs_written: u64,
    epoch_received: u64,
    /// Records that came since it was last told a state (N-41).
    pub(crate) delivered: u32,
    /// In the socket's list of sets that delivered, or of sets that were told PAUSED.
    pub(crate) is_listed: bool,
    /// FLOWSTATE slot: its order number (W-44).
    pending_flow: Option<u64>,
    weight_told: u32,
    pending_weight: Option<(u64, u32)>,
    /// The peer's weight.
    pub(crate) weight: u32,
    /// Since when the peer has us paused.
    pub(crate) paused_since: Option<Timestamp>,
}

/// What a received FLOWSTATE means (N-44, N-45).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Heard {
    /// Not newer.
    Stale,
    /// Newer, same state.
    Same,
    /// A transition.
    Changed,
}

/// A control frame to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slot {
    /// FLOWSTATE.
    Flow(FlowState),
    /// WEIGHT.
    Weight(u32),
}

impl SetFlow {
    pub(crate) fn new() -> Self {
        Self {
            told: Flow::Running,
            epochs_written: 0,
            epoch_received: 0,
            delivered: 0,
            is_listed: false,
            pending_flow: None,
            weight_told: WEIGHT_DEFAULT,
            pending_weight: None,
            weight: WEIGHT_DEFAULT,
            paused_since: None,
        }
    }

    pub(crate) fn told(&self) -> Flow {
        self.told
    }

    /// Judges a received state by its epoch; `current` is the blocker's value.
    pub(crate) fn hear(&mut self, flow: FlowState, current: bool) -> Heard {
        if flow.epoch <= self.epoch_received {
            return Heard::Stale;
        }
        self.epoch_received = flow.epoch;
        if (flow.state == Flow::Paused) == current { Heard::Same } else { Heard::Changed }
    }

    /// Fills the FLOWSTATE slot; what it says is decided when it is written.
    pub(crate) fn fill_flow(&mut self, order: u64) {
        self.pending_flow = Some(order);
    }

    /// Fills the WEIGHT slot.
    pub(crate) fn fill_weight(&mut self, order: u64, weight: u32) {
        let is_news = weight != self.weight_told;
        self.pending_weight = is_news.then_some((order, weight));
    }

    pub(crate) fn has_flow_slot(&self) -> bool {
        self.pending_flow.is_some()
    }

    pub(crate) fn has_slots(&self) -> bool {
        self.pending_flow.is_some() || self.pending_weight.is_some()
    }

    /// The next control frame, in ascending order number. A state or weight equal to what the peer knows is not written, unless
    /// `is_first`: the frame behind READY of N-42.
    pub(crate) fn take_slot(&mut self, state: Flow, is_first: bool) -> Option<Slot> {
        loop {
            let flow_order = self.pending_flow.unwrap_or(u64::MAX);
            match self.pending_weight {
                Some((order, weight)) if order < flow_order => {
                    self.pending_weight = None;
                    if weight != self.weight_told {
                        self.weight_told = weight;
                        return Some(Slot::Weight(weight));
                    }
                }
                Some(_) | None => {
                    self.pending_flow.take()?;
                    if state != self.told || is_first {
                        self.told = state;
                        self.delivered = 0;
                        self.epochs_written += 1;
                        return Some(Slot::Flow(FlowState { state, epoch: self.epochs_written }));
                    }
                }
            }
        }
    }
}

/// Duration and counts of the peers' pauses (N-47).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowCounts {
    /// Ready peers that have us paused now.
    pub paused_peers: u32,
    /// Transitions to PAUSED.
    pub pauses: u64,
    /// Transitions to RUNNING.
    pub resumes: u64,
    /// Flow states that were not newer, or of an ended set.
    pub stale: u64,
    /// Nanoseconds of the last finished pause.
    pub last_pause_nanos: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(state: Flow, epoch: u64) -> FlowState {
        FlowState { state, epoch }
    }

    #[test]
    fn n44_only_a_higher_epoch_is_applied() {
        let mut flow = SetFlow::new();
        assert_eq!(flow.hear(state(Flow::Paused, 3), false), Heard::Changed);
        assert_eq!(flow.hear(state(Flow::Running, 3), true), Heard::Stale);
        assert_eq!(flow.hear(state(Flow::Running, 2), true), Heard::Stale);
        assert_eq!(flow.hear(state(Flow::Paused, 4), true), Heard::Same);
        assert_eq!(flow.hear(state(Flow::Running, 4), true), Heard::Stale);
        assert_eq!(flow.hear(state(Flow::Running, 5), true), Heard::Changed);
    }

    #[test]
    fn w44_slots_are_written_in_the_order_of_their_last_overwrite() {
        let mut flow = SetFlow::new();
        flow.take_slot(Flow::Paused, false);
        flow.fill_flow(1);
        let first = flow.take_slot(Flow::Paused, false);
        assert_eq!(first, Some(Slot::Flow(state(Flow::Paused, 1))));
        flow.fill_weight(2, 50);
        flow.fill_weight(3, 70);
        flow.fill_flow(4);
        assert_eq!(flow.take_slot(Flow::Running, false), Some(Slot::Weight(70)));
        assert_eq!(flow.take_slot(Flow::Running, false), Some(Slot::Flow(state(Flow::Running, 2))));
        assert_eq!(flow.take_slot(Flow::Running, false), None);
    }

    #[test]
    fn n41_a_reverted_state_is_not_written() {
        let mut flow = SetFlow::new();
        flow.fill_flow(1);
        flow.fill_flow(2);
        assert_eq!(flow.take_slot(Flow::Running, false), None);
        assert!(!flow.has_slots());
    }
}
