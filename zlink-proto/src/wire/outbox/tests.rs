use super::*;
use alloc::vec;

fn bytes_of(outbox: &Outbox) -> Vec<u8> {
    let mut slices: [&[u8]; 64] = [&[]; 64];
    let count = outbox.slices(&mut slices);
    slices.iter().take(count).flat_map(|slice| slice.iter().copied()).collect()
}

/// The same record as plain bytes, written down independently of the outbox.
fn plain(kind: Kind, sequence: u64, parts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let more = u8::from(index + 1 < parts.len());
        let kind = if index == 0 { kind as u8 } else { 0 };
        out.extend_from_slice(&[0x5a, 1, more, kind]);
        out.extend_from_slice(&(part.len() as u32).to_be_bytes());
        if kind != 0 {
            out.extend_from_slice(&sequence.to_be_bytes());
        }
        out.extend_from_slice(part);
    }
    out
}

fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|index| (index as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}

/// A mixture of small, border-sized and referenced parts.
fn mixture() -> Vec<Vec<Bytes>> {
    let sizes: [&[usize]; 9] =
        [&[2], &[0], &[8_192], &[8_193], &[10, 70_000, 10], &[64], &[20_000, 20_000], &[0, 0, 0], &[65_536]];
    let seed = |a: usize, b: usize| (a * 16 + b) as u8;
    (0..sizes.len())
        .map(|a| sizes[a].iter().enumerate().map(|(b, len)| pattern(*len, seed(a, b)).into()).collect())
        .collect()
}

fn expected(records: &[Vec<Bytes>]) -> Vec<u8> {
    let mut out = Vec::new();
    for record in records {
        let parts: Vec<&[u8]> = record.iter().map(|part| &**part).collect();
        out.extend_from_slice(&plain(Kind::Data, 0, &parts));
    }
    out
}

fn filled() -> (Outbox, Vec<u8>) {
    let records = mixture();
    let mut outbox = Outbox::default();
    let mut wire = 0;
    for record in &records {
        wire += outbox.push_record(Kind::Data, 0, record);
        outbox.check_invariants();
        assert_eq!(outbox.len(), wire);
    }
    (outbox, expected(&records))
}

#[test]
fn w45_requests_and_data_are_encoded_as_frames() {
    let mut outbox = Outbox::default();
    let parts = vec![Bytes::from_static(b"a"), Bytes::from_static(b"b")];
    assert_eq!(outbox.push_record(Kind::Request, 2, &parts), 16 + 1 + 8 + 1);
    assert_eq!(outbox.push_record(Kind::Data, 0, &b"hi".as_slice()), 10);
    let mut all = plain(Kind::Request, 2, &[b"a", b"b"]);
    all.extend_from_slice(&plain(Kind::Data, 0, &[b"hi"]));
    assert_eq!(bytes_of(&outbox), all);
}

#[test]
fn heads_and_body_are_one_part() {
    struct Headed<'a>(Body<'a>);
    impl Outgoing for Headed<'_> {
        fn part_count(&self) -> usize {
            1
        }
        fn part(&self, _index: usize) -> Part<'_> {
            Part { heads: [b"one", b"", b"three"], body: self.0 }
        }
    }
    for len in [0, 5, 8_192, 8_193, 100_000] {
        let body = pattern(len, 7);
        let shared = Bytes::from(body.clone());
        let whole = [b"onethree".as_slice(), &body].concat();
        for body in [Body::Borrowed(&body), Body::Shared(&shared)] {
            let mut outbox = Outbox::default();
            assert_eq!(outbox.push_record(Kind::Reply, 9, &Headed(body)), 16 + whole.len());
            assert_eq!(bytes_of(&outbox), plain(Kind::Reply, 9, &[&whole]));
            outbox.check_invariants();
        }
    }
}

#[test]
fn only_shared_bodies_above_8_kib_are_referenced() {
    for (len, is_referenced) in [(8_192, false), (8_193, true)] {
        let body = Bytes::from(pattern(len, 1));
        let mut outbox = Outbox::default();
        outbox.push_record(Kind::Data, 0, &body);
        let mut slices: [&[u8]; 4] = [&[]; 4];
        let count = outbox.slices(&mut slices);
        let found = slices[..count].iter().any(|slice| slice.as_ptr() == body.as_ptr());
        assert_eq!(found, is_referenced, "{len}");
    }
}

#[test]
fn slices_stop_when_the_caller_has_no_more_room() {
    let (outbox, all) = filled();
    let mut seen = Vec::new();
    let mut slices: [&[u8]; 3] = [&[]; 3];
    assert_eq!(outbox.slices(&mut slices), 3);
    slices.iter().for_each(|slice| seen.extend_from_slice(slice));
    assert!(all.starts_with(&seen) && !seen.is_empty());
    assert_eq!(outbox.slices(&mut []), 0);
}

#[test]
fn advance_stops_at_every_byte() {
    let records = vec![
        vec![Bytes::from_static(b"abc"), Bytes::from(pattern(8_200, 3)), Bytes::from_static(b"")],
        vec![Bytes::from_static(b"de")],
    ];
    let all = expected(&records);
    for cut in 0..=all.len() {
        let mut outbox = Outbox::default();
        for record in &records {
            outbox.push_record(Kind::Data, 0, record);
        }
        outbox.advance(cut);
        assert_eq!(outbox.len(), all.len() - cut);
        assert!(bytes_of(&outbox) == all[cut..], "{cut}");
        outbox.check_invariants();
    }
}

#[test]
fn advance_in_uneven_steps_drains_a_large_chain() {
    let (mut outbox, all) = filled();
    let (mut at, mut step) = (0, 1);
    while !outbox.is_empty() {
        step = (step * 7 + 3) % 9_001;
        let count = step.min(outbox.len());
        outbox.advance(count);
        outbox.check_invariants();
        at += count;
        assert!(bytes_of(&outbox) == all[at..]);
    }
    assert_eq!(at, all.len());
}

#[test]
fn a_batch_ends_where_a_record_ends() {
    for limit in [1, 5_000, 70_000, 200_000, 1_000_000] {
        let (mut outbox, all) = filled();
        let mut seen = Vec::new();
        let records = mixture();
        let mut borders = vec![0];
        for record in &records {
            borders.push(borders[borders.len() - 1] + expected(core::slice::from_ref(record)).len());
        }
        while !outbox.is_empty() {
            let mut batch = Outbox::default();
            let before = outbox.len();
            let moved = outbox.take_batch(limit, &mut batch);
            assert!(moved > 0 && moved == batch.len() && before == outbox.len() + moved);
            outbox.check_invariants();
            batch.check_invariants();
            seen.extend_from_slice(&bytes_of(&batch));
            assert!(borders.contains(&seen.len()), "{limit} {}", seen.len());
        }
        assert!(seen == all);
    }
}

#[test]
fn a_batch_does_not_grow_far_beyond_its_limit() {
    let mut outbox = Outbox::default();
    for _ in 0..10_000 {
        outbox.push_record(Kind::Data, 0, &pattern(100, 0).as_slice());
    }
    let mut batch = Outbox::default();
    let moved = outbox.take_batch(262_144, &mut batch);
    assert!((262_144..262_144 + SEGMENT_BYTES).contains(&moved), "{moved}");
}

#[test]
fn a_record_of_many_segments_is_never_cut() {
    let record: Vec<Bytes> = (0..1_024).map(|index| pattern(1_000, index as u8).into()).collect();
    let mut outbox = Outbox::default();
    outbox.push_record(Kind::Data, 0, &b"before".as_slice());
    outbox.push_record(Kind::Data, 0, &record);
    outbox.push_record(Kind::Data, 0, &b"behind".as_slice());
    outbox.check_invariants();
    let mut batch = Outbox::default();
    let moved = outbox.take_batch(1, &mut batch);
    assert!(moved >= 1_024 * 1_008, "{moved}");
    outbox.take_batch(usize::MAX, &mut batch);
    let mut all = plain(Kind::Data, 0, &[b"before"]);
    all.extend_from_slice(&expected(&[record]));
    all.extend_from_slice(&plain(Kind::Data, 0, &[b"behind"]));
    let mut seen = Vec::new();
    while !batch.is_empty() {
        let mut slices: [&[u8]; 2] = [&[]; 2];
        batch.slices(&mut slices);
        let count = slices[0].len();
        seen.extend_from_slice(slices[0]);
        batch.advance(count);
    }
    assert!(seen == all);
}

#[test]
fn appending_keeps_order_and_bytes() {
    let mut outbox = Outbox::default();
    let mut all = Vec::new();
    for round in 0..3 {
        for record in mixture() {
            let mut waiting = Outbox::default();
            waiting.push_record(Kind::Data, 0, &record);
            all.extend_from_slice(&bytes_of(&waiting));
            outbox.append(&mut waiting);
            assert!(waiting.is_empty());
            waiting.check_invariants();
            outbox.check_invariants();
        }
        let (mut many, bytes) = filled();
        all.extend_from_slice(&bytes);
        outbox.append(&mut many);
        outbox.check_invariants();
        outbox.push_raw(&[round]);
        all.push(round);
    }
    let mut seen = Vec::new();
    while !outbox.is_empty() {
        let mut batch = Outbox::default();
        outbox.take_batch(100_000, &mut batch);
        seen.extend_from_slice(&bytes_of(&batch));
    }
    assert!(seen == all);
}

#[test]
fn a_waiting_record_takes_its_own_memory_only() {
    let mut outbox = Outbox::default();
    let wire = outbox.push_record(Kind::Data, 0, &pattern(100, 0).as_slice());
    assert_eq!((wire, outbox.memory()), (108, 108));
}

#[test]
fn b50_closed_segments_hold_little_more_than_their_records() {
    for size in [0_usize, 1, 64, 100, 1_000, 1_900, 3_000, 5_000, 8_192, 8_193] {
        let mut outbox = Outbox::default();
        let mut charge = 0;
        while charge < 4_000_000 {
            outbox.push_record(Kind::Data, 0, &pattern(size, 0).as_slice());
            charge += size + 64;
        }
        let memory = outbox.memory();
        assert!(memory <= charge + 2 * SEGMENT_BYTES, "{size}: {memory} for {charge}");
    }
}

#[test]
fn memory_travels_in_a_circle_and_is_given_back() {
    let (mut queue, mut batch) = (Outbox::default(), Outbox::default());
    let payload = pattern(64, 0);
    let mut held = 0;
    for round in 0..50 {
        for _ in 0..5_000 {
            queue.push_record(Kind::Data, 0, &payload.as_slice());
        }
        let most = queue.memory() + batch.memory();
        if round > 2 {
            assert!(most <= held, "round {round}: {most} after {held}");
        }
        held = held.max(most);
        while queue.take_batch(262_144, &mut batch) > 0 {
            batch.advance(batch.len());
            batch.check_invariants();
        }
        queue.check_invariants();
        assert!(queue.memory() + batch.memory() > 65_536, "the next round reuses memory");
    }
    assert_eq!(queue.take_batch(262_144, &mut batch), 0);
    assert!(queue.memory() + batch.memory() <= IDLE_BYTES_MAX, "nothing flowed: nothing is held");
    queue.push_record(Kind::Data, 0, &payload.as_slice());
    queue.take_batch(1, &mut batch);
    batch.advance(batch.len());
    queue.shrink();
    batch.shrink();
    assert_eq!(queue.memory() + batch.memory(), 0);
}
