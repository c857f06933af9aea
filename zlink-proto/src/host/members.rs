//! Sources: the members of the ring, found by the transport's names without a map.

use super::fifo::{Linked, Links};
use super::owners::OwnerId;
use super::registry::SocketKey;
use crate::id::SetId;
use alloc::vec::Vec;

/// One peer connection (lane set) that competes for permits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SourceId {
    /// Its socket.
    pub socket: SocketKey,
    /// Its set.
    pub set: SetId,
}

/// Where a member stands (table of §5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MemberState {
    /// Not ready.
    Idle,
    /// Ready, not asked: in the ring's ready set.
    Ready,
    /// Waits for a permit, or has a grant that no turn fetched.
    Asked,
    /// Being served.
    Serving,
    /// Waits for room at an owner (H-88).
    Parked,
}

/// A source's place in the FIFO of an owner.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parking {
    pub(super) owner: OwnerId,
    /// Cost of the record at its head.
    pub(super) cost: u64,
    /// There was room: the source is on its way to take its record and keeps its place.
    pub(super) is_woken: bool,
    pub(super) since: crate::time::Timestamp,
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) id: SourceId,
    pub(super) state: MemberState,
    /// `readable` came while it was served.
    pub(super) again: bool,
    /// Ends when its turn ends.
    pub(super) is_removed: bool,
    /// Records are refused while the host drains (M-62a).
    pub(super) is_fence_over: bool,
    pub(super) parking: Option<Parking>,
    links: Links,
}

impl Linked for Member {
    fn links(&self) -> Links {
        self.links
    }
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// A set's place in the table of its socket.
#[derive(Clone, Copy, Debug)]
struct Entry {
    generation: u64,
    member: Option<u32>,
}

/// All sources of a host.
#[derive(Debug, Default)]
pub(super) struct Members {
    members: Vec<Member>,
    free: Vec<u32>,
    /// By place of the socket, then of the set: both are dense.
    table: Vec<Vec<Entry>>,
}

impl Members {
    #[inline]
    pub(super) fn find(&self, id: SourceId) -> Option<u32> {
        let entry = self.table.get(id.socket.index())?.get(id.set.slot as usize)?;
        let member = entry.member.filter(|_| entry.generation == id.set.generation)?;
        (self.members[member as usize].id == id).then_some(member)
    }

    /// The member at the place of `id`, of whatever generation.
    pub(super) fn occupant(&self, id: SourceId) -> Option<u32> {
        self.table.get(id.socket.index())?.get(id.set.slot as usize)?.member
    }

    pub(super) fn add(&mut self, id: SourceId, is_fence_over: bool) -> u32 {
        let member = Member {
            id,
            state: MemberState::Idle,
            again: false,
            is_removed: false,
            is_fence_over,
            parking: None,
            links: Links::default(),
        };
        let index = match self.free.pop() {
            Some(index) => {
                self.members[index as usize] = member;
                index
            }
            None => {
                self.members.push(member);
                (self.members.len() - 1) as u32
            }
        };
        *self.entry(id) = Entry { generation: id.set.generation, member: Some(index) };
        index
    }

    fn entry(&mut self, id: SourceId) -> &mut Entry {
        if id.socket.index() >= self.table.len() {
            self.table.resize_with(id.socket.index() + 1, Vec::new);
        }
        let sets = &mut self.table[id.socket.index()];
        let slot = id.set.slot as usize;
        if slot >= sets.len() {
            sets.resize(slot + 1, Entry { generation: 0, member: None });
        }
        &mut sets[slot]
    }

    /// From now on `find` does not find it.
    pub(super) fn detach(&mut self, member: u32) {
        let id = self.members[member as usize].id;
        *self.entry(id) = Entry { generation: id.set.generation, member: None };
    }

    /// Its place may be used again.
    pub(super) fn free(&mut self, member: u32) {
        self.free.push(member);
    }

    #[inline]
    pub(super) fn get(&self, member: u32) -> &Member {
        &self.members[member as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, member: u32) -> &mut Member {
        &mut self.members[member as usize]
    }

    pub(super) fn as_slice(&self) -> &[Member] {
        &self.members
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [Member] {
        &mut self.members
    }

    /// Members of one socket that `find` finds.
    pub(super) fn of_socket(&self, socket: SocketKey) -> Vec<u32> {
        let entries = self.table.get(socket.index()).map_or(&[][..], Vec::as_slice);
        let members = entries.iter().filter_map(|entry| entry.member);
        members.filter(|&member| self.members[member as usize].id.socket == socket).collect()
    }

    /// All that `find` finds.
    pub(super) fn live(&self) -> impl Iterator<Item = u32> + '_ {
        self.table.iter().flatten().filter_map(|entry| entry.member)
    }
}
