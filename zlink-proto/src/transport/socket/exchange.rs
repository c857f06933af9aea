//! The socket's side of `Connection::exchange`: received records, transmitted bytes, orders and output.

use super::Socket;
use crate::id::ConnectionNumber;
use crate::time::Timestamp;
use crate::transport::exchange::{Order, Refusal};
use crate::transport::flow::Slot;
use crate::transport::lane_set::{LaneSet, Phase};
use crate::wire::control::{encode_flow, encode_weight};
use crate::wire::{Allowance, Flow, Outbox, Record};
use alloc::vec::Vec;

/// Nothing may enter.
const CLOSED: Allowance = Allowance { room: 0, is_open: false, holds_other: true };

impl Socket {
    /// Takes complete records in order (drained from the vector), the absolute provisional charge of the open record, and the
    /// charge of a part that the allowance refused, which asks the queue itself (B-14). `heard`: bytes came since the last
    /// exchange. Returns the new allowance. May fault the connection: then `poll_order` gives `Close`.
    pub(crate) fn deliver(
        &mut self,
        c: ConnectionNumber,
        records: &mut Vec<Record>,
        provisional: u64,
        refused: Option<Refusal>,
        heard: bool,
        now: Timestamp,
    ) -> Allowance {
        self.advance(now);
        let Some(&slot) = self.connections.get(&c) else {
            records.clear();
            return CLOSED;
        };
        if heard {
            self.heard(slot);
        }
        let completed = records.len();
        if completed > 0 {
            let set = self.sets.at_mut(slot);
            set.receive.count_completed(completed as u64);
            set.receive.meter.set_provisional(provisional);
            if let Err(fault) = self.queue_records(slot, records) {
                self.fault_set(slot, fault);
                return CLOSED;
            }
            self.note_delivery(slot, completed);
            self.announce(slot);
        }
        let set = self.sets.at_mut(slot);
        let allowance = set.receive.meet(provisional, refused);
        let is_unread = set.is_unread;
        self.update_standing(slot);
        if is_unread { CLOSED } else { allowance }
    }

    /// N-41: the set is one of those that a transition is told to.
    fn note_delivery(&mut self, slot: u32, count: usize) {
        let set = self.sets.at_mut(slot);
        set.flow.delivered = set.flow.delivered.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        if !set.flow.is_listed {
            self.list_for_flow(slot);
        }
        if self.receive_flow.state == Flow::Paused {
            self.tell_late(slot);
        }
    }

    /// `bytes` of what `take_batch` gave were taken by the transport: charges of whole records end (B-15).
    pub(crate) fn handle_transmitted(&mut self, c: ConnectionNumber, bytes: usize, now: Timestamp) {
        self.advance(now);
        let Some(&slot) = self.connections.get(&c) else { return };
        let now = self.now;
        let set = self.sets.at_mut(slot);
        if let Some(liveness) = &mut set.liveness {
            liveness.written(now);
        }
        if set.send.transmitted(bytes as u64) {
            self.serve(slot);
        }
        if !self.is_open() {
            self.end_linger_if_due();
        }
    }

    /// The next order for connection `c`.
    pub(crate) fn poll_order(&mut self, c: ConnectionNumber) -> Option<Order> {
        if let Some(closing) = self.closing.remove(&c) {
            return Some(Order::Close { fault: closing.fault });
        }
        let &slot = self.connections.get(&c)?;
        let set = self.sets.at_mut(slot);
        set.wake.is_given = false;
        if core::mem::take(&mut set.orders.send_ready) {
            return Some(Order::SendReady { count: 1, lane: 0 });
        }
        if core::mem::take(&mut set.orders.open) {
            return Some(Order::Open);
        }
        if may_finish(set) {
            set.orders.is_finish_given = true;
            return Some(Order::Finish);
        }
        None
    }

    /// Moves output to the end of `batch`: control slots first (W-44), then whole records up to about `limit` bytes.
    pub(crate) fn take_batch(&mut self, c: ConnectionNumber, limit: usize, batch: &mut Outbox) {
        let Some(&slot) = self.connections.get(&c) else { return };
        let set = self.sets.at_mut(slot);
        set.wake.is_wanted = false;
        if matches!(set.phase, Phase::Joining | Phase::Ended) {
            return;
        }
        if set.flow.has_slots() {
            self.take_controls(slot, batch);
        }
        let set = self.sets.at_mut(slot);
        // Also when nothing is there: that is when the queue gives memory back.
        set.send.take_batch(limit, batch);
        if may_finish(set) {
            self.wake(slot);
        }
    }

    fn take_controls(&mut self, slot: u32, batch: &mut Outbox) {
        let state = self.receive_flow.state;
        let mut frame = Vec::new();
        loop {
            let set = self.sets.at_mut(slot);
            let is_first = set.tells_first_flow;
            let Some(control) = set.flow.take_slot(state, is_first) else { return };
            frame.clear();
            match control {
                Slot::Flow(flow) => {
                    encode_flow(flow, &mut frame);
                    self.counts.flow_frames_written += 1;
                }
                Slot::Weight(weight) => encode_weight(weight, &mut frame),
            }
            self.sets.at_mut(slot).send.take_control(&frame, batch);
            if let Slot::Flow(flow) = control {
                self.told(slot, flow.state);
            }
        }
    }

    /// The state was written to this set.
    fn told(&mut self, slot: u32, state: Flow) {
        let set = self.sets.at_mut(slot);
        set.tells_first_flow = false;
        if state == Flow::Paused && !set.flow.is_listed {
            self.list_for_flow(slot);
        }
    }
}

fn may_finish(set: &LaneSet) -> bool {
    set.phase == Phase::Finishing && !set.orders.is_finish_given && !set.send.has_output()
}
