//! Life and end of sets, reconnecting, undrained sets, finish, close (spec 3 §3, §5, §13).

use super::rig::*;
use crate::error::ErrorKind;
use crate::transport::exchange::{News, Order};
use crate::transport::{EndReason, EventKind, Refused, SocketOptions, SocketOutput, Submitted, Target};
use crate::wire::{Fault, FaultCode, Flow};
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

fn is_over(rig: &Rig, peer: Peer) -> bool {
    rig.socket.peer(peer.set).is_none_or(|info| info.is_ended)
}

#[test]
fn n13_readiness_is_told_once_and_the_end_once() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    let ready =
        SocketOutput::PeerReady { set: a.set, routing_id: id("A"), socket_type: ROUTER, endpoint: None };
    assert_eq!(rig.outputs(), [ready]);
    rig.lose(a);
    assert_eq!(rig.outputs(), [SocketOutput::PeerLost { set: a.set }, SocketOutput::Drained(a.set)]);
    assert!(rig.socket.peer(a.set).is_none(), "nothing of it is kept");
    assert_eq!(rig.outputs(), []);
}

#[test]
fn n91_a_set_that_never_was_ready_gives_handshake_failed() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let events = rig.socket.add_event_reader();
    let number = rig.accept();
    rig.news(number, News::Fault(Fault::standard(FaultCode::InvalidMagic)));
    let kinds: Vec<_> =
        core::iter::from_fn(|| rig.socket.poll_event(events)).map(|event| event.kind).collect();
    let reason = EndReason::Fault(FaultCode::InvalidMagic, "invalid magic");
    assert_eq!(kinds.last(), Some(&EventKind::HandshakeFailed { reason }));
    assert_eq!(rig.outputs(), []);
}

#[test]
fn n24_records_of_an_ended_set_come_first() {
    let mut rig = Rig::router(SocketOptions::default());
    let old = rig.join("A", DEALER);
    rig.arrive(old, vec![tagged(1, 1), request(5, 1), tagged(2, 1)]);
    rig.lose(old);
    let newer = rig.join("A", DEALER);
    rig.arrive(newer, vec![tagged(3, 1)]);
    assert_eq!(rig.take(newer.set, 9).0.len(), 0, "it has to wait");
    let info = rig.socket.snapshot();
    assert_eq!((info.undrained_sets, info.undrained_bytes), (1, 195));
    let received = rig.receive(9);
    assert_eq!(tags(&received), [1, 0, 2, 3]);
    let token = received.into_iter().find_map(|one| one.token).expect("the request");
    assert!(!rig.socket.is_token_live(&token), "its requester is gone");
    assert_eq!(rig.reply(token, 1).map_err(|f| f.kind), Err(ErrorKind::Unavailable));
    let outputs = rig.outputs();
    assert!(outputs.contains(&SocketOutput::Drained(old.set)), "{outputs:?}");
    assert_eq!(rig.socket.snapshot().undrained_sets, 0);
}

#[test]
fn n24_replies_left_in_an_ended_set_are_dropped() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    let operation = rig.request(Target::Any, 1).expect("goes");
    rig.arrive(a, vec![data(1), reply(1, 1), data(2)]);
    rig.lose(a);
    assert_eq!(rig.results(), [(operation, "Unavailable Unknown".into())]);
    assert_eq!(rig.receive(9).len(), 2);
    assert_eq!(rig.results(), []);
}

#[test]
fn t123_a_service_socket_takes_the_hello_of_a_newer_set_at_any_time() {
    let mut rig = Rig::router(SocketOptions { service_selection: true, ..SocketOptions::default() });
    let old = rig.join("A", DEALER);
    rig.arrive(old, vec![tagged(1, 1)]);
    rig.lose(old);
    let newer = rig.join("A", DEALER);
    rig.arrive(newer, vec![request(1, 1), tagged(3, 1)]);
    let readable: Vec<_> = core::iter::from_fn(|| rig.socket.poll_readable()).collect();
    assert_eq!(readable, [old.set, newer.set]);
    let (hello, has_more) = rig.take(newer.set, 9);
    assert_eq!((hello.len(), has_more), (1, false));
    let token = hello.into_iter().next().and_then(|one| one.token).expect("hello is a request");
    assert_eq!(rig.reply(token, 1), Ok(Submitted::Admitted), "answered at once");
    assert_eq!(rig.take(newer.set, 9).0.len(), 0);
    rig.take(old.set, 9);
    assert_eq!(rig.socket.poll_readable(), Some(newer.set));
    assert_eq!(tags(&rig.take(newer.set, 9).0), [3]);
}

#[test]
fn t123_a_third_set_is_not_read() {
    let mut rig = Rig::router(SocketOptions::default());
    let first = rig.join("A", DEALER);
    rig.arrive(first, vec![tagged(1, 1)]);
    rig.lose(first);
    let second = rig.join("A", DEALER);
    rig.arrive(second, vec![tagged(2, 1)]);
    rig.lose(second);
    let third = rig.join("A", DEALER);
    assert_eq!(rig.arrive(third, vec![tagged(3, 1)]).len(), 1, "not read");
    rig.exchange_woken();
    assert_eq!(tags(&rig.receive(1)), [1]);
    assert_eq!(rig.socket.poll_wake(), Some(third.number), "the second one is the only older one now");
    assert_eq!(rig.arrive(third, vec![tagged(3, 1)]).len(), 0);
    assert_eq!(tags(&rig.receive(9)), [2, 3]);
}

#[test]
fn t123_beyond_the_bounds_the_oldest_undrained_set_is_discarded() {
    let by_count = SocketOptions { undrained_sets_max: 2, ..SocketOptions::default() };
    let by_bytes = SocketOptions { undrained_bytes_max: 250, ..SocketOptions::default() };
    for options in [by_count, by_bytes] {
        let mut rig = Rig::router(options);
        let events = rig.socket.add_event_reader();
        for name in ["A", "B", "C"] {
            let peer = rig.join(name, DEALER);
            rig.arrive(peer, vec![data(36)]);
            rig.lose(peer);
        }
        let discarded: Vec<_> = core::iter::from_fn(|| rig.socket.poll_event(events))
            .filter_map(|event| match event.kind {
                EventKind::UndrainedDiscarded { routing_id, records, bytes, .. } => {
                    Some((routing_id, records, bytes))
                }
                _ => None,
            })
            .collect();
        assert_eq!(discarded, [(id("A"), 1, 100)]);
        assert_eq!(rig.socket.counts().undrained_discarded, 1);
        assert_eq!(rig.receive(9).len(), 2);
    }
}

#[test]
fn t124_finish_transmits_what_is_admitted_and_one_last_record() {
    let mut rig = Rig::router(hwms(100, 0));
    let a = rig.join("A", DEALER);
    let name = id("A");
    assert_eq!(rig.send_tag(Target::Named(&name), 1, 36), Ok(Submitted::Admitted));
    let waits = Rig::waiting(rig.send(Target::Named(&name), 1));
    let reason = EndReason::Service("closing");
    rig.socket.finish_set_with(a.set, &mut (&[9u8] as &[u8]), reason, millis(1_000), rig.now);
    assert_eq!(rig.results(), [(waits, "Unavailable NotSubmitted".into())]);
    assert!(matches!(rig.send(Target::Named(&name), 1), Err(Refused::Failed(_))));
    assert_eq!(rig.socket.poll_order(a.number), None, "something is left to write");
    let order: Vec<_> = rig.write(a).iter().map(|frame| frame.body[0]).collect();
    assert_eq!(order, [1, 9]);
    assert_eq!(rig.socket.poll_wake(), Some(a.number));
    assert_eq!(rig.socket.poll_order(a.number), Some(Order::Finish));
    assert_eq!(rig.socket.poll_order(a.number), None);
    rig.news(a.number, News::Finished);
    assert!(is_over(&rig, a));
}

#[test]
fn n25a_at_its_limit_a_finish_ends_with_what_is_left() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    let events = rig.socket.add_event_reader();
    assert_eq!(rig.send(Target::Any, 1), Ok(Submitted::Admitted));
    rig.socket.finish_set(a.set, EndReason::Service("reject"), millis(1_000), rig.now);
    let b = rig.join("A", ROUTER);
    assert_eq!(rig.send(Target::Any, 1), Ok(Submitted::Admitted), "for selection it counts as ended");
    assert_eq!(rig.write(b).len(), 1);
    rig.run_to(1_000);
    assert!(is_over(&rig, a));
    assert_eq!(rig.socket.poll_order(a.number), Some(Order::Close { fault: None }));
    let lost = core::iter::from_fn(|| rig.socket.poll_event(events)).find_map(|event| match event.kind {
        EventKind::PeerLost { reason, unsent_records, .. } => Some((reason, unsent_records)),
        _ => None,
    });
    assert_eq!(lost, Some((EndReason::Service("reject"), 1)));
}

#[test]
fn n21_the_first_reason_counts() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    rig.socket.close_set(a.set, EndReason::Service("liveness"));
    rig.socket.close_set(a.set, EndReason::Disconnected);
    rig.news(a.number, News::End { is_reset: true });
    assert_eq!(rig.socket.poll_order(a.number), Some(Order::Close { fault: Some(Fault::other("liveness")) }));
    assert_eq!(rig.socket.poll_order(a.number), None);
    rig.check();
}

#[test]
fn n05_an_endpoint_is_connected_once() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let endpoint = rig.socket.connect("tcp://host:1", rig.now).expect("legal");
    assert_eq!(
        rig.socket.connect("tcp://host:01", rig.now).map_err(|f| f.kind),
        Err(ErrorKind::AlreadyExists)
    );
    let bad = rig.socket.connect("tcp://*:1", rig.now).map_err(|f| (f.kind, f.reason));
    assert_eq!(bad, Err((ErrorKind::InvalidOperation, "endpoint: * in connect")));
    rig.socket.disconnect(endpoint, rig.now).expect("known");
    assert_eq!(rig.socket.disconnect(endpoint, rig.now).map_err(|f| f.kind), Err(ErrorKind::NotFound));
    assert_eq!(rig.outputs(), [], "an order that nobody took is taken back");
    rig.socket.connect("tcp://host:1", rig.now).expect("again");
}

#[test]
fn n32_attempts_follow_the_delays_and_have_their_own_numbers() {
    let mut rig = Rig::dealer(SocketOptions::default());
    rig.socket.connect("tcp://host:1", rig.now).expect("legal");
    let mut numbers = vec![rig.attempt()];
    for bound in [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000] {
        let failed = *numbers.last().expect("one");
        rig.socket.handle_connect_failed(failed, rig.now);
        let due = rig.socket.poll_timeout().expect("a delay");
        let delay = due.saturating_since(rig.now);
        assert!(delay >= millis(1) && delay <= millis(bound), "{delay:?} of {bound}");
        rig.now = due;
        rig.socket.handle_timeout(due);
        numbers.push(rig.attempt());
    }
    numbers.dedup();
    assert_eq!(numbers.len(), 9);
    assert!(rig.socket.attach(numbers[0], rig.now).is_none(), "an old attempt is not wanted");
}

#[test]
fn w37_the_connect_limit_gives_an_attempt_up() {
    let mut rig = Rig::dealer(SocketOptions::default());
    rig.socket.connect("tcp://host:1", rig.now).expect("legal");
    let number = rig.attempt();
    rig.at(5_000);
    assert!(
        rig.socket.attach(number, rig.now).is_some(),
        "exactly at the limit, before the timeout: in time"
    );
    let mut rig = Rig::dealer(SocketOptions::default());
    rig.socket.connect("tcp://host:1", rig.now).expect("legal");
    let number = rig.attempt();
    rig.run_to(5_000);
    assert_eq!(rig.outputs(), [SocketOutput::Abandon(number)]);
    assert!(rig.socket.attach(number, rig.now).is_none());
}

#[test]
fn n33_a_short_ready_time_does_not_reset_the_failures() {
    let mut rig = Rig::dealer(SocketOptions::default());
    rig.socket.connect("tcp://host:1", rig.now).expect("legal");
    let events = rig.socket.add_event_reader();
    for _ in 0..10 {
        let a = rig.connect_to("A", ROUTER);
        rig.lose(a);
        let due = rig.socket.poll_timeout().expect("a delay");
        rig.now = due;
        rig.socket.handle_timeout(due);
    }
    let a = rig.connect_to("A", ROUTER);
    rig.at(rig.now.as_nanos() / 1_000_000 + 5_001);
    rig.lose(a);
    let delays: Vec<_> = core::iter::from_fn(|| rig.socket.poll_event(events))
        .filter_map(|event| match event.kind {
            EventKind::ConnectDelayed { delay, .. } => Some(delay),
            _ => None,
        })
        .collect();
    assert_eq!(delays.len(), 11);
    assert!(delays.iter().any(|delay| *delay > millis(400)), "{delays:?}");
    assert!(*delays.last().expect("one") <= millis(100));
}

#[test]
fn n06_disconnect_ends_the_set_and_remove_listener_may_keep_peers() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let endpoint = rig.socket.connect("tcp://host:1", rig.now).expect("legal");
    let out = rig.connect_to("A", ROUTER);
    let into = rig.join("B", ROUTER);
    rig.socket.disconnect(endpoint, rig.now).expect("known");
    assert!(is_over(&rig, out));
    assert_eq!(rig.socket.poll_order(out.number), Some(Order::Close { fault: None }));
    rig.socket.remove_listener(rig.listener, true, rig.now);
    assert!(!is_over(&rig, into));
    assert!(rig.outputs().contains(&SocketOutput::StopListening(rig.listener)));
    assert!(rig.socket.accept(rig.listener, rig.now).is_none());
    rig.run_to(100_000);
    assert!(!rig.outputs().iter().any(|output| matches!(output, SocketOutput::Connect { .. })), "N-35");
}

#[test]
fn t88_close_transmits_everything_that_was_accepted() {
    let mut rig = Rig::dealer(hwms(0, 0));
    let a = rig.join("A", ROUTER);
    rig.outputs();
    for _ in 0..1_000 {
        assert_eq!(rig.socket.try_send(Target::Any, &mut (&[1u8] as &[u8])), Ok(()));
    }
    rig.socket.close(Some(millis(30_000)), rig.now);
    assert!(matches!(rig.send(Target::Any, 1), Err(Refused::Failed(f)) if f.kind == ErrorKind::ShuttingDown));
    assert_eq!(rig.write(a).len(), 1_000);
    assert_eq!(rig.socket.poll_order(a.number), Some(Order::Finish));
    rig.news(a.number, News::Finished);
    let outputs = rig.outputs();
    assert_eq!(outputs.last(), Some(&SocketOutput::Closed), "{outputs:?}");
    assert_eq!(rig.socket.close_report().unsent_records, 0);
}

#[test]
fn t88_a_slow_link_leaves_a_report() {
    let mut rig = Rig::dealer(hwms(0, 0));
    let a = rig.join("A", ROUTER);
    for _ in 0..1_000 {
        assert_eq!(rig.socket.try_send(Target::Any, &mut (&[1u8] as &[u8])), Ok(()));
    }
    rig.socket.close(Some(millis(30_000)), rig.now);
    rig.take_batch(a);
    rig.transmitted(a, 400 * 9);
    rig.run_to(30_000);
    assert_eq!(rig.socket.poll_order(a.number), Some(Order::Close { fault: None }));
    assert_eq!(rig.outputs().last(), Some(&SocketOutput::Closed));
    assert_eq!(rig.socket.close_report().unsent_records, 600);
}

#[test]
fn n88_while_lingering_replies_settle_and_other_input_is_discarded() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    let answered = rig.request(Target::Any, 1).expect("goes");
    let unanswered = rig.request_for(Target::Any, 1, Some(millis(100_000))).expect("goes");
    rig.arrive(a, vec![data(1)]);
    rig.flow(a, Flow::Paused, 1);
    let waiting = Rig::waiting(rig.send(Target::Any, 1));
    rig.socket.close(Some(millis(1_000)), rig.now);
    assert_eq!(rig.results(), [(waiting, "ShuttingDown NotSubmitted".into())]);
    rig.arrive(a, vec![data(1), reply(1, 3)]);
    assert_eq!(rig.results(), [(answered, "reply 3".into())]);
    assert_eq!(rig.socket.counts().discarded_records, 1);
    rig.socket.close(Some(millis(5_000)), rig.now);
    rig.socket.close(Some(millis(500)), rig.now);
    rig.run_to(500);
    assert_eq!(rig.results(), [(unanswered, "ShuttingDown Unknown".into())], "a second close only shortens");
    assert_eq!(rig.outputs().last(), Some(&SocketOutput::Closed));
    let report = rig.socket.close_report();
    assert_eq!((report.undelivered_records, report.ended_waiting, report.ended_requests), (1, 1, 1));
    assert_eq!(report.unsent_records, 2);
}

#[test]
fn n57_close_answers_what_can_still_be_written() {
    let mut rig = Rig::router(SocketOptions::default());
    let a = rig.join("A", DEALER);
    rig.arrive(a, vec![request(1, 1)]);
    let token = rig.take(a.set, 1).0.pop().and_then(|one| one.token).expect("a request");
    rig.socket.close(None, rig.now);
    let frame = rig.write(a).remove(0);
    assert_eq!((frame.kind, frame.body), (3, 108u32.to_be_bytes().to_vec()));
    assert!(rig.reply(token, 1).is_err());
}

#[test]
fn n88_linger_zero_discards_and_close_always_ends() {
    let mut rig = Rig::dealer(SocketOptions::default());
    rig.socket.connect("tcp://host:1", rig.now).expect("legal");
    let a = rig.join("A", ROUTER);
    let joining = rig.accept();
    assert_eq!(rig.send(Target::Any, 1), Ok(Submitted::Admitted));
    rig.socket.close(Some(Duration::ZERO), rig.now);
    assert_eq!(rig.socket.poll_order(a.number), Some(Order::Close { fault: None }));
    assert_eq!(rig.socket.poll_order(joining), Some(Order::Close { fault: None }));
    assert_eq!(rig.outputs().last(), Some(&SocketOutput::Closed));
    assert_eq!(rig.socket.poll_timeout(), None);
    assert_eq!(rig.socket.connect("tcp://host:2", rig.now).map_err(|f| f.kind), Err(ErrorKind::ShuttingDown));
}

#[test]
fn n89_a_peer_that_never_ends_is_closed_after_its_time() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    rig.socket.close(None, rig.now);
    assert_eq!(rig.socket.poll_order(a.number), Some(Order::Finish));
    rig.run_to(2_000);
    assert_eq!(rig.outputs().last(), Some(&SocketOutput::Closed));
}

#[test]
fn b55_a_hundred_thousand_connections_leave_nothing_behind() {
    let mut rig = Rig::router(SocketOptions::default());
    for _ in 0..100_000 {
        let number = rig.socket.accept(rig.listener, rig.now).expect("accepted");
        rig.socket.handle_news(number, News::End { is_reset: false }, rig.now);
    }
    rig.check();
    assert_eq!(rig.socket.snapshot().peers.len(), 0);
    assert_eq!(rig.socket.sets.slots().len(), 0);
    assert!(
        rig.socket.names.is_empty() && rig.socket.connections.is_empty() && rig.socket.closing.is_empty()
    );
    assert!(rig.socket.wakes.len() + rig.socket.noticed.len() + rig.socket.announced.len() == 0);
}

#[test]
fn b55_coming_and_going_under_new_names_leaves_nothing_behind() {
    let mut rig = Rig::router(SocketOptions::default());
    for number in 0..2_000 {
        let peer = rig.join(&alloc::format!("{number}"), DEALER);
        rig.arrive(peer, vec![request(1, 1), data(1)]);
        let _ = rig.receive(9);
        rig.lose(peer);
        rig.outputs();
    }
    rig.exchange_woken();
    assert!(rig.socket.names.is_empty() && rig.socket.connections.is_empty());
    assert!(rig.socket.receive_flow.listed_len() <= 20);
    assert_eq!(rig.socket.snapshot().reply_tokens, 0);
}
