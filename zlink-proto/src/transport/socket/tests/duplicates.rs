//! Two sets with one routing id (spec 3 §4).

use super::rig::*;
use crate::transport::exchange::{News, Order};
use crate::transport::{DuplicatePolicy, EventKind, SocketOptions, SocketOutput, Submitted, Target};
use crate::wire::Fault;
use alloc::vec;

const DUPLICATE: Fault = Fault::other("duplicate routing id");

fn refused(rig: &mut Rig, number: crate::id::ConnectionNumber) -> bool {
    rig.socket.poll_order(number) == Some(Order::Close { fault: Some(DUPLICATE) })
}

fn handover() -> SocketOptions {
    SocketOptions { duplicate_policy: DuplicatePolicy::Handover, ..SocketOptions::default() }
}

#[test]
fn n26_reject_refuses_the_newcomer_before_ready() {
    let mut rig = Rig::router(SocketOptions::default());
    let a = rig.join("A", DEALER);
    let other = rig.accept();
    rig.hello(other, "A", DEALER);
    assert!(refused(&mut rig, other));
    assert!(rig.socket.peer(a.set).is_some_and(|info| info.is_ready));
}

#[test]
fn n26_handover_gives_the_name_to_the_newcomer_when_it_is_ready() {
    let mut rig = Rig::router(handover());
    let events = rig.socket.add_event_reader();
    let a = rig.join("A", DEALER);
    rig.arrive(a, vec![request(1, 1)]);
    let token = rig.take(a.set, 1).0.pop().and_then(|one| one.token).expect("a request");
    let number = rig.accept();
    rig.hello(number, "A", DEALER);
    assert!(rig.socket.peer(a.set).is_some_and(|info| info.is_ready), "until the newcomer is ready");
    let newer = rig.ready(number, 0).expect("joins");
    assert!(refused(&mut rig, a.number));
    assert_eq!(rig.socket.peer_named(&id("A")), Some(newer.set));
    assert!(!rig.socket.is_token_live(&token), "nothing moves (N-30)");
    let kinds = core::iter::from_fn(|| rig.socket.poll_event(events));
    assert!(kinds.map(|event| event.kind).any(|kind| matches!(kind, EventKind::HandedOver { .. })));
    assert_eq!(rig.send(Target::Named(&id("A")), 1), Ok(Submitted::Admitted));
    assert_eq!(rig.write(newer).len(), 1);
}

#[test]
fn n26_a_second_joining_set_of_one_direction_is_refused_under_either_policy() {
    for options in [SocketOptions::default(), handover()] {
        let mut rig = Rig::router(options);
        let (first, second) = (rig.accept(), rig.accept());
        rig.hello(first, "A", DEALER);
        rig.hello(second, "A", DEALER);
        assert!(refused(&mut rig, second));
        assert!(rig.ready(first, 0).is_some());
    }
}

/// We are "me".
#[test]
fn n27_the_side_with_the_smaller_id_decides_for_the_first_to_come() {
    let mut rig = Rig::dealer(SocketOptions::default());
    rig.socket.connect("tcp://host:1", rig.now).expect("legal");
    let out = rig.attempt();
    rig.socket.attach(out, rig.now).expect("wanted");
    let into = rig.accept();
    rig.hello(into, "zz", DEALER);
    rig.hello(out, "zz", DEALER);
    assert!(refused(&mut rig, out));
    let peer = rig.ready(into, 0).expect("kept");
    assert_eq!(rig.outputs().len(), 1);
    // N-29: the connector rests until that set ends.
    rig.run_to(100_000);
    assert_eq!(rig.outputs(), []);
    rig.lose(peer);
    rig.run_to(100_101);
    assert!(rig.outputs().iter().any(|output| matches!(output, SocketOutput::Connect { .. })));
}

#[test]
fn n27_the_side_with_the_larger_id_keeps_the_one_that_becomes_ready() {
    let mut rig = Rig::dealer(SocketOptions::default());
    rig.socket.connect("tcp://host:1", rig.now).expect("legal");
    let out = rig.attempt();
    rig.socket.attach(out, rig.now).expect("wanted");
    let into = rig.accept();
    rig.hello(into, "aa", DEALER);
    rig.hello(out, "aa", DEALER);
    for number in [into, out] {
        assert_eq!(rig.socket.poll_order(number), Some(Order::SendReady { count: 1, lane: 0 }));
        rig.news(number, News::ReadyTransmitted);
    }
    // The other side decided for the one that it accepted: ours.
    rig.news(out, News::Ready(crate::wire::Ready { max_message_bytes: 0, lanes: Some((1, 0)) }));
    assert_eq!(rig.socket.poll_order(out), Some(Order::Open));
    rig.peer_error(into, DUPLICATE);
    assert_eq!(rig.socket.snapshot().ready_peers, 1);
    assert_eq!(rig.send(Target::Any, 1), Ok(Submitted::Admitted));
}

#[test]
fn n29_a_refusal_by_the_other_side_parks_too() {
    let mut rig = Rig::dealer(SocketOptions::default());
    rig.socket.connect("tcp://host:1", rig.now).expect("legal");
    let events = rig.socket.add_event_reader();
    let into = rig.accept();
    rig.hello(into, "aa", DEALER);
    let out = rig.attempt();
    rig.socket.attach(out, rig.now).expect("wanted");
    rig.hello(out, "aa", DEALER);
    rig.peer_error(out, DUPLICATE);
    let parked = core::iter::from_fn(|| rig.socket.poll_event(events))
        .any(|event| matches!(event.kind, EventKind::Parked { .. }));
    assert!(parked);
    assert!(rig.ready(into, 0).is_some());
    rig.run_to(60_000);
    assert_eq!(rig.socket.poll_timeout(), None, "it does not retry");
}

#[test]
fn n34_a_duplicate_of_a_stranger_waits_for_the_cap() {
    let mut rig = Rig::dealer(SocketOptions::default());
    rig.socket.connect("tcp://host:1", rig.now).expect("legal");
    let out = rig.attempt();
    rig.socket.attach(out, rig.now).expect("wanted");
    let events = rig.socket.add_event_reader();
    rig.hello(out, "aa", DEALER);
    rig.peer_error(out, DUPLICATE);
    let delay = core::iter::from_fn(|| rig.socket.poll_event(events)).find_map(|event| match event.kind {
        EventKind::ConnectDelayed { delay, .. } => Some(delay),
        _ => None,
    });
    assert!(delay.is_some_and(|delay| delay > millis(100) && delay <= millis(5_000)), "{delay:?}");
}

#[test]
fn n20_unvalidated_connections_and_peers_are_bounded() {
    let options = SocketOptions { unvalidated_max: 2, peers_max: 2, ..SocketOptions::default() };
    let mut rig = Rig::router(options);
    let many = Fault::other("too many connections");
    let oldest = rig.accept();
    let second = rig.accept();
    let third = rig.accept();
    assert_eq!(rig.socket.poll_order(oldest), Some(Order::Close { fault: Some(many) }));
    for (number, name) in [(second, "A"), (third, "B")] {
        rig.hello(number, name, DEALER);
        rig.ready(number, 0).expect("joins");
    }
    let fourth = rig.accept();
    rig.hello(fourth, "C", DEALER);
    assert_eq!(rig.socket.poll_order(fourth), Some(Order::Close { fault: Some(many) }));
    rig.check();
}

#[test]
fn n10_a_router_refuses_a_router_until_it_has_two_lanes() {
    let mut rig = Rig::router(SocketOptions::default());
    let number = rig.accept();
    rig.hello(number, "R", ROUTER);
    let fault = Fault::other("lane metadata invalid");
    assert_eq!(rig.socket.poll_order(number), Some(Order::Close { fault: Some(fault) }));
}
