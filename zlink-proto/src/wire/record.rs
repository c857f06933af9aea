//! Received records: one slice for a whole record where the bytes lie together.

use super::Kind;
use super::frame::{HEADER_BYTES, MORE, PARTS_MAX};
use alloc::boxed::Box;
use alloc::vec::Vec;
use bytes::Bytes;

/// Charge of a part beside its payload (B-02).
pub const PART_CHARGE: u64 = 64;

/// Charge of a record of `parts` parts with `bytes` payload bytes together (B-02).
pub const fn charge(bytes: u64, parts: u64) -> u64 {
    bytes.saturating_add(parts.saturating_mul(PART_CHARGE))
}

/// A complete received record. Cloning it shares the payload.
#[derive(Clone, Debug)]
pub struct Record {
    kind: Kind,
    /// Bytes before the first body in `Storage::Frames`; 0 if it holds the only body without its header.
    lead: u8,
    part_count: u16,
    sequence: u64,
    storage: Storage,
}

#[derive(Clone, Debug)]
enum Storage {
    /// The frames as they were received, headers included, one after the other.
    Frames(Bytes),
    /// Parts of a record whose bytes did not lie together.
    Parts(Box<[Bytes]>),
}

impl Record {
    /// A record of these parts, as a transport without a codec makes it (W-57).
    ///
    /// # Panics
    /// If there are no or more than 1,024 parts: the caller has checked.
    pub fn from_parts(kind: Kind, sequence: u64, mut parts: Vec<Bytes>) -> Self {
        assert!((1..=PARTS_MAX).contains(&parts.len()), "a record has 1 to 1,024 parts");
        let part_count = parts.len() as u16;
        let storage = if part_count == 1 {
            Storage::Frames(parts.pop().unwrap_or_default())
        } else {
            Storage::Parts(parts.into_boxed_slice())
        };
        Self { kind, lead: 0, part_count, sequence, storage }
    }

    /// A record whose `frames` were checked by the decoder: `part_count` whole frames, contiguous.
    #[inline]
    pub(super) fn from_frames(kind: Kind, sequence: u64, part_count: u16, frames: Bytes) -> Self {
        Self { kind, lead: kind.header_bytes() as u8, part_count, sequence, storage: Storage::Frames(frames) }
    }

    /// Stands where a record was moved out.
    #[inline]
    pub(crate) const fn vacant() -> Self {
        let storage = Storage::Frames(Bytes::new());
        Self { kind: Kind::Data, lead: 0, part_count: 1, sequence: 0, storage }
    }

    /// What it is.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Its sequence; 0 for data.
    pub const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Number of parts, 1 to 1,024.
    pub const fn part_count(&self) -> usize {
        self.part_count as usize
    }

    /// Bytes of all parts together.
    pub fn payload_len(&self) -> usize {
        match &self.storage {
            Storage::Frames(frames) => frames.len().saturating_sub(self.header_len()),
            Storage::Parts(parts) => parts.iter().map(Bytes::len).sum(),
        }
    }

    /// Its charge (B-02).
    pub fn charge(&self) -> u64 {
        charge(self.payload_len() as u64, u64::from(self.part_count))
    }

    /// The bytes of part `index`.
    #[inline]
    pub fn part(&self, index: usize) -> Option<&[u8]> {
        match &self.storage {
            Storage::Frames(frames) => {
                let (start, end) = self.span(frames, index)?;
                frames.get(start..end)
            }
            Storage::Parts(parts) => parts.get(index).map(|part| &**part),
        }
    }

    /// The bytes of part `index`, shared with this record.
    pub fn part_bytes(&self, index: usize) -> Option<Bytes> {
        match &self.storage {
            Storage::Frames(frames) => {
                let (start, end) = self.span(frames, index)?;
                Some(frames.slice(start..end))
            }
            Storage::Parts(parts) => parts.get(index).cloned(),
        }
    }

    /// All parts in order.
    pub fn parts(&self) -> Parts<'_> {
        Parts { record: self, index: 0, offset: 0 }
    }

    /// Copies the payload into memory of its own, so that it keeps no read chunk alive (B-52, B-53).
    pub fn detach(&mut self) {
        match &mut self.storage {
            Storage::Frames(frames) => *frames = Bytes::copy_from_slice(frames),
            Storage::Parts(parts) => parts.iter_mut().for_each(|part| *part = Bytes::copy_from_slice(part)),
        }
    }

    /// Bytes of all headers in `Storage::Frames`.
    const fn header_len(&self) -> usize {
        self.lead as usize + (self.part_count as usize - 1) * HEADER_BYTES
    }

    /// Where the body of part `index` lies in `frames`.
    #[inline]
    fn span(&self, frames: &Bytes, index: usize) -> Option<(usize, usize)> {
        let lead = usize::from(self.lead);
        if self.part_count == 1 {
            return if index == 0 { Some((lead, frames.len())) } else { None };
        }
        if index >= self.part_count() {
            return None;
        }
        let (mut start, mut end) = (lead, lead + frame_size(frames, 0)?);
        for _ in 0..index {
            start = end + HEADER_BYTES;
            end = start + frame_size(frames, end)?;
        }
        Some((start, end))
    }
}

/// Size in the header at `offset`.
#[inline]
pub(super) fn frame_size(frames: &[u8], offset: usize) -> Option<usize> {
    let header = frames.get(offset..)?.first_chunk::<HEADER_BYTES>()?;
    Some(u32::from_be_bytes([header[4], header[5], header[6], header[7]]) as usize)
}

/// The parts of a record, see [`Record::parts`].
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    record: &'a Record,
    index: usize,
    offset: usize,
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let index = self.index;
        if index >= self.record.part_count() {
            return None;
        }
        self.index += 1;
        match &self.record.storage {
            Storage::Parts(parts) => parts.get(index).map(|part| &**part),
            Storage::Frames(frames) if self.record.part_count == 1 => {
                frames.get(usize::from(self.record.lead)..)
            }
            Storage::Frames(frames) => {
                let header = if index == 0 { usize::from(self.record.lead) } else { HEADER_BYTES };
                let start = self.offset + header;
                self.offset = start + frame_size(frames, self.offset)?;
                frames.get(start..self.offset)
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.record.part_count() - self.index;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Parts<'_> {}

/// Records are equal if kind, sequence and all parts are, however they are stored.
impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.sequence == other.sequence
            && self.part_count == other.part_count
            && self.parts().eq(other.parts())
    }
}

impl Eq for Record {}

/// True if the frame at `offset` says that another one follows.
#[inline]
pub(super) fn has_more(frames: &[u8], offset: usize) -> bool {
    frames.get(offset.saturating_add(2)).is_some_and(|flags| flags & MORE != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// The same record stored in both ways.
    fn both(kind: Kind, sequence: u64, parts: &[&'static [u8]]) -> [Record; 2] {
        let mut frames = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let flags = if index + 1 < parts.len() { MORE } else { 0 };
            let kind = if index == 0 { kind } else { Kind::Data };
            frames.extend_from_slice(&crate::wire::frame::encode_header(flags, kind, part.len() as u32));
            if kind != Kind::Data {
                frames.extend_from_slice(&sequence.to_be_bytes());
            }
            frames.extend_from_slice(part);
        }
        let apart = parts.iter().map(|part| Bytes::from_static(part)).collect();
        [
            Record::from_frames(kind, sequence, parts.len() as u16, frames.into()),
            Record::from_parts(kind, sequence, apart),
        ]
    }

    #[test]
    fn both_ways_of_storing_a_record_show_the_same() {
        let cases: [&[&[u8]]; 5] = [
            &[b""],
            &[b"one"],
            &[b"", b"", b""],
            &[b"a", b"", b"long enough"],
            &[b"x", b"x", b"y", b"", b"z"],
        ];
        for parts in cases {
            for (kind, sequence) in [(Kind::Data, 0), (Kind::Request, 7), (Kind::ErrorReply, u64::MAX)] {
                let [frames, apart] = both(kind, sequence, parts);
                assert_eq!(frames, apart);
                for mut record in [frames, apart] {
                    let bytes: usize = parts.iter().map(|part| part.len()).sum();
                    assert_eq!((record.kind(), record.sequence()), (kind, sequence));
                    assert_eq!((record.part_count(), record.payload_len()), (parts.len(), bytes));
                    assert_eq!(record.charge(), (bytes + 64 * parts.len()) as u64);
                    assert_eq!(record.parts().len(), parts.len());
                    for _ in 0..2 {
                        assert_eq!(record.parts().collect::<Vec<_>>(), parts);
                        for (index, part) in parts.iter().enumerate() {
                            assert_eq!(record.part(index), Some(*part));
                            assert_eq!(record.part_bytes(index).as_deref(), Some(*part));
                        }
                        assert_eq!((record.part(parts.len()), record.part_bytes(parts.len())), (None, None));
                        record.detach();
                    }
                }
            }
        }
    }

    #[test]
    fn records_that_differ_are_not_equal() {
        let record = |kind, sequence, parts| Record::from_parts(kind, sequence, parts);
        let (a, b) = (Bytes::from_static(b"a"), Bytes::from_static(b"b"));
        let first = record(Kind::Request, 1, vec![a.clone(), b.clone()]);
        assert_ne!(first, record(Kind::Reply, 1, vec![a.clone(), b.clone()]));
        assert_ne!(first, record(Kind::Request, 2, vec![a.clone(), b.clone()]));
        assert_ne!(first, record(Kind::Request, 1, vec![b, a.clone()]));
        assert_ne!(first, record(Kind::Request, 1, vec![a]));
    }

    #[test]
    fn b02_charge_of_a_record() {
        assert_eq!(charge(0, 1), 64);
        assert_eq!(charge(36, 1), 100);
        assert_eq!(charge(6, 2), 134);
        assert_eq!(charge(u64::MAX, 1), u64::MAX);
    }

    #[test]
    #[should_panic(expected = "1 to 1,024 parts")]
    fn w45_a_record_without_parts_is_refused() {
        let _ = Record::from_parts(Kind::Data, 0, Vec::new());
    }
}
