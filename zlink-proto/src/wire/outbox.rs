//! Encoded output: a chain of packed segments and referenced payloads.

use super::Kind;
use super::frame::{HEADER_BYTES, MORE, encode_header};
use crate::message::{Body, Outgoing, Part};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use bytes::{Buf, Bytes};

/// Bodies above this are referenced instead of packed.
pub const PACKED_BYTES_MAX: usize = 8_192;
/// A segment is closed when it and the bodies that it references have about this many bytes.
const SEGMENT_BYTES: usize = 65_536;
/// Smallest memory of a segment that is not the first.
const SEGMENT_BYTES_MIN: usize = 256;
/// A closed segment gives memory back if more than this is unused: the charges of its records must cover its memory (B-50).
const UNUSED_BYTES_MAX: usize = 2_048;
/// Emptied segments that are kept for reuse while there is traffic.
const SPARES_MAX: usize = 8;
/// Memory that is kept when there is none, in bytes.
const IDLE_BYTES_MAX: usize = 1_024;

/// A chain of encoded records. Small pieces are packed into segments of about 64 KiB, bodies above 8 KiB are referenced.
/// The same type is a peer's send queue, a waiting record, and the batch that a connection is writing.
///
/// ```text
/// segment   packed bytes  h1 b1 h2 b2 h3 │ h4 b4 …        closed at the end of a record, or inside a very large one
///           bodies        at │: b3 (referenced)           written where its offset in the packed bytes is reached
/// chain     closed segments … → tail (grows)
/// ```
///
/// Memory: emptied segments travel back from the batch to the queue at `take_batch`, so that a steady stream allocates
/// next to nothing; they are given up as traffic ends, at the latest by `shrink`.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Closed segments, oldest first. None is empty.
    closed: VecDeque<Segment>,
    /// Where the next record goes.
    tail: Segment,
    /// Bytes in the chain.
    len: usize,
    /// Packed bytes of the first segment that were written already.
    written: usize,
    /// Emptied memory, the most recently used last.
    spares: Vec<Vec<u8>>,
    /// Memory that the next segment starts with: what the last one needed.
    hint: usize,
    /// Bytes moved by `take_batch` since it last found nothing.
    flowed: usize,
    /// The last place known to be between two frames of what was written.
    border: Border,
}

/// A stretch of the chain.
#[derive(Debug, Default)]
struct Segment {
    packed: Vec<u8>,
    bodies: VecDeque<Reference>,
    /// Bytes of `bodies`.
    body_bytes: usize,
    /// True if the segment ends where a record ends. Meaningful for closed ones.
    ends_record: bool,
}

/// A body that is written when `at` packed bytes of its segment are.
#[derive(Debug)]
struct Reference {
    at: usize,
    bytes: Bytes,
}

impl Segment {
    fn len(&self) -> usize {
        self.packed.len() + self.body_bytes
    }
}

impl Outbox {
    /// Bytes in the chain.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if nothing is in the chain.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Memory that the chain holds, in bytes, referenced bodies included.
    pub fn memory(&self) -> usize {
        let segment = |segment: &Segment| segment.packed.capacity() + segment.body_bytes;
        let spares: usize = self.spares.iter().map(Vec::capacity).sum();
        segment(&self.tail) + self.closed.iter().map(segment).sum::<usize>() + spares
    }

    /// Encodes one record at the end and returns its bytes on the wire. Sizes and part count were checked by the caller.
    #[inline]
    pub fn push_record(&mut self, kind: Kind, sequence: u64, record: &impl Outgoing) -> usize {
        let count = record.part_count();
        debug_assert!((1..=super::PARTS_MAX).contains(&count), "a record has 1 to 1,024 parts");
        let more = |index: usize| if index + 1 < count { MORE } else { 0 };
        let mut wire = match kind {
            Kind::Data => self.push_frame(&[], more(0), kind, &record.part(0), 0),
            Kind::Request | Kind::Reply | Kind::ErrorReply => {
                self.push_frame(&sequence.to_be_bytes(), more(0), kind, &record.part(0), 0)
            }
        };
        for index in 1..count {
            wire += self.push_frame(&[], more(index), Kind::Data, &record.part(index), index);
        }
        self.len += wire;
        if self.tail.len() >= SEGMENT_BYTES {
            self.close_tail(true);
        }
        wire
    }

    /// Appends a frame and returns its bytes on the wire. Room is made once; nothing is allocated while it lasts.
    #[inline(always)]
    fn push_frame(&mut self, sequence: &[u8], flags: u8, kind: Kind, part: &Part<'_>, index: usize) -> usize {
        let [a, b, c] = part.heads;
        let body = part.body.as_slice();
        let heads = a.len() + b.len() + c.len();
        let is_packed = body.len() <= PACKED_BYTES_MAX;
        let packed = HEADER_BYTES + sequence.len() + heads + if is_packed { body.len() } else { 0 };
        if self.tail.packed.capacity() - self.tail.packed.len() < packed {
            self.grow(packed, index == 0);
        }
        let memory = &mut self.tail.packed;
        memory.extend_from_slice(&encode_header(flags, kind, (heads + body.len()) as u32));
        memory.extend_from_slice(sequence);
        if heads > 0 {
            memory.extend_from_slice(a);
            memory.extend_from_slice(b);
            memory.extend_from_slice(c);
        }
        if is_packed {
            memory.extend_from_slice(body);
            return packed;
        }
        self.push_body(part.body);
        packed + body.len()
    }

    /// Appends a body by reference. Its bytes are counted by the caller.
    fn push_body(&mut self, body: Body<'_>) {
        let bytes = match body {
            Body::Shared(bytes) => Bytes::clone(bytes),
            Body::Borrowed(bytes) => Bytes::copy_from_slice(bytes),
        };
        // Memory in spares was charged to records that left. This one brings memory of its own.
        self.spares.pop();
        self.tail.body_bytes += bytes.len();
        self.tail.bodies.push_back(Reference { at: self.tail.packed.len(), bytes });
    }

    /// Appends encoded bytes (control frames) as they are.
    pub fn push_raw(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len(), true);
        self.tail.packed.extend_from_slice(bytes);
        self.len += bytes.len();
        if self.tail.len() >= SEGMENT_BYTES {
            self.close_tail(true);
        }
    }

    /// Moves everything of `other` to the end. Nothing of `other` was written yet.
    pub fn append(&mut self, other: &mut Outbox) {
        other.forget_written();
        while let Some(segment) = other.closed.pop_front() {
            self.append_segment(segment);
        }
        let tail = core::mem::take(&mut other.tail);
        if tail.len() > 0 {
            self.append_segment(Segment { ends_record: true, ..tail });
        }
        other.len = 0;
    }

    /// Copies a small segment's packed bytes behind those of the tail, moves a large one. A segment that ends inside a record
    /// is closed at once, so that the tail always starts where a record or the rest of one does.
    fn append_segment(&mut self, mut segment: Segment) {
        if segment.packed.len() > PACKED_BYTES_MAX {
            self.close_tail(true);
            self.len += segment.len();
            self.closed.push_back(segment);
            return;
        }
        self.reserve(segment.packed.len(), true);
        let base = self.tail.packed.len();
        self.tail.packed.extend_from_slice(&segment.packed);
        self.len += segment.packed.len();
        for body in segment.bodies.drain(..) {
            self.len += body.bytes.len();
            self.tail.body_bytes += body.bytes.len();
            self.tail.bodies.push_back(Reference { at: base + body.at, bytes: body.bytes });
        }
        if self.tail.len() >= SEGMENT_BYTES || !segment.ends_record {
            self.close_tail(segment.ends_record);
        }
    }

    /// Moves whole records to the end of `batch`, at least one if there is any: segment by segment (64 KiB or one record)
    /// until `limit` bytes are reached. Returns the bytes moved. Memory that `batch` emptied comes back in exchange.
    pub fn take_batch(&mut self, limit: usize, batch: &mut Outbox) -> usize {
        self.collect_spares(batch);
        if self.is_empty() {
            self.cool_down();
            return 0;
        }
        self.forget_written();
        batch.close_tail(true);
        let mut moved = 0;
        let mut is_at_end = true;
        while moved < limit || !is_at_end {
            let Some(segment) = self.closed.pop_front() else { break };
            moved += segment.len();
            is_at_end = segment.ends_record;
            batch.closed.push_back(segment);
        }
        if (moved < limit || !is_at_end) && self.tail.len() > 0 {
            moved += self.tail.len();
            self.hint = self.tail.packed.len();
            let tail = core::mem::take(&mut self.tail);
            batch.closed.push_back(Segment { ends_record: true, ..tail });
        }
        self.len -= moved;
        batch.len += moved;
        self.flowed = self.flowed.saturating_add(moved);
        moved
    }

    /// Fills `slices` with what to write next, in order; returns how many were set.
    pub fn slices<'a>(&'a self, slices: &mut [&'a [u8]]) -> usize {
        let mut targets = slices.iter_mut();
        let mut count = 0;
        let mut put = |bytes: &'a [u8]| -> bool {
            if bytes.is_empty() {
                return true;
            }
            let Some(target) = targets.next() else { return false };
            *target = bytes;
            count += 1;
            true
        };
        let mut from = self.written;
        for segment in self.closed.iter().chain(core::iter::once(&self.tail)) {
            for body in &segment.bodies {
                if !put(segment.packed.get(from..body.at).unwrap_or_default()) || !put(&body.bytes) {
                    return count;
                }
                from = body.at;
            }
            if !put(segment.packed.get(from..).unwrap_or_default()) {
                return count;
            }
            from = 0;
        }
        count
    }

    /// Drops `bytes` from the front: they were written. No more than `len`.
    pub fn advance(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.len, "no more is written than was shown");
        let mut left = bytes.min(self.len);
        self.len -= left;
        while left > 0 {
            let segment = self.closed.front_mut().unwrap_or(&mut self.tail);
            let at = segment.bodies.front().map_or(segment.packed.len(), |body| body.at);
            let step = left.min(at - self.written);
            self.written += step;
            left -= step;
            if left > 0 {
                let step = segment.advance_body(left);
                left -= step;
                if step > 0 && segment.bodies.front().is_none_or(|body| body.at > at) {
                    self.border.pass_body(&segment.packed, at);
                }
            }
            if self.written == segment.packed.len() && segment.bodies.is_empty() {
                self.drop_front();
            }
        }
    }

    /// Gives memory back that an idle connection need not hold.
    pub fn shrink(&mut self) {
        self.spares = Vec::new();
        self.flowed = 0;
        self.hint = self.hint.min(IDLE_BYTES_MAX);
        if self.is_empty() {
            self.tail = Segment::default();
        }
        self.closed.shrink_to(SPARES_MAX);
    }

    /// Room for `bytes` more packed bytes in the tail. `is_border`: the tail ends where a record ends.
    #[inline]
    fn reserve(&mut self, bytes: usize, is_border: bool) {
        if self.tail.packed.capacity() - self.tail.packed.len() < bytes {
            self.grow(bytes, is_border);
        }
    }

    /// Grows the tail up to the size of a segment, then starts another one. A tail without packed bytes is filled whatever
    /// its size: one piece is never cut.
    #[cold]
    fn grow(&mut self, bytes: usize, is_border: bool) {
        let used = self.tail.packed.len();
        if used > 0 && used + bytes > SEGMENT_BYTES {
            self.close_tail(is_border);
        }
        let used = self.tail.packed.len();
        let needed = used + bytes;
        if self.tail.packed.capacity() >= needed {
            return;
        }
        if used == 0 {
            let least = needed.max(self.hint.min(SEGMENT_BYTES) / 2);
            if let Some(spare) = self.spares.pop().filter(|spare| spare.capacity() >= least) {
                self.tail.packed = spare;
                return;
            }
        }
        let least = if used == 0 { self.hint } else { (used * 2).max(SEGMENT_BYTES_MIN) };
        let capacity = needed.max(least.min(SEGMENT_BYTES));
        self.tail.packed.reserve_exact(capacity - used);
    }

    /// Closes the tail if anything is in it.
    fn close_tail(&mut self, ends_record: bool) {
        if self.tail.len() == 0 {
            return;
        }
        let mut tail = core::mem::take(&mut self.tail);
        self.hint = tail.packed.len();
        tail.ends_record = ends_record;
        if tail.packed.capacity() - tail.packed.len() > UNUSED_BYTES_MAX {
            tail.packed.shrink_to_fit();
        }
        self.closed.push_back(tail);
    }

    /// Removes the first segment, which was written completely, and keeps its memory for reuse.
    fn drop_front(&mut self) {
        self.written = 0;
        self.border = Border::default();
        if let Some(segment) = self.closed.pop_front() {
            self.border.is_inside_record = !segment.ends_record;
            keep_spare(&mut self.spares, segment.packed);
        } else {
            self.tail.packed.clear();
            self.tail.ends_record = false;
        }
    }

    /// Takes over the memory that `batch` emptied.
    fn collect_spares(&mut self, batch: &mut Outbox) {
        while let Some(spare) = batch.spares.pop() {
            keep_spare(&mut self.spares, spare);
        }
    }

    /// There was nothing to write: keeps no more memory than half of what flowed since the last time.
    fn cool_down(&mut self) {
        let keep = (self.flowed / 2).max(IDLE_BYTES_MAX);
        self.flowed = 0;
        let mut held = self.tail.packed.capacity();
        if held > keep {
            self.tail = Segment::default();
            held = 0;
        }
        self.spares.retain(|spare| {
            held += spare.capacity();
            held <= keep
        });
        if self.spares.is_empty() {
            self.spares = Vec::new();
        }
    }

    /// Cuts off what was written of the first segment, so that segments can move.
    fn forget_written(&mut self) {
        if self.written == 0 {
            return;
        }
        let segment = self.closed.front_mut().unwrap_or(&mut self.tail);
        segment.packed.drain(..self.written.min(segment.packed.len()));
        segment.bodies.iter_mut().for_each(|body| body.at -= self.written);
        self.written = 0;
    }

    /// Checks that the sums match.
    ///
    /// # Panics
    /// If they do not.
    pub fn check_invariants(&self) {
        let mut len = self.tail.len();
        for segment in self.closed.iter().chain(core::iter::once(&self.tail)) {
            let bodies: usize = segment.bodies.iter().map(|body| body.bytes.len()).sum();
            assert_eq!(segment.body_bytes, bodies, "body_bytes is the sum of the bodies");
            assert!(segment.bodies.iter().all(|body| body.at <= segment.packed.len()), "bodies lie inside");
        }
        for segment in &self.closed {
            len += segment.len();
            assert!(segment.len() > 0, "no closed segment is empty");
        }
        assert_eq!(self.len, len - self.written, "len is the sum of the segments");
        assert!(
            self.spares.len() <= SPARES_MAX && self.spares.iter().all(Vec::is_empty),
            "spares are few and empty"
        );
    }
}

impl Segment {
    /// Writes up to `bytes` of the first body; returns how many.
    fn advance_body(&mut self, bytes: usize) -> usize {
        let Some(body) = self.bodies.front_mut() else { return 0 };
        let step = bytes.min(body.bytes.len());
        body.bytes.advance(step);
        self.body_bytes -= step;
        if body.bytes.is_empty() {
            self.bodies.pop_front();
        }
        step
    }
}

fn keep_spare(spares: &mut Vec<Vec<u8>>, mut memory: Vec<u8>) {
    if spares.len() < SPARES_MAX && (1..=SEGMENT_BYTES).contains(&memory.capacity()) {
        memory.clear();
        spares.push(memory);
    }
}

mod border;
#[cfg(test)]
mod tests;

use border::Border;
