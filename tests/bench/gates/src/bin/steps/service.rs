//! Service records of channel sends (command 18).

use crate::wire::{carry, decode_filled};
use crate::{batches, measured};
use std::hint::black_box;
use zlink_proto::message::Body;
use zlink_proto::wire::service::{ChannelRecord, KnownTexts, Prefix};
use zlink_proto::wire::{Kind, Outbox, Record, service};

const PAYLOAD: [u8; 64] = [7; 64];
const BATCH_BYTES: usize = 256 * 1024;

fn prefix() -> Prefix {
    Prefix::new("bench", "Item", service::CONTENT_OCTETS).expect("well-formed names")
}

/// A channel send from a prepared prefix.
pub(crate) fn encode(count: usize) {
    let prefix = prefix();
    let (mut outbox, mut batch) = (Outbox::default(), Outbox::default());
    for size in batches(count) {
        measured(|| {
            for _ in 0..size {
                let record = service::ChannelSend::new(&prefix, Body::Borrowed(black_box(&PAYLOAD)));
                outbox.push_record(Kind::Data, 0, &record);
            }
        });
        while outbox.take_batch(BATCH_BYTES, &mut batch) > 0 {
            batch.advance(batch.len());
        }
    }
}

/// The look of the receiving host at a record whose names it has seen before, and the payload for the handler.
pub(crate) fn decode(count: usize) {
    let prefix = prefix();
    let mut outbox = Outbox::default();
    let record = service::ChannelSend::new(&prefix, Body::Borrowed(&PAYLOAD));
    (0..count).for_each(|_| _ = outbox.push_record(Kind::Data, 0, &record));
    let mut records: Vec<Record> = Vec::new();
    carry(&mut outbox, |decoder, filled| decode_filled(decoder, filled, &mut records));
    assert_eq!(records.len(), count, "all were decoded");
    let sample = records[0].clone();
    let sample = ChannelRecord::decode(&sample, KnownTexts::default()).expect("well formed");
    let known = KnownTexts { channel: sample.channel, names: sample.names };
    for batch in records.chunks(crate::BATCH) {
        measured(|| {
            for record in batch {
                let seen = ChannelRecord::decode(black_box(record), known).expect("well formed");
                assert!(seen.names == known.names, "the same names");
                black_box(seen.layout.payload(record));
            }
        });
    }
}
