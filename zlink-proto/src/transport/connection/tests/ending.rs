//! The orderly end (N-89), and ends in every state.

use super::rig::*;
use crate::transport::connection::ConnectionIo;
use crate::transport::exchange::Order;
use crate::wire::Kind;

fn finishing() -> Rig {
    let mut rig = Rig::open();
    let body: &[u8] = b"last";
    rig.socket.outbox.push_record(Kind::Data, 0, &body);
    rig.exchange();
    rig.socket.orders.push_back(Order::Finish);
    rig.exchange();
    rig
}

#[test]
fn n89_the_sending_side_ends_after_the_last_byte() {
    let mut rig = finishing();
    assert_eq!(rig.connection.io(), ConnectionIo::Open);
    rig.write(11);
    assert_eq!(rig.connection.io(), ConnectionIo::Open);
    rig.now = ms(500);
    rig.write(1);
    assert_eq!(rig.connection.io(), ConnectionIo::Finish);
    assert_eq!(rig.connection.poll_timeout(), Some(ms(1_500)));
    rig.settle();
    assert_eq!(rig.socket.transmitted, 12);
}

#[test]
fn n89_input_is_discarded_until_the_peer_ends() {
    let mut rig = finishing();
    rig.settle();
    for _ in 0..100 {
        assert!(rig.feed(&data(&[b'x'; 900])).is_empty());
    }
    rig.feed(b"garbage is no fault any more");
    assert!(rig.take_log().is_empty());
    assert_eq!(rig.connection.io(), ConnectionIo::Finish);
    rig.end();
    assert_eq!(rig.take_log(), ["finished"]);
    assert_eq!(rig.connection.io(), ConnectionIo::Close);
    assert_eq!(rig.connection.poll_timeout(), None);
}

#[test]
fn n89_a_peer_that_does_not_end_is_closed_after_one_second() {
    let mut rig = finishing();
    rig.settle();
    rig.connection.handle_timeout(ms(999));
    assert_eq!(rig.connection.io(), ConnectionIo::Finish);
    rig.now = ms(1_000);
    rig.connection.handle_timeout(rig.now);
    assert_eq!(rig.connection.io(), ConnectionIo::Close);
    rig.settle();
    assert_eq!(rig.take_log(), ["finished"]);
    assert_eq!(rig.written, data(b"last"));
}

#[test]
fn n88_what_comes_before_the_last_byte_is_still_delivered() {
    let mut rig = finishing();
    rig.feed_without_writing(&data(b"answer"));
    rig.settle();
    assert_eq!(rig.take_log(), ["data answer"]);
    assert_eq!(rig.connection.io(), ConnectionIo::Finish);
}

#[test]
fn n88_a_record_read_before_the_last_byte_is_delivered_after_it() {
    let mut rig = finishing();
    rig.read(&data(b"answer"));
    rig.write(usize::MAX);
    assert_eq!(rig.connection.io(), ConnectionIo::Finish);
    rig.settle();
    assert_eq!(rig.take_log(), ["data answer"]);
}

#[test]
fn n89_an_open_record_is_dropped_and_its_charge_returned() {
    let mut rig = Rig::open();
    rig.feed(&frame(1, 0, 0, b"begun"));
    assert_eq!(rig.socket.provisional, 69);
    rig.socket.orders.push_back(Order::Finish);
    rig.exchange();
    rig.settle();
    assert_eq!(rig.socket.provisional, 0);
    assert_eq!(rig.connection.io(), ConnectionIo::Finish);
}

#[test]
fn n89_with_nothing_to_write_the_end_comes_at_once() {
    let mut rig = Rig::open();
    rig.socket.orders.push_back(Order::Finish);
    rig.now = ms(9);
    rig.exchange();
    assert_eq!(rig.connection.io(), ConnectionIo::Finish);
    assert_eq!(rig.connection.poll_timeout(), Some(ms(1_009)));
}

#[test]
fn n21_a_peer_that_ends_first_ends_the_set() {
    let mut rig = finishing();
    rig.write(5);
    rig.connection.handle_end(false, rig.now);
    rig.exchange();
    assert!(rig.is_closed());
    assert_eq!(rig.take_log(), ["end"]);
    assert_eq!(rig.write(usize::MAX), 0, "nobody reads it any more");
}

#[test]
fn every_end_is_told_once() {
    let mut rig = Rig::open();
    rig.end();
    rig.end();
    rig.connection.handle_end(true, rig.now);
    rig.connection.handle_timeout(ms(1_000_000));
    rig.read(b"!");
    rig.exchange();
    rig.settle();
    assert_eq!(rig.take_log(), ["end"]);
    assert!(rig.connection.receive_space().is_empty());
}

#[test]
fn the_first_reason_counts() {
    let mut rig = Rig::open();
    rig.read(b"!");
    rig.connection.handle_end(false, rig.now);
    rig.settle();
    assert_eq!(rig.take_log(), ["fault invalid magic (01)"]);
}

impl Rig {
    fn feed_without_writing(&mut self, bytes: &[u8]) {
        assert_eq!(self.read(bytes), bytes.len());
        self.exchange();
    }
}
