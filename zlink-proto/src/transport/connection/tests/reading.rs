//! Allowance, turns, and when reading stops (B-07, B-14, B-31, B-57).

use super::super::input::{TURN_BYTES_MAX, TURN_CONTROLS_MAX};
use super::rig::*;
use crate::transport::exchange::Refusal;
use crate::wire::Kind;
use alloc::vec::Vec;

#[test]
fn b31_reading_stops_when_a_part_is_refused_and_goes_on_with_room() {
    let mut rig = Rig::open_with_room(200);
    let left = rig.feed(&[data(&[b'a'; 36]), data(&[b'b'; 36]), data(&[b'c'; 36])].concat()).len();
    assert_eq!((rig.take_log().len(), left), (2, 0));
    assert!(rig.connection.receive_space().is_empty());
    assert!(!rig.connection.needs_exchange(), "nothing to say until the socket has room");
    assert_eq!(rig.socket.refusals, [Refusal { charge: 100, is_first: true }]);
    rig.socket.queued = 0;
    rig.exchange();
    assert_eq!(rig.take_log().len(), 1, "one exchange asks, decodes on and delivers");
    assert!(!rig.connection.receive_space().is_empty());
}

#[test]
fn b08_later_parts_of_a_record_are_asked_for_with_the_earlier_ones_held() {
    let mut rig = Rig::open_with_room(150);
    rig.feed(&[data(b"first"), frame(1, 0, 0, &[b'x'; 10]), data(&[b'y'; 20])].concat());
    assert_eq!(rig.take_log(), ["data first"]);
    assert_eq!(rig.socket.provisional, 74);
    assert_eq!(rig.socket.refusals, [Refusal { charge: 84, is_first: false }]);
    rig.socket.queued = 0;
    rig.exchange();
    assert_eq!(rig.take_log().len(), 1);
    assert_eq!(rig.socket.provisional, 0);
}

#[test]
fn b57_all_records_of_one_read_are_delivered_in_one_exchange() {
    let mut rig = Rig::open();
    let input = data(b"record").repeat(200);
    assert_eq!(rig.read(&input), input.len());
    rig.exchange();
    assert_eq!(rig.socket.largest_delivery, 200);
    assert!(!rig.connection.needs_exchange());
}

#[test]
fn b57_control_frames_beyond_64_wait_for_the_next_turn() {
    let mut rig = Rig::open();
    rig.read(&[control(b"WEIGHT\0\0\0\x32").repeat(200), data(b"behind")].concat());
    rig.exchange();
    assert_eq!(rig.socket.log.len(), TURN_CONTROLS_MAX);
    assert!(rig.connection.needs_exchange());
    rig.exchange();
    assert_eq!(rig.socket.log.len(), 2 * TURN_CONTROLS_MAX);
    rig.settle();
    assert_eq!(rig.socket.log.len(), 201);
    assert!(!rig.connection.receive_space().is_empty());
}

#[test]
fn b57_at_most_64_kib_are_read_at_once() {
    let mut rig = Rig::open();
    for _ in 0..100 {
        assert!((1..=TURN_BYTES_MAX).contains(&rig.connection.receive_space().len()));
        rig.feed(&data(&[b'x'; 900]));
    }
}

#[test]
fn s41_every_read_of_an_open_connection_is_heard() {
    let mut rig = Rig::open();
    let input = data(b"hello");
    for byte in &input[..input.len() - 1] {
        rig.read(&[*byte]);
        assert!(rig.connection.needs_exchange());
        rig.exchange();
        assert!(!rig.connection.needs_exchange());
    }
}

#[test]
fn row43_a_blocked_connection_is_not_stalled_and_gets_its_full_time_afterwards() {
    let mut rig = Rig::open_with_room(70);
    rig.feed(&data(b"first"));
    rig.feed(&data(b"second")[..9]);
    assert_eq!(rig.connection.poll_timeout(), None, "we do not read");
    rig.connection.handle_timeout(ms(100_000));
    assert!(!rig.is_closed());
    rig.socket.queued = 0;
    rig.now = ms(100_000);
    rig.exchange();
    assert_eq!(rig.connection.poll_timeout(), Some(ms(130_000)));
    rig.feed(&data(b"second")[9..]);
    assert_eq!(rig.take_log(), ["data first", "data second"]);
}

#[test]
fn w18_a_plain_end_waits_behind_records_that_have_no_room() {
    let mut rig = Rig::open_with_room(70);
    rig.feed(&[data(b"one"), data(b"two")].concat());
    rig.end();
    assert_eq!(rig.take_log(), ["data one"]);
    assert!(!rig.is_closed());
    rig.socket.queued = 0;
    rig.exchange();
    assert_eq!(rig.take_log(), ["data two", "end"]);
}

#[test]
fn w23_a_reset_does_not_wait_for_room() {
    let mut rig = Rig::open_with_room(70);
    rig.feed(&[data(b"one"), data(b"two")].concat());
    rig.connection.handle_end(true, rig.now);
    rig.settle();
    assert_eq!(rig.take_log(), ["data one", "reset"]);
    assert!(rig.written.is_empty());
}

#[test]
fn w03_any_cut_of_a_long_stream_gives_the_same_records() {
    let input: Vec<u8> = (0..40_u8)
        .flat_map(|n| {
            [frame(1, 0, 0, &[b'a'; 7]), data(&[b'b'; 3]), frame(0, 1, u64::from(n) + 1, b"q")].concat()
        })
        .collect();
    let run = |piece: usize, room: u64| {
        let mut rig = Rig::open();
        rig.socket.room = room;
        let mut log = Vec::new();
        for piece in input.chunks(piece) {
            let mut left = piece;
            while !left.is_empty() {
                left = rig.feed(left);
                log.extend(rig.take_log());
                rig.socket.queued = 0;
                rig.exchange();
            }
        }
        for _ in 0..200 {
            log.extend(rig.take_log());
            rig.socket.queued = 0;
            rig.exchange();
            let _ = rig.connection.receive_space();
        }
        log
    };
    let expected = run(input.len(), u64::MAX);
    assert_eq!(expected.len(), 80);
    for piece in 1..60 {
        for room in [200, 500, u64::MAX] {
            assert_eq!(run(piece, room), expected, "pieces of {piece}, room {room}");
        }
    }
}

#[test]
fn b52_an_idle_connection_holds_no_buffers() {
    let mut rig = Rig::open();
    let body: &[u8] = &[b'x'; 900];
    for _ in 0..500 {
        rig.socket.outbox.push_record(Kind::Data, 0, &body);
    }
    rig.feed(&data(body).repeat(500));
    rig.feed(&control(b"WEIGHT\0\0\0\x32").repeat(500));
    rig.settle();
    assert!(rig.connection.memory() > 4_096, "it was busy");
    let _ = rig.connection.receive_space();
    rig.connection.release_buffers();
    assert_eq!(rig.connection.memory(), 0);
    rig.feed(&data(b"again"));
    assert_eq!(rig.take_log().last().map(|line| &**line), Some("data again"));
}

#[test]
fn b52_a_begun_frame_survives_the_release_of_buffers() {
    let input = data(b"whole");
    let mut rig = Rig::open();
    for byte in &input {
        rig.feed(&[*byte]);
        rig.connection.release_buffers();
    }
    assert_eq!(rig.take_log(), ["data whole"]);
}

#[test]
fn an_idle_connection_is_small() {
    assert!(size_of::<super::super::Connection>() < 1_024, "{}", size_of::<super::super::Connection>());
}
