//! Records as callers give them: parts that are encoded where they are, or kept by reference.

use alloc::vec::Vec;
use bytes::Bytes;

/// A part's last piece.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// Bytes that are copied when the record is encoded.
    Borrowed(&'a [u8]),
    /// Bytes that are referenced when they are large, copied when they are small.
    Shared(&'a Bytes),
}

impl Body<'_> {
    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// One part of an outgoing record: some small pieces that are always copied, then a body.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Small pieces in front of the body; empty ones cost nothing.
    pub heads: [&'a [u8]; 3],
    /// The rest.
    pub body: Body<'a>,
}

impl<'a> Part<'a> {
    /// A part of one borrowed piece.
    pub const fn borrowed(bytes: &'a [u8]) -> Self {
        Self { heads: [&[]; 3], body: Body::Borrowed(bytes) }
    }

    /// A part of one shared piece.
    pub const fn shared(bytes: &'a Bytes) -> Self {
        Self { heads: [&[]; 3], body: Body::Shared(bytes) }
    }

    /// Bytes of this part.
    pub fn len(&self) -> usize {
        self.heads.iter().map(|head| head.len()).sum::<usize>() + self.body.as_slice().len()
    }

    /// True for a part of no bytes, which is legal.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What can be submitted as one record. Reading it does not consume it: a refused record stays with the caller.
pub trait Outgoing {
    /// Number of parts. 1 to 1,024, anything else is refused as an argument error.
    fn part_count(&self) -> usize;

    /// Part `index`, which is below `part_count`.
    fn part(&self, index: usize) -> Part<'_>;

    /// Called once before the parts of a request are read: a service record repeats the sequence (S-22).
    fn assign_sequence(&mut self, _sequence: u64) {}
}

impl Outgoing for &[u8] {
    fn part_count(&self) -> usize {
        1
    }
    fn part(&self, _index: usize) -> Part<'_> {
        Part::borrowed(self)
    }
}

impl Outgoing for Bytes {
    fn part_count(&self) -> usize {
        1
    }
    fn part(&self, _index: usize) -> Part<'_> {
        Part::shared(self)
    }
}

impl Outgoing for Vec<Bytes> {
    fn part_count(&self) -> usize {
        self.len()
    }
    fn part(&self, index: usize) -> Part<'_> {
        self.get(index).map_or(Part::borrowed(&[]), Part::shared)
    }
}
