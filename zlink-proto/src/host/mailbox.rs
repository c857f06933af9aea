//! An owner's account and queue (H-61, H-62).

use super::permits::Permit;
use crate::time::Timestamp;
use alloc::collections::VecDeque;

/// Items and bytes, together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Account {
    pub(super) items: u64,
    pub(super) bytes: u64,
}

impl Account {
    pub(super) fn add(&mut self, cost: u64) {
        self.items += 1;
        // What is added was checked against the limit, or is the only item.
        self.bytes += cost;
    }

    pub(super) fn subtract(&mut self, cost: u64) {
        self.items -= 1;
        self.bytes -= cost;
    }
}

/// One waiting item. Its charge is part of the account, its permit belongs to it alone (H-87).
#[derive(Debug)]
pub(super) struct Item<T> {
    pub(super) payload: T,
    pub(super) cost: u64,
    /// Of a record of another host; local work has none (H-26).
    pub(super) permit: Option<Permit>,
    /// Set for the one job in 64 that is timed (M-38).
    pub(super) accepted_at: Option<Timestamp>,
}

/// The application lane of one owner: what waits, what runs, and what is promised to a turn. One account for all (H-73).
#[derive(Debug)]
pub(super) struct Mailbox<T> {
    items_max: u64,
    bytes_max: u64,
    queue: VecDeque<Item<T>>,
    used: Account,
    running: Account,
    /// Room that receive turns reserved for records which they are about to take.
    promised: Account,
    /// Items ever accepted (H-64).
    accepted: u64,
}

impl<T> Mailbox<T> {
    pub(super) fn new(items_max: u64, bytes_max: u64) -> Self {
        Self {
            items_max,
            bytes_max,
            queue: VecDeque::new(),
            used: Account::default(),
            running: Account::default(),
            promised: Account::default(),
            accepted: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn used(&self) -> Account {
        self.used
    }

    pub(super) fn running(&self) -> Account {
        self.running
    }

    /// Both axes, equal is allowed, an overflow counts as full, and an empty lane admits one item of any size (H-61).
    #[inline]
    pub(super) fn fits(&self, cost: u64) -> bool {
        self.used.items == 0
            || (self.used.items < self.items_max
                && self.used.bytes.checked_add(cost).is_some_and(|bytes| bytes <= self.bytes_max))
    }

    /// Reserves room for a record that a turn is about to take.
    pub(super) fn promise(&mut self, cost: u64) {
        self.used.add(cost);
        self.promised.add(cost);
    }

    /// The record did not come.
    pub(super) fn break_promise(&mut self, cost: u64) {
        self.used.subtract(cost);
        self.promised.subtract(cost);
    }

    /// Appends an item whose room is not reserved yet; the caller saw that it fits.
    pub(super) fn push(&mut self, item: Item<T>) {
        self.used.add(item.cost);
        self.append(item);
    }

    /// Appends an item for which room of the same cost was promised.
    #[inline]
    pub(super) fn push_promised(&mut self, item: Item<T>) {
        self.promised.subtract(item.cost);
        self.append(item);
    }

    #[inline]
    fn append(&mut self, item: Item<T>) {
        self.accepted += 1;
        self.queue.push_back(item);
    }

    /// Takes the next item and its number; its charge moves from waiting to running in this step (H-73).
    #[inline]
    pub(super) fn claim(&mut self) -> Option<(u64, Item<T>)> {
        let item = self.queue.pop_front()?;
        self.running.add(item.cost);
        // First in, first out: what is behind it has the numbers up to the last one.
        Some((self.accepted - self.queue.len() as u64, item))
    }

    /// A handler's terminal (H-62).
    #[inline]
    pub(super) fn end_running(&mut self, cost: u64) {
        self.running.subtract(cost);
        self.used.subtract(cost);
    }

    /// The owner closed: an item that never ran ends.
    pub(super) fn pop_unstarted(&mut self) -> Option<Item<T>> {
        let item = self.queue.pop_front()?;
        self.used.subtract(item.cost);
        Some(item)
    }

    /// Queued permits in here.
    pub(super) fn permits(&self) -> u32 {
        self.queue.iter().filter(|item| item.permit.is_some()).count() as u32
    }

    /// H-87: the account equals its contents.
    pub(super) fn check_invariants(&self) {
        let queued: u64 = self.queue.iter().map(|item| item.cost).sum();
        let items = self.queue.len() as u64 + self.running.items + self.promised.items;
        let bytes = queued + self.running.bytes + self.promised.bytes;
        assert_eq!(self.used, Account { items, bytes }, "account equals contents");
        let is_single = self.used.items <= 1;
        let is_within = self.used.items <= self.items_max && self.used.bytes <= self.bytes_max;
        assert!(is_within || is_single, "account within its limits");
    }
}
