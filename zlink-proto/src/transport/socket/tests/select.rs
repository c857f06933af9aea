//! Selection and targets (spec 3 §9 and §10).

use super::rig::*;
use crate::error::{ErrorKind, Submission};
use crate::transport::{Refused, SocketOptions, Submitted, Target};
use crate::wire::Flow;
use alloc::string::String;

fn failure(result: Result<Submitted, Refused>) -> (ErrorKind, Submission) {
    match result {
        Err(Refused::Failed(failure)) => (failure.kind, failure.submission),
        other => panic!("fails, but {other:?}"),
    }
}

/// Names of the peers that got the next records.
fn winners(rig: &mut Rig, peers: &[(Peer, &'static str)], count: usize) -> String {
    let mut names = String::new();
    for _ in 0..count {
        assert_eq!(rig.send(Target::Any, 0), Ok(Submitted::Admitted));
        for (peer, name) in peers {
            if !rig.write(*peer).is_empty() {
                names.push_str(name);
            }
        }
    }
    names
}

#[test]
fn n61_weights_of_the_peers_decide() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let (a, b) = (rig.join("A", ROUTER), rig.join("B", ROUTER));
    rig.news(b.number, crate::transport::exchange::News::Weight(300));
    assert_eq!(winners(&mut rig, &[(a, "A"), (b, "B")], 8), "BABBBABB");
}

#[test]
fn t93_a_paused_candidate_is_left_out_and_keeps_its_accumulator() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let (a, b) = (rig.join("A", ROUTER), rig.join("B", ROUTER));
    rig.news(b.number, crate::transport::exchange::News::Weight(300));
    let peers = [(a, "A"), (b, "B")];
    assert_eq!(winners(&mut rig, &peers, 1), "B");
    rig.flow(b, Flow::Paused, 1);
    assert_eq!(winners(&mut rig, &peers, 2), "AA");
    rig.flow(b, Flow::Running, 2);
    assert_eq!(winners(&mut rig, &peers, 1), "A", "tie 200:200");
}

#[test]
fn n61_a_full_peer_is_not_selected_and_not_counted_as_blocked() {
    let mut rig = Rig::dealer(hwms(200, 0));
    let (a, b) = (rig.join("A", ROUTER), rig.join("B", ROUTER));
    for _ in 0..4 {
        assert_eq!(rig.send(Target::Any, 36), Ok(Submitted::Admitted));
    }
    assert_eq!((rig.used(a).0, rig.used(b).0), (200, 200));
    rig.write(b);
    for _ in 0..2 {
        assert_eq!(rig.send(Target::Any, 36), Ok(Submitted::Admitted));
    }
    assert_eq!(rig.used(b).0, 200);
    assert_eq!(rig.socket.snapshot().statistics.blocked, 0);
}

#[test]
fn n62_nobody_is_open_fixes_the_operation_for_good() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    rig.flow(a, Flow::Paused, 1);
    let waits = Rig::waiting(rig.send(Target::Any, 1));
    // T50: a better candidate, a weight change: still the same target.
    let b = rig.join("B", ROUTER);
    rig.news(a.number, crate::transport::exchange::News::Weight(0));
    assert_eq!(rig.results(), []);
    assert_eq!(rig.send(Target::Any, 2), Ok(Submitted::Admitted), "the newcomer is open");
    assert_eq!(rig.write(b).len(), 1);
    rig.flow(a, Flow::Running, 2);
    assert_eq!(rig.results(), [(waits, "sent".into())]);
    assert_eq!(rig.write(a).len(), 1);
}

#[test]
fn t50_the_fixed_target_is_lost_and_the_next_call_picks_anew() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    rig.flow(a, Flow::Paused, 1);
    let waits = Rig::waiting(rig.send(Target::Any, 1));
    let b = rig.join("B", ROUTER);
    rig.lose(a);
    assert_eq!(rig.results(), [(waits, "Unavailable NotSubmitted".into())]);
    assert_eq!(rig.write(b).len(), 0);
    assert_eq!(rig.send(Target::Any, 1), Ok(Submitted::Admitted));
}

#[test]
fn n62_without_a_peer_the_operation_waits_and_selects_when_one_appears() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let first = Rig::waiting(rig.send_tag(Target::Any, 1, 1));
    let second = Rig::waiting(rig.send_tag(Target::Any, 2, 1));
    let a = rig.join("A", ROUTER);
    assert_eq!(rig.results(), [(first, "sent".into()), (second, "sent".into())]);
    let bodies: alloc::vec::Vec<_> = rig.write(a).into_iter().map(|frame| frame.body[0]).collect();
    assert_eq!(bodies, [1, 2]);
}

#[test]
fn n49_weight_zero_leaves_the_operation_unfixed() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let a = rig.join("A", ROUTER);
    rig.news(a.number, crate::transport::exchange::News::Weight(0));
    let waits = Rig::waiting(rig.send(Target::Any, 1));
    rig.news(a.number, crate::transport::exchange::News::Weight(1));
    assert_eq!(rig.results(), [(waits, "sent".into())]);
}

#[test]
fn n65_a_request_waits_for_a_router_and_those_behind_it_wait_too() {
    let mut rig = Rig::dealer(SocketOptions::default());
    let d = rig.join("D", DEALER);
    let request = rig.request(Target::Any, 1).expect("waits");
    let send = Rig::waiting(rig.send(Target::Any, 1));
    assert_eq!(rig.write(d).len(), 0, "the line is first in, first out");
    rig.run_to(1_000);
    assert_eq!(rig.results(), [(send, "DeadlineExceeded NotSubmitted".into())]);
    rig.run_to(5_000);
    assert_eq!(rig.results(), [(request, "DeadlineExceeded NotSubmitted".into())]);
    assert_eq!(rig.send(Target::Any, 1), Ok(Submitted::Admitted));
}

/// T120, the part of the transport: a service socket limits the wait for a candidate.
#[test]
fn t120_a_service_socket_waits_five_seconds_for_a_candidate() {
    let options = SocketOptions {
        service_selection: true,
        send_timeout: millis(5_000),
        request_timeout: millis(30_000),
        ..SocketOptions::default()
    };
    let mut rig = Rig::dealer(options);
    let a = rig.join("A", ROUTER);
    let now = rig.now;
    let mut one: &[u8] = &[1];
    let short = rig.socket.send(Target::Any, &mut one, Some(millis(1_000)), || now);
    let short = Rig::waiting(short);
    let tie = Rig::waiting(rig.send(Target::Any, 1));
    let request = rig.request(Target::Any, 1).expect("waits");
    rig.run_to(4_999);
    assert_eq!(rig.results(), [(short, "DeadlineExceeded NotSubmitted".into())]);
    rig.run_to(5_000);
    assert_eq!(
        rig.results(),
        [(tie, "DeadlineExceeded NotSubmitted".into()), (request, "NotFound NotSubmitted".into())]
    );
    let waits = rig.request(Target::Any, 1).expect("waits");
    rig.socket.set_candidate(a.set, 100);
    assert_eq!(rig.write(a).len(), 1, "fixed and sent");
    rig.run_to(34_999);
    assert_eq!(rig.results(), [], "from now on its own deadline counts");
    rig.run_to(35_000);
    assert_eq!(rig.results(), [(waits, "DeadlineExceeded Unknown".into())]);
}

#[test]
fn s53_a_service_socket_selects_among_its_candidates_only() {
    let options = SocketOptions { service_selection: true, ..SocketOptions::default() };
    let mut rig = Rig::dealer(options);
    let (a, b) = (rig.join("A", ROUTER), rig.join("B", ROUTER));
    rig.socket.set_candidate(a.set, 100);
    rig.socket.set_candidate(b.set, 300);
    assert_eq!(winners(&mut rig, &[(a, "A"), (b, "B")], 8), "BABBBABB");
    rig.socket.set_candidate(b.set, 0);
    assert_eq!(winners(&mut rig, &[(a, "A"), (b, "B")], 3), "AAA");
    assert_eq!(rig.send(Target::Set(b.set), 1), Ok(Submitted::Admitted), "named: no selection");
}

#[test]
fn n68_targets_of_a_router() {
    let mut rig = Rig::router(hwms(200, 0));
    let nobody = id("nobody");
    assert_eq!(failure(rig.send(Target::Named(&nobody), 1)), (ErrorKind::NotFound, Submission::NotSubmitted));
    let a = rig.join("A", DEALER);
    let name = id("A");
    assert_eq!(rig.request(Target::Named(&name), 1).map_err(|f| f.kind), Err(ErrorKind::InvalidOperation));
    assert_eq!(failure(rig.send(Target::Any, 1)).0, ErrorKind::InvalidOperation);
    while rig.send(Target::Named(&name), 36) == Ok(Submitted::Admitted) {}
    assert_eq!(rig.socket.try_send(Target::Named(&name), &mut (&[0u8; 36] as &[u8])), Err(Refused::Full));
    rig.lose(a);
    assert_eq!(rig.results().len(), 1);
    assert_eq!(failure(rig.send(Target::Named(&name), 1)).0, ErrorKind::NotFound, "N-69");
}

#[test]
fn n68_an_endpoint_that_reconnects_is_waited_for() {
    let mut rig = Rig::router(SocketOptions::default());
    rig.socket.connect("tcp://host:1", rig.now).expect("legal");
    let a = rig.connect_to("A", DEALER);
    let name = id("A");
    rig.lose(a);
    let try_it = rig.socket.try_send(Target::Named(&name), &mut (&[0u8; 1] as &[u8]));
    assert!(matches!(try_it, Err(Refused::Failed(failure)) if failure.kind == ErrorKind::Unavailable));
    let waits = Rig::waiting(rig.send(Target::Named(&name), 1));
    rig.run_to(500);
    let a = rig.connect_to("A", DEALER);
    assert_eq!(rig.results(), [(waits, "sent".into())]);
    assert_eq!(rig.write(a).len(), 1);
    rig.lose(a);
    let send = Rig::waiting(rig.send(Target::Named(&name), 1));
    rig.run_to(1_500);
    assert_eq!(rig.results(), [(send, "DeadlineExceeded NotSubmitted".into())]);
    let send = Rig::waiting(rig.send(Target::Named(&name), 1));
    let endpoint = rig.socket.peer(a.set).and_then(|info| info.endpoint).expect("ours");
    rig.socket.disconnect(endpoint, rig.now).expect("known");
    assert_eq!(rig.results(), [(send, "Unavailable NotSubmitted".into())]);
    assert_eq!(failure(rig.send(Target::Named(&name), 1)).0, ErrorKind::NotFound);
}

#[test]
fn n71_a_local_name_replaces_the_peers_id() {
    let mut rig = Rig::router(SocketOptions::default());
    rig.socket.connect_as("tcp://host:1", Some(id("local")), rig.now).expect("legal");
    let local = id("local");
    let waits = Rig::waiting(rig.send(Target::Named(&local), 1));
    let peer = rig.connect_to("A", DEALER);
    assert_eq!(rig.results(), [(waits, "sent".into())]);
    assert_eq!(rig.socket.peer_named(&local), Some(peer.set));
    assert_eq!(rig.socket.peer_named(&id("A")), None);
}

#[test]
fn n31_a_dealer_without_a_name_gets_a_local_one() {
    let mut rig = Rig::router(SocketOptions::default());
    let (a, b) = (rig.join("", DEALER), rig.join("", DEALER));
    let names: alloc::vec::Vec<_> =
        [a, b].iter().map(|peer| rig.socket.peer(peer.set).expect("there").routing_id).collect();
    assert_ne!(names[0], names[1]);
    assert!(names.iter().all(|name| name.as_bytes().len() == 5 && name.as_bytes()[0] == 0));
    assert_eq!(rig.send(Target::Named(&names[1]), 1), Ok(Submitted::Admitted));
    assert_eq!(rig.write(b).len(), 1);
}

#[test]
fn n70_probe_is_the_first_record_of_each_new_set() {
    let mut rig = Rig::dealer(SocketOptions { probe: true, ..SocketOptions::default() });
    let waits = Rig::waiting(rig.send(Target::Any, 3));
    let a = rig.join("A", ROUTER);
    let sizes: alloc::vec::Vec<_> = rig.write(a).iter().map(|frame| frame.body.len()).collect();
    assert_eq!(sizes, [0, 3]);
    assert_eq!(rig.results(), [(waits, "sent".into())]);
}

#[test]
fn n61_a_refused_call_changes_no_accumulator() {
    let mut rig = Rig::dealer(SocketOptions { waiters_max: 1, ..hwms(100, 0) });
    let (a, b) = (rig.join("A", ROUTER), rig.join("B", ROUTER));
    for _ in 0..2 {
        assert_eq!(rig.send(Target::Any, 36), Ok(Submitted::Admitted));
    }
    let before: alloc::vec::Vec<_> = rig.socket.selector.accumulators().collect();
    let mut record: &[u8] = &[0; 36];
    assert_eq!(rig.socket.try_send(Target::Any, &mut record), Err(Refused::Full));
    assert_eq!(before, rig.socket.selector.accumulators().collect::<alloc::vec::Vec<_>>());
    Rig::waiting(rig.send(Target::Any, 36));
    let before: alloc::vec::Vec<_> = rig.socket.selector.accumulators().collect();
    assert_eq!(failure(rig.send(Target::Any, 36)).0, ErrorKind::DeadlineExceeded);
    assert_eq!(before, rig.socket.selector.accumulators().collect::<alloc::vec::Vec<_>>());
    let _ = (a, b);
}
