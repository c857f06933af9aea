//! The decoder: phases, admission, memory, and input that nobody wrote by hand.

use zlink_proto::id::RoutingId;
use zlink_proto::wire::{
    Allowance, Decoded, Decoder, Event, FaultCode, HANDSHAKE_BYTES_MAX, Hello, Kind, Outbox, Record,
    SocketType, control, frame,
};
use zlink_testkit::fuzz;

fn hello(socket_type: SocketType) -> Hello {
    Hello { socket_type, routing_id: RoutingId::new(b"peer".to_vec()).expect("short") }
}

fn router() -> Decoder {
    Decoder::after_ready(SocketType::Router, 0, 0, hello(SocketType::Dealer))
}

/// The bytes of a data record.
fn record(parts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let flags = u8::from(index + 1 < parts.len());
        out.extend_from_slice(&frame::encode_header(flags, Kind::Data, part.len() as u32));
        out.extend_from_slice(part);
    }
    out
}

/// Puts in as many bytes as the decoder takes; returns how many.
fn put(decoder: &mut Decoder, bytes: &[u8]) -> usize {
    let space = decoder.space();
    let count = space.len().min(bytes.len());
    space[..count].copy_from_slice(&bytes[..count]);
    decoder.filled(count);
    count
}

fn parts(record: &Record) -> Vec<&[u8]> {
    record.parts().collect()
}

fn unlimited(decoder: &mut Decoder) -> Decoded {
    decoder.decode(&mut Allowance::UNLIMITED.clone()).expect("no fault")
}

#[test]
fn w36_bytes_behind_ready_wait_until_the_set_is_ready() {
    let mut decoder = Decoder::after_hello(SocketType::Router, 0, 0, hello(SocketType::Dealer));
    let mut bytes = Vec::new();
    let peer = hello(SocketType::Dealer);
    control::encode_ready(peer.socket_type, &peer.routing_id, 0, Some((1, 0)), &mut bytes);
    bytes.extend_from_slice(&record(&[b"early"]));
    assert_eq!(put(&mut decoder, &bytes), bytes.len());
    assert!(matches!(unlimited(&mut decoder), Decoded::Event(Event::Ready(_))));
    assert_eq!(unlimited(&mut decoder), Decoded::Held);
    assert!(!decoder.is_inside());
    decoder.open();
    let Decoded::Event(Event::Record(early)) = unlimited(&mut decoder) else {
        panic!("the record comes now")
    };
    assert_eq!(parts(&early), [b"early"]);
}

#[test]
fn w36_an_error_behind_ready_is_seen_and_ends_everything() {
    let mut decoder = Decoder::after_hello(SocketType::Router, 0, 0, hello(SocketType::Dealer));
    let peer = hello(SocketType::Dealer);
    let mut bytes = Vec::new();
    control::encode_ready(peer.socket_type, &peer.routing_id, 0, Some((1, 0)), &mut bytes);
    put(&mut decoder, &bytes);
    assert!(matches!(unlimited(&mut decoder), Decoded::Event(Event::Ready(_))));
    let mut error = Vec::new();
    control::encode_error_parts(6, b"late", &mut error);
    for (index, byte) in error.iter().enumerate() {
        put(&mut decoder, &[*byte]);
        let decoded = unlimited(&mut decoder);
        if index + 1 < error.len() {
            assert_eq!(decoded, Decoded::Held);
        } else {
            let Decoded::Event(Event::Error(error)) = decoded else { panic!("ERROR is seen") };
            assert!(error.is(FaultCode::HandshakeTimeout) && error.reason == "late");
        }
    }
    put(&mut decoder, b"whatever");
    assert_eq!(unlimited(&mut decoder), Decoded::NeedMore);
    assert_eq!(decoder.end(), Ok(()));
}

#[test]
fn w36_no_more_than_16_kib_wait_for_the_set() {
    let mut decoder = Decoder::after_hello(SocketType::Router, 0, 0, hello(SocketType::Dealer));
    let peer = hello(SocketType::Dealer);
    let mut bytes = Vec::new();
    control::encode_ready(peer.socket_type, &peer.routing_id, 0, Some((1, 0)), &mut bytes);
    put(&mut decoder, &bytes);
    assert!(matches!(unlimited(&mut decoder), Decoded::Event(Event::Ready(_))));
    let flood: Vec<u8> = (0..5_000).flat_map(|_| record(&[b"flood"])).collect();
    let mut taken = 0;
    loop {
        let count = put(&mut decoder, &flood[taken..]);
        if count == 0 {
            break;
        }
        taken += count;
        assert_eq!(unlimited(&mut decoder), Decoded::Held);
    }
    assert_eq!(taken, HANDSHAKE_BYTES_MAX);
    assert!(decoder.memory() <= HANDSHAKE_BYTES_MAX);
    decoder.open();
    let mut records = Vec::new();
    let end = decoder.decode_records(&mut Allowance::UNLIMITED.clone(), &mut records);
    assert_eq!((end, records.len()), (Ok(Decoded::NeedMore), HANDSHAKE_BYTES_MAX / 13));
    assert!(put(&mut decoder, &flood[taken..]) > 0);
}

#[test]
fn w19_records_before_a_fault_stay_valid_and_the_fault_repeats() {
    let mut decoder = router();
    let bytes =
        [record(&[b"one"]), record(&[b"two", b"2"]), vec![0x5a, 1, 1, 0, 0, 0, 0, 1, 7, 0x5b]].concat();
    put(&mut decoder, &bytes);
    let mut records = Vec::new();
    let mut allowance = Allowance { room: 1_000, is_open: true, holds_other: false };
    let fault = decoder.decode_records(&mut allowance, &mut records).expect_err("the magic is wrong");
    assert_eq!((fault.code, records.len()), (FaultCode::InvalidMagic, 2));
    assert_eq!(
        (parts(&records[0]), parts(&records[1])),
        (vec![b"one".as_slice()], vec![b"two".as_slice(), b"2"])
    );
    // The open record's part is what the caller returns (B-18).
    assert_eq!(decoder.provisional(), 65);
    assert_eq!(allowance.room, 1_000 - 67 - 67 - 65 - 65);
    assert_eq!(decoder.decode(&mut allowance), Err(fault));
    assert_eq!(decoder.end(), Err(fault));
}

#[test]
fn w18_the_end_inside_a_frame_or_record_is_a_fault() {
    let bytes = record(&[b"a", b"bc"]);
    for cut in 0..=bytes.len() {
        let mut decoder = router();
        put(&mut decoder, &bytes[..cut]);
        while unlimited(&mut decoder) != Decoded::NeedMore {}
        let is_border = cut == 0 || cut == bytes.len();
        assert_eq!(decoder.is_inside(), !is_border, "{cut}");
        assert_eq!(
            decoder.end().map_err(|fault| fault.code),
            if is_border { Ok(()) } else { Err(FaultCode::FrameIncomplete) }
        );
    }
}

#[test]
fn b07_a_refused_part_waits_and_earlier_parts_keep_their_charge() {
    let mut decoder = router();
    put(&mut decoder, &record(&[&[1; 36], &[2; 136], b""]));
    let mut allowance = Allowance { room: 150, is_open: true, holds_other: true };
    for _ in 0..2 {
        let blocked = Decoded::Blocked { charge: 200, is_first: false };
        assert_eq!(decoder.decode(&mut allowance), Ok(blocked));
        assert_eq!((allowance.room, decoder.provisional()), (50, 100));
    }
    allowance.room = 264;
    assert!(matches!(decoder.decode(&mut allowance), Ok(Decoded::Event(Event::Record(_)))));
    assert_eq!(allowance, Allowance { room: 0, is_open: false, holds_other: true });
    assert_eq!(decoder.provisional(), 0);
}

#[test]
fn b07_a_part_is_admitted_at_its_header_and_only_once() {
    let mut decoder = router();
    let bytes = record(&[&[7; 100]]);
    let mut allowance = Allowance { room: 1_000, is_open: true, holds_other: false };
    for (index, byte) in bytes.iter().enumerate() {
        put(&mut decoder, &[*byte]);
        let decoded = decoder.decode(&mut allowance).expect("no fault");
        let is_admitted = index + 1 >= frame::HEADER_BYTES;
        assert_eq!(allowance.room, if is_admitted { 1_000 - 164 } else { 1_000 });
        assert_eq!(decoded == Decoded::NeedMore, index + 1 < bytes.len());
    }
}

#[test]
fn b14_an_allowance_is_used_up_in_the_middle_of_a_batch() {
    let mut decoder = router();
    let bytes: Vec<u8> = (0..50).flat_map(|_| record(&[&[0; 36]])).collect();
    put(&mut decoder, &bytes);
    let mut records = Vec::new();
    let mut allowance = Allowance { room: 2_000, is_open: true, holds_other: false };
    let blocked = Decoded::Blocked { charge: 100, is_first: true };
    assert_eq!(decoder.decode_records(&mut allowance, &mut records), Ok(blocked));
    assert_eq!((records.len(), allowance.is_open), (20, false));
    allowance = Allowance { room: 1_000, is_open: true, holds_other: true };
    assert!(decoder.decode_records(&mut allowance, &mut records).is_ok());
    assert_eq!(records.len(), 30);
}

#[test]
fn records_of_a_full_chunk_are_slices_of_it() {
    let mut decoder = router();
    let bytes: Vec<u8> = (0..3_000_u32).flat_map(|index| record(&[&index.to_be_bytes(), &[0; 60]])).collect();
    let (mut records, mut fed) = (Vec::new(), 0);
    let mut is_together = false;
    while fed < bytes.len() {
        let first = records.len();
        fed += put(&mut decoder, &bytes[fed..]);
        decoder.decode_records(&mut Allowance::UNLIMITED.clone(), &mut records).expect("no fault");
        let places: Vec<_> =
            records[first..].iter().filter_map(|record| record.part(0)).map(<[u8]>::as_ptr).collect();
        is_together |=
            places.len() > 500 && places.windows(2).all(|two| two[1] as usize - two[0] as usize == 80);
    }
    assert!(is_together, "a large read is not copied record by record");
    for (index, record) in records.iter().enumerate() {
        assert_eq!(parts(record), [(index as u32).to_be_bytes().as_slice(), &[0; 60]]);
    }
}

#[test]
fn w15_a_large_body_is_read_straight_into_its_memory() {
    let mut decoder = router();
    let body: Vec<u8> = (0..65_536_u32).map(|index| (index % 251) as u8).collect();
    let bytes = record(&[b"head", &body]);
    let mut fed = put(&mut decoder, &bytes[..1_000]);
    assert_eq!(unlimited(&mut decoder), Decoded::NeedMore);
    let place = {
        let space = decoder.space();
        assert_eq!(space.len(), bytes.len() - fed, "exactly the rest of the body");
        space.as_ptr() as usize
    };
    fed += put(&mut decoder, &bytes[fed..]);
    assert_eq!(fed, bytes.len());
    let Decoded::Event(Event::Record(record)) = unlimited(&mut decoder) else { panic!("complete") };
    let received = record.part(1).expect("two parts");
    assert_eq!(received.as_ptr() as usize + 1_000 - 20, place);
    assert!(received == body && record.part(0) == Some(b"head"));
}

#[test]
fn an_idle_decoder_holds_no_memory() {
    let mut decoder = router();
    put(&mut decoder, &record(&[b"x"]));
    assert!(decoder.memory() > 0);
    decoder.release_buffer();
    assert!(decoder.memory() > 0, "an undecoded record is not given up");
    assert!(matches!(unlimited(&mut decoder), Decoded::Event(_)));
    decoder.release_buffer();
    assert_eq!(decoder.memory(), 0);
    put(&mut decoder, &record(&[b"y"]));
    assert!(matches!(unlimited(&mut decoder), Decoded::Event(_)));
}

#[test]
fn a_batch_stops_at_what_is_no_record_and_goes_on_behind_it() {
    let mut decoder = router();
    let mut bytes = record(&[b"a"]);
    control::encode_weight(7, &mut bytes);
    bytes.extend_from_slice(&record(&[b"b"]));
    put(&mut decoder, &bytes);
    let mut records = Vec::new();
    let mut allowance = Allowance::UNLIMITED;
    let weight = Decoded::Event(Event::Weight(7));
    assert_eq!(decoder.decode_records(&mut allowance, &mut records), Ok(weight));
    assert_eq!((records.len(), decoder.frames_seen()), (1, 2));
    assert_eq!(decoder.decode_records(&mut allowance, &mut records), Ok(Decoded::NeedMore));
    assert_eq!((records.len(), decoder.frames_seen()), (2, 3));
}

#[test]
fn what_the_outbox_writes_the_decoder_reads() {
    let payloads: Vec<Vec<u8>> = [0, 1, 64, 8_192, 8_193, 40_000, 200_000].map(|len| vec![5; len]).to_vec();
    let (mut queue, mut batch) = (Outbox::default(), Outbox::default());
    for (index, payload) in payloads.iter().enumerate() {
        queue.push_record(Kind::Request, index as u64 + 1, &payload.as_slice());
    }
    let (mut decoder, mut records) = (router(), Vec::new());
    while queue.take_batch(50_000, &mut batch) > 0 {
        while !batch.is_empty() {
            let mut slices: [&[u8]; 1] = [&[]];
            batch.slices(&mut slices);
            let count = put(&mut decoder, slices[0]);
            batch.advance(count);
            decoder.decode_records(&mut Allowance::UNLIMITED.clone(), &mut records).expect("no fault");
        }
    }
    assert_eq!(records.len(), payloads.len());
    for (index, (record, payload)) in records.iter().zip(&payloads).enumerate() {
        assert_eq!((record.kind(), record.sequence()), (Kind::Request, index as u64 + 1));
        assert!(record.part(0) == Some(payload) && record.charge() == payload.len() as u64 + 64);
    }
}

/// W-16 and W-17 row by row, for every flag and kind byte.
#[test]
fn w16_the_first_check_that_fails_decides_for_all_headers() {
    for (place, prefix) in [("hello", false), ("ready", false), ("open", false), ("open", true)] {
        for local in [SocketType::Router, SocketType::Pub] {
            for flags in 0..=255_u8 {
                for kind in 0..=6_u8 {
                    for sequence in [0_u64, 5] {
                        let mut decoder = at(place, local);
                        let mut bytes = if prefix { vec![0x5a, 1, 1, 0, 0, 0, 0, 0] } else { Vec::new() };
                        bytes.extend_from_slice(&[0x5a, 1, flags, kind, 0, 0, 0, 1]);
                        if kind != 0 {
                            bytes.extend_from_slice(&sequence.to_be_bytes());
                        }
                        bytes.push(9);
                        put(&mut decoder, &bytes);
                        let got =
                            decoder.decode(&mut Allowance::UNLIMITED.clone()).map_err(|fault| fault.code);
                        let expected = first_fault(place, prefix, local, flags, kind, sequence);
                        let case = format!("{place} {prefix} {local:?} {flags:02x} {kind} {sequence}");
                        match expected {
                            Some(code) => assert_eq!(got.err(), Some(code), "{case}"),
                            // The body is rubbish: what is wrong with it is another check.
                            None => assert!(got.err().is_none_or(|code| code == FaultCode::Other), "{case}"),
                        }
                    }
                }
            }
        }
    }
}

fn at(place: &str, local: SocketType) -> Decoder {
    let peer = hello(if local == SocketType::Pub { SocketType::Sub } else { SocketType::Dealer });
    match place {
        "hello" => Decoder::new(local, 0, 0),
        "ready" => Decoder::after_hello(local, 0, 0, peer),
        _ => Decoder::after_ready(local, 0, 0, peer),
    }
}

/// The table of W-16 as a list of (condition, code).
fn first_fault(
    place: &str,
    is_inside: bool,
    local: SocketType,
    flags: u8,
    kind: u8,
    sequence: u64,
) -> Option<FaultCode> {
    let is_special = flags & 0x1e != 0;
    let is_router = local == SocketType::Router;
    let rows = [
        (kind > 3, FaultCode::MessageKindInvalid),
        (![0, 1, 2, 4, 5, 8, 0x10].contains(&flags), FaultCode::FlagsInvalid),
        (kind != 0 && sequence == 0, FaultCode::RequestSequenceInvalid),
        (kind != 0 && is_special, FaultCode::MessageKindInvalid),
        (is_inside && (kind != 0 || is_special), FaultCode::MultipartFrameInvalid),
        (place == "hello" && (flags != 2 || kind != 0), FaultCode::FlagsInvalid),
        (place == "ready" && flags != 2, FaultCode::Other),
        (place == "open" && flags & 0x18 != 0 && is_router, FaultCode::FlagsInvalid),
        (place == "open" && kind > u8::from(is_router), FaultCode::MessageKindInvalid),
    ];
    rows.into_iter().find(|(is_wrong, _)| *is_wrong).map(|(_, code)| code)
}

/// Inputs on which a check failed once.
const REGRESSIONS: [&[u8]; 1] = [
    // ERROR with more than 16 KiB behind it in the buffer.
    b"\x01\0\0\0\xfc\x06}\x01\0n\0\0\0\xfc\x06\x07\xfd\xff\xc1\xfdnnnn.",
];

#[test]
fn inputs_on_which_a_check_failed_once() {
    REGRESSIONS.into_iter().for_each(fuzz::decoder);
}

/// Pseudo-random bytes that are the same in every run.
fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn w03_any_split_gives_the_same_events_for_frames_of_all_kinds() {
    for seed in 0..400 {
        let mut input = bytes(seed, 6 + (seed as usize % 120));
        input[5] = 1;
        fuzz::decoder(&input);
    }
}

#[test]
fn w03_any_split_gives_the_same_events_for_garbage() {
    for seed in 0..300 {
        let mut input = bytes(seed, 60);
        input[5] = 0;
        // Most of it begins well.
        if seed % 3 != 0 {
            input[6..10].copy_from_slice(&[0x5a, 1, seed as u8 & 3, seed as u8 >> 2 & 3]);
        }
        fuzz::decoder(&input);
    }
}
