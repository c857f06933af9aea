//! Our receive flow state, told to the peers, and theirs, told to us (N-40 to N-49).

use super::Socket;
use crate::error::{ErrorKind, Failure};
use crate::id::SetId;
use crate::time::Timestamp;
use crate::transport::EventKind;
use crate::transport::flow::{FlowCounts, Heard};
use crate::transport::lane_set::Phase;
use crate::wire::{Flow, FlowState, WEIGHT_MAX};
use alloc::vec::Vec;

/// The state of this socket towards all its peers.
#[derive(Debug, Default)]
pub(super) struct ReceiveFlow {
    pub(super) state: Flow,
    serial: u64,
    /// The state was PAUSED at least once: new sets are told the current one (N-42).
    pub(super) was_paused: bool,
    /// Sets that delivered since they were last told a state, and sets that were told PAUSED: those that a transition concerns.
    listed: Vec<SetId>,
    pub(super) counts: FlowCounts,
}

#[cfg(test)]
impl ReceiveFlow {
    pub(super) fn listed_len(&self) -> usize {
        self.listed.len()
    }
}

impl Socket {
    /// Says whether this socket wants application records (N-40). `serial` orders calls that may overtake each other: one that is not
    /// above the last one is dropped. Setting the current state again writes nothing.
    pub fn set_flow(&mut self, state: Flow, serial: u64, now: Timestamp) {
        self.advance(now);
        if serial <= self.receive_flow.serial {
            return;
        }
        self.receive_flow.serial = serial;
        if state == self.receive_flow.state {
            return;
        }
        self.receive_flow.state = state;
        self.receive_flow.was_paused |= state == Flow::Paused;
        self.tell_flow();
    }

    /// The state that `set_flow` set.
    pub fn receive_flow_state(&self) -> Flow {
        self.receive_flow.state
    }

    /// Fills the slots of the sets that have to know: PAUSED goes to those that deliver, RUNNING to those that were told PAUSED.
    fn tell_flow(&mut self) {
        let state = self.receive_flow.state;
        let mut listed = core::mem::take(&mut self.receive_flow.listed);
        listed.retain(|&id| {
            let Some(set) = self.sets.get_mut(id).filter(|set| set.phase == Phase::Ready) else {
                return false;
            };
            let is_concerned = set.flow.told() != state && (state == Flow::Running || set.flow.delivered > 0);
            if is_concerned {
                let order = self.operations.next_order();
                set.flow.fill_flow(order);
                self.wake(id.slot);
            }
            self.update_standing(id.slot);
            let flow = &mut self.sets.at_mut(id.slot).flow;
            flow.is_listed = is_concerned || flow.told() == Flow::Paused || flow.delivered > 0;
            flow.is_listed
        });
        self.receive_flow.listed = listed;
    }

    /// A set from which PAUSED was held back delivered: it is told now (N-41).
    pub(super) fn tell_late(&mut self, slot: u32) {
        let state = self.receive_flow.state;
        let set = self.sets.at_mut(slot);
        if set.phase == Phase::Ready && set.flow.told() != state && !set.flow.has_flow_slot() {
            let order = self.operations.next_order();
            self.sets.at_mut(slot).flow.fill_flow(order);
            self.wake(slot);
        }
    }

    /// Puts a set into the list of those that transitions concern.
    pub(super) fn list_for_flow(&mut self, slot: u32) {
        let set = self.sets.at_mut(slot);
        if set.phase != Phase::Ready {
            return;
        }
        set.flow.is_listed = true;
        self.receive_flow.listed.push(set.id);
        // Sets that ended leave the list here, so that it stays in proportion to the live ones.
        let bound = 2 * self.ready_peers as usize + 16;
        if self.receive_flow.listed.len() > bound {
            let sets = &self.sets;
            self.receive_flow.listed.retain(|&id| sets.get(id).is_some_and(|set| set.phase == Phase::Ready));
        }
    }

    /// A set became ready: what it has to know before the first record (N-42, W-39).
    pub(super) fn greet(&mut self, slot: u32) {
        if self.receive_flow.was_paused {
            let order = self.operations.next_order();
            let set = self.sets.at_mut(slot);
            set.tells_first_flow = true;
            set.flow.fill_flow(order);
        }
        let (order, weight) = (self.operations.next_order(), self.weight);
        self.sets.at_mut(slot).flow.fill_weight(order, weight);
    }

    /// The peer's FLOWSTATE (N-43 to N-45).
    pub(super) fn handle_flow(&mut self, slot: u32, flow: FlowState) {
        let now = self.now;
        let set = self.sets.at_mut(slot);
        let (connection, name) = (Some(set.connection), set.routing_id.clone());
        match set.flow.hear(flow, set.blockers.paused) {
            Heard::Stale => {
                self.receive_flow.counts.stale += 1;
                let epoch = flow.epoch;
                self.events.tell(now, connection, || EventKind::FlowStateStale { routing_id: name, epoch });
            }
            Heard::Same => {}
            Heard::Changed if flow.state == Flow::Paused => {
                set.blockers.paused = true;
                set.flow.paused_since = Some(now);
                self.receive_flow.counts.pauses += 1;
                self.receive_flow.counts.paused_peers += 1;
                let epoch = flow.epoch;
                self.events.tell(now, connection, || EventKind::SendPaused { routing_id: name, epoch });
                self.update_standing(slot);
                self.retry_for_token(slot);
            }
            Heard::Changed => {
                self.end_pause(slot);
                self.receive_flow.counts.resumes += 1;
                let set = self.sets.at(slot);
                let is_writable = set.blockers.is_clear() && !set.send.meter.is_full();
                let epoch = flow.epoch;
                self.events.tell(now, connection, || EventKind::SendResumed {
                    routing_id: name,
                    epoch,
                    is_writable,
                });
                self.update_standing(slot);
                self.serve(slot);
            }
        }
    }

    /// Remote PAUSED ends, by RUNNING or with the set (N-22, 5).
    pub(super) fn end_pause(&mut self, slot: u32) {
        let now = self.now;
        let set = self.sets.at_mut(slot);
        set.blockers.paused = false;
        if let Some(since) = set.flow.paused_since.take() {
            let counts = &mut self.receive_flow.counts;
            counts.paused_peers -= 1;
            counts.last_pause_nanos = now.as_nanos() - since.as_nanos();
        }
    }

    /// The peer's WEIGHT (N-48).
    pub(super) fn handle_weight(&mut self, slot: u32, weight: u32) {
        let now = self.now;
        let set = self.sets.at_mut(slot);
        if core::mem::replace(&mut set.flow.weight, weight) == weight {
            return;
        }
        let (id, connection, name) = (set.id, Some(set.connection), set.routing_id.clone());
        let is_candidate = set.phase == Phase::Ready && !self.options.service_selection;
        if is_candidate && self.socket_type == crate::wire::SocketType::Dealer {
            self.selector.set_weight(id, &name, weight);
            self.serve_unfixed();
        }
        self.events.tell(now, connection, || EventKind::PeerWeightChanged { routing_id: name, weight });
    }

    /// Changes our weight; every ready peer is told (W-39).
    ///
    /// # Errors
    /// `InvalidOperation` above 10,000; the old value stays.
    pub fn set_weight(&mut self, weight: u32) -> Result<(), Failure> {
        if weight > WEIGHT_MAX {
            return Err(Failure::not_submitted(ErrorKind::InvalidOperation, "a weight is 0 to 10,000"));
        }
        self.weight = weight;
        for slot in self.sets.slots() {
            let order = self.operations.next_order();
            let set = self.sets.at_mut(slot);
            if set.phase == Phase::Ready {
                set.flow.fill_weight(order, weight);
                self.wake(slot);
            }
        }
        Ok(())
    }

    /// Feeds the selector of a service socket (N-60a): 0 takes the set out and keeps its accumulator.
    pub fn set_candidate(&mut self, set: SetId, weight: u32) {
        let Some(found) = self.sets.get(set).filter(|found| found.phase == Phase::Ready) else { return };
        let name = found.routing_id.clone();
        self.selector.set_weight(set, &name, weight.min(WEIGHT_MAX));
        self.serve_unfixed();
    }
}
