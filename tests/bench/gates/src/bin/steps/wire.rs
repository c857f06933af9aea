//! Encoding and decoding.

use crate::{batches, measured};
use std::hint::black_box;
use zlink_proto::id::RoutingId;
use zlink_proto::wire::{Allowance, Decoded, Decoder, Hello, Kind, Outbox, Record, SocketType};

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

/// Brings what is in the outbox to the decoder in full reads: `decode` is called after each.
pub(crate) fn carry(outbox: &mut Outbox, mut decode: impl FnMut(&mut Decoder, usize)) {
    let mut bytes = Vec::with_capacity(outbox.len());
    while !outbox.is_empty() {
        let mut pieces = [&[][..]; 1];
        outbox.slices(&mut pieces);
        let [piece] = pieces;
        bytes.extend_from_slice(piece);
        outbox.advance(piece.len());
    }
    let hello = Hello { socket_type: SocketType::Dealer, routing_id: RoutingId::default() };
    let mut decoder = Decoder::after_ready(SocketType::Router, 0, 0, hello);
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let space = decoder.space();
        let (now, later) = rest.split_at(rest.len().min(space.len()));
        space[..now.len()].copy_from_slice(now);
        rest = later;
        decode(&mut decoder, now.len());
    }
}

/// Decodes the bytes that were filled in.
pub(crate) fn decode_filled(decoder: &mut Decoder, filled: usize, records: &mut Vec<Record>) {
    decoder.filled(filled);
    let mut allowance = Allowance::UNLIMITED;
    let end = decoder.decode_records(&mut allowance, records);
    assert_eq!(end, Ok(Decoded::NeedMore), "only records");
}

/// A one-way record of one part, as chunks of full reads bring it; its end is in it.
pub(crate) fn decode(count: usize) {
    let mut outbox = Outbox::default();
    (0..count).for_each(|_| _ = outbox.push_record(Kind::Data, 0, &&PAYLOAD[..]));
    let (mut decoded, mut records) = (0, Vec::new());
    carry(&mut outbox, |decoder, filled| {
        decoded += measured(|| {
            decode_filled(decoder, filled, &mut records);
            let count = black_box(&records).len();
            records.clear();
            count
        });
    });
    assert_eq!(decoded, count, "all were decoded");
}
