//! Flow state, weight, probe and ack slots (spec 3 §6 and §7, S-40 to S-44).

use super::rig::*;
use crate::transport::exchange::News;
use crate::transport::{Slot, SocketOptions, SocketOutput, Submitted, Target};
use crate::wire::{Flow, FlowState};
use alloc::vec;
use alloc::vec::Vec;

/// The flow states among what was written.
fn states(frames: &[Frame]) -> Vec<(u8, u64)> {
    let flows = frames.iter().filter(|frame| frame.is_control() && frame.body.len() == 19);
    flows.map(|frame| (frame.body[10], u64::from_be_bytes(frame.body[11..].try_into().unwrap()))).collect()
}

#[test]
fn t36_remote_paused_and_a_full_queue_are_independent() {
    let mut rig = Rig::dealer(hwms(1_000, 0));
    let a = rig.join("A", ROUTER);
    for _ in 0..10 {
        assert_eq!(rig.send(Target::Any, 36), Ok(Submitted::Admitted));
    }
    rig.flow(a, Flow::Paused, 1);
    let waits = Rig::waiting(rig.send(Target::Any, 36));
    rig.take_batch(a);
    rig.flow(a, Flow::Running, 2);
    assert_eq!(rig.results(), [], "RUNNING first: the queue is full");
    rig.transmitted(a, 44 * 5);
    assert_eq!(rig.results(), [(waits, "sent".into())]);

    for _ in 0..4 {
        assert_eq!(rig.send(Target::Any, 36), Ok(Submitted::Admitted));
    }
    rig.flow(a, Flow::Paused, 3);
    let waits = Rig::waiting(rig.send(Target::Any, 36));
    assert_eq!(rig.write_all(a).len(), 5, "what was admitted before is transmitted");
    rig.transmitted(a, 44 * 5);
    assert_eq!((rig.used(a).0, rig.results().len()), (0, 0), "the level first: still PAUSED");
    rig.flow(a, Flow::Running, 4);
    assert_eq!(rig.results(), [(waits, "sent".into())]);
}

#[test]
fn b24_a_record_that_another_blocker_stops_is_no_attempt() {
    let mut rig = Rig::dealer(hwms(100, 0));
    let a = rig.join("A", ROUTER);
    rig.flow(a, Flow::Paused, 1);
    Rig::waiting(rig.send(Target::Any, 36));
    Rig::waiting(rig.send(Target::Any, 36));
    assert_eq!(rig.socket.snapshot().statistics.attempts, 0);
    assert!(!rig.socket.peer(a.set).expect("there").send.is_full);
    rig.flow(a, Flow::Running, 2);
    assert_eq!(rig.results().len(), 1);
    let status = rig.socket.snapshot().statistics;
    assert_eq!(
        (status.attempts, status.blocked),
        (1, 0),
        "the second one waits behind a full queue, untested"
    );
}

#[test]
fn n45_a_stale_epoch_is_counted_and_changes_nothing() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    rig.flow(a, Flow::Paused, 5);
    rig.flow(a, Flow::Running, 5);
    rig.flow(a, Flow::Running, 4);
    assert!(rig.socket.peer(a.set).expect("there").blockers.remote_paused);
    let counts = rig.socket.flow_counts();
    assert_eq!((counts.stale, counts.pauses, counts.resumes, counts.paused_peers), (2, 1, 0, 1));
    rig.flow(a, Flow::Paused, 6);
    assert_eq!(rig.socket.flow_counts().pauses, 1, "the same state is no transition");
}

#[test]
fn n47_a_set_that_ends_paused_is_no_resume() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    rig.at(1_000);
    rig.flow(a, Flow::Paused, 1);
    rig.at(1_700);
    rig.lose(a);
    let counts = rig.socket.flow_counts();
    assert_eq!((counts.paused_peers, counts.resumes, counts.last_pause_nanos), (0, 0, 700_000_000));
}

#[test]
fn n42_a_new_set_is_told_the_state_if_there_ever_was_a_pause() {
    let mut rig = Rig::router(SocketOptions::default());
    let a = rig.join("A", DEALER);
    assert_eq!(rig.write(a), []);
    rig.socket.set_flow(Flow::Paused, 1, rig.now);
    let b = rig.join("B", DEALER);
    assert_eq!(states(&rig.write(b)), [(1, 1)]);
    rig.socket.set_flow(Flow::Running, 2, rig.now);
    assert_eq!(states(&rig.write(b)), [(0, 2)]);
    assert_eq!(rig.write(a), [], "it was never told PAUSED");
    let c = rig.join("C", DEALER);
    assert_eq!(states(&rig.write(c)), [(0, 1)], "the current state, whatever it is");
}

#[test]
fn n40_an_older_serial_and_the_same_state_do_nothing() {
    let mut rig = Rig::router(SocketOptions::default());
    let a = rig.join("A", DEALER);
    rig.arrive(a, vec![data(1)]);
    rig.socket.set_flow(Flow::Paused, 5, rig.now);
    rig.socket.set_flow(Flow::Running, 4, rig.now);
    rig.socket.set_flow(Flow::Paused, 6, rig.now);
    assert_eq!(states(&rig.write(a)), [(1, 1)]);
    assert_eq!(rig.write(a), []);
}

#[test]
fn t128_a_reverted_state_is_not_written() {
    let mut rig = Rig::router(SocketOptions::default());
    let a = rig.join("A", DEALER);
    rig.arrive(a, vec![data(1)]);
    rig.socket.set_flow(Flow::Paused, 1, rig.now);
    rig.socket.set_flow(Flow::Running, 2, rig.now);
    assert_eq!(rig.write(a), []);
    assert_eq!(rig.socket.counts().flow_frames_written, 0);
}

#[test]
fn t128_a_pause_costs_as_many_frames_as_there_are_active_peers() {
    let mut rig = Rig::router(SocketOptions::default());
    let mut peers = Vec::new();
    for number in 0..10_000 {
        // Without the checks of the rig, which look at every peer.
        let connection = rig.socket.accept(rig.listener, rig.now).expect("accepted");
        let hello = crate::wire::Hello { socket_type: DEALER, routing_id: id(&alloc::format!("{number}")) };
        rig.socket.handle_news(connection, News::Hello(hello), rig.now);
        rig.socket.handle_news(connection, News::ReadyTransmitted, rig.now);
        let ready = crate::wire::Ready { max_message_bytes: 0, lanes: Some((1, 0)) };
        rig.socket.handle_news(connection, News::Ready(ready), rig.now);
        while rig.socket.poll_order(connection).is_some() {}
        peers.push(connection);
    }
    while rig.socket.poll_wake().is_some() {}
    for peer in &peers {
        while rig.socket.poll_order(*peer).is_some() {}
    }
    let deliver = |rig: &mut Rig, range: core::ops::Range<usize>| {
        for peer in &peers[range] {
            rig.socket.deliver(*peer, &mut vec![data(1)], 0, None, true, rig.now);
        }
    };
    let woken = |rig: &mut Rig| {
        let mut count = 0;
        while let Some(number) = rig.socket.poll_wake() {
            while rig.socket.poll_order(number).is_some() {}
            rig.socket.take_batch(number, usize::MAX, &mut crate::wire::Outbox::default());
            count += 1;
        }
        count
    };
    deliver(&mut rig, 0..10);
    rig.socket.set_flow(Flow::Paused, 1, rig.now);
    assert_eq!(woken(&mut rig), 10);
    assert_eq!(rig.socket.counts().flow_frames_written, 10);
    deliver(&mut rig, 5..20);
    assert_eq!(woken(&mut rig), 10, "the others are told with their next record");
    assert_eq!(rig.socket.counts().flow_frames_written, 20);
    rig.socket.set_flow(Flow::Running, 2, rig.now);
    assert_eq!(woken(&mut rig), 20, "RUNNING goes to those that were told PAUSED");
    rig.check();
}

#[test]
fn n41_probes_and_acks_are_no_deliveries() {
    let mut rig = Rig::router(SocketOptions { service_selection: true, ..SocketOptions::default() });
    let a = rig.join("A", DEALER);
    rig.arrive(a, vec![data(1), data(1)]);
    rig.take(a.set, 2);
    rig.socket.discount(a.set, 2);
    rig.socket.set_flow(Flow::Paused, 1, rig.now);
    assert_eq!(rig.write(a), []);
}

#[test]
fn w39_weight_is_told_when_it_is_not_100_and_on_changes() {
    let mut rig = Rig::dealer(SocketOptions { weight: 7, ..SocketOptions::default() });
    let a = rig.join("A", ROUTER);
    let frames = rig.write(a);
    assert_eq!(frames[0].body, b"WEIGHT\x00\x00\x00\x07");
    rig.socket.set_weight(7).expect("legal");
    assert_eq!(rig.write(a), []);
    rig.socket.set_weight(8).expect("legal");
    rig.socket.set_weight(9).expect("legal");
    assert_eq!(rig.write(a).len(), 1);
    assert!(rig.socket.set_weight(10_001).is_err());
}

#[test]
fn w44_slots_are_written_in_the_order_of_their_last_overwrite() {
    let mut rig = Rig::router(SocketOptions::default());
    let a = rig.join("A", DEALER);
    rig.arrive(a, vec![data(1)]);
    rig.socket.set_flow(Flow::Paused, 1, rig.now);
    rig.socket.set_weight(50).expect("legal");
    rig.write(a);
    rig.socket.set_flow(Flow::Running, 2, rig.now);
    rig.socket.set_weight(70).expect("legal");
    rig.socket.set_flow(Flow::Paused, 3, rig.now);
    rig.socket.set_flow(Flow::Running, 4, rig.now);
    let name = id("A");
    assert_eq!(rig.send(Target::Named(&name), 1), Ok(Submitted::Admitted));
    let lengths: Vec<_> = rig.write(a).iter().map(|frame| frame.body.len()).collect();
    assert_eq!(lengths, [10, 19, 1], "WEIGHT 70, RUNNING, then the record");
}

#[test]
fn s31_hello_passes_the_pause() {
    let mut rig = Rig::dealer(SocketOptions { service_selection: true, ..SocketOptions::default() });
    let a = rig.join("A", ROUTER);
    rig.flow(a, Flow::Paused, 1);
    rig.request(Target::Admission(a.set), 10).expect("goes");
    assert_eq!(rig.write(a).len(), 1);
    Rig::waiting(rig.send(Target::Set(a.set), 1));
    assert_eq!(rig.write(a).len(), 0);
}

#[test]
fn n46_replies_pass_the_pause_by_option_and_overtake_only_what_waits() {
    let options = SocketOptions { replies_pass_pause: true, ..hwms(1_000, 0) };
    let mut rig = Rig::router(options);
    let a = rig.join("A", DEALER);
    let name = id("A");
    rig.arrive(a, vec![request(1, 1), request(2, 1)]);
    let tokens: Vec<_> = rig.take(a.set, 2).0.into_iter().filter_map(|one| one.token).collect();
    let mut tokens = tokens.into_iter();
    assert_eq!(rig.send_tag(Target::Named(&name), 1, 836), Ok(Submitted::Admitted));
    rig.flow(a, Flow::Paused, 1);
    Rig::waiting(rig.send_tag(Target::Named(&name), 2, 36));
    let reply = rig.reply(tokens.next().expect("two"), 10).expect("waits behind data");
    let crate::transport::Submitted::Waiting(reply) = reply else { panic!("a line is there") };
    assert_eq!(rig.results(), [(reply, "sent".into())], "it needs byte room only");
    let reply = rig.reply(tokens.next().expect("two"), 100).expect("waits for room");
    assert!(matches!(reply, crate::transport::Submitted::Waiting(_)));
    let kinds: Vec<_> = rig.write_all(a).iter().map(|frame| frame.kind).collect();
    assert_eq!(kinds, [0, 2, 2], "the data that waits stays behind");
    rig.flow(a, Flow::Running, 2);
    assert_eq!(rig.write_all(a).len(), 1);
}

#[test]
fn n46_replies_wait_like_data_without_the_option() {
    let mut rig = Rig::router(SocketOptions::default());
    let a = rig.join("A", DEALER);
    rig.arrive(a, vec![request(1, 1)]);
    let token = rig.take(a.set, 1).0.pop().and_then(|one| one.token).expect("a request");
    rig.flow(a, Flow::Paused, 1);
    assert!(matches!(rig.reply(token, 1), Ok(Submitted::Waiting(_))));
    rig.flow(a, Flow::Running, 2);
    assert_eq!(rig.write(a).len(), 1);
}

#[test]
fn s44_an_ack_goes_behind_what_waited_and_only_the_latest_counts() {
    let mut rig = Rig::router(hwms(200, 0));
    let a = rig.join("A", DEALER);
    let name = id("A");
    for tag in [1, 2] {
        assert_eq!(rig.send_tag(Target::Named(&name), tag, 36), Ok(Submitted::Admitted));
    }
    Rig::waiting(rig.send_tag(Target::Named(&name), 3, 36));
    rig.socket.fill_slot(a.set, Slot::Ack, &mut (&[101u8] as &[u8])).expect("ready");
    Rig::waiting(rig.send_tag(Target::Named(&name), 4, 36));
    rig.socket.fill_slot(a.set, Slot::Ack, &mut (&[102u8] as &[u8])).expect("ready");
    Rig::waiting(rig.send_tag(Target::Named(&name), 5, 36));
    let order: Vec<_> = rig.write_all(a).iter().map(|frame| frame.body[0]).collect();
    assert_eq!(order, [1, 2, 3, 4, 102, 5]);
}

#[test]
fn s43_a_slot_waits_for_running() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    rig.flow(a, Flow::Paused, 1);
    rig.socket.fill_slot(a.set, Slot::Probe, &mut (&[9u8] as &[u8])).expect("ready");
    assert_eq!(rig.write(a).len(), 0);
    rig.flow(a, Flow::Running, 2);
    assert_eq!(rig.write(a).len(), 1);
}

#[test]
fn s40_liveness_asks_for_probes_and_ends_a_silent_peer() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    rig.outputs();
    rig.socket.start_liveness(a.set, rig.now);
    rig.run_to(4_999);
    assert_eq!(rig.outputs(), []);
    rig.run_to(5_000);
    assert_eq!(rig.outputs(), [SocketOutput::ProbeDue(a.set)]);
    let probe = rig.socket.probe_id(a.set).expect("outstanding");
    assert!(rig.socket.acked(a.set, probe).is_some());
    assert!(rig.socket.acked(a.set, probe).is_none());
    rig.run_to(15_000);
    let outputs = rig.outputs();
    assert!(outputs.contains(&SocketOutput::PeerLost { set: a.set }), "{outputs:?}");
    assert_eq!(rig.socket.poll_wake(), Some(a.number));
}

#[test]
fn t37_a_pause_moves_neither_readiness_nor_liveness() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    rig.socket.start_liveness(a.set, rig.now);
    rig.news(a.number, News::Flow(FlowState { state: Flow::Paused, epoch: 1 }));
    let before = rig.socket.peer(a.set).expect("there");
    rig.run_to(60_000);
    let after = rig.socket.peer(a.set).expect("still there");
    assert!(after.is_ready);
    assert_eq!((before.send.applied, before.receive.applied), (after.send.applied, after.receive.applied));
    rig.news(a.number, News::Flow(FlowState { state: Flow::Running, epoch: 2 }));
    rig.run_to(80_000);
    assert!(rig.socket.peer(a.set).is_none_or(|info| info.is_ended), "then silence counts again");
}

#[test]
fn s43_unread_records_and_our_own_pause_stop_the_clock() {
    let mut rig = Rig::router(SocketOptions::default());
    let (a, b) = (rig.join("A", DEALER), rig.join("B", DEALER));
    rig.socket.start_liveness(a.set, rig.now);
    rig.socket.start_liveness(b.set, rig.now);
    rig.arrive(a, vec![data(1)]);
    rig.run_to(60_000);
    assert!(rig.socket.peer(a.set).is_some_and(|info| info.is_ready), "its record is unread");
    assert!(!rig.socket.peer(b.set).is_some_and(|info| info.is_ready));
    rig.take(a.set, 1);
    rig.socket.set_flow(Flow::Paused, 1, rig.now);
    rig.run_to(120_000);
    assert!(rig.socket.peer(a.set).is_some_and(|info| info.is_ready), "we said PAUSED");
}
