//! Admission, hysteresis, oversize, changed limits (spec 2).

use super::rig::*;
use crate::transport::{Refused, Submitted, Target};
use alloc::vec;
use alloc::vec::Vec;

#[test]
fn t109_equal_records_until_refusal() {
    for (payload, count, used) in [(0, 31, 1_984), (36, 20, 2_000), (100, 12, 1_968), (5_000, 1, 5_064)] {
        let mut rig = Rig::dealer(hwms(2_000, 0));
        let peer = rig.join("A", ROUTER);
        let mut admitted = 0;
        while rig.send(Target::Any, payload) == Ok(Submitted::Admitted) {
            admitted += 1;
        }
        assert_eq!((admitted, rig.used(peer).0), (count, used), "{payload}");
    }
}

/// The table of spec 2 §4.
#[test]
fn t109_hysteresis_step_by_step() {
    let mut rig = Rig::dealer(hwms(1_000, 0));
    let peer = rig.join("A", ROUTER);
    let charge = |charge: usize| charge - 64;
    assert_eq!(rig.send(Target::Any, charge(400)), Ok(Submitted::Admitted));
    assert_eq!(rig.send(Target::Any, charge(600)), Ok(Submitted::Admitted));
    assert_eq!(rig.used(peer).0, 1_000);
    let x = Rig::waiting(rig.send(Target::Any, charge(64)));
    assert_eq!(rig.take_batch(peer).len(), 2);
    rig.transmitted(peer, 400 - 64 + 8);
    assert_eq!(rig.used(peer).0, 600);
    assert_eq!(rig.results(), []);
    rig.transmitted(peer, 600 - 64 + 8);
    assert_eq!(rig.results(), [(x, "sent".into())]);
    assert_eq!(rig.used(peer).0, 64);
    let y = Rig::waiting(rig.send(Target::Any, charge(5_000)));
    let z = Rig::waiting(rig.send(Target::Any, charge(64)));
    rig.write(peer);
    assert_eq!(rig.results(), [(y, "sent".into())]);
    assert_eq!(rig.used(peer).0, 5_000);
    rig.write(peer);
    assert_eq!(rig.results(), [(z, "sent".into())]);
}

#[test]
fn b15_a_charge_ends_with_the_last_byte_of_its_record() {
    let mut rig = Rig::dealer(hwms(0, 0));
    let peer = rig.join("A", ROUTER);
    for _ in 0..3 {
        let _ = rig.send(Target::Any, 100).expect("admitted");
    }
    rig.take_batch(peer);
    for (bytes, used) in [(107, 492), (1, 328), (215, 164), (1, 0)] {
        rig.transmitted(peer, bytes);
        assert_eq!(rig.used(peer).0, used);
    }
}

#[test]
fn b15_control_frames_between_records_do_not_move_charges() {
    let mut rig = Rig::dealer(hwms(0, 0));
    let peer = rig.join("A", ROUTER);
    let _ = rig.send(Target::Any, 100).expect("admitted");
    rig.take_batch(peer);
    rig.socket.set_weight(50).expect("legal");
    let _ = rig.send(Target::Any, 100).expect("admitted");
    let frames = rig.take_batch(peer);
    assert!(frames[0].is_control() && !frames[1].is_control());
    let control = wire_len(&frames[0]);
    rig.transmitted(peer, 108 + control);
    assert_eq!(rig.used(peer).0, 164);
    rig.transmitted(peer, 107);
    assert_eq!(rig.used(peer).0, 164);
    rig.transmitted(peer, 1);
    assert_eq!(rig.used(peer).0, 0);
}

/// Spec 2 §5: R = 8,192 and records of 1,088; the sending side in both orders of submission and transmission.
#[test]
fn t109_accepted_records_against_a_receiver_that_takes_nothing() {
    let mut receiver = Rig::router(hwms(0, 8_192));
    let peer = receiver.join("A", DEALER);
    let left = receiver.arrive(peer, (0..20).map(|_| data(1_024)).collect());
    assert_eq!((left.len(), receiver.used(peer).1), (13, 7_616));

    // The receiver reads 7; one submitted when the one before was transmitted: 7 more in the send queue.
    let mut sender = Rig::dealer(hwms(8_192, 0));
    let peer = sender.join("R", ROUTER);
    for _ in 0..7 {
        assert_eq!(sender.send(Target::Any, 1_024), Ok(Submitted::Admitted));
        sender.write(peer);
    }
    let admitted = (0..20).filter(|_| sender.send(Target::Any, 1_024) == Ok(Submitted::Admitted)).count();
    assert_eq!(admitted, 7);

    // All submitted first.
    let mut sender = Rig::dealer(hwms(8_192, 0));
    let peer = sender.join("R", ROUTER);
    let mut accepted = (0..20).filter(|_| sender.send(Target::Any, 1_024) == Ok(Submitted::Admitted)).count();
    sender.take_batch(peer);
    for _ in 0..4 {
        sender.transmitted(peer, 1_032);
    }
    accepted += sender.results().len();
    assert_eq!((accepted, sender.used(peer).0), (11, 7_616));
    sender.take_batch(peer);
    for _ in 0..3 {
        sender.transmitted(peer, 1_032);
    }
    assert_eq!((sender.results().len(), sender.used(peer).0), (0, 4_352));
}

#[test]
fn b11_the_receive_queue_reads_on_at_the_low_mark() {
    let mut rig = Rig::router(hwms(0, 1_000));
    let peer = rig.join("A", DEALER);
    let left = rig.arrive(peer, (0..20).map(|_| data(36)).collect());
    assert_eq!((left.len(), rig.used(peer).1), (10, 1_000));
    rig.exchange_woken();
    rig.take(peer.set, 4);
    assert_eq!(rig.socket.poll_wake(), None, "600 is above the low mark");
    rig.take(peer.set, 1);
    assert_eq!(rig.socket.poll_wake(), Some(peer.number));
    let left = rig.arrive(peer, left);
    assert_eq!((left.len(), rig.used(peer).1), (5, 1_000));
}

#[test]
fn b12_a_large_refused_part_is_tried_at_each_decrease() {
    let mut rig = Rig::router(hwms(0, 1_000));
    let peer = rig.join("A", DEALER);
    let mut records: Vec<_> = (0..3).map(|_| data(36)).collect();
    records.push(data(786));
    let left = rig.arrive(peer, records);
    assert_eq!((left.len(), rig.used(peer).1), (1, 300), "850 does not fit beside 300");
    rig.exchange_woken();
    rig.take(peer.set, 1);
    assert_eq!(rig.socket.poll_wake(), None);
    rig.take(peer.set, 1);
    assert_eq!(rig.socket.poll_wake(), Some(peer.number), "100 + 850 fits");
    assert_eq!(rig.arrive(peer, left).len(), 0);
}

#[test]
fn b05_an_oversize_record_enters_the_empty_receive_queue_only() {
    let mut rig = Rig::router(hwms(0, 1_000));
    let peer = rig.join("A", DEALER);
    let left = rig.arrive(peer, vec![data(5_000), data(0)]);
    assert_eq!((left.len(), rig.used(peer).1), (1, 5_064));
    let info = rig.socket.peer(peer.set).expect("there");
    assert_eq!(
        (info.receive.statistics.oversize_count, info.receive.statistics.largest_oversize),
        (1, 5_064)
    );
    rig.take(peer.set, 1);
    assert_eq!(rig.arrive(peer, left).len(), 0);
    assert_eq!(rig.used(peer).1, 64);
}

#[test]
fn b48_blocked_ratio_counts_first_tests_only() {
    let mut rig = Rig::dealer(hwms(600, 0));
    let peer = rig.join("A", ROUTER);
    for _ in 0..10 {
        let _ = rig.send(Target::Any, 36);
    }
    let status = rig.socket.snapshot();
    assert_eq!(
        (status.statistics.attempts, status.statistics.blocked),
        (7, 1),
        "three joined the line untested"
    );
    rig.write_all(peer);
    let status = rig.socket.snapshot();
    assert_eq!((status.statistics.attempts, status.statistics.blocked), (10, 1));
    assert_eq!(status.blocked_ratio_ppm, 100_000);
    rig.socket.reset_statistics();
    assert_eq!(rig.socket.snapshot().blocked_ratio_ppm, 0);
}

#[test]
fn t107_send_hwm_zero_is_unlimited_and_lifts_nothing_else() {
    let mut rig = Rig::dealer(hwms(0, 1_000));
    let peer = rig.join_max("A", ROUTER, 1_000);
    for _ in 0..10_000 {
        assert_eq!(rig.send(Target::Any, 1_000), Ok(Submitted::Admitted));
    }
    assert_eq!(rig.used(peer).0, 10_640_000);
    assert!(matches!(rig.send(Target::Any, 1_001), Err(Refused::Failed(_))), "the peer's maximum stays");
    assert_eq!(
        rig.arrive(peer, (0..11).map(|_| data(36)).collect()).len(),
        1,
        "the other direction has its own"
    );
}

#[test]
fn b32_an_unset_hwm_is_the_default() {
    let mut rig = Rig::dealer(crate::transport::SocketOptions::default());
    let peer = rig.join("A", ROUTER);
    let info = rig.socket.peer(peer.set).expect("there");
    assert_eq!((info.send.applied, info.receive.applied), (4_096_000, 4_096_000));
}

#[test]
fn t116_message_limits_of_both_sides() {
    let options = crate::transport::SocketOptions { max_message_size: 2_000, ..hwms(0, 0) };
    let mut rig = Rig::dealer(options);
    let peer = rig.join_max("A", ROUTER, 1_000);
    assert_eq!(rig.send(Target::Any, 1_000), Ok(Submitted::Admitted));
    for target in [Target::Any, Target::Set(peer.set)] {
        let Err(Refused::Failed(failure)) = rig.send(target, 1_001) else { panic!("too large") };
        assert_eq!(failure.kind, crate::error::ErrorKind::InvalidOperation);
    }
    rig.socket.set_message_limit(peer.set, 500);
    assert_eq!(rig.socket.message_limit(peer.set), Some(500));
    assert!(rig.send(Target::Any, 501).is_err());
    assert_eq!(rig.write_all(peer).len(), 1);
    let mut parts: Vec<bytes::Bytes> = vec![bytes::Bytes::from_static(&[0; 300]); 2];
    assert!(rig.socket.try_send(Target::Any, &mut parts).is_err(), "the sum counts");
}

#[test]
fn t104_a_full_peer_blocks_no_other_peer() {
    let mut rig = Rig::router(hwms(1_000, 1_000));
    let (a, b) = (rig.join("A", DEALER), rig.join("B", DEALER));
    let (name_a, name_b) = (id("A"), id("B"));
    while rig.send(Target::Named(&name_a), 36) == Ok(Submitted::Admitted) {}
    assert_eq!(rig.send(Target::Named(&name_b), 36), Ok(Submitted::Admitted));
    assert_eq!((rig.used(a).0, rig.used(b).0), (1_000, 100));
    assert_eq!(rig.arrive(a, (0..20).map(|_| data(36)).collect()).len(), 10);
    assert_eq!(rig.arrive(b, (0..5).map(|_| data(36)).collect()).len(), 0);
    let info = rig.socket.peer(a.set).expect("there");
    assert!(info.blockers.bytes && info.waiting == 1 && info.waiting_bytes == 100);
    let info = rig.socket.peer(b.set).expect("there");
    assert!(!info.blockers.bytes && info.waiting == 0);
    let order: Vec<_> = rig.receive(4).iter().map(|one| one.set).collect();
    assert_eq!(order, [a.set, b.set, a.set, b.set], "one per peer in turn");
}

/// Spec 2 §6.
#[test]
fn t109_a_lowered_limit_waits_for_the_queue_to_shrink() {
    let mut rig = Rig::dealer(hwms(1_048_576, 0));
    let peer = rig.join("A", ROUTER);
    for charge in [835_000, 65_000 - 536, 536] {
        assert_eq!(rig.send(Target::Any, charge - 64), Ok(Submitted::Admitted));
    }
    rig.socket.set_send_hwm(Some(65_536)).expect("legal");
    rig.check();
    let queue = rig.socket.peer(peer.set).expect("there").send;
    assert_eq!(
        (queue.planned, queue.applied, queue.used, queue.is_deferred),
        (65_536, 1_048_576, 900_000, true)
    );
    rig.at(5);
    let first = Rig::waiting(rig.send(Target::Any, 536 - 64));
    let second = Rig::waiting(rig.send(Target::Any, 0));
    assert_eq!(rig.socket.peer(peer.set).and_then(|info| info.waiting_since), Some(ms(5)));
    rig.take_batch(peer);
    rig.transmitted(peer, 835_000 - 64 + 8);
    assert_eq!(rig.results(), [(first, "sent".into())], "at 65,000 a record of 536 enters");
    let queue = rig.socket.peer(peer.set).expect("there").send;
    assert_eq!((queue.applied, queue.used, queue.is_deferred, queue.is_full), (65_536, 65_536, false, true));
    rig.transmitted(peer, 65_000 - 536 - 64 + 8);
    assert_eq!(rig.results(), [(second, "sent".into())]);
}

#[test]
fn b20_a_raised_limit_lets_the_line_go_at_once() {
    for (limit, sent) in [(Some(2_000), 1), (Some(0), 3), (Some(1_500), 0)] {
        let mut rig = Rig::dealer(hwms(1_000, 0));
        rig.join("A", ROUTER);
        assert_eq!(rig.send(Target::Any, 736), Ok(Submitted::Admitted));
        for _ in 0..3 {
            Rig::waiting(rig.send(Target::Any, 836));
        }
        rig.socket.set_send_hwm(limit).expect("legal");
        // 800 ≤ 1,000, the new low mark; above 750.
        assert_eq!(rig.results().len(), sent, "{limit:?}");
    }
}

#[test]
fn b22_a_further_change_replaces_a_deferred_one() {
    let mut rig = Rig::dealer(hwms(1_000, 0));
    let peer = rig.join("A", ROUTER);
    assert_eq!(rig.send(Target::Any, 536), Ok(Submitted::Admitted));
    rig.socket.set_send_hwm(Some(100)).expect("legal");
    let waits = Rig::waiting(rig.send(Target::Any, 36));
    rig.socket.set_send_hwm(Some(900)).expect("legal");
    assert_eq!(rig.results(), [(waits, "sent".into())]);
    let queue = rig.socket.peer(peer.set).expect("there").send;
    assert_eq!((queue.planned, queue.applied, queue.is_deferred), (900, 900, false));
    assert!(rig.socket.set_send_hwm(Some(1 << 63)).is_err());
    let newer = rig.join("B", ROUTER);
    assert_eq!(rig.socket.peer(newer.set).expect("there").send.applied, 900, "the value then valid");
}

#[test]
fn b20_the_receive_limit_changes_too() {
    let mut rig = Rig::router(hwms(0, 200));
    let peer = rig.join("A", DEALER);
    let left = rig.arrive(peer, (0..6).map(|_| data(36)).collect());
    assert_eq!(left.len(), 4);
    rig.exchange_woken();
    rig.socket.set_receive_hwm(Some(400)).expect("legal");
    assert_eq!(rig.socket.poll_wake(), Some(peer.number));
    assert_eq!(rig.socket.poll_order(peer.number), None);
    let left = rig.arrive(peer, left);
    assert_eq!((left.len(), rig.used(peer).1), (2, 400));
    rig.exchange_woken();
    rig.socket.set_receive_hwm(Some(100)).expect("legal");
    rig.take(peer.set, 2);
    assert_eq!(rig.socket.poll_wake(), None, "deferred");
    rig.take(peer.set, 1);
    assert_eq!(rig.arrive(peer, left).len(), 2, "100 of 100");
    rig.take(peer.set, 1);
    assert_eq!(rig.used(peer).1, 0);
    assert_eq!(rig.socket.poll_wake(), Some(peer.number));
}

#[test]
fn o10_timeouts_change_within_their_range() {
    let mut rig = Rig::dealer(hwms(0, 0));
    assert!(rig.socket.set_send_timeout(core::time::Duration::ZERO).is_err());
    rig.socket.set_send_timeout(core::time::Duration::from_nanos(1)).expect("rounded up");
    let waits = Rig::waiting(rig.send(Target::Any, 1));
    rig.run_to(1);
    assert_eq!(rig.results(), [(waits, "DeadlineExceeded NotSubmitted".into())]);
}
