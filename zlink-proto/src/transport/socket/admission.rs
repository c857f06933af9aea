//! The limit on admission, which the service layer starts when a set is ready (S-31), and what it asks about operations of its own.

use super::Socket;
use super::end::Farewell;
use crate::id::{OperationId, SetId};
use crate::time::Timestamp;
use crate::transport::EndReason;
use crate::transport::admission::AdmissionClock;
use crate::transport::lane_set::Phase;
use crate::wire::{Fault, Flow};

const NOT_ADMITTED: &str = "admission limit";

impl Socket {
    /// From now on the set has `handshake_limit` to become admitted, which `start_liveness` says; else it ends. The clock stands still
    /// while records of the set wait here or we have set PAUSED, and at the connector while the peer has.
    pub fn start_admission(&mut self, set: SetId, now: Timestamp) {
        self.advance(now);
        let (now, limit) = (self.now, self.options.handshake_limit);
        let Some(found) = self.sets.get_mut(set).filter(|found| found.phase == Phase::Ready) else { return };
        if found.admission.is_none() && found.liveness.is_none() {
            found.admission = Some(AdmissionClock::new(limit, found.endpoint.is_some(), now));
            self.update_admission(set.slot);
        }
    }

    pub(super) fn update_admission(&mut self, slot: u32) {
        let (now, state) = (self.now, self.receive_flow.state);
        let set = self.sets.at_mut(slot);
        let is_unread = !set.receive.is_empty() || set.receive.is_refusing() || set.is_unread;
        let is_paused = set.blockers.paused;
        if let Some(clock) = &mut set.admission {
            let stands_still = is_unread || state == Flow::Paused || (clock.is_connector && is_paused);
            clock.stand_still(stands_still, now);
            self.arm_set_timer(slot);
        }
    }

    /// True: the time was over, the set ended.
    pub(super) fn end_if_not_admitted(&mut self, slot: u32) -> bool {
        let due = self.sets.at(slot).admission.and_then(|clock| clock.poll_timeout());
        let is_over = due.is_some_and(|due| due <= self.now);
        if is_over {
            let farewell = Farewell::Error(Fault::other(NOT_ADMITTED));
            self.end_set(slot, EndReason::Service(NOT_ADMITTED), farewell);
        }
        is_over
    }

    /// The set of an operation that was not collected yet.
    pub fn set_of(&self, operation: OperationId) -> Option<SetId> {
        let entry = self.operations.find(operation)?;
        self.sets.get(entry.set).map(|set| set.id)
    }
}
