//! Waiting sends, replies, reservations and pending requests: one entry each until its single end (O-30).
//!
//! ```text
//! free ─▶ waiting (unfixed, endpoint, set) ─▶ sent: free, its result is in `settled`
//!            │                          └────▶ pending (request) ─▶ uncollected ─▶ free
//!            └──▶ uncollected (result told, place kept until the caller took it, O-43) ─▶ free
//! ```

use super::deadlines::{DueLink, NONE};
use crate::id::{OperationId, SetId};
use crate::time::Timestamp;
use crate::wire::Outbox;
use alloc::boxed::Box;
use alloc::vec::Vec;
use hashbrown::HashTable;

/// What kind of call an operation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    /// One-way.
    Send,
    /// Wants a reply.
    Request,
    /// Answers a request; waits under the bound of its own family.
    Reply,
    /// Waits for room of a reservation (O-35).
    Reservation,
}

/// Where an operation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Not in use.
    Free,
    /// In the DEALER's line of operations without a target (N-62).
    Unfixed,
    /// In the line of an endpoint whose peer is away (N-68).
    Endpoint(u32),
    /// In the line of its set.
    Waiting,
    /// A request that was admitted.
    Pending,
    /// A reservation that was granted.
    Reserved,
    /// It ended; the caller has not taken the result.
    Uncollected,
}

/// One operation.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) serial: u64,
    pub(crate) place: Place,
    pub(crate) family: Family,
    /// Exempt from remote PAUSED (S-31).
    pub(crate) is_admission: bool,
    /// The byte test was made for this record before (B-48).
    pub(crate) is_tested: bool,
    /// The set it is fixed on; meaningful in `Waiting`, `Pending` and `Reserved`.
    pub(crate) set: SetId,
    /// Of a request.
    pub(crate) sequence: u64,
    pub(crate) charge: u64,
    pub(crate) bytes: u64,
    /// Since when it waits, or was submitted.
    pub(crate) since: Timestamp,
    /// Its deadline D (O-11).
    pub(crate) deadline: Timestamp,
    pub(crate) due: DueLink,
    prev: u32,
    next: u32,
    /// Place of the token that a reply answers.
    pub(crate) token: u32,
    /// The encoded record while it waits.
    pub(crate) payload: Option<Box<Outbox>>,
}

/// A first in, first out line of operations, linked through their entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    head: u32,
    tail: u32,
    len: u32,
}

impl Default for Line {
    fn default() -> Self {
        Self { head: NONE, tail: NONE, len: 0 }
    }
}

impl Line {
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn head(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }
}

/// The table of operations.
#[derive(Debug)]
pub(crate) struct Operations {
    entries: Vec<Operation>,
    free: Vec<u32>,
    next_serial: u64,
    /// Pending requests by sequence.
    pending: HashTable<u32>,
    hasher: Sequences,
}

/// Spreads sequences, which this socket chose itself, over the table.
#[derive(Clone, Copy, Debug)]
struct Sequences;

impl Sequences {
    fn hash(self, sequence: u64) -> u64 {
        sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
    }
}

impl Operations {
    pub(crate) fn new() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            next_serial: 1,
            pending: HashTable::new(),
            hasher: Sequences,
        }
    }

    /// The next number of the common counter that orders everything that can wait for one set.
    pub(crate) fn next_order(&mut self) -> u64 {
        let serial = self.next_serial;
        self.next_serial += 1;
        serial
    }

    /// A new entry, in no line yet.
    pub(crate) fn insert(&mut self, family: Family, since: Timestamp, deadline: Timestamp) -> u32 {
        let serial = self.next_order();
        let entry = Operation {
            serial,
            place: Place::Free,
            family,
            is_admission: false,
            is_tested: false,
            set: SetId { generation: 0, slot: NONE },
            sequence: 0,
            charge: 0,
            bytes: 0,
            since,
            deadline,
            due: DueLink::default(),
            prev: NONE,
            next: NONE,
            token: NONE,
            payload: None,
        };
        match self.free.pop() {
            Some(slot) => {
                self[slot] = entry;
                slot
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        }
    }

    /// The public name of an entry.
    pub(crate) fn id(&self, slot: u32) -> OperationId {
        OperationId { serial: self[slot].serial, slot }
    }

    /// The entry that `id` names, unless it is free or belongs to a later operation.
    pub(crate) fn find(&self, id: OperationId) -> Option<&Operation> {
        self.entries
            .get(id.slot as usize)
            .filter(|operation| operation.serial == id.serial && operation.place != Place::Free)
    }

    /// Frees an entry that is in no line and in no table.
    pub(crate) fn free(&mut self, slot: u32) {
        let entry = &mut self[slot];
        entry.place = Place::Free;
        entry.payload = None;
        self.free.push(slot);
        if self.free.len() == self.entries.len() && self.entries.capacity() > 256 {
            // Everything ended after a burst: memory goes back. Serials go on.
            self.entries = Vec::new();
            self.free = Vec::new();
        }
    }

    pub(crate) fn push_back(&mut self, line: &mut Line, slot: u32) {
        let tail = line.tail;
        let entry = &mut self[slot];
        entry.prev = tail;
        entry.next = NONE;
        if tail == NONE {
            line.head = slot;
        } else {
            self[tail].next = slot;
        }
        line.tail = slot;
        line.len += 1;
    }

    pub(crate) fn unlink(&mut self, line: &mut Line, slot: u32) {
        let entry = &mut self[slot];
        let (prev, next) = (entry.prev, entry.next);
        entry.prev = NONE;
        entry.next = NONE;
        if prev == NONE {
            line.head = next;
        } else {
            self[prev].next = next;
        }
        if next == NONE {
            line.tail = prev;
        } else {
            self[next].prev = prev;
        }
        line.len -= 1;
    }

    /// The entry behind `slot` in its line.
    pub(crate) fn after(&self, slot: u32) -> Option<u32> {
        let next = self[slot].next;
        (next != NONE).then_some(next)
    }

    /// From now on an answer finds this request.
    pub(crate) fn register(&mut self, slot: u32) {
        let (entries, hasher) = (&self.entries, self.hasher);
        let sequence = entries[slot as usize].sequence;
        self.pending.insert_unique(hasher.hash(sequence), slot, |&other| {
            hasher.hash(entries[other as usize].sequence)
        });
    }

    /// Ends the registration of the request of this sequence that was admitted on `set`.
    pub(crate) fn take_answered(&mut self, sequence: u64, set: SetId) -> Option<u32> {
        let entries = &self.entries;
        let found = self.pending.find_entry(self.hasher.hash(sequence), |&slot| {
            let entry = &entries[slot as usize];
            entry.sequence == sequence && entry.place == Place::Pending && entry.set == set
        });
        let (slot, _) = found.ok()?.remove();
        self.release_pending();
        Some(slot)
    }

    /// Ends the registration of `register`.
    pub(crate) fn unregister(&mut self, slot: u32) {
        let sequence = self[slot].sequence;
        if let Ok(found) = self.pending.find_entry(self.hasher.hash(sequence), |&other| other == slot) {
            found.remove();
        }
        self.release_pending();
    }

    fn release_pending(&mut self) {
        if self.pending.is_empty() && self.pending.capacity() > 256 {
            self.pending = HashTable::new();
        }
    }

    pub(crate) fn registered(&self) -> usize {
        self.pending.len()
    }

    /// All entries in use, with their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Operation)> {
        (0..).zip(self.entries.iter()).filter(|(_, operation)| operation.place != Place::Free)
    }

    #[cfg(test)]
    pub(crate) fn in_use(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

impl core::ops::Index<u32> for Operations {
    type Output = Operation;
    fn index(&self, slot: u32) -> &Operation {
        &self.entries[slot as usize]
    }
}

impl core::ops::IndexMut<u32> for Operations {
    fn index_mut(&mut self, slot: u32) -> &mut Operation {
        &mut self.entries[slot as usize]
    }
}
