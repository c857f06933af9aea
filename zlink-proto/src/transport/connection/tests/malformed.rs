//! The table of malformed input (W-25), each row for every cut of its bytes.

use super::rig::*;
use alloc::vec::Vec;

/// In which state the input arrives.
#[derive(Clone, Copy, Debug)]
enum Given {
    Start,
    Greeted,
    Open,
}

struct Row {
    row: u8,
    given: Given,
    input: Vec<u8>,
    code: u8,
    reason: &'static str,
}

fn row(row: u8, given: Given, input: Vec<u8>, code: u8, reason: &'static str) -> Row {
    Row { row, given, input, code, reason }
}

fn oversized(flags: u8, size: u32) -> Vec<u8> {
    let mut header = frame(flags, 0, 0, b"");
    header.splice(4..8, size.to_be_bytes());
    header
}

fn without(name: &str) -> Vec<u8> {
    let properties = [
        ("Socket-Type", &b"DEALER"[..]),
        ("Routing-Id", PEER),
        ("Zlink-Max-Message-Size", &[0; 8]),
        ("Zlink-Lane-Count", &[1]),
        ("Zlink-Lane", &[0]),
    ];
    let kept: Vec<_> =
        properties.iter().filter(|(key, _)| *key != name).map(|(key, value)| property(key, value)).collect();
    ready_of(&kept)
}

fn ready_with(name: &str, value: &[u8]) -> Vec<u8> {
    // Of a repeated name the last value counts (W-29).
    let mut frame = peer_ready();
    let body: Vec<u8> = [frame.split_off(8), property(name, value)].concat();
    control(&body)
}

fn frame_rows() -> Vec<Row> {
    use Given::*;
    let mut rows = Vec::new();
    for given in [Start, Greeted, Open] {
        rows.push(row(1, given, b"GET / HTTP/1.1".to_vec(), 1, "invalid magic"));
        rows.push(row(1, given, [0x16, 3, 1, 0].to_vec(), 1, "invalid magic"));
        rows.push(row(2, given, [0x5a, 2, 2, 0].to_vec(), 2, "version mismatch"));
        rows.push(row(3, given, [0x5a, 1, 2, 4].to_vec(), 7, "message kind invalid"));
        rows.push(row(3, given, [0x5a, 1, 0x80, 0xff].to_vec(), 7, "message kind invalid"));
    }
    for flags in [3, 6, 9, 0x0a, 0x0c, 0x11, 0x12, 0x14, 0x18, 0x20, 0x40, 0x80, 0xff] {
        rows.push(row(4, Open, frame(flags, 0, 0, b"x"), 3, "flags invalid"));
    }
    for kind in 1..=3 {
        rows.push(row(5, Open, frame(0, kind, 0, b"x"), 8, "request sequence invalid"));
        for flags in [2, 4, 5, 8, 0x10] {
            rows.push(row(6, Open, frame(flags, kind, 1, b"x"), 7, "message kind invalid"));
        }
        let inside = [frame(1, 0, 0, b"a"), frame(0, kind, 1, b"b")].concat();
        rows.push(row(7, Open, inside, 9, "multipart frame invalid"));
    }
    for flags in [2, 4, 8, 0x10] {
        let inside = [frame(1, 0, 0, b"a"), frame(flags, 0, 0, b"b")].concat();
        rows.push(row(7, Open, inside, 9, "multipart frame invalid"));
    }
    rows.push(row(9, Open, oversized(0, 1_001), 4, "body too large"));
    rows.push(row(9, Open, [frame(1, 0, 0, &[0; 600]), oversized(0, 401)].concat(), 4, "body too large"));
    rows.push(row(10, Open, oversized(2, 4_097), 4, "body too large"));
    rows.push(row(10, Open, oversized(4, u32::MAX), 4, "body too large"));
    rows.push(row(21, Open, control(b""), 0x7f, "invalid control"));
    rows.push(row(31, Open, peer_ready(), 0x7f, "duplicate ready"));
    rows.push(row(36, Open, frame(8, 0, 0, b"t"), 3, "flags invalid"));
    rows.push(row(36, Open, frame(0x10, 0, 0, b"t"), 3, "flags invalid"));
    rows.push(row(37, Open, frame(0, 2, 1, b"r"), 7, "message kind invalid"));
    rows.push(row(37, Open, frame(0, 3, 1, b"r"), 7, "message kind invalid"));
    rows
}

fn handshake_rows() -> Vec<Row> {
    use Given::*;
    let mut rows = Vec::new();
    for flags in [0, 1, 4, 8, 0x10] {
        rows.push(row(12, Start, frame(flags, 0, 0, b"x"), 3, "flags invalid"));
    }
    rows.extend([
        row(13, Start, oversized(2, 259), 4, "hello too large"),
        row(14, Start, control(b""), 0x7f, "hello too short"),
        row(14, Start, control(&[1, 5]), 0x7f, "hello too short"),
        row(15, Start, control(&[4]), 0x7f, "missing hello"),
        row(15, Start, control(b"WEIGHT\0\0\0\x32"), 0x7f, "missing hello"),
        row(16, Start, control(&[1, 5, 4, b'C', b'L', b'I']), 0x7f, "hello identity mismatch"),
        row(16, Start, control(&[1, 5, 2, b'C', b'L', b'I']), 0x7f, "hello identity mismatch"),
        row(17, Start, hello(3, b"X"), 5, "socket type mismatch"),
        row(17, Start, hello(11, b"X"), 5, "socket type mismatch"),
        row(17, Start, hello(2, b"X"), 5, "socket type mismatch"),
        row(18, Start, hello(6, b""), 0x7f, "routing id missing"),
        row(20, Greeted, data(b"x"), 0x7f, "data before ready"),
        row(20, Greeted, frame(4, 0, 0, b"x"), 0x7f, "data before ready"),
        row(20, Greeted, frame(0, 1, 1, b"x"), 0x7f, "data before ready"),
        row(21, Greeted, control(b""), 0x7f, "invalid control"),
        row(22, Greeted, peer_hello(), 0x7f, "unknown control"),
        row(22, Greeted, control(b"WEIGHT\0\0\0\x32"), 0x7f, "unknown control"),
        row(22, Greeted, control(&[9]), 0x7f, "unknown control"),
        row(23, Greeted, control(&[4, 5, b'a']), 0x7f, "ready metadata invalid"),
        row(23, Greeted, control(&[4, 1, b'a', 0, 0, 0, 2, 0]), 0x7f, "ready metadata invalid"),
        row(
            24,
            Greeted,
            ready_with("Zlink-Max-Message-Size", &[0; 4]),
            0x7f,
            "maximum message size metadata invalid",
        ),
        row(25, Greeted, ready_with("Socket-Type", b"ROUTER"), 0x7f, "ready identity mismatch"),
        row(25, Greeted, ready_with("Routing-Id", b"CLJ"), 0x7f, "ready identity mismatch"),
        row(25, Greeted, without("Socket-Type"), 0x7f, "ready identity mismatch"),
        row(25, Greeted, without("Routing-Id"), 0x7f, "ready identity mismatch"),
        row(26, Greeted, without("Zlink-Lane-Count"), 0x7f, "lane metadata invalid"),
        row(26, Greeted, without("Zlink-Lane"), 0x7f, "lane metadata invalid"),
        row(26, Greeted, ready_with("Zlink-Lane-Count", &[2]), 0x7f, "lane metadata invalid"),
        row(26, Greeted, ready_with("Zlink-Lane-Count", &[0, 1]), 0x7f, "lane metadata invalid"),
        row(26, Greeted, ready_with("Zlink-Lane", &[1]), 0x7f, "lane metadata invalid"),
        row(26, Greeted, ready_with("Zlink-Lane", &[]), 0x7f, "lane metadata invalid"),
    ]);
    rows
}

fn rig_for(given: Given) -> Rig {
    match given {
        Given::Start => {
            let mut rig = Rig::new();
            rig.settle();
            rig.written.clear();
            rig
        }
        Given::Greeted => {
            let mut rig = Rig::new();
            rig.feed(&peer_hello());
            rig.take_log();
            rig.written.clear();
            rig
        }
        Given::Open => Rig::open(),
    }
}

fn check(row: &Row, pieces: &[&[u8]]) {
    let mut rig = rig_for(row.given);
    for piece in pieces {
        rig.feed(piece);
    }
    let what = alloc::format!("row {} {:?}, {:02x?} as {:?}", row.row, row.given, row.input, pieces);
    assert_eq!(rig.written, error(row.code, row.reason), "{what}");
    let told = alloc::format!("fault {} ({:02x})", row.reason, row.code);
    assert_eq!(rig.take_log(), [told], "{what}");
    assert!(rig.is_closed(), "{what}");
    assert_eq!((rig.socket.provisional, rig.socket.queued), (rig.socket.provisional, 0), "{what}");
}

#[test]
fn w25_every_malformed_input_gives_its_fault_at_every_cut() {
    for row in frame_rows().iter().chain(&handshake_rows()) {
        for cut in 0..=row.input.len() {
            check(row, &[&row.input[..cut], &row.input[cut..]]);
        }
        check(row, &row.input.chunks(1).collect::<Vec<_>>());
    }
}

#[test]
fn row8_part_1025_of_a_record() {
    let mut rig = Rig::open();
    rig.feed(&frame(1, 0, 0, b"").repeat(1_024));
    assert!(!rig.is_closed());
    rig.feed(&data(b""));
    assert_eq!(rig.written, error(9, "multipart frame invalid"));
    assert_eq!(rig.take_log(), ["fault multipart frame invalid (09)"]);
}

#[test]
fn rows32_to_34_and_40_are_dropped_and_the_connection_lives() {
    let flow = |version: u8, state: u8, epoch: u64| {
        control(&[&b"FLOWSTATE"[..], &[version, state], &epoch.to_be_bytes()].concat())
    };
    for input in [
        control(&[9]),
        peer_hello(),
        control(b"WEIGHT\0\0\0"),
        control(b"WEIGHT\0\0\x27\x11"),
        control(b"FLOWSTATE"),
        flow(2, 0, 1),
        flow(1, 2, 1),
        flow(1, 0, 0),
        frame(4, 0, 0, b"id"),
        frame(5, 0, 0, b""),
    ] {
        for cut in 0..=input.len() {
            let mut rig = Rig::open();
            rig.feed(&input[..cut]);
            rig.feed(&input[cut..]);
            rig.feed(&data(b"on"));
            assert_eq!(rig.take_log(), ["ignored", "data on"], "{input:02x?} cut at {cut}");
            assert!(rig.written.is_empty());
        }
    }
}

#[test]
fn w39_w41_weight_and_flow_state_are_told() {
    let mut rig = Rig::open();
    let flow = control(b"FLOWSTATE\x01\x01\0\0\0\0\0\0\0\x05");
    rig.feed(&[control(b"WEIGHT\0\0\0\x32"), flow, data(b"x")].concat());
    assert!(
        ["weight 50", "flow Paused 5", "data x"].iter().all(|line| rig.socket.log.iter().any(|l| l == line))
    );
    assert_eq!(rig.socket.log.len(), 3);
}

#[test]
fn row11_the_input_ends_inside_a_frame_or_record() {
    let input = [frame(1, 0, 0, b"ab"), data(b"c")].concat();
    for cut in 1..input.len() {
        let mut rig = Rig::open();
        rig.feed(&data(b"before"));
        rig.feed(&input[..cut]);
        rig.end();
        assert_eq!(rig.take_log(), ["data before", "fault frame incomplete (0a)"], "cut at {cut}");
        assert_eq!(rig.written, error(0x0a, "frame incomplete"));
    }
    for start in [peer_hello(), [peer_hello(), peer_ready()].concat()] {
        let mut rig = Rig::new();
        rig.feed(&start[..start.len() - 1]);
        rig.end();
        assert!(rig.written.ends_with(&error(0x0a, "frame incomplete")));
    }
}

#[test]
fn w23_the_input_ends_between_records() {
    let mut rig = Rig::open();
    rig.feed(&data(b"last"));
    rig.end();
    assert_eq!(rig.take_log(), ["data last", "end"]);
    assert!(rig.written.is_empty());
    assert!(rig.is_closed());
    let mut silent = Rig::new();
    silent.end();
    assert_eq!(silent.take_log(), ["end"]);
}

#[test]
fn w19_records_before_the_fault_are_delivered_and_the_open_one_is_not() {
    let input =
        [data(b"one"), data(b"two"), frame(1, 0, 0, b"open"), frame(0, 1, 9, b"x"), data(b"never")].concat();
    for cut in 0..=input.len() {
        let mut rig = Rig::open();
        rig.feed(&input[..cut]);
        rig.feed(&input[cut..]);
        assert_eq!(
            rig.take_log(),
            ["data one", "data two", "fault multipart frame invalid (09)"],
            "cut at {cut}"
        );
    }
}

#[test]
fn row43_a_stalled_frame_ends_the_connection() {
    for begun in [&b"\x5a"[..], &data(b"hello")[..10], &frame(1, 0, 0, b"part")] {
        let mut rig = Rig::open();
        rig.now = ms(10_000);
        rig.feed(begun);
        assert_eq!(rig.connection.poll_timeout(), Some(ms(40_000)), "{begun:02x?}");
        rig.connection.handle_timeout(ms(39_999));
        assert!(!rig.is_closed());
        rig.now = ms(40_000);
        rig.connection.handle_timeout(rig.now);
        rig.settle();
        assert_eq!(rig.take_log(), ["fault frame stalled (7f)"]);
        assert_eq!(rig.written, error(0x7f, "frame stalled"));
    }
}

#[test]
fn row43_any_byte_restarts_the_time_and_the_end_of_the_record_stops_it() {
    let mut rig = Rig::open();
    for (step, byte) in data(b"slow").iter().enumerate() {
        rig.now = ms(29_999 * (step as u64 + 1));
        rig.connection.handle_timeout(rig.now);
        rig.feed(&[*byte]);
    }
    assert_eq!(rig.take_log(), ["data slow"]);
    assert_eq!(rig.connection.poll_timeout(), None);
}

#[test]
fn w22_a_received_error_is_never_answered() {
    for given in [Given::Start, Given::Greeted, Given::Open] {
        let input = error(0x7f, "too many connections");
        for cut in 0..=input.len() {
            let mut rig = rig_for(given);
            rig.feed(&input[..cut]);
            rig.feed(&input[cut..]);
            assert_eq!(rig.take_log(), ["error 7f"], "{given:?}, cut at {cut}");
            assert!(rig.written.is_empty(), "{given:?}");
            assert!(rig.is_closed());
        }
    }
}

#[test]
fn w22_a_malformed_error_counts_as_7f() {
    let mut rig = Rig::open();
    rig.feed(&[data(b"x"), control(&[5, 3, 9, b'n'])].concat());
    assert_eq!(rig.take_log(), ["data x", "error 7f"]);
    assert!(rig.written.is_empty());
}
