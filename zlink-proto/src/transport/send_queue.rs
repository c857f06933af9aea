//! The sending queue of one peer: encoded records, and how many bytes and how much charge each of them has.

use super::meter::Meter;
use crate::message::Outgoing;
use crate::wire::{Kind, Outbox};
use alloc::collections::VecDeque;

/// Equal neighbours share one entry: a flood of equal records costs one.
#[derive(Debug)]
struct Run {
    /// Bytes on the wire of each.
    wire: u64,
    /// Charge of each.
    charge: u64,
    count: u64,
}

/// Records of one peer from admission until the transport took their last byte (B-15).
#[derive(Debug)]
pub(crate) struct SendQueue {
    pub(crate) meter: Meter,
    /// Encoded and not yet taken into a batch.
    outbox: Outbox,
    /// Every record whose charge has not ended, in order.
    runs: VecDeque<Run>,
    records: u64,
    /// Bytes of the first record of `runs` that were transmitted.
    front_written: u64,
    /// Control frames in the taken bytes: position in the stream of taken bytes, and length.
    controls: VecDeque<(u64, u64)>,
    taken_bytes: u64,
    written_bytes: u64,
}

impl SendQueue {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            meter: Meter::new(limit),
            outbox: Outbox::default(),
            runs: VecDeque::new(),
            records: 0,
            front_written: 0,
            controls: VecDeque::new(),
            taken_bytes: 0,
            written_bytes: 0,
        }
    }

    /// True if something can be taken into a batch.
    pub(crate) fn has_output(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// True if everything that was taken was also written, and nothing is left to take.
    pub(crate) fn is_idle(&self) -> bool {
        self.records == 0 && self.taken_bytes == self.written_bytes
    }

    /// Records that were admitted and not transmitted completely.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// Charge of the records whose charge has not ended, without reservations.
    pub(crate) fn records_charge(&self) -> u64 {
        self.meter.used() - self.meter.provisional()
    }

    /// Encodes a record whose charge was admitted. True if nothing was there to take before.
    #[inline]
    pub(crate) fn push<M: Outgoing>(&mut self, kind: Kind, sequence: u64, record: &M, charge: u64) -> bool {
        let was_empty = self.outbox.is_empty();
        let wire = self.outbox.push_record(kind, sequence, record);
        self.note(wire as u64, charge);
        was_empty
    }

    /// Appends a record that was encoded while it waited; its charge was admitted.
    pub(crate) fn append(&mut self, encoded: &mut Outbox, charge: u64) -> bool {
        let was_empty = self.outbox.is_empty();
        let wire = encoded.len() as u64;
        self.outbox.append(encoded);
        self.note(wire, charge);
        was_empty
    }

    #[inline]
    fn note(&mut self, wire: u64, charge: u64) {
        self.records += 1;
        match self.runs.back_mut() {
            Some(run) if run.wire == wire && run.charge == charge => run.count += 1,
            _ => self.runs.push_back(Run { wire, charge, count: 1 }),
        }
    }

    /// Appends a control frame to `batch`, in front of everything that is not yet taken (W-44).
    pub(crate) fn take_control(&mut self, frame: &[u8], batch: &mut Outbox) {
        batch.push_raw(frame);
        self.controls.push_back((self.taken_bytes, frame.len() as u64));
        self.taken_bytes += frame.len() as u64;
    }

    /// Moves whole records, up to about `limit` bytes, to the end of `batch`.
    pub(crate) fn take_batch(&mut self, limit: usize, batch: &mut Outbox) {
        let before = batch.len();
        self.outbox.take_batch(limit, batch);
        self.taken_bytes += (batch.len() - before) as u64;
    }

    /// `bytes` of the batches were taken by the transport. True: the waiting line may be tried now.
    #[must_use]
    pub(crate) fn transmitted(&mut self, bytes: u64) -> bool {
        let from = self.written_bytes;
        let to = (from + bytes).min(self.taken_bytes);
        self.written_bytes = to;
        let mut record_bytes = to - from;
        while let Some(&(start, length)) = self.controls.front() {
            let end = start + length;
            record_bytes -= end.min(to).saturating_sub(start.max(from));
            if end > to {
                break;
            }
            self.controls.pop_front();
        }
        self.end_written(record_bytes)
    }

    fn end_written(&mut self, record_bytes: u64) -> bool {
        self.front_written += record_bytes;
        let (mut charge, mut count) = (0, 0);
        while let Some(run) = self.runs.front_mut() {
            let whole = if run.wire <= self.front_written && run.wire > 0 {
                run.count.min(self.front_written / run.wire)
            } else {
                0
            };
            if whole == 0 {
                break;
            }
            self.front_written -= whole * run.wire;
            charge += whole * run.charge;
            count += whole;
            if whole < run.count {
                run.count -= whole;
                break;
            }
            self.runs.pop_front();
        }
        if count == 0 {
            return false;
        }
        self.records -= count;
        self.meter.end_records(charge, count)
    }

    /// Discards everything at the end of the connection; returns records and charge that were not transmitted (N-22, 3).
    pub(crate) fn discard(&mut self) -> (u64, u64) {
        let (records, charge) = (self.records, self.records_charge());
        if records > 0 {
            // Who waits for room ends with the set: nobody is served by this decrease.
            let _ = self.meter.end_records(charge, records);
        }
        self.outbox = Outbox::default();
        self.runs = VecDeque::new();
        self.controls = VecDeque::new();
        self.records = 0;
        self.front_written = 0;
        (records, charge)
    }

    pub(crate) fn check_invariants(&self, record_charge_max: Option<u64>) {
        self.meter.check_invariants(record_charge_max);
        let records: u64 = self.runs.iter().map(|run| run.count).sum();
        let charge: u64 = self.runs.iter().map(|run| run.count * run.charge).sum();
        assert_eq!(records, self.records, "records of the ring");
        assert_eq!(charge, self.records_charge(), "charges of the ring");
        assert!(self.written_bytes <= self.taken_bytes, "written beyond taken");
    }
}
