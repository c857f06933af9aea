//! Batches, charges of written bytes, and ERROR behind what was transmitted (W-20, B-15).

use super::rig::*;
use crate::transport::exchange::Order;
use crate::wire::{Fault, Kind, Outbox};
use alloc::vec::Vec;

fn push(outbox: &mut Outbox, body: &'static [u8]) {
    outbox.push_record(Kind::Data, 0, &body);
}

#[test]
fn b15_written_bytes_are_told_at_the_next_exchange_which_is_due_at_once() {
    let mut rig = Rig::open();
    push(&mut rig.socket.outbox, b"hello");
    rig.exchange();
    assert_eq!(rig.write(4), 4);
    assert!(rig.connection.needs_exchange());
    rig.exchange();
    assert_eq!(rig.socket.transmitted, 4);
    assert_eq!(rig.write(100), 9);
    rig.exchange();
    assert_eq!(rig.socket.transmitted, 13);
    assert_eq!(rig.written, data(b"hello"));
}

#[test]
fn a_batch_is_taken_only_when_the_one_before_is_written() {
    let mut rig = Rig::open();
    push(&mut rig.socket.outbox, b"one");
    rig.exchange();
    push(&mut rig.socket.outbox, b"two");
    rig.exchange();
    assert_eq!(rig.socket.outbox.len(), 11, "still with the socket");
    rig.write(10);
    rig.exchange();
    assert_eq!(rig.socket.outbox.len(), 11);
    rig.write(1);
    rig.exchange();
    assert!(rig.socket.outbox.is_empty());
}

#[test]
fn one_exchange_delivers_tells_what_was_written_and_takes_the_next_batch() {
    let mut rig = Rig::open();
    push(&mut rig.socket.outbox, b"one");
    rig.exchange();
    rig.write(usize::MAX);
    rig.read(&data(b"in"));
    push(&mut rig.socket.outbox, b"two");
    let before = rig.socket.exchanges;
    rig.exchange();
    assert_eq!(rig.socket.exchanges, before + 1);
    assert!(!rig.connection.needs_exchange());
    assert_eq!((rig.socket.transmitted, rig.take_log().len()), (11, 1));
    assert_eq!(rig.write(usize::MAX), 11);
}

#[test]
fn w20_error_stands_behind_what_was_transmitted_or_not_at_all() {
    let lengths = [11, 11, 12];
    for written in 0..=34 {
        let mut rig = Rig::open();
        push(&mut rig.socket.outbox, b"one");
        push(&mut rig.socket.outbox, b"two");
        push(&mut rig.socket.outbox, b"late");
        rig.exchange();
        rig.write(written);
        rig.feed_fault();
        let (first, second, third) = (lengths[0], lengths[0] + lengths[1], 34);
        let is_border = [0, first, second, third].contains(&written);
        let all = [data(b"one"), data(b"two"), data(b"late")].concat();
        let expected = if is_border {
            [&all[..written], &error(1, "invalid magic")].concat()
        } else {
            all[..written].to_vec()
        };
        assert_eq!(rig.written, expected, "{written} bytes were written");
        assert_eq!(rig.socket.transmitted, written, "the ERROR is nobody's charge");
    }
}

#[test]
fn w20_w46_no_error_between_the_parts_of_a_record() {
    let mut rig = Rig::open();
    let parts: alloc::vec::Vec<bytes::Bytes> = alloc::vec!["a".into(), "b".into()];
    rig.socket.outbox.push_record(Kind::Data, 0, &parts);
    rig.exchange();
    rig.write(9);
    rig.feed_fault();
    assert_eq!(rig.written, frame(1, 0, 0, b"a"));
}

#[test]
fn w20_error_and_the_borders_of_our_greeting() {
    let greeting = [our_hello(), our_ready()].concat();
    let hello = our_hello().len();
    for written in 0..=greeting.len() {
        let mut rig = Rig::new();
        rig.socket.is_friendly = false;
        rig.socket.orders.push_back(Order::SendReady { count: 1, lane: 0 });
        rig.exchange();
        rig.write(written);
        rig.feed_fault();
        let is_border = [0, hello, greeting.len()].contains(&written);
        let mut expected = greeting[..written].to_vec();
        if is_border {
            expected.extend(error(1, "invalid magic"));
        }
        assert_eq!(rig.written, expected, "{written} bytes were written");
    }
}

#[test]
fn the_socket_closes_with_its_reason() {
    let mut rig = Rig::open();
    push(&mut rig.socket.outbox, b"never");
    rig.exchange();
    rig.read(&data(b"x"));
    rig.socket.orders.push_back(Order::Close { fault: Some(Fault::other("liveness")) });
    rig.exchange();
    assert!(rig.is_closed());
    assert!(!rig.connection.needs_exchange());
    rig.settle();
    assert_eq!(rig.written, error(0x7f, "liveness"));
    assert!(rig.take_log().is_empty(), "the socket decided before it was told of the record");
    assert_eq!(rig.connection.poll_timeout(), None);
}

#[test]
fn w21_a_fault_that_the_socket_finds_comes_before_what_is_behind_the_record() {
    for behind in [&b"!"[..], &error(0x7f, "mine"), &data(b"more")] {
        let mut rig = Rig::open();
        rig.socket.fault_at = Some("data bad");
        rig.read(&[data(b"good"), data(b"bad")].concat());
        rig.read(behind);
        rig.exchange();
        assert!(rig.is_closed());
        rig.settle();
        assert_eq!(rig.take_log(), ["data good"], "{behind:02x?}");
        let is_answer = behind == error(0x7f, "mine");
        let expected = if is_answer { Vec::new() } else { error(0x7f, "said by the socket") };
        assert_eq!(rig.written, expected, "{behind:02x?}");
    }
}

#[test]
fn the_socket_closes_without_a_word() {
    let mut rig = Rig::open();
    push(&mut rig.socket.outbox, b"never");
    rig.socket.orders.push_back(Order::Close { fault: None });
    rig.exchange();
    rig.settle();
    assert!(rig.is_closed());
    assert!(rig.written.is_empty());
    assert_eq!(rig.socket.outbox.len(), 13, "a closed connection takes nothing");
}

#[test]
fn b52_large_batches_are_taken_in_pieces() {
    let mut rig = Rig::open();
    let body: &[u8] = &[b'x'; 1_000];
    for _ in 0..1_000 {
        rig.socket.outbox.push_record(Kind::Data, 0, &body);
    }
    rig.exchange();
    let left = rig.socket.outbox.len();
    assert!((600_000..=800_000).contains(&left), "{left} of 1,008,000 bytes are left");
    rig.settle();
    assert_eq!(rig.socket.transmitted, 1_008_000);
    assert_eq!(rig.written, data(body).repeat(1_000));
}

impl Rig {
    /// The peer sends a byte that is no frame.
    fn feed_fault(&mut self) {
        self.read(b"!");
        // One attempt to write: the rest of the batch must not come with it.
        self.exchange();
        while self.write(usize::MAX) > 0 {}
        assert!(self.is_closed());
    }
}
