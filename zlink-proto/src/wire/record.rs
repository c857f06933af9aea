//! Received records: one slice for a whole record where the bytes lie together.

use super::Kind;
use alloc::boxed::Box;
use bytes::Bytes;

/// Charge of a record of `parts` parts with `bytes` payload bytes together (B-02).
pub const fn charge(bytes: u64, parts: u64) -> u64 {
    bytes.saturating_add(parts.saturating_mul(64))
}

/// A complete received record. Cloning it shares the payload.
#[derive(Clone, Debug)]
pub struct Record {
    kind: Kind,
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
