//! Service records in slots of their own, message limits and liveness of a set (S-37, S-40 to S-44).

use super::end::Farewell;
use super::{Slot, Socket};
use crate::error::{ErrorKind, Failure};
use crate::id::SetId;
use crate::message::Outgoing;
use crate::time::Timestamp;
use crate::transport::EndReason;
use crate::transport::lane_set::{Phase, SlotRecord};
use crate::transport::liveness::{Acked, Liveness, LivenessOutput};
use crate::wire::{Fault, Flow, Kind, Outbox};
use alloc::boxed::Box;

impl Socket {
    /// Fills a slot of a set: written at once if it may be, else in its turn, behind what waits for this set now
    /// (S-44). A record that is still in the slot is replaced.
    ///
    /// # Errors
    /// `Unavailable` if the set is not ready; `InvalidOperation` for a record that is too large.
    pub fn fill_slot<M: Outgoing>(&mut self, set: SetId, slot: Slot, record: &mut M) -> Result<(), Failure> {
        let measured = self.measure(record)?;
        let order = self.operations.next_order();
        let found = self.sets.get_mut(set).filter(|found| found.phase == Phase::Ready);
        let Some(found) = found else {
            return Err(Failure::not_submitted(ErrorKind::Unavailable, "the peer's set ended"));
        };
        let mut encoded = Outbox::default();
        encoded.push_record(Kind::Data, 0, record);
        let filled = Some(Box::new(SlotRecord { encoded, charge: measured.charge, order }));
        match slot {
            Slot::Probe => found.probe = filled,
            Slot::Ack => found.ack = filled,
            Slot::Update => found.update = filled,
        }
        self.serve(set.slot);
        Ok(())
    }

    pub(super) fn admit_slot(&mut self, set_slot: u32, slot: Slot) -> bool {
        let set = self.sets.at_mut(set_slot);
        let place = match slot {
            Slot::Probe => &mut set.probe,
            Slot::Ack => &mut set.ack,
            Slot::Update => &mut set.update,
        };
        let Some(charge) = place.as_ref().map(|record| record.charge) else { return false };
        if !set.send.meter.admit_record(charge, true) {
            return false;
        }
        let Some(mut record) = place.take() else { return false };
        if set.send.append(&mut record.encoded, charge) {
            self.wake(set_slot);
        }
        true
    }

    /// Limits the records that may be sent on a set, in bytes of all parts (S-37): the smallest of this, our own and the peer's
    /// maximum counts. 0 = no further limit.
    pub fn set_message_limit(&mut self, set: SetId, bytes: u64) {
        if let Some(set) = self.sets.get_mut(set) {
            let announced = if set.announced_max == 0 { u64::MAX } else { set.announced_max };
            set.message_max = announced.min(if bytes == 0 { u64::MAX } else { bytes });
        }
    }

    /// Largest record that may be sent on a set; `None` = no limit or no such set.
    pub fn message_limit(&self, set: SetId) -> Option<u64> {
        let set = self.sets.get(set)?;
        let own = if self.options.max_message_size == 0 { u64::MAX } else { self.options.max_message_size };
        Some(own.min(set.message_max)).filter(|&max| max != u64::MAX)
    }

    /// Starts the clocks of S-40 to S-43 for a set, from its admission on.
    pub fn start_liveness(&mut self, set: SetId, now: Timestamp) {
        self.advance(now);
        let now = self.now;
        let Some(found) = self.sets.get_mut(set).filter(|found| found.phase == Phase::Ready) else { return };
        if found.liveness.is_none() {
            found.liveness = Some(Box::new(Liveness::new(now)));
            found.admission = None;
            self.update_standing(set.slot);
            self.arm_set_timer(set.slot);
        }
    }

    /// Id of the probe that is outstanding or due (S-41).
    pub fn probe_id(&self, set: SetId) -> Option<u64> {
        self.sets.get(set)?.liveness.as_ref()?.outstanding_id()
    }

    /// An ack came. `None`: repeated, or of another id; it is ignored (S-41).
    pub fn acked(&mut self, set: SetId, id: u64) -> Option<Acked> {
        self.sets.get_mut(set)?.liveness.as_mut()?.ack(id)
    }

    /// Begins a probe whose ack says that everything that the peer had for us came before it (M-62a): put it into the slot now.
    pub fn fence(&mut self, set: SetId, now: Timestamp) -> Option<u64> {
        self.advance(now);
        let now = self.now;
        let id = self.sets.get_mut(set)?.liveness.as_mut()?.fence(now);
        self.arm_set_timer(set.slot);
        Some(id)
    }

    /// A source that is not taken for a reason of the host (no permit, parked) stops the clock of silence too (S-43): its queue holds
    /// unread records then, which is what counts here.
    pub(super) fn update_standing(&mut self, slot: u32) {
        let (now, state) = (self.now, self.receive_flow.state);
        let Some(set) = self.sets.try_at_mut(slot) else { return };
        let stands_still = !set.receive.is_empty()
            || set.receive.is_refusing()
            || set.is_unread
            || set.blockers.paused
            || state == Flow::Paused;
        if let Some(liveness) = &mut set.liveness {
            liveness.stand_still(stands_still, now);
        }
        if set.admission.is_some() {
            self.update_admission(slot);
        }
    }

    pub(super) fn heard(&mut self, slot: u32) {
        let now = self.now;
        if let Some(liveness) = &mut self.sets.at_mut(slot).liveness {
            liveness.heard(now);
        }
    }

    /// What the clocks of a set say now.
    pub(super) fn run_liveness(&mut self, slot: u32) {
        self.update_standing(slot);
        let now = self.now;
        let Some(liveness) = &mut self.sets.at_mut(slot).liveness else { return };
        match liveness.handle_timeout(now) {
            None => {}
            Some(LivenessOutput::ProbeDue { .. }) => {
                self.sets.at_mut(slot).notices.probe = true;
                self.notice(slot);
            }
            Some(LivenessOutput::Dead) => {
                self.end_set(slot, EndReason::Liveness, Farewell::Error(Fault::other("liveness")))
            }
        }
    }
}
