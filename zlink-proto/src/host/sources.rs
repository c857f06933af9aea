//! Sockets and sources of a host: registration, readiness, removal.

use super::Host;
use super::members::{MemberState, SourceId};
use super::registry::{Applied, AppliedFlow, Apply, SocketKey};
use crate::time::Timestamp;

impl<T> Host<T> {
    /// Registers a DEALER or ROUTER. Its first apply is due at once; bind and connect after it (H-43).
    pub fn add_socket(&mut self) -> SocketKey {
        self.registry.register()
    }

    /// Removes a socket and its sources; it gets no apply any more. True: one is running, close the socket after `applied` (H-44).
    pub fn remove_socket(&mut self, socket: SocketKey, now: Timestamp) -> bool {
        for member in self.members.of_socket(socket) {
            self.remove_source(self.members.get(member).id, now);
        }
        self.registry.remove(socket)
    }

    /// The next state to apply to a socket, outside every lock of the host. At most one runs for a socket (H-42).
    pub fn flow_due(&mut self) -> Option<Apply> {
        self.registry.poll_due()
    }

    /// The state to apply to a new socket before anybody else knows it (H-43), if none runs for it.
    pub fn flow_due_for(&mut self, socket: SocketKey) -> Option<Apply> {
        self.registry.due_for(socket)
    }

    /// True if `flow_due` may have something.
    pub fn has_flow_due(&self) -> bool {
        self.registry.has_due()
    }

    /// An apply ended.
    pub fn applied(&mut self, apply: Apply, is_ok: bool, now: Timestamp) -> Applied {
        let now = self.advance(now);
        let result = self.registry.applied(apply, is_ok);
        if result == Applied::Started {
            for member in self.members.of_socket(apply.socket) {
                let entry = self.members.get_mut(member);
                if entry.state == MemberState::Idle && core::mem::take(&mut entry.again) {
                    self.make_ready(member, now);
                }
            }
        }
        result
    }

    /// What a socket was told last (M-10). `None` for one that is not registered.
    pub fn applied_flow(&self, socket: SocketKey) -> Option<AppliedFlow> {
        self.registry.applied_flow(socket)
    }

    /// A set becomes a member of the ring, before the cursor (H-50, H-52). Not ready until `readable`. A set of an older
    /// generation at the same place ends.
    pub fn add_source(&mut self, source: SourceId, now: Timestamp) {
        if self.is_stopped() || !self.registry.contains(source.socket) {
            return;
        }
        if let Some(member) = self.members.occupant(source) {
            let old = self.members.get(member).id;
            if old == source {
                return;
            }
            self.remove_source(old, now);
        }
        let member = self.members.add(source, self.is_sealed());
        self.permits.open_source(member);
        self.ring.insert(member);
    }

    /// Forgets a source: its waiter is withdrawn, its reservations go on to others (H-22). During its turn this happens when the
    /// turn ends, so that what was taken already still comes in.
    pub fn remove_source(&mut self, source: SourceId, now: Timestamp) {
        let now = self.advance(now);
        let Some(member) = self.members.find(source) else { return };
        self.end_fence(member);
        self.members.detach(member);
        match self.members.get(member).state {
            MemberState::Serving => self.members.get_mut(member).is_removed = true,
            MemberState::Idle | MemberState::Ready | MemberState::Asked | MemberState::Parked => {
                self.end_member(member, now);
            }
        }
        self.sync_flow();
    }

    /// Takes a detached member out of every list.
    pub(super) fn end_member(&mut self, member: u32, now: Timestamp) {
        self.unpark(member, now);
        self.ring.remove(member);
        self.permits.close_source(member, now);
        self.members.free(member);
    }

    /// Edge from the transport: the source has something to take.
    pub fn readable(&mut self, source: SourceId, now: Timestamp) {
        let now = self.advance(now);
        let Some(member) = self.members.find(source) else { return };
        let entry = self.members.get_mut(member);
        match entry.state {
            MemberState::Idle => self.make_ready(member, now),
            MemberState::Serving => entry.again = true,
            MemberState::Ready | MemberState::Asked | MemberState::Parked => {}
        }
    }
}
