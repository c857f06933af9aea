//! From checked bytes to records.

use super::body::LargeBody;
use super::scan::{LEAD_MORE, Scanned, header_word};
use super::{CHUNK_BODY_BYTES_MAX, Decoder};
use crate::wire::frame::{HEADER_BYTES, SEQUENCE_BYTES};
use crate::wire::record::{frame_size, has_more};
use crate::wire::{Allowance, Kind, Record};
use alloc::vec::Vec;
use bytes::Bytes;

/// A large body on its way.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) body: LargeBody,
    has_more: bool,
}

impl Decoder {
    /// Takes the records that were found out of the buffer.
    pub(super) fn emit(&mut self, scanned: &Scanned, records: &mut Vec<Record>) {
        self.frames_seen += scanned.records as u64;
        let frames = self.buffer.give(scanned.len);
        if !self.parts.is_empty() {
            push_bodies(&frames, HEADER_BYTES, &mut self.parts);
            records.push(self.assemble());
        } else if scanned.records == 1 {
            let (kind, sequence, parts, _) = measure(&frames, 0);
            records.push(Record::from_frames(kind, sequence, parts, frames));
        } else {
            records.reserve(scanned.records);
            let mut at = 0;
            for _ in 0..scanned.records {
                let (kind, sequence, parts, end) = measure(&frames, at);
                records.push(Record::from_frames(kind, sequence, parts, frames.slice(at..end)));
                at = end;
            }
        }
    }

    /// A part of a large body is here and the rest is not: obtains memory for it, so that the rest is read in place.
    pub(super) fn begin_body(&mut self) {
        let reception = &self.scanner.reception;
        if !reception.is_admitted {
            return;
        }
        let lead = if reception.parts == 1 { reception.kind.header_bytes() } else { HEADER_BYTES };
        let size = frame_size(self.buffer.bytes(), reception.at).unwrap_or_default();
        if size <= CHUNK_BODY_BYTES_MAX {
            return;
        }
        self.take_parts();
        let frame = self.buffer.bytes();
        let body = LargeBody::new(size, frame.get(lead..).unwrap_or_default());
        self.body = Some(Incoming { body, has_more: has_more(frame, 0) });
        self.buffer.skip(self.buffer.len());
        self.buffer.expect_large();
    }

    /// The large body is complete, and with it perhaps its record.
    pub(super) fn finish_body(&mut self, incoming: Incoming, allowance: &mut Allowance) -> Option<Record> {
        let Incoming { body, has_more } = incoming;
        self.begin_parts();
        self.parts.push(body.into_bytes());
        self.scanner.reception.is_admitted = false;
        if has_more {
            return None;
        }
        self.scanner.reception.finish();
        allowance.complete();
        self.frames_seen += 1;
        Some(self.assemble())
    }

    /// Takes the complete parts of the record under reception out of the buffer.
    pub(super) fn take_parts(&mut self) {
        let reception = &mut self.scanner.reception;
        let len = core::mem::take(&mut reception.at);
        if len == 0 {
            return;
        }
        let lead = if self.parts.is_empty() { reception.kind.header_bytes() } else { HEADER_BYTES };
        self.begin_parts();
        let frames = self.buffer.give(len);
        push_bodies(&frames, lead, &mut self.parts);
    }

    /// Keeps what the scanner forgets when the record is complete.
    fn begin_parts(&mut self) {
        if self.parts.is_empty() {
            self.apart = (self.scanner.reception.kind, self.scanner.reception.sequence);
        }
    }

    fn assemble(&mut self) -> Record {
        let (kind, sequence) = self.apart;
        Record::from_parts(kind, sequence, core::mem::take(&mut self.parts))
    }
}

/// Kind, sequence, number of parts and end of the complete and checked record at `at`.
#[inline]
fn measure(frames: &[u8], at: usize) -> (Kind, u64, u16, usize) {
    let mut word = header_word(frames, at).unwrap_or_default();
    let kind = Kind::from_byte((word >> 32) as u8).unwrap_or(Kind::Data);
    let (mut sequence, mut end, mut parts) = (0, at + HEADER_BYTES, 1);
    if kind != Kind::Data {
        sequence = header_word(frames, end).unwrap_or_default();
        end += SEQUENCE_BYTES;
    }
    end += word as u32 as usize;
    while word >> 32 & LEAD_MORE != 0 {
        word = header_word(frames, end).unwrap_or_default();
        end += HEADER_BYTES + word as u32 as usize;
        parts += 1;
    }
    (kind, sequence, parts, end)
}

/// Pushes the bodies of whole frames, of which the first has a header of `lead` bytes.
fn push_bodies(frames: &Bytes, lead: usize, parts: &mut Vec<Bytes>) {
    let (mut at, mut lead) = (0, lead);
    while let Some(size) = frame_size(frames, at) {
        let start = at + lead;
        at = start + size;
        parts.push(frames.slice(start..at));
        lead = HEADER_BYTES;
    }
}
