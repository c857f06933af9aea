//! Encoded output: a chain of packed segments and referenced payloads.

use crate::message::Outgoing;
use super::Kind;

/// A chain of encoded records. Small pieces are packed into segments of about 64 KiB, bodies above 8 KiB are referenced.
/// The same type is a peer's send queue, a waiting record, and the batch that a connection is writing.
#[derive(Debug, Default)]
pub struct Outbox {}

impl Outbox {
    /// Bytes in the chain.
    pub fn len(&self) -> usize {
        todo!()
    }
    /// True if nothing is in the chain.
    pub fn is_empty(&self) -> bool {
        todo!()
    }
    /// Encodes one record at the end and returns its bytes on the wire. Sizes and part count were checked by the caller.
    pub fn push_record(&mut self, _kind: Kind, _sequence: u64, _record: &impl Outgoing) -> usize {
        todo!()
    }
    /// Appends encoded bytes (control frames) as they are.
    pub fn push_raw(&mut self, _bytes: &[u8]) {
        todo!()
    }
    /// Moves everything of `other` to the end.
    pub fn append(&mut self, _other: &mut Outbox) {
        todo!()
    }
    /// Moves whole records, at least one if there is any and then until `limit` bytes are reached, to the end of `batch`.
    pub fn take_batch(&mut self, _limit: usize, _batch: &mut Outbox) -> usize {
        todo!()
    }
    /// Fills `slices` with what to write next, in order; returns how many were set.
    pub fn slices<'a>(&'a self, _slices: &mut [&'a [u8]]) -> usize {
        todo!()
    }
    /// Drops `bytes` from the front: they were written.
    pub fn advance(&mut self, _bytes: usize) {
        todo!()
    }
}
