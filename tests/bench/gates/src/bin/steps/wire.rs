//! Encoding and decoding.

use crate::{batches, measured};
use std::hint::black_box;
use zlink_proto::wire::{Kind, Outbox};

const PAYLOAD: [u8; 64] = [7; 64];
const BATCH_BYTES: usize = 256 * 1024;

fn encode_kind(kind: Kind, count: usize) {
    let (mut outbox, mut batch) = (Outbox::default(), Outbox::default());
    let mut sequence = 0;
    for size in batches(count) {
        measured(|| {
            for _ in 0..size {
                sequence += 1;
                outbox.push_record(kind, sequence, &black_box(&PAYLOAD[..]));
            }
        });
        // Written: the memory goes back and forth as in a steady stream.
        while outbox.take_batch(BATCH_BYTES, &mut batch) > 0 {
            batch.advance(batch.len());
        }
    }
}

/// A one-way record of one part.
pub(crate) fn encode(count: usize) {
    encode_kind(Kind::Data, count);
}

/// A request of one part.
pub(crate) fn encode_request(count: usize) {
    encode_kind(Kind::Request, count);
}
