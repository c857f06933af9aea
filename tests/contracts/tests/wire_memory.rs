//! What the codec allocates and keeps alive (W-15, B-52, B-53).

use allocation_counter::measure;
use std::collections::VecDeque;
use zlink_proto::id::RoutingId;
use zlink_proto::wire::{
    Allowance, Decoded, Decoder, Hello, Kind, Outbox, Record, SocketType, control, frame,
};

const KIB_64: u64 = 65_536;

fn router() -> Decoder {
    let routing_id = RoutingId::new(b"peer".to_vec()).expect("short");
    Decoder::after_ready(SocketType::Router, 0, 0, Hello { socket_type: SocketType::Dealer, routing_id })
}

fn push_frame(payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&frame::encode_header(0, Kind::Data, payload.len() as u32));
    out.extend_from_slice(payload);
}

/// Feeds everything in reads of at most `read` bytes; `take` gets the records of each read.
fn feed(decoder: &mut Decoder, mut bytes: &[u8], read: usize, mut take: impl FnMut(&mut Vec<Record>)) {
    let mut records = Vec::with_capacity(10_000);
    while !bytes.is_empty() {
        let space = decoder.space();
        let count = space.len().min(bytes.len()).min(read);
        space[..count].copy_from_slice(&bytes[..count]);
        decoder.filled(count);
        bytes = &bytes[count..];
        while decoder.decode_records(&mut Allowance::UNLIMITED.clone(), &mut records) != Ok(Decoded::NeedMore)
        {
        }
        take(&mut records);
        records.clear();
    }
}

/// `filler` bytes of frames that are not charged around each of `count` tiny records.
fn tiny_records_between_control(filler: usize, count: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for index in 0..count {
        let end = out.len() + filler;
        while out.len() < end {
            control::encode_special(frame::IDENTITY, &[&[index as u8; 500]], &mut out);
        }
        push_frame(b"tiny", &mut out);
    }
    out
}

#[test]
fn t126_queued_records_keep_alive_no_more_than_twice_their_charge_and_a_chunk() {
    for (filler, count) in [(0, 3_000), (100, 2_000), (2_000, 500), (60_000, 100), (65_000, 100)] {
        for read in [500, 5_000, 40_000, 1_000_000] {
            let bytes = tiny_records_between_control(filler, count);
            let mut queue = Vec::with_capacity(count);
            let kept = measure(|| {
                let mut decoder = router();
                feed(&mut decoder, &bytes, read, |records| queue.append(records));
            });
            assert_eq!(queue.len(), count);
            let charge: u64 = queue.iter().map(Record::charge).sum();
            let kept = kept.bytes_current as u64;
            assert!(kept <= 2 * charge + KIB_64, "{filler} {count} {read}: {kept} for {charge}");
        }
    }
}

#[test]
fn b52_holds_while_the_queue_is_taken_in_order() {
    // A dense half of a chunk, then filler, then one tiny record: again and again.
    let mut bytes = Vec::new();
    for _ in 0..60 {
        (0..500).for_each(|_| push_frame(&[1; 64], &mut bytes));
        bytes.extend_from_slice(&tiny_records_between_control(25_000, 1));
    }
    for read in [3_000, 20_000, 1_000_000] {
        for left in [0, 1, 10, 501, 600, 5_000, 20_000] {
            let mut queue: VecDeque<Record> = VecDeque::with_capacity(60 * 501);
            let kept = measure(|| {
                let mut decoder = router();
                feed(&mut decoder, &bytes, read, |records| queue.extend(records.drain(..)));
                while queue.len() > left {
                    queue.pop_front();
                }
            });
            let charge: u64 = queue.iter().map(Record::charge).sum();
            let kept = kept.bytes_current as u64;
            assert!(kept <= 2 * charge + KIB_64, "{read} {left}: {kept} for {charge}");
        }
    }
}

#[test]
fn w15_a_declared_size_is_no_reason_to_allocate() {
    for arrived in [0, 1, 1_000, 100_000, 400_000] {
        let mut bytes = frame::encode_header(0, Kind::Data, u32::MAX).to_vec();
        bytes.resize(frame::HEADER_BYTES + arrived, 7);
        let used = measure(|| {
            let mut decoder = router();
            feed(&mut decoder, &bytes, usize::MAX, |_| {});
        });
        // The chunk, the vector of this test, and the body at its last growth: before and after.
        let bound = KIB_64 + 10_000 * size_of::<Record>() as u64 + 3 * arrived as u64 + 2 * KIB_64;
        assert!(used.bytes_max <= bound, "{arrived}: {} of {bound}", used.bytes_max);
    }
}

#[test]
fn a_stream_of_small_records_allocates_next_to_nothing() {
    let mut bytes = Vec::new();
    (0..20_000).for_each(|_| push_frame(&[1; 64], &mut bytes));
    let mut decoder = router();
    feed(&mut decoder, &bytes, usize::MAX, |_| {});
    let used = measure(|| feed(&mut decoder, &bytes, usize::MAX, |_| {}));
    assert!(used.count_total <= 60, "{} allocations for 20,000 records", used.count_total);
}

#[test]
fn a_small_record_that_comes_alone_costs_one_allocation() {
    let mut bytes = Vec::new();
    push_frame(&[1; 64], &mut bytes);
    let mut decoder = router();
    let mut records = Vec::with_capacity(10);
    let used = measure(|| {
        for _ in 0..100 {
            let space = decoder.space();
            space[..bytes.len()].copy_from_slice(&bytes);
            decoder.filled(bytes.len());
            let decoded = decoder.decode_records(&mut Allowance::UNLIMITED.clone(), &mut records);
            assert_eq!((decoded, records.len()), (Ok(Decoded::NeedMore), 1));
            records.clear();
        }
    });
    // The read buffer is one more.
    assert!(used.count_total <= 101, "{} allocations for 100 records", used.count_total);
}

#[test]
fn a_steady_stream_is_encoded_without_allocations() {
    let (mut queue, mut batch) = (Outbox::default(), Outbox::default());
    let mut round = || {
        for _ in 0..5_000 {
            queue.push_record(Kind::Data, 0, &[1_u8; 64].as_slice());
        }
        while queue.take_batch(262_144, &mut batch) > 0 {
            batch.advance(batch.len());
        }
    };
    (0..3).for_each(|_| round());
    let used = measure(|| (0..10).for_each(|_| round()));
    assert!(used.count_total <= 50, "{} allocations for 50,000 records", used.count_total);
}

#[test]
fn a_latency_stream_is_encoded_with_one_allocation_at_most() {
    let (mut queue, mut batch) = (Outbox::default(), Outbox::default());
    let mut round = || {
        queue.push_record(Kind::Data, 0, &[1_u8; 64].as_slice());
        while queue.take_batch(262_144, &mut batch) > 0 {
            batch.advance(batch.len());
        }
    };
    (0..3).for_each(|_| round());
    let used = measure(|| (0..100).for_each(|_| round()));
    assert!(used.count_total <= 100, "{} allocations for 100 records", used.count_total);
}

#[test]
fn b03_a_queue_entry_has_at_most_64_bytes() {
    assert!(size_of::<Record>() <= 64, "{}", size_of::<Record>());
}

#[test]
fn b53_a_detached_record_keeps_no_chunk() {
    let mut bytes = Vec::new();
    (0..2_000).for_each(|index: u16| push_frame(&index.to_be_bytes(), &mut bytes));
    let mut last = Vec::with_capacity(1);
    let kept = measure(|| {
        let mut decoder = router();
        feed(&mut decoder, &bytes, usize::MAX, |records| last.splice(.., records.pop()).for_each(drop));
        last.iter_mut().for_each(Record::detach);
    });
    assert_eq!(last[0].part(0), Some(1_999_u16.to_be_bytes().as_slice()));
    assert!(kept.bytes_current <= 16, "{}", kept.bytes_current);
}
