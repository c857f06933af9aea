//! Owners and the ready set (H-60 to H-72).
//!
//! ```text
//!  Idle ──item into an empty queue──▶ Ready (in the set) ──drain scheduled──▶ Draining ──nothing left──▶ Idle
//!                                       ▲                                        │
//!                                       └───────── slice over, work left ────────┘
//! ```
//!
//! An owner is in the ready set exactly while it has more waiting items than drains on their way to it, and fewer
//! drains than handlers it may run at once.

use super::fifo::{Fifo, Linked, Links};
use super::mailbox::Mailbox;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// One owner of work: a queue and a gate. A handle of a closed owner matches nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OwnerId {
    pub(super) index: u32,
    pub(super) epoch: u32,
}

impl OwnerId {
    /// Matches no owner.
    pub(super) const NOBODY: Self = Self { index: u32::MAX, epoch: u32::MAX };

    /// A place for this owner in a vector beside the host: dense, used again after the owner ended.
    pub const fn index(self) -> usize {
        self.index as usize
    }
}

/// What an owner is (H-60).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OwnerKind {
    /// The handlers of one channel.
    Channel,
}

impl fmt::Display for OwnerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Channel => "channel",
        })
    }
}

/// How to make an owner. Its limits come from the host's options.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnerConfig {
    /// What it is.
    pub kind: OwnerKind,
    /// For people: the channel's name.
    pub name: String,
    /// Handlers that may run at once, 1..65,535, started in FIFO order (H-72).
    pub concurrency: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OwnerState {
    Active,
    /// Takes nothing more; stays until its last handler ended.
    Closed,
    /// The place is free.
    Free,
}

#[derive(Debug)]
pub(super) struct Owner<T> {
    pub(super) epoch: u32,
    pub(super) state: OwnerState,
    pub(super) config: OwnerConfig,
    pub(super) mailbox: Mailbox<T>,
    /// Drains that are scheduled or running, at most `concurrency` (H-71, H-72).
    drains: u32,
    /// Those of them that were scheduled and did not take anything yet.
    scheduled: u32,
    is_listed: bool,
    links: Links,
    /// Sources that wait for room here, oldest first (H-88).
    pub(super) parked: Fifo,
}

impl<T> Linked for Owner<T> {
    fn links(&self) -> Links {
        self.links
    }
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl<T> Owner<T> {
    pub(super) fn is_active(&self) -> bool {
        self.state == OwnerState::Active
    }

    /// In the ready set and not runnable, or the other way round: `relist`.
    #[inline]
    pub(super) fn is_misplaced(&self) -> bool {
        self.is_listed != self.is_runnable()
    }

    fn is_runnable(&self) -> bool {
        self.drains < self.config.concurrency && self.mailbox.len() > self.scheduled as usize
    }
}

/// All owners of a host.
#[derive(Debug)]
pub(super) struct Owners<T> {
    owners: Vec<Owner<T>>,
    free: Vec<u32>,
    ready: Fifo,
}

impl<T> Default for Owners<T> {
    fn default() -> Self {
        Self { owners: Vec::new(), free: Vec::new(), ready: Fifo::default() }
    }
}

impl<T> Owners<T> {
    pub(super) fn add(&mut self, config: OwnerConfig, items_max: u64, bytes_max: u64) -> OwnerId {
        let (index, epoch) = match self.free.pop() {
            Some(index) => (index, self.owners[index as usize].epoch),
            None => (self.owners.len() as u32, 0),
        };
        let owner = Owner {
            epoch,
            state: OwnerState::Active,
            config,
            mailbox: Mailbox::new(items_max, bytes_max),
            drains: 0,
            scheduled: 0,
            is_listed: false,
            links: Links::default(),
            parked: Fifo::default(),
        };
        match self.owners.get_mut(index as usize) {
            Some(place) => *place = owner,
            None => self.owners.push(owner),
        }
        OwnerId { index, epoch }
    }

    /// An owner that was not freed: freeing it makes its handles stale.
    #[inline]
    pub(super) fn get_mut(&mut self, id: OwnerId) -> Option<&mut Owner<T>> {
        self.owners
            .get_mut(id.index())
            .filter(|owner| owner.epoch == id.epoch && owner.state != OwnerState::Free)
    }

    pub(super) fn get(&self, id: OwnerId) -> Option<&Owner<T>> {
        self.owners.get(id.index()).filter(|owner| owner.epoch == id.epoch)
    }

    /// Those that were not freed, in the order of their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (OwnerId, &Owner<T>)> {
        self.owners
            .iter()
            .enumerate()
            .filter(|(_, owner)| owner.state != OwnerState::Free)
            .map(|(index, owner)| (OwnerId { index: index as u32, epoch: owner.epoch }, owner))
    }

    /// After anything that may have made the owner runnable or not: into the ready set, at the tail, once, or out (H-70).
    pub(super) fn relist(&mut self, id: OwnerId) {
        let Some(owner) = self.get_mut(id).filter(|owner| owner.is_misplaced()) else { return };
        owner.is_listed = !owner.is_listed;
        match owner.is_listed {
            true => self.ready.push(&mut self.owners, id.index),
            false => self.ready.remove(&mut self.owners, id.index),
        }
    }

    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The owner that is ready longest; one drain of it counts as scheduled from now on (H-71).
    pub(super) fn schedule(&mut self) -> Option<OwnerId> {
        let index = self.ready.pop(&mut self.owners)?;
        let owner = &mut self.owners[index as usize];
        owner.is_listed = false;
        owner.drains += 1;
        owner.scheduled += 1;
        let id = OwnerId { index, epoch: owner.epoch };
        self.relist(id);
        Some(id)
    }

    /// A scheduled drain begins to take.
    pub(super) fn drain_began(&mut self, id: OwnerId) {
        if let Some(owner) = self.get_mut(id) {
            owner.scheduled -= 1;
        }
    }

    /// A drain is over; with work left the owner is ready again, at the tail (H-70).
    pub(super) fn drain_over(&mut self, id: OwnerId) {
        if let Some(owner) = self.get_mut(id) {
            owner.drains -= 1;
        }
        self.relist(id);
        self.free_if_over(id);
    }

    /// Gives the place of a closed owner back when nothing of it is left.
    pub(super) fn free_if_over(&mut self, id: OwnerId) {
        let Some(owner) = self.get_mut(id) else { return };
        if owner.state == OwnerState::Closed && owner.mailbox.used().items == 0 && owner.drains == 0 {
            owner.state = OwnerState::Free;
            owner.epoch = owner.epoch.wrapping_add(1);
            self.free.push(id.index);
        }
    }

    /// The host stopped: every reservation and drain ends, every handle is stale. Returns (items, handlers).
    pub(super) fn end_all(&mut self, mut end: impl FnMut(super::mailbox::Item<T>)) -> (u64, u64) {
        let (mut items, mut handlers) = (0, 0);
        self.ready = Fifo::default();
        for (index, owner) in self.owners.iter_mut().enumerate() {
            if owner.state == OwnerState::Free {
                continue;
            }
            while let Some(item) = owner.mailbox.pop_unstarted() {
                items += 1;
                end(item);
            }
            handlers += owner.mailbox.running().items;
            owner.mailbox = Mailbox::new(0, 0);
            owner.state = OwnerState::Free;
            owner.epoch = owner.epoch.wrapping_add(1);
            (owner.drains, owner.scheduled, owner.is_listed) = (0, 0, false);
            owner.parked = Fifo::default();
            self.free.push(index as u32);
        }
        (items, handlers)
    }

    /// H-87: ready set = owners with runnable work and no drain for it; accounts equal contents. Returns queued permits.
    pub(super) fn check_invariants(&self) -> u32 {
        let listed = self.ready.iter(&self.owners).inspect(|&index| {
            assert!(self.owners[index as usize].is_listed, "listed owners know it");
        });
        let known = self.owners.iter().filter(|owner| owner.is_listed).count();
        assert_eq!(listed.count(), known, "each owner is in the ready set once");
        let mut permits = 0;
        for owner in &self.owners {
            if owner.state == OwnerState::Free {
                continue;
            }
            owner.mailbox.check_invariants();
            permits += owner.mailbox.permits();
            assert_eq!(owner.is_listed, owner.is_runnable(), "ready set = runnable owners");
            assert!(owner.drains <= owner.config.concurrency, "no more drains than turns");
            assert!(
                owner.mailbox.running().items <= u64::from(owner.drains),
                "each running handler has its drain"
            );
        }
        permits
    }
}
