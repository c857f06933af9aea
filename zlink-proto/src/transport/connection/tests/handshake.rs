//! The order of the handshake, its limit, and what is told of it (W-26 to W-38).

use super::rig::*;
use crate::time::Timestamp;
use crate::transport::exchange::Order;
use crate::wire::SocketType;

#[test]
fn w26_hello_is_written_at_once() {
    let mut rig = Rig::new();
    assert!(!rig.connection.needs_exchange());
    rig.write(usize::MAX);
    assert_eq!(rig.written, our_hello());
}

#[test]
fn w33_ready_follows_the_peers_hello_and_records_follow_readiness() {
    for is_connector in [true, false] {
        let mut rig = Rig::with(SocketType::Dealer, b"", is_connector);
        rig.socket.outbox.push_raw(&data(b"first"));
        rig.settle();
        assert_eq!(rig.written, hello(5, b""));
        rig.feed(&hello(6, b"SRV"));
        let greeting = [hello(5, b""), ready("DEALER", b"", 1_000, 1, 0)].concat();
        assert_eq!(rig.written, greeting, "READY, and nothing behind it yet");
        rig.feed(&ready("ROUTER", b"SRV", 77, 1, 0));
        assert_eq!(rig.take_log(), ["hello SRV", "ready transmitted", "ready max 77"]);
        assert_eq!(rig.written, [greeting, data(b"first")].concat());
    }
}

#[test]
fn w33_a_dealer_without_a_name_is_greeted() {
    let mut rig = Rig::new();
    rig.feed(&[hello(5, b""), ready("DEALER", b"", 0, 1, 0), data(b"hi")].concat());
    assert_eq!(rig.take_log(), ["hello 0x", "ready max 0", "ready transmitted", "data hi"]);
}

#[test]
fn w03_every_cut_of_the_greeting_gives_the_same() {
    let input = [peer_hello(), peer_ready(), data(b"hi")].concat();
    for cut in 0..=input.len() {
        let mut rig = Rig::new();
        rig.feed(&input[..cut]);
        rig.feed(&input[cut..]);
        let mut log = rig.take_log();
        // Where our READY is written before the peer's was read, its news come first.
        log.sort();
        assert_eq!(log, ["data hi", "hello CLI", "ready max 0", "ready transmitted"], "cut at {cut}");
        assert_eq!(rig.written, [our_hello(), our_ready()].concat(), "cut at {cut}");
    }
}

#[test]
fn w34_ready_waits_for_the_order_of_the_socket() {
    let mut rig = Rig::new();
    rig.socket.is_friendly = false;
    rig.feed(&[peer_hello(), peer_ready()].concat());
    assert_eq!(rig.written, our_hello());
    assert_eq!(rig.take_log(), ["hello CLI", "ready max 0"]);
    rig.socket.orders.push_back(Order::SendReady { count: 1, lane: 0 });
    rig.exchange();
    rig.settle();
    assert_eq!(rig.written, [our_hello(), our_ready()].concat());
    assert_eq!(rig.take_log(), ["ready transmitted"]);
}

#[test]
fn w35_ready_is_transmitted_with_its_last_byte() {
    let mut rig = Rig::new();
    rig.socket.is_friendly = false;
    rig.socket.orders.push_back(Order::SendReady { count: 1, lane: 0 });
    rig.exchange();
    let total = our_hello().len() + our_ready().len();
    for byte in 1..=total {
        assert_eq!(rig.write(1), 1);
        assert_eq!(rig.connection.needs_exchange(), byte == total, "byte {byte} of {total}");
    }
    rig.settle();
    assert_eq!(rig.take_log(), ["ready transmitted"]);
    assert_eq!(rig.socket.transmitted, 0, "the greeting is nobody's charge");
}

#[test]
fn w36_bytes_behind_ready_wait_until_the_set_is_ready() {
    let mut rig = Rig::new();
    rig.socket.is_friendly = false;
    rig.feed(&[peer_hello(), peer_ready(), data(b"one"), data(b"two")].concat());
    rig.feed(&data(b"three"));
    assert_eq!(rig.take_log(), ["hello CLI", "ready max 0"]);
    rig.socket.orders.push_back(Order::SendReady { count: 1, lane: 0 });
    rig.socket.orders.push_back(Order::Open);
    rig.exchange();
    rig.settle();
    let log = rig.take_log();
    assert!(log.iter().filter(|line| *line != "ready transmitted").eq([
        "data one",
        "data two",
        "data three"
    ]));
}

#[test]
fn w36_a_full_buffer_stops_reading_until_the_set_is_ready() {
    let mut rig = Rig::new();
    rig.socket.is_friendly = false;
    rig.feed(&[peer_hello(), peer_ready()].concat());
    let flood = data(&[b'x'; 92]).repeat(300);
    let left = rig.feed(&flood);
    let taken = flood.len() - left.len();
    assert!((8_000..=16_384).contains(&taken), "{taken} bytes were taken");
    assert!(rig.connection.receive_space().is_empty());
    rig.socket.orders.push_back(Order::SendReady { count: 1, lane: 0 });
    rig.socket.orders.push_back(Order::Open);
    rig.exchange();
    rig.settle();
    let rest = rig.feed(left);
    assert!(rest.is_empty());
    assert_eq!(rig.take_log().iter().filter(|line| *line == "data 92 bytes").count(), 300);
}

#[test]
fn w36_an_error_behind_ready_is_seen_before_the_set_is_ready() {
    let bytes = [peer_hello(), peer_ready(), error(0x7f, "no")].concat();
    for cut in 0..bytes.len() {
        let mut rig = Rig::new();
        rig.socket.is_friendly = false;
        rig.feed(&bytes[..cut]);
        rig.feed(&bytes[cut..]);
        assert_eq!(rig.take_log().last().map(|line| &**line), Some("error 7f"), "cut at {cut}");
        assert!(rig.is_closed());
    }
}

#[test]
fn w36_the_end_behind_ready_is_seen_before_the_set_is_ready() {
    let mut rig = Rig::new();
    rig.socket.is_friendly = false;
    rig.feed(&[peer_hello(), peer_ready()].concat());
    rig.end();
    assert_eq!(rig.take_log(), ["hello CLI", "ready max 0", "end"]);
    assert!(rig.is_closed());
}

#[test]
fn w36_records_and_the_end_in_the_read_that_completes_the_handshake_are_delivered() {
    let mut rig = Rig::new();
    rig.socket.is_friendly = false;
    rig.feed(&peer_hello());
    rig.socket.is_friendly = true;
    rig.socket.orders.push_back(Order::SendReady { count: 1, lane: 0 });
    rig.exchange();
    rig.settle();
    rig.read(&[peer_ready(), data(b"last")].concat());
    rig.end();
    assert_eq!(rig.take_log(), ["hello CLI", "ready transmitted", "ready max 0", "data last", "end"]);
}

#[test]
fn row19_the_handshake_limit_is_total_time() {
    let mut rig = Rig::new();
    rig.settle();
    let input = peer_hello();
    for (second, byte) in input.iter().take(5).enumerate() {
        rig.now = ms(second as u64 * 1_000);
        rig.feed(&[*byte]);
    }
    assert_eq!(rig.connection.poll_timeout(), Some(ms(5_000)), "a dripping peer gains nothing");
    rig.connection.handle_timeout(Timestamp::from_nanos(4_999_999_999));
    assert!(!rig.is_closed());
    rig.now = ms(5_000);
    rig.connection.handle_timeout(rig.now);
    rig.settle();
    assert_eq!(rig.take_log(), ["fault handshake timeout (06)"]);
    assert_eq!(rig.written, [our_hello(), error(6, "handshake timeout")].concat());
    assert_eq!(rig.connection.poll_timeout(), None);
}

#[test]
fn w37_bytes_handed_over_before_the_timeout_count_as_in_time() {
    let mut rig = Rig::new();
    rig.feed(&peer_hello());
    rig.now = ms(5_000);
    rig.read(&peer_ready());
    rig.connection.handle_timeout(rig.now);
    assert_eq!(rig.connection.poll_timeout(), None);
    rig.settle();
    rig.feed(&data(b"hi"));
    assert_eq!(rig.take_log(), ["hello CLI", "ready transmitted", "ready max 0", "data hi"]);
}

#[test]
fn w37_our_last_byte_of_ready_written_exactly_at_the_limit_is_in_time() {
    let mut rig = Rig::new();
    rig.settle();
    rig.read(&[peer_hello(), peer_ready()].concat());
    rig.exchange();
    rig.write(our_ready().len() - 1);
    rig.now = ms(5_000);
    rig.write(1);
    rig.connection.handle_timeout(rig.now);
    rig.feed(&data(b"hi"));
    assert_eq!(rig.take_log(), ["hello CLI", "ready max 0", "ready transmitted", "data hi"]);
}

#[test]
fn row30_a_set_that_is_not_ready_at_the_limit_ends_although_this_connection_is_done() {
    for told_before in [true, false] {
        let mut rig = Rig::new();
        rig.socket.is_friendly = false;
        rig.socket.orders.push_back(Order::SendReady { count: 1, lane: 0 });
        rig.exchange();
        rig.settle();
        rig.read(&[peer_hello(), peer_ready()].concat());
        if told_before {
            rig.settle();
        }
        rig.now = ms(5_000);
        rig.connection.handle_timeout(rig.now);
        assert!(rig.connection.poll_timeout().is_none());
        rig.settle();
        assert_eq!(rig.take_log().last().map(|line| &**line), Some("fault handshake timeout (06)"));
        assert!(rig.written.ends_with(&error(6, "handshake timeout")));
    }
}

#[test]
fn w37_an_open_connection_has_no_handshake_limit() {
    let mut rig = Rig::open();
    assert_eq!(rig.connection.poll_timeout(), None);
    rig.connection.handle_timeout(ms(100_000));
    assert!(!rig.is_closed());
}

#[test]
fn row28_the_acceptor_repeats_the_lane_of_the_connector() {
    for (announced, answered, is_fault) in [(0, 0, false), (1, 1, false), (0, 1, true), (1, 0, true)] {
        let mut rig = Rig::with(SocketType::Router, b"RA", true);
        rig.socket.is_friendly = false;
        rig.socket.orders.push_back(Order::SendReady { count: 2, lane: announced });
        rig.feed(&hello(6, b"RB"));
        rig.exchange();
        rig.settle();
        rig.feed(&ready("ROUTER", b"RB", 0, 2, answered));
        let log = rig.take_log();
        let expected = if is_fault { "fault lane metadata invalid (7f)" } else { "ready max 0" };
        assert_eq!(log.last().map(|line| &**line), Some(expected), "{announced} answered by {answered}");
    }
}
