//! From HELLO to ready, duplicates included (N-12 to N-17, N-26 to N-31).

use super::Socket;
use super::end::Farewell;
use crate::id::{ConnectionNumber, RoutingId};
use crate::time::Timestamp;
use crate::transport::deadlines::NONE;
use crate::transport::exchange::News;
use crate::transport::lane_set::Phase;
use crate::transport::{DuplicatePolicy, EndReason, EventKind};
use crate::wire::{Fault, FaultCode, Hello, Kind, Ready, SocketType, charge};

/// Reason of a refused duplicate (W-25 row 41).
pub(super) const DUPLICATE: &str = "duplicate routing id";

impl Socket {
    /// Applies what connection `c` found out.
    pub(crate) fn handle_news(&mut self, c: ConnectionNumber, news: News, now: Timestamp) {
        self.advance(now);
        let Some(&slot) = self.connections.get(&c) else { return };
        match news {
            News::Hello(hello) => {
                if let Err(fault) = self.handle_hello(slot, hello) {
                    self.fault_set(slot, fault);
                }
            }
            News::Ready(ready) => self.handle_ready(slot, ready),
            News::ReadyTransmitted => {
                self.sets.at_mut(slot).is_ready_transmitted = true;
                self.become_ready_if_complete(slot);
            }
            News::Weight(weight) => self.handle_weight(slot, weight),
            News::Flow(flow) => self.handle_flow(slot, flow),
            News::Ignored => self.counts.ignored_frames += 1,
            News::PeerError(error) => {
                self.counts.peer_errors += 1;
                // The text decides only how long a connector waits (N-29, N-34).
                let reason = if error.reason == DUPLICATE.as_bytes() {
                    EndReason::Duplicate
                } else {
                    EndReason::PeerError(error.code)
                };
                self.end_set(slot, reason, Farewell::Done);
            }
            News::Fault(fault) => {
                self.counts.faults += 1;
                self.end_set(slot, EndReason::Fault(fault.code, fault.reason), Farewell::Done);
            }
            News::End { is_reset } => {
                let reason = if is_reset { EndReason::Reset } else { EndReason::End };
                self.end_set(slot, reason, Farewell::Done);
            }
            News::Finished => {
                let reason = self.sets.at(slot).finish_reason;
                self.end_set(slot, reason, Farewell::Done);
            }
        }
    }

    /// We found a fault on this set: ERROR, then close.
    pub(super) fn fault_set(&mut self, slot: u32, fault: Fault) {
        self.counts.faults += 1;
        let reason = if fault.reason == DUPLICATE {
            EndReason::Duplicate
        } else {
            EndReason::Fault(fault.code, fault.reason)
        };
        self.end_set(slot, reason, Farewell::Error(fault));
    }

    fn handle_hello(&mut self, slot: u32, hello: Hello) -> Result<(), Fault> {
        if !self.socket_type.is_compatible(hello.socket_type) {
            return Err(Fault::standard(FaultCode::SocketTypeMismatch));
        }
        if self.socket_type.lane_count(hello.socket_type) != 1 {
            // This socket keeps sets of one lane.
            return Err(Fault::other("lane metadata invalid"));
        }
        if self.peers >= self.options.peers_max {
            return Err(Fault::other("too many connections"));
        }
        let name = self.name_for(slot, hello.routing_id);
        let set = self.sets.at_mut(slot);
        set.socket_type = Some(hello.socket_type);
        set.routing_id = name.clone();
        if !name.is_empty() {
            self.check_duplicate(slot, &name)?;
            let is_out = self.sets.at(slot).endpoint.is_some();
            let known = self.names.entry(name).or_default();
            if is_out {
                known.joining_out = slot;
            } else {
                known.joining_in = slot;
            }
        }
        self.peers += 1;
        let set = self.sets.at_mut(slot);
        set.is_counted = true;
        set.orders.send_ready = true;
        Ok(())
    }

    /// N-31, N-71.
    fn name_for(&mut self, slot: u32, announced: RoutingId) -> RoutingId {
        let endpoint = self.sets.at(slot).endpoint;
        if let Some(name) = endpoint.and_then(|endpoint| self.connectors.connect_as(endpoint)) {
            return name;
        }
        if !announced.is_empty() || self.socket_type != SocketType::Router {
            return announced;
        }
        loop {
            self.next_local_name = self.next_local_name.wrapping_add(1);
            let mut bytes = [0; 5];
            bytes[1..].copy_from_slice(&self.next_local_name.to_be_bytes());
            let name = RoutingId::new(bytes.to_vec()).unwrap_or_default();
            if !self.names.contains_key(&name) {
                return name;
            }
        }
    }

    /// N-26, N-27.
    fn check_duplicate(&mut self, slot: u32, name: &RoutingId) -> Result<(), Fault> {
        let Some(known) = self.names.get(name) else { return Ok(()) };
        let is_out = self.sets.at(slot).endpoint.is_some();
        let (same, opposite) = if is_out {
            (known.joining_out, known.joining_in)
        } else {
            (known.joining_in, known.joining_out)
        };
        let existing = if known.ready != NONE && self.options.duplicate_policy == DuplicatePolicy::Reject {
            known.ready
        } else if same != NONE {
            same
        } else if opposite != NONE && self.routing_id <= *name {
            // The side with the smaller id decides, and it has sent READY on the other one already.
            opposite
        } else {
            return Ok(());
        };
        self.refuse_duplicate(slot, existing);
        Err(Fault::other(DUPLICATE))
    }

    fn refuse_duplicate(&mut self, slot: u32, existing: u32) {
        let set = self.sets.at(slot);
        let (connection, name, refused) = (set.connection, set.routing_id.clone(), set.id.generation);
        let existing = self.sets.at(existing).id.generation;
        self.events.tell(self.now, Some(connection), || EventKind::DuplicateRefused {
            routing_id: name,
            existing,
            refused,
        });
    }

    fn handle_ready(&mut self, slot: u32, ready: Ready) {
        let set = self.sets.at_mut(slot);
        set.announced_max = ready.max_message_bytes;
        if ready.max_message_bytes != 0 {
            set.message_max = ready.max_message_bytes;
        }
        set.is_ready_received = true;
        self.become_ready_if_complete(slot);
    }

    /// W-35: our READY is transmitted and the peer's was accepted.
    fn become_ready_if_complete(&mut self, slot: u32) {
        let set = self.sets.at(slot);
        if set.phase != Phase::Joining || !set.is_ready_received || !set.is_ready_transmitted {
            return;
        }
        let existing = self.names.get(&set.routing_id).map_or(NONE, |known| known.ready);
        if existing != NONE {
            match self.options.duplicate_policy {
                DuplicatePolicy::Reject => {
                    self.refuse_duplicate(slot, existing);
                    return self.fault_set(slot, Fault::other(DUPLICATE));
                }
                DuplicatePolicy::Handover => self.hand_over(existing, slot),
            }
        }
        self.become_ready(slot);
    }

    fn hand_over(&mut self, existing: u32, slot: u32) {
        let (from, set) = (self.sets.at(existing).id.generation, self.sets.at(slot));
        let (connection, name, to) = (set.connection, set.routing_id.clone(), set.id.generation);
        self.events.tell(self.now, Some(connection), || EventKind::HandedOver { routing_id: name, from, to });
        self.end_set(existing, EndReason::Duplicate, Farewell::Error(Fault::other(DUPLICATE)));
    }

    fn become_ready(&mut self, slot: u32) {
        let now = self.now;
        self.ready_peers += 1;
        let set = self.sets.at_mut(slot);
        set.phase = Phase::Ready;
        set.blockers.hold = false;
        set.ready_at = now;
        set.orders.open = true;
        set.notices.ready = true;
        let (id, connection, name) = (set.id, set.connection, set.routing_id.clone());
        let (socket_type, max_message_bytes) = (set.socket_type, set.announced_max);
        if let Some(listener) = set.listener {
            self.listeners.validated(listener, slot);
        }
        if let Some(known) = self.names.get_mut(&name) {
            known.ready = slot;
            known.joining_in = if known.joining_in == slot { NONE } else { known.joining_in };
            known.joining_out = if known.joining_out == slot { NONE } else { known.joining_out };
        }
        self.update_order_of_name(&name);
        self.greet(slot);
        self.notice(slot);
        self.wake(slot);
        let ready_peers = self.ready_peers;
        self.events.tell(now, Some(connection), || EventKind::PeerReady {
            set: id,
            routing_id: name.clone(),
            socket_type: socket_type.unwrap_or(SocketType::Dealer),
            max_message_bytes,
            ready_peers,
        });
        if self.options.probe {
            self.push_probe_record(slot);
        }
        if self.socket_type == SocketType::Dealer && !self.options.service_selection {
            let weight = self.sets.at(slot).flow.weight;
            self.selector.set_weight(id, &name, weight);
        }
        self.connector_ready(slot);
        self.serve_unfixed();
    }

    /// N-70: one empty record before all others.
    fn push_probe_record(&mut self, slot: u32) {
        let empty: &[u8] = &[];
        if self.sets.at_mut(slot).send.meter.admit_record(charge(0, 1), true) {
            self.push_now(slot, Kind::Data, 0, &empty, charge(0, 1));
        }
    }
}
