//! The receiving queue of one peer.

use super::exchange::Refusal;
use super::meter::Meter;
use crate::wire::{Allowance, Kind, Record};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Places for records that an empty queue may keep.
const RELEASE_ABOVE: usize = 64;

/// Complete records of one peer until they are taken, and the charge of the one under reception.
#[derive(Debug)]
pub(crate) struct ReceiveQueue {
    pub(crate) meter: Meter,
    records: VecDeque<Record>,
    /// A part that was refused: the head of this queue's line (B-11).
    refused: Option<Refusal>,
    /// The record under reception was counted as an attempt, and as a blocked one (B-48).
    is_open_counted: bool,
    is_open_blocked: bool,
    /// Most records since `release`.
    longest: usize,
}

impl ReceiveQueue {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            meter: Meter::new(limit),
            records: VecDeque::new(),
            refused: None,
            is_open_counted: false,
            is_open_blocked: false,
            longest: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(crate) fn front(&self) -> Option<&Record> {
        self.records.front()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Record> {
        self.records.iter()
    }

    /// Reading is stopped for want of room.
    pub(crate) fn is_refusing(&self) -> bool {
        self.refused.is_some()
    }

    /// `count` records were completed, admitted part by part against the last allowance.
    pub(crate) fn count_completed(&mut self, count: u64) {
        if count == 0 {
            return;
        }
        self.meter.count_attempts(count - u64::from(self.is_open_counted), 0);
        self.is_open_counted = false;
        self.is_open_blocked = false;
        self.refused = None;
    }

    /// Adds a completed record. `charge_committed` sums up what the caller commits in one step with `commit`.
    #[inline]
    pub(crate) fn push(&mut self, record: Record) {
        self.records.push_back(record);
    }

    /// Books what `push` added. The largest of the records was an oversize one if the queue is now above its HWM (B-09): it can
    /// only have entered an empty queue.
    pub(crate) fn commit(&mut self, charge: u64, count: u64, largest: u64) {
        if count > 0 {
            self.meter.commit(charge, count);
            self.longest = self.longest.max(self.records.len());
            self.meter.note_oversize(largest);
        }
    }

    /// Tells the charge of the record under reception and what the allowance refused; gives the new allowance.
    pub(crate) fn meet(&mut self, provisional: u64, refused: Option<Refusal>) -> Allowance {
        self.meter.set_provisional(provisional);
        self.refused = None;
        if (provisional > 0 || refused.is_some()) && !self.is_open_counted {
            self.is_open_counted = true;
            self.meter.count_attempts(1, 0);
        }
        let is_refused =
            refused.is_some_and(|part| !self.meter.has_room_for_part(part.charge, part.is_first));
        if is_refused {
            self.meter.refuse();
            self.refused = refused;
            if !self.is_open_blocked {
                self.is_open_blocked = true;
                self.meter.count_attempts(0, 1);
            }
        }
        self.allowance()
    }

    fn allowance(&self) -> Allowance {
        let limit = self.meter.applied();
        Allowance {
            room: if limit == 0 { u64::MAX } else { limit.saturating_sub(self.meter.used()) },
            is_open: !self.meter.is_full() && !self.meter.is_deferred(),
            holds_other: self.meter.holds_records(),
        }
    }

    /// Adds completed records of one kind as they are.
    pub(crate) fn append(&mut self, records: &mut Vec<Record>) {
        self.records.extend(records.drain(..));
    }

    /// Number and charge of the data records at the head, at most `count`.
    pub(crate) fn leading_data(&self, count: usize) -> (usize, u64) {
        let data = self.records.iter().take(count).take_while(|record| record.kind() == Kind::Data);
        data.fold((0, 0), |(number, charge), record| (number + 1, charge + record.charge()))
    }

    /// Takes the record at the head with its charge if it is data and no reply comes to the head by that.
    pub(crate) fn pop_data(&mut self) -> Option<(Record, bool)> {
        let is_data = self.records.front()?.kind() == Kind::Data;
        let next = self.records.get(1).map(Record::kind);
        if !is_data || matches!(next, Some(Kind::Reply | Kind::ErrorReply)) {
            return None;
        }
        let record = self.records.pop_front()?;
        let reads_on = self.end(record.charge(), 1);
        Some((record, reads_on))
    }

    /// Removes `count` records from the head; the caller ends their charges with `end`.
    pub(crate) fn drain(&mut self, count: usize) -> impl Iterator<Item = Record> {
        self.records.drain(..count)
    }

    /// Removes the head without ending its charge, which the caller does for a whole batch with `end`.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Record> {
        self.records.pop_front()
    }

    /// The charge of `count` records that were popped ended. True: reading goes on, the connection needs its new allowance.
    #[must_use]
    pub(crate) fn end(&mut self, charge: u64, count: u64) -> bool {
        if count == 0 {
            return false;
        }
        let is_tried = self.meter.end_records(charge, count);
        self.retry(is_tried)
    }

    /// Tries the refused part, as the head of the line (B-11, B-12).
    #[must_use]
    pub(crate) fn retry(&mut self, is_tried: bool) -> bool {
        let Some(refusal) = self.refused else { return false };
        // A later part of the record under reception enters an otherwise empty queue whatever the state says (B-08).
        let finishes_alone = !refusal.is_first && !self.meter.holds_records();
        if !is_tried && !finishes_alone {
            return false;
        }
        if self.meter.has_room_for_part(refusal.charge, refusal.is_first) {
            self.refused = None;
            return true;
        }
        self.meter.refuse();
        false
    }

    /// Drops the record under reception (B-18).
    pub(crate) fn roll_back(&mut self) {
        self.refused = None;
        self.is_open_counted = false;
        // The connection is gone: there is nobody to read on.
        let _ = self.meter.roll_back();
    }

    /// Drops records of some kinds for good, with their charges.
    pub(crate) fn drop_where(&mut self, mut is_dropped: impl FnMut(Kind) -> bool) {
        let (mut charge, mut count) = (0, 0);
        self.records.retain(|record| {
            let is_kept = !is_dropped(record.kind());
            if !is_kept {
                charge += record.charge();
                count += 1;
            }
            is_kept
        });
        if count > 0 {
            // The connection is gone: nobody reads on.
            let _ = self.meter.end_records(charge, count);
        }
    }

    /// Gives memory back if the queue is empty and had much more than it needed since the last time.
    pub(crate) fn release(&mut self) {
        if self.records.is_empty() && self.records.capacity() > RELEASE_ABOVE.max(4 * self.longest) {
            self.records = VecDeque::with_capacity(self.longest);
        }
        self.longest = self.records.len();
    }

    pub(crate) fn check_invariants(&self, record_charge_max: Option<u64>) {
        self.meter.check_invariants(record_charge_max);
        let charge: u64 = self.records.iter().map(Record::charge).sum();
        assert_eq!(charge, self.meter.used() - self.meter.provisional(), "charges of the receive queue");
    }
}
