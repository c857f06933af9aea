//! Requests, replies, tokens, reservations (spec 3 §8, O-35, O-40 to O-47).

use super::rig::*;
use crate::error::ErrorKind;
use crate::transport::{Refused, ReplyToken, SocketOptions, SocketOutput, Submitted, Target};
use crate::wire::{Fault, Flow};
use alloc::vec;
use alloc::vec::Vec;

fn tokens(rig: &mut Rig, peer: Peer, count: usize) -> Vec<ReplyToken> {
    rig.take(peer.set, count).0.into_iter().filter_map(|one| one.token).collect()
}

#[test]
fn t81_a_reply_settles_its_request_once() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    let operation = rig.request(Target::Any, 4).expect("goes");
    let frame = rig.write(a).remove(0);
    assert_eq!((frame.kind, frame.sequence), (1, 1));
    rig.arrive(a, vec![reply(1, 10), reply(1, 11)]);
    assert_eq!(rig.results(), [(operation, "reply 10".into())]);
    assert_eq!(rig.socket.counts().unsolicited_replies, 1);
    assert_eq!(rig.used(a).1, 0, "its charge ended");
    rig.run_to(10_000);
    assert_eq!(rig.results(), []);
}

#[test]
fn n54_data_ahead_of_a_reply_is_never_taken_for_its_sake() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    let operation = rig.request(Target::Any, 4).expect("goes");
    rig.arrive(a, vec![data(1), reply(1, 10), data(2)]);
    assert_eq!(rig.results(), []);
    let mut heads = Vec::new();
    rig.socket.heads(a.set, 9, &mut heads);
    assert_eq!(heads.iter().map(|head| head.charge).collect::<Vec<_>>(), [65, 66], "replies are left out");
    let (taken, has_more) = rig.take(a.set, 1);
    assert_eq!((taken.len(), has_more), (1, true));
    assert_eq!(rig.results(), [(operation, "reply 10".into())]);
    assert!(!rig.take(a.set, 5).1);
}

#[test]
fn t49_a_reply_behind_unread_data_comes_too_late() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    let operation = rig.request_for(Target::Any, 4, Some(millis(2_000))).expect("goes");
    rig.arrive(a, vec![data(1_048_576), reply(1, 10)]);
    rig.run_to(2_000);
    assert_eq!(rig.results(), [(operation, "DeadlineExceeded Unknown".into())]);
    rig.take(a.set, 1);
    let counts = rig.socket.counts();
    assert_eq!(
        (counts.late_replies, counts.unsolicited_replies),
        (1, 0),
        "a late reply is no unsolicited one"
    );
    assert_eq!(rig.results(), []);
}

#[test]
fn n58_too_many_unsolicited_replies_are_a_fault() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    let dropped = rig.request(Target::Any, 1).expect("goes");
    rig.cancel(dropped);
    rig.arrive(a, (0..1_001).map(|number| reply(1_000 + number, 1)).collect());
    assert!(rig.socket.peer(a.set).is_some_and(|info| info.is_ready), "1 is credit, 1,000 are allowed");
    rig.arrive(a, vec![reply(9, 1)]);
    assert_eq!(
        rig.socket.poll_order(a.number),
        Some(crate::transport::exchange::Order::Close { fault: Some(Fault::other("too many replies")) })
    );
    rig.check();
}

#[test]
fn n55_a_reply_matches_only_on_the_set_of_its_request() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let (a, b) = (rig.join("A", ROUTER), rig.join("B", ROUTER));
    let operation = rig.request(Target::Set(a.set), 1).expect("goes");
    rig.arrive(b, vec![reply(1, 1)]);
    assert_eq!(rig.results(), []);
    rig.arrive(a, vec![reply(1, 2)]);
    assert_eq!(rig.results(), [(operation, "reply 2".into())]);
}

#[test]
fn n55_a_reply_to_a_request_that_still_waits_matches_nothing() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    rig.flow(a, Flow::Paused, 1);
    let operation = rig.request(Target::Any, 1).expect("waits");
    rig.arrive(a, vec![reply(1, 1)]);
    assert_eq!(rig.results(), []);
    rig.flow(a, Flow::Running, 2);
    rig.arrive(a, vec![reply(1, 2)]);
    assert_eq!(rig.results(), [(operation, "reply 2".into())]);
}

#[test]
fn w10_error_replies_are_mapped() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    let cases = [
        (2, "NotFound"),
        (5, "InternalFailure"),
        (11, "Unavailable"),
        (13, "Rejected"),
        (16, "Unavailable"),
        (17, "AlreadyExists"),
        (22, "InvalidOperation"),
        (71, "ProtocolError"),
        (107, "Unavailable"),
        (108, "ShuttingDown"),
        (110, "DeadlineExceeded"),
        (114, "InvalidOperation"),
        (156_384_763, "InvalidOperation"),
        (156_384_764, "ProtocolError"),
        (156_384_765, "ShuttingDown"),
        (4_711, "InternalFailure"),
        (0, "ProtocolError"),
    ];
    for (sequence, (number, kind)) in (1..).zip(cases) {
        let operation = rig.request(Target::Any, 1).expect("goes");
        rig.arrive(a, vec![error_reply(sequence, number)]);
        assert_eq!(rig.results(), [(operation, alloc::format!("{kind} Unknown"))], "{number}");
    }
    assert!(rig.socket.peer(a.set).is_some_and(|info| info.is_ready));
}

#[test]
fn t82_completion_slots_are_held_until_the_result_was_taken() {
    let options = SocketOptions { pending_requests_max: 65_536, ..hwms(0, 0) };
    let mut rig = Rig::dealer(options);
    let peers: Vec<_> = (0..8).map(|number| rig.join(&alloc::format!("{number}"), ROUTER)).collect();
    for _ in 0..65_536 {
        let mut empty: &[u8] = &[];
        rig.socket.request(Target::Any, &mut empty, None, rig.now).expect("a slot is free");
    }
    assert_eq!(rig.request(Target::Any, 0).map_err(|f| f.kind), Err(ErrorKind::CapacityExceeded));
    let sequence = rig.take_batch(peers[0])[0].sequence;
    rig.arrive(peers[0], vec![reply(sequence, 0)]);
    assert_eq!(rig.request(Target::Any, 0).map_err(|f| f.kind), Err(ErrorKind::CapacityExceeded));
    assert_eq!(rig.results().len(), 1);
    assert!(rig.request(Target::Any, 0).is_ok());
    let mut other = Rig::dealer(SocketOptions::default());
    other.join("A", ROUTER);
    assert!(other.request(Target::Any, 0).is_ok());
}

#[test]
fn t82_waiting_requests_are_bounded_by_bytes() {
    let options = SocketOptions { request_waiting_bytes_max: 1_000, ..SocketOptions::default() };
    let mut rig = Rig::dealer(options);
    let a = rig.join("A", ROUTER);
    rig.flow(a, Flow::Paused, 1);
    let large = rig.request(Target::Any, 5_000).expect("one larger payload is allowed");
    assert_eq!(rig.request(Target::Any, 0).map_err(|f| f.kind), Err(ErrorKind::CapacityExceeded));
    assert!(rig.cancel(large));
    assert!(rig.request(Target::Any, 436).is_ok());
    assert!(rig.request(Target::Any, 436).is_ok());
    assert_eq!(rig.request(Target::Any, 0).map_err(|f| f.kind), Err(ErrorKind::CapacityExceeded));
    assert_eq!(rig.socket.snapshot().completion_slots, 2);
}

#[test]
fn n51_work_per_link() {
    for (payload, count) in [(0, 16_384), (4_096, 8_065), (65_536, 511), (41_943_040 - 64, 1)] {
        let options = SocketOptions { max_message_size: 0, ..hwms(0, 0) };
        let mut rig = Rig::dealer(options);
        let a = rig.join("A", ROUTER);
        let body = vec![0u8; payload];
        let mut admitted = 0;
        let refused = loop {
            match rig.socket.request(Target::Any, &mut body.as_slice(), None, rig.now) {
                Ok(_) => admitted += 1,
                Err(failure) => break failure.kind,
            }
        };
        assert_eq!((admitted, refused), (count, ErrorKind::CapacityExceeded), "{payload}");
        rig.lose(a);
        assert_eq!(rig.results().len(), count);
    }
}

#[test]
fn t125_ten_requests_of_32_kib_are_admitted_at_once() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    for _ in 0..10 {
        rig.request(Target::Any, 32_768).expect("admitted");
    }
    assert_eq!(rig.write(a).len(), 10);
}

#[test]
fn n50_a_dealer_leaves_peers_without_a_place_out() {
    let options = SocketOptions { requests_per_link_max: 2, ..SocketOptions::default() };
    let mut rig = Rig::dealer(options);
    let (a, b) = (rig.join("A", ROUTER), rig.join("B", ROUTER));
    for _ in 0..4 {
        rig.request(Target::Any, 0).expect("a place is free");
    }
    assert_eq!((rig.write(a).len(), rig.write(b).len()), (2, 2));
    assert_eq!(rig.request(Target::Any, 0).map_err(|f| f.kind), Err(ErrorKind::CapacityExceeded));
    rig.arrive(b, vec![reply(2, 0)]);
    rig.request(Target::Any, 0).expect("B has a place");
    assert_eq!((rig.write(a).len(), rig.write(b).len()), (0, 1));
}

#[test]
fn t79_dropped_requests_leave_nothing_behind() {
    let mut rig = Rig::dealer(hwms(0, 0));
    let a = rig.join("A", ROUTER);
    for round in 0..100u64 {
        let operations: Vec<_> = (0..1_000)
            .map(|_| rig.socket.request(Target::Any, &mut (&[] as &[u8]), None, rig.now).expect("goes"))
            .collect();
        let frames = rig.write_all(a);
        assert_eq!(frames[0].sequence, round * 1_000 + 1, "no sequence is used twice");
        for operation in operations {
            assert!(rig.socket.cancel(operation, rig.now));
        }
        let replies = frames.iter().map(|frame| reply(frame.sequence, 0)).collect();
        rig.arrive(a, replies);
    }
    let status = rig.socket.snapshot();
    assert_eq!(
        (status.pending_requests, status.completion_slots, status.counts.late_replies),
        (0, 0, 100_000)
    );
    assert_eq!(rig.socket.table_size(), 0);
}

#[test]
fn t105_one_deadline_covers_waiting_and_reply() {
    let timeout = Some(millis(3_000));
    let mut rig = Rig::dealer(hwms(100, 0));
    let a = rig.join("A", ROUTER);
    assert_eq!(rig.send(Target::Any, 36), Ok(Submitted::Admitted));
    let operation = rig.request_for(Target::Any, 36, timeout).expect("waits");
    rig.run_to(2_000);
    assert_eq!(rig.results(), [], "the send timeout does not end it");
    rig.write(a);
    rig.run_to(2_500);
    rig.arrive(a, vec![reply(1, 1)]);
    assert_eq!(rig.results(), [(operation, "reply 1".into())]);

    rig.write(a);
    assert_eq!(rig.send(Target::Any, 36), Ok(Submitted::Admitted));
    let full = rig.request_for(Target::Any, 36, timeout).expect("waits");
    rig.run_to(5_500);
    assert_eq!(rig.results(), [(full, "DeadlineExceeded NotSubmitted".into())]);
    rig.write(a);
    let unanswered = rig.request_for(Target::Any, 36, timeout).expect("goes");
    rig.run_to(8_500);
    assert_eq!(rig.results(), [(unanswered, "DeadlineExceeded Unknown".into())]);
}

#[test]
fn n56_a_token_answers_once_and_ends_with_its_set() {
    let mut rig = Rig::router(SocketOptions::default());
    let a = rig.join("A", DEALER);
    rig.arrive(a, vec![request(7, 1), request(8, 1)]);
    let mut both = tokens(&mut rig, a, 2);
    let late = both.pop().expect("two");
    assert_eq!(rig.reply(both.pop().expect("two"), 3), Ok(Submitted::Admitted));
    let frame = rig.write(a).remove(0);
    assert_eq!((frame.kind, frame.sequence, frame.body.len()), (2, 7, 3));
    assert!(rig.socket.is_token_live(&late));
    rig.lose(a);
    assert!(!rig.socket.is_token_live(&late));
    assert_eq!(rig.reply(late, 1).map_err(|f| f.kind), Err(ErrorKind::Unavailable));
    assert_eq!(rig.socket.snapshot().reply_tokens, 0);
}

#[test]
fn n57_tokens_that_end_without_a_reply_answer_with_a_number() {
    let mut rig = Rig::router(hwms(164, 0));
    let a = rig.join("A", DEALER);
    rig.arrive(a, (1..=4).map(|sequence| request(sequence, 1)).collect());
    let mut taken = tokens(&mut rig, a, 4).into_iter();
    let name = id("A");
    assert_eq!(rig.send(Target::Named(&name), 100), Ok(Submitted::Admitted));
    let waits = rig.reply(taken.next().expect("four"), 36).expect("waits");
    let Submitted::Waiting(waits) = waits else { panic!("full") };
    let cancelled = rig.reply(taken.next().expect("four"), 36).expect("waits");
    let Submitted::Waiting(cancelled) = cancelled else { panic!("full") };
    rig.socket.drop_token(taken.next().expect("four"));
    rig.socket.reply_error(taken.next().expect("four"), 16);
    assert!(rig.cancel(cancelled));
    rig.run_to(1_000);
    assert_eq!(rig.results(), [(waits, "DeadlineExceeded NotSubmitted".into())]);
    assert_eq!(rig.socket.snapshot().reply_tokens, 4, "state in the tokens' places");
    let errors: Vec<_> = rig.write_all(a)[1..]
        .iter()
        .map(|frame| (frame.kind, frame.sequence, u32::from_be_bytes(frame.body[..].try_into().unwrap())))
        .collect();
    assert_eq!(errors, [(3, 3, 5), (3, 4, 16), (3, 2, 5), (3, 1, 110)]);
    assert_eq!(rig.socket.snapshot().reply_tokens, 0);
}

#[test]
fn w25_row_38_an_unanswered_sequence_used_again_is_a_fault() {
    for taken in [false, true] {
        let mut rig = Rig::router(SocketOptions::default());
        let a = rig.join("A", DEALER);
        rig.arrive(a, vec![request(5, 1)]);
        let token = if taken { tokens(&mut rig, a, 1).pop() } else { None };
        rig.arrive(a, vec![request(5, 1)]);
        let order = rig.socket.poll_order(a.number);
        let fault = Fault::standard(crate::wire::FaultCode::RequestSequenceInvalid);
        assert_eq!(order, Some(crate::transport::exchange::Order::Close { fault: Some(fault) }));
        assert_eq!(token.is_some(), taken);
    }
    let mut rig = Rig::router(SocketOptions::default());
    let a = rig.join("A", DEALER);
    rig.arrive(a, vec![request(5, 1)]);
    let token = tokens(&mut rig, a, 1).pop().expect("a request");
    assert_eq!(rig.reply(token, 1), Ok(Submitted::Admitted));
    rig.arrive(a, vec![request(5, 1)]);
    assert_eq!(tokens(&mut rig, a, 1).len(), 1, "answered: free again");
}

#[test]
fn n60_without_a_tokens_place_a_request_and_what_is_behind_it_wait() {
    let options = SocketOptions { reply_tokens_max: 3, requests_per_link_max: 2, ..SocketOptions::default() };
    let mut rig = Rig::router(options);
    let (a, b) = (rig.join("A", DEALER), rig.join("B", DEALER));
    rig.arrive(a, vec![request(1, 1), request(2, 1), request(3, 1), data(9)]);
    rig.arrive(b, vec![request(1, 1), request(2, 1)]);
    let mut of_a = tokens(&mut rig, a, 9);
    assert_eq!(of_a.len(), 2);
    let mut heads = Vec::new();
    rig.socket.heads(a.set, 9, &mut heads);
    assert_eq!(heads.len(), 0);
    let of_b = tokens(&mut rig, b, 9);
    assert_eq!(of_b.len(), 1, "three in all");
    while rig.socket.poll_readable().is_some() {}
    assert_eq!(rig.receive(9).len(), 0);
    assert_eq!(rig.reply(of_a.pop().expect("two"), 1), Ok(Submitted::Admitted));
    assert_eq!(rig.socket.poll_readable(), Some(a.set), "it waited first");
    let rest = rig.take(a.set, 9).0;
    assert_eq!(rest.len(), 2, "the request and the data behind it");
    rig.socket.drop_token(of_a.pop().expect("one"));
    assert_eq!(rig.socket.poll_readable(), Some(b.set));
    assert_eq!(rig.receive(9).len(), 1);
    rest.into_iter().filter_map(|one| one.token).chain(of_b).for_each(|token| rig.socket.drop_token(token));
}

#[test]
fn n60_a_request_stopped_by_its_own_peers_bound_lets_others_pass() {
    let options = SocketOptions { requests_per_link_max: 1, ..SocketOptions::default() };
    let mut rig = Rig::router(options);
    let (a, b) = (rig.join("A", DEALER), rig.join("B", DEALER));
    rig.arrive(a, vec![request(1, 1), request(2, 1)]);
    rig.arrive(b, vec![request(1, 1), request(2, 1)]);
    let of_a = tokens(&mut rig, a, 9);
    let of_b = tokens(&mut rig, b, 9);
    while rig.socket.poll_readable().is_some() {}
    of_b.into_iter().for_each(|token| rig.socket.drop_token(token));
    assert_eq!(rig.socket.poll_readable(), Some(b.set), "A waits for its own place, first in turn");
    of_a.into_iter().for_each(|token| rig.socket.drop_token(token));
    assert_eq!(rig.socket.poll_readable(), Some(a.set));
}

#[test]
fn t110_nothing_is_sent_again_after_a_loss() {
    let mut rig = Rig::dealer(hwms(0, 0));
    rig.socket.connect("tcp://host:1", rig.now).expect("legal");
    let a = rig.connect_to("A", ROUTER);
    rig.outputs();
    let events = rig.socket.add_event_reader();
    for _ in 0..100 {
        assert_eq!(rig.send(Target::Any, 10), Ok(Submitted::Admitted));
    }
    let pending = rig.request(Target::Any, 1).expect("goes");
    rig.flow(a, Flow::Paused, 1);
    let waiting = Rig::waiting(rig.send(Target::Any, 1));
    let waiting_request = rig.request(Target::Any, 1).expect("waits");
    rig.lose(a);
    assert_eq!(
        rig.results(),
        [
            (pending, "Unavailable Unknown".into()),
            (waiting, "Unavailable NotSubmitted".into()),
            (waiting_request, "Unavailable NotSubmitted".into())
        ]
    );
    let lost = core::iter::from_fn(|| rig.socket.poll_event(events)).find_map(|event| match event.kind {
        crate::transport::EventKind::PeerLost { unsent_records, unsent_bytes, .. } => {
            Some((unsent_records, unsent_bytes))
        }
        _ => None,
    });
    assert_eq!(lost, Some((101, 100 * 74 + 65)));
    assert_eq!(rig.outputs(), [SocketOutput::PeerLost { set: a.set }, SocketOutput::Drained(a.set)]);
    rig.run_to(5_000);
    let a = rig.connect_to("A", ROUTER);
    assert_eq!(rig.write(a), []);
    assert_eq!(rig.used(a), (0, 0));
}

#[test]
fn t130_a_reservation_is_used_with_less_and_with_more() {
    let mut rig = Rig::dealer(hwms(1_000, 0));
    let a = rig.join("A", ROUTER);
    let reserve = |rig: &mut Rig, bytes| {
        let now = rig.now;
        let reservation = rig.socket.reserve(Target::Any, bytes, None, || now).expect("legal");
        rig.check();
        reservation
    };
    let one = reserve(&mut rig, 436);
    assert!(one.is_granted);
    assert_eq!((rig.used(a).0, rig.socket.snapshot().provisional), (500, 500));
    let waits = Rig::waiting(rig.send(Target::Any, 636));
    let sent = rig.socket.send_reserved(one.operation, &mut (&[0u8; 36] as &[u8]), rig.now);
    assert_eq!(sent, Ok(()));
    assert_eq!(rig.results(), [(waits, "sent".into())], "the surplus made room");
    assert_eq!(rig.used(a).0, 800);
    rig.write_all(a);

    let small = reserve(&mut rig, 36);
    assert_eq!(rig.send(Target::Any, 636), Ok(Submitted::Admitted));
    let too_much = rig.socket.send_reserved(small.operation, &mut (&[0u8; 336] as &[u8]), rig.now);
    assert_eq!(too_much, Err(Refused::Full));
    let fits = rig.socket.send_reserved(small.operation, &mut (&[0u8; 236] as &[u8]), rig.now);
    assert_eq!(fits, Ok(()));
    assert_eq!(rig.used(a).0, 1_000);
    rig.check();
}

#[test]
fn t130_a_reservation_ends_once_by_drop_deadline_set_end_and_close() {
    for how in 0..4 {
        let mut rig = Rig::dealer(hwms(1_000, 0));
        let a = rig.join("A", ROUTER);
        let now = rig.now;
        let reservation = rig.socket.reserve(Target::Any, 936, None, || now).expect("legal");
        let waits = rig.socket.reserve(Target::Any, 36, None, || now).expect("legal");
        assert!(reservation.is_granted && !waits.is_granted);
        match how {
            0 => {
                rig.socket.release_reservation(reservation.operation, rig.now);
                assert_eq!(rig.results(), [(waits.operation, "sent".into())]);
                assert_eq!(rig.used(a).0, 100);
                rig.run_to(999);
                let sent = rig.socket.send_reserved(waits.operation, &mut (&[1u8] as &[u8]), rig.now);
                assert_eq!((sent, rig.used(a).0), (Ok(()), 65));
                continue;
            }
            1 => {
                rig.run_to(1_000);
                assert_eq!(rig.results(), [(waits.operation, "DeadlineExceeded NotSubmitted".into())]);
                assert_eq!(rig.used(a).0, 0);
            }
            2 => {
                rig.lose(a);
                assert_eq!(rig.results(), [(waits.operation, "Unavailable NotSubmitted".into())]);
            }
            _ => {
                rig.socket.close(None, rig.now);
                assert_eq!(rig.results(), [(waits.operation, "ShuttingDown NotSubmitted".into())]);
            }
        }
        let sent = rig.socket.send_reserved(reservation.operation, &mut (&[1u8] as &[u8]), rig.now);
        assert!(
            matches!(sent, Err(Refused::Failed(failure)) if failure.kind == ErrorKind::Unavailable),
            "{how}"
        );
        rig.check();
        assert_eq!(rig.socket.table_size(), 0, "{how}");
    }
}

#[test]
fn o35_a_waiting_reservation_can_be_dropped() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let now = rig.now;
    let waits = rig.socket.reserve(Target::Any, 36, None, || now).expect("legal");
    rig.socket.release_reservation(waits.operation, rig.now);
    rig.join("A", ROUTER);
    assert_eq!(rig.results(), []);
    assert_eq!(rig.socket.table_size(), 0);
}

#[test]
fn n54_a_large_reply_that_settles_at_once_leaves_the_queue_open() {
    let mut rig = Rig::dealer(hwms(0, 1_000));
    let a = rig.join("A", ROUTER);
    let operation = rig.request(Target::Any, 1).expect("goes");
    // The reply filled the queue while it came in.
    let allowance = rig.socket.deliver(a.number, &mut vec![], 5_064, None, true, rig.now);
    assert!(!allowance.is_open);
    let allowance = rig.socket.deliver(a.number, &mut vec![reply(1, 5_000)], 0, None, true, rig.now);
    assert!(allowance.is_open && allowance.room == 1_000);
    assert_eq!(rig.results(), [(operation, "reply 5000".into())]);
}

#[test]
fn n60_error_replies_that_wait_for_running_give_their_places_up() {
    let options = SocketOptions { reply_tokens_max: 2, ..SocketOptions::default() };
    let mut rig = Rig::router(options);
    let a = rig.join("A", DEALER);
    rig.flow(a, Flow::Paused, 1);
    rig.arrive(a, (1..=3).map(|sequence| request(sequence, 1)).collect());
    let taken = tokens(&mut rig, a, 9);
    assert_eq!(taken.len(), 2);
    while rig.socket.poll_readable().is_some() {}
    taken.into_iter().for_each(|token| rig.socket.drop_token(token));
    assert_eq!(rig.socket.poll_readable(), Some(a.set), "RUNNING may be behind the request that is not read");
    assert_eq!(tokens(&mut rig, a, 9).len(), 1);
    assert_eq!(rig.socket.counts().error_replies_given_up, 1);
    rig.flow(a, Flow::Running, 2);
    assert_eq!(rig.write(a).iter().map(|frame| frame.sequence).collect::<Vec<_>>(), [2]);
}
