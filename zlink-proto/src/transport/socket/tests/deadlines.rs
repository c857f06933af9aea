//! Deadlines, ties, cancel, waiter bounds (spec 5 §2 to §4).

use super::rig::*;
use crate::error::ErrorKind;
use crate::transport::{Refused, SocketOptions, Submitted, Target};
use crate::wire::Flow;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

/// A DEALER whose only peer has a full queue: one record of charge 100.
fn full() -> (Rig, Peer) {
    let mut rig = Rig::dealer(hwms(100, 0));
    let peer = rig.join("A", ROUTER);
    assert_eq!(rig.send(Target::Any, 36), Ok(Submitted::Admitted));
    rig.take_batch(peer);
    (rig, peer)
}

#[test]
fn t42_room_before_and_after_the_deadline() {
    let (mut rig, peer) = full();
    let waits = Rig::waiting(rig.send(Target::Any, 36));
    rig.now = crate::time::Timestamp::from_nanos(999_999_999);
    rig.transmitted(peer, 44);
    assert_eq!(rig.results(), [(waits, "sent".into())]);

    let (mut rig, peer) = full();
    let waits = Rig::waiting(rig.send(Target::Any, 36));
    rig.now = crate::time::Timestamp::from_nanos(1_000_000_001);
    rig.transmitted(peer, 44);
    assert_eq!(rig.results(), [(waits, "DeadlineExceeded NotSubmitted".into())]);
    assert_eq!(rig.write(peer), []);
}

/// The table of O-33.
#[test]
fn t77_room_at_the_deadline_goes_to_the_next_waiter() {
    let (mut rig, peer) = full();
    let first = Rig::waiting(rig.send(Target::Any, 36));
    rig.at(500);
    let second = Rig::waiting(rig.send(Target::Any, 36));
    rig.at(1_000);
    rig.transmitted(peer, 44);
    assert_eq!(rig.results(), [(first, "DeadlineExceeded NotSubmitted".into()), (second, "sent".into())]);
}

#[test]
fn t77_a_reply_at_the_deadline_is_late_and_one_before_is_not() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let peer = rig.join("A", ROUTER);
    let late = rig.request(Target::Any, 1).expect("goes");
    rig.at(5_000);
    rig.arrive(peer, vec![reply(1, 1)]);
    assert_eq!(rig.results(), [(late, "DeadlineExceeded Unknown".into())]);
    assert_eq!(rig.socket.counts().late_replies, 1);
    let good = rig.request(Target::Any, 1).expect("goes");
    rig.now = crate::time::Timestamp::from_nanos(9_999_999_999);
    rig.arrive(peer, vec![reply(2, 1)]);
    rig.run_to(10_000);
    assert_eq!(rig.results(), [(good, "reply 1".into())]);
}

#[test]
fn t77_cancel_at_the_deadline_wins_and_behind_it_does_not() {
    let (mut rig, _) = full();
    let waits = Rig::waiting(rig.send(Target::Any, 36));
    rig.at(1_000);
    assert!(rig.cancel(waits));
    rig.run_to(1_000);
    assert_eq!(rig.results(), []);

    let waits = Rig::waiting(rig.send(Target::Any, 36));
    rig.run_to(2_000);
    assert!(!rig.cancel(waits), "timeout, then cancel");
    assert_eq!(rig.results(), [(waits, "DeadlineExceeded NotSubmitted".into())]);

    let waits = Rig::waiting(rig.send(Target::Any, 36));
    rig.at(3_001);
    assert!(!rig.cancel(waits), "the deadline was before");
    assert_eq!(rig.results(), [(waits, "DeadlineExceeded NotSubmitted".into())]);
}

#[test]
fn t77_cancel_then_room_submits_nothing() {
    let (mut rig, peer) = full();
    let waits = Rig::waiting(rig.send(Target::Any, 36));
    rig.at(1_000);
    assert!(rig.cancel(waits));
    rig.transmitted(peer, 44);
    assert_eq!((rig.results(), rig.write(peer)), (vec![], vec![]));
}

#[test]
fn t77_a_disconnect_at_the_deadline_comes_too_late() {
    let (mut rig, peer) = full();
    let waits = Rig::waiting(rig.send(Target::Any, 36));
    rig.at(1_000);
    rig.lose(peer);
    assert_eq!(rig.results(), [(waits, "DeadlineExceeded NotSubmitted".into())]);
}

#[test]
fn t77_equal_deadlines_end_in_order_of_age_whatever_their_timeouts() {
    let (mut rig, _) = full();
    let record: &[u8] = &[0; 36];
    let mut expected = Vec::new();
    for elapsed in [0, 300, 500] {
        rig.at(elapsed);
        for _ in 0..2 {
            let now = rig.now;
            let timeout = Some(millis(1_000 - elapsed));
            expected.push(Rig::waiting(rig.socket.send(Target::Any, &mut { record }, timeout, || now)));
        }
    }
    rig.run_to(1_000);
    let ended: Vec<_> = rig.results().into_iter().map(|(operation, _)| operation).collect();
    assert_eq!(ended, expected);
}

#[test]
fn o16_many_distinct_timeouts_end_in_order() {
    let (mut rig, _) = full();
    let record: &[u8] = &[0; 36];
    let mut operations = Vec::new();
    for index in 0..300u64 {
        let timeout = 1 + (index * 7) % 300;
        let waits = rig.socket.send(Target::Any, &mut { record }, Some(millis(timeout)), || ms(0));
        operations.push((timeout, Rig::waiting(waits)));
    }
    operations.sort();
    rig.run_to(301);
    let ended: Vec<_> = rig.results().into_iter().map(|(operation, _)| operation).collect();
    assert_eq!(ended, operations.into_iter().map(|(_, operation)| operation).collect::<Vec<_>>());
    assert_eq!(rig.socket.poll_timeout(), None);
}

#[test]
fn t80_a_clock_that_jumps_back_ends_nobody_early_or_late() {
    let (mut rig, _) = full();
    rig.at(3_600_000);
    let first = Rig::waiting(rig.send(Target::Any, 36));
    rig.at(0);
    let second = Rig::waiting(rig.send(Target::Any, 36));
    rig.socket.handle_timeout(ms(999));
    assert_eq!(rig.results(), []);
    rig.socket.handle_timeout(ms(3_600_999));
    assert_eq!(rig.results(), []);
    rig.socket.handle_timeout(ms(3_601_000));
    let expired = "DeadlineExceeded NotSubmitted";
    assert_eq!(rig.results(), [(first, expired.into()), (second, expired.into())]);
}

#[test]
fn o11_an_immediately_admitted_send_reads_no_clock() {
    let mut rig = Rig::dealer(SocketOptions::default());
    rig.join("A", ROUTER);
    let result = rig.socket.send(Target::Any, &mut (&[0u8] as &[u8]), None, || panic!("clock"));
    assert_eq!(result, Ok(Submitted::Admitted));
}

#[test]
fn o12_the_earlier_timeout_ends_the_admission() {
    let (mut rig, _) = full();
    for (timeout, end) in [(100, 100), (5_000, 1_100)] {
        let now = rig.now;
        let waits = rig.socket.send(Target::Any, &mut (&[0u8; 36] as &[u8]), Some(millis(timeout)), || now);
        let waits = Rig::waiting(waits);
        rig.run_to(end - 1);
        assert_eq!(rig.results(), []);
        rig.run_to(end);
        assert_eq!(rig.results(), [(waits, "DeadlineExceeded NotSubmitted".into())]);
    }
    let now = rig.now;
    let bad = rig.socket.send(Target::Any, &mut (&[0u8; 36] as &[u8]), Some(Duration::ZERO), || now);
    assert!(matches!(bad, Err(Refused::Failed(failure)) if failure.kind == ErrorKind::InvalidOperation));
}

#[test]
fn t41_a_full_family_fails_at_once_and_alone() {
    let mut rig = Rig::router(hwms(100, 0));
    let a = rig.join("A", DEALER);
    let name = id("A");
    rig.arrive(a, vec![request(1, 1)]);
    let token = rig.take(a.set, 1).0.pop().and_then(|one| one.token).expect("a request");
    assert_eq!(rig.send(Target::Named(&name), 36), Ok(Submitted::Admitted));
    for _ in 0..4_096 {
        let waits = rig.socket.send(Target::Named(&name), &mut (&[0u8; 36] as &[u8]), None, || ms(0));
        Rig::waiting(waits);
    }
    rig.check();
    let refused = rig.send(Target::Named(&name), 36);
    assert!(matches!(refused, Err(Refused::Failed(failure)) if failure.kind == ErrorKind::DeadlineExceeded));
    assert_eq!(rig.socket.counts().waiters_full, 1);
    assert!(matches!(rig.reply(token, 1), Ok(Submitted::Waiting(_))), "the family reply is another one");
}

#[test]
fn t41_the_bound_in_bytes_takes_one_larger_record_when_nobody_waits() {
    let options = SocketOptions { waiting_bytes_max: 1_000, ..hwms(100, 0) };
    let mut rig = Rig::dealer(options);
    let peer = rig.join("A", ROUTER);
    rig.flow(peer, Flow::Paused, 1);
    let large = Rig::waiting(rig.send(Target::Any, 10_000));
    assert!(matches!(rig.send(Target::Any, 0), Err(Refused::Failed(_))));
    assert!(rig.cancel(large));
    for _ in 0..10 {
        Rig::waiting(rig.send(Target::Any, 36));
    }
    assert!(matches!(rig.send(Target::Any, 0), Err(Refused::Failed(_))));
    assert_eq!(rig.socket.snapshot().waiting_send_bytes, 1_000);
}

#[test]
fn t43_every_contender_ends_an_operation_once() {
    // Room, deadline, cancel, lost target, close, in all orders.
    let mut orders: Vec<Vec<usize>> = vec![vec![]];
    for _ in 0..5 {
        orders = orders
            .into_iter()
            .flat_map(|order| {
                let rest: Vec<usize> = (0..5).filter(|who| !order.contains(who)).collect();
                rest.into_iter().map(move |who| {
                    let mut longer = order.clone();
                    longer.push(who);
                    longer
                })
            })
            .collect();
    }
    for order in orders {
        let (mut rig, peer) = full();
        let waits = Rig::waiting(rig.send(Target::Any, 36));
        let mut ends = 0;
        for who in &order {
            match who {
                0 => rig.transmitted(peer, 44),
                1 => rig.run_to(1_000),
                2 => ends += usize::from(rig.cancel(waits)),
                3 => rig.lose(peer),
                _ => rig.socket.close(Some(Duration::ZERO), rig.now),
            }
            rig.check();
            ends += rig.results().len();
            assert_eq!(ends, 1, "{order:?} after {who}");
            let status = rig.socket.snapshot();
            assert_eq!((status.waiting_sends, status.waiting_send_bytes), (0, 0));
        }
        assert_eq!(rig.socket.table_size(), 0);
    }
}

#[test]
fn t76_what_not_submitted_means() {
    let (mut rig, peer) = full();
    let by_deadline = rig.request_for(Target::Any, 36, Some(millis(1))).expect("waits");
    let by_loss = rig.request(Target::Any, 36).expect("waits");
    rig.run_to(1);
    rig.transmitted(peer, 44);
    assert_eq!(rig.results(), [(by_deadline, "DeadlineExceeded NotSubmitted".into())]);
    assert_eq!(rig.write(peer).len(), 1, "only the second one went");
    rig.lose(peer);
    assert_eq!(rig.results(), [(by_loss, "Unavailable Unknown".into())]);
}

#[test]
fn t47_the_prefix_that_fits_is_accepted_and_the_rest_ends_at_the_deadline() {
    let mut rig = Rig::dealer(hwms(65_536, 65_536));
    let peer = rig.join("A", ROUTER);
    let mut admitted = 0;
    for number in 0..4_000 {
        let result = rig.socket.send(Target::Any, &mut (&[number as u8; 1_024] as &[u8]), None, || ms(0));
        admitted += usize::from(result == Ok(Submitted::Admitted));
    }
    assert_eq!(admitted, 60);
    rig.run_to(1_000);
    let ends = rig.results();
    assert_eq!(ends.len(), 3_940);
    assert!(ends.iter().all(|(_, end)| end == "DeadlineExceeded NotSubmitted"));
    let frames = rig.write_all(peer);
    assert_eq!(frames.len(), 60);
    assert!(frames.iter().zip(0..).all(|(frame, number)| frame.body[0] == number));
}

#[test]
fn o21_a_small_record_does_not_pass_a_large_one() {
    let (mut rig, peer) = full();
    Rig::waiting(rig.send_tag(Target::Any, 1, 5_000));
    Rig::waiting(rig.send_tag(Target::Any, 2, 0));
    assert_eq!(rig.socket.try_send(Target::Any, &mut (&[] as &[u8])), Err(Refused::Full));
    rig.transmitted(peer, 44);
    assert_eq!(rig.results().len(), 1);
    let sizes: Vec<_> = rig.write_all(peer).iter().map(|frame| frame.body.len()).collect();
    assert_eq!(sizes, [5_000, 0]);
}

#[test]
fn o43_a_result_keeps_its_place_until_it_was_collected() {
    let (mut rig, peer) = full();
    let first = Rig::waiting(rig.send(Target::Any, 36));
    rig.transmitted(peer, 44);
    let second = Rig::waiting(rig.send(Target::Any, 36));
    assert_ne!(first.slot, second.slot);
    rig.results();
    let third = Rig::waiting(rig.send(Target::Any, 36));
    assert_eq!((third.slot, third.serial == first.serial), (first.slot, false));
    rig.socket.collected(first);
    assert!(rig.cancel(third), "a late `collected` of an older one does nothing");
}

#[test]
fn o33_what_ends_while_a_send_looks_at_the_clock_makes_room_for_it() {
    let mut rig = Rig::dealer(hwms(100, 0));
    rig.join("A", ROUTER);
    let reservation = rig.socket.reserve(Target::Any, 36, None, || ms(0)).expect("legal");
    assert!(reservation.is_granted);
    rig.at(1_000);
    let waits = Rig::waiting(rig.send(Target::Any, 36));
    assert_eq!(rig.results(), [(waits, "sent".into())], "the reservation was over");

    let mut rig = Rig::dealer(hwms(100, 0));
    rig.join("D", DEALER);
    let request = rig.request_for(Target::Any, 1, Some(millis(5))).expect("waits for a ROUTER");
    rig.at(5);
    let waits = Rig::waiting(rig.send(Target::Any, 1));
    assert_eq!(
        rig.results(),
        [(request, "DeadlineExceeded NotSubmitted".into()), (waits, "sent".into())],
        "the head of the line was over"
    );
}
