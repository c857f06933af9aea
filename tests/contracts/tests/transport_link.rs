//! Two sockets, everything between them: handshake, order, bytes, replies, loss, close. Virtual time, pipes in memory.

use std::time::Duration;
use zlink_proto::id::RoutingId;
use zlink_proto::transport::{
    DuplicatePolicy, EndReason, Outcome, Received, SocketOptions, SocketOutput, Submitted, Target,
};
use zlink_proto::wire::{Flow, Record, SocketType};
use zlink_testkit::pair::{Net, NodeId};

const DEALER: SocketType = SocketType::Dealer;
const ROUTER: SocketType = SocketType::Router;

fn hwms(send: u64, receive: u64) -> SocketOptions {
    SocketOptions { send_hwm: Some(send), receive_hwm: Some(receive), ..SocketOptions::default() }
}

fn named(name: &'static str) -> SocketOptions {
    SocketOptions { routing_id: RoutingId::new(name.as_bytes()).ok(), ..SocketOptions::default() }
}

fn pair() -> (Net, NodeId, NodeId) {
    Net::dealer_router(SocketOptions::default(), SocketOptions::default())
}

fn body(record: &Record) -> Vec<u8> {
    record.part(0).expect("a part").to_vec()
}

fn number(received: &Received) -> u32 {
    let part = received.record.part(0).expect("a part");
    u32::from_be_bytes(part[..4].try_into().expect("a number"))
}

/// A record of `size` bytes that begins with its number.
fn numbered(number: u32, size: usize) -> Vec<u8> {
    let mut body = number.to_be_bytes().to_vec();
    body.resize(size.max(4), 0xa5);
    body
}

fn request(net: &mut Net, node: NodeId, size: usize, timeout: u64) {
    let now = net.now;
    let timeout = Some(Duration::from_millis(timeout));
    let body = vec![7u8; size];
    net.socket(node).request(Target::Any, &mut body.as_slice(), timeout, now).expect("accepted");
}

/// Answers every request among what the ROUTER received.
fn answer(net: &mut Net, router: NodeId, received: Vec<Received>, body: &[u8]) {
    let now = net.now;
    for token in received.into_iter().filter_map(|one| one.token) {
        let _ = net.socket(router).reply(token, &mut { body }, || now).expect("the requester is there");
    }
    net.run();
}

#[test]
fn n13_both_sides_become_ready_once() {
    let (net, dealer, router) = pair();
    for node in [dealer, router] {
        let ready =
            net.nodes[node].outputs.iter().filter(|out| matches!(out, SocketOutput::PeerReady { .. }));
        assert_eq!(ready.count(), 1);
        assert_eq!(net.ready_sets(node).len(), 1);
    }
    assert_eq!(net.next_timeout(), None, "an idle pair has no timer");
}

#[test]
fn w45_records_arrive_whole_in_order_and_as_they_were() {
    let (mut net, dealer, router) = pair();
    let mut sent = Vec::new();
    for size in [0usize, 1, 63, 64, 8_192, 8_193, 65_535, 65_536, 200_000, 1_000_000] {
        let body: Vec<u8> = (0..size).map(|place| (place * 31 + size) as u8).collect();
        net.post(dealer, &body);
        sent.push(body);
    }
    net.run();
    let received: Vec<_> = net.receive(router, 100).iter().map(|one| body(&one.record)).collect();
    assert_eq!(received, sent);
}

#[test]
fn n67_a_received_record_names_its_sender() {
    let mut net = Net::new();
    let router = net.node(ROUTER, named("R"));
    let dealer = net.node(DEALER, named("D"));
    net.listen(router, "tcp://router:1");
    net.connect(dealer, "tcp://router:1");
    net.post(dealer, b"hi");
    net.run();
    let received = net.receive(router, 1).pop().expect("one");
    assert_eq!(received.from.as_bytes(), b"D");
    let now = net.now;
    let answer = net.socket(router).send(Target::Named(&received.from), &mut (b"yo" as &[u8]), None, || now);
    assert_eq!(answer, Ok(Submitted::Admitted));
    net.run();
    let received = net.receive(dealer, 1).pop().expect("one");
    assert_eq!((received.from.as_bytes(), body(&received.record)), (b"R" as &[u8], b"yo".to_vec()));
}

#[test]
fn n52_request_and_reply() {
    let (mut net, dealer, router) = pair();
    request(&mut net, dealer, 10, 1_000);
    net.run();
    let received = net.receive(router, 9);
    assert!(received[0].token.is_some());
    answer(&mut net, router, received, b"pong");
    assert_eq!(net.results(dealer), ["reply 4"]);
    assert_eq!(net.next_timeout(), None);
    let status = net.socket(dealer).snapshot();
    assert_eq!((status.completion_slots, status.pending_requests, status.accounted), (0, 0, 0));
}

/// Spec 2 §5 and T47: nothing of what was accepted is lost, nothing else arrives.
#[test]
fn t47_exactly_the_accepted_records_arrive_in_order() {
    let (mut net, dealer, router) = Net::dealer_router(hwms(65_536, 65_536), hwms(65_536, 65_536));
    net.pipe_bytes = 4_096;
    let mut accepted = Vec::new();
    let mut waiting = Vec::new();
    for index in 0..4_000 {
        match net.send(dealer, &numbered(index, 1_024)) {
            Submitted::Admitted => accepted.push(index),
            Submitted::Waiting(operation) => waiting.push((operation, index)),
        }
        if index % 10 == 0 {
            net.run();
        }
    }
    net.run_to(1_000);
    for settled in net.settled(dealer) {
        if matches!(settled.outcome, Outcome::Sent) {
            let found = waiting.iter().find(|(operation, _)| *operation == settled.operation).expect("known");
            accepted.push(found.1);
        }
    }
    let bound = (2 * 65_536 + 4_096 + 65_536) / 1_032;
    assert!(accepted.len() >= 2 * 60 - 30 && accepted.len() <= bound, "{}", accepted.len());
    let mut received = Vec::new();
    loop {
        let batch: Vec<_> = net.receive(router, 7).iter().map(number).collect();
        if batch.is_empty() {
            break;
        }
        received.extend(batch);
        net.run();
    }
    assert_eq!(received, accepted);
}

#[test]
fn t109_no_place_but_the_counted_ones_holds_records() {
    // S = R = 8,192, reads of one frame, a pipe of one frame: the numbers of spec 2 §5 plus what the pipe holds.
    let (mut net, dealer, router) = Net::dealer_router(hwms(8_192, 8_192), hwms(8_192, 8_192));
    net.pipe_bytes = 1_032;
    net.read_bytes = 1_032;
    let mut accepted = 0;
    for index in 0..100 {
        let now = net.now;
        let body = numbered(index, 1_024);
        accepted += u32::from(net.socket(dealer).try_send(Target::Any, &mut body.as_slice()).is_ok());
        let _ = now;
        net.run();
    }
    let sender = net.socket(dealer).snapshot();
    let receiver = net.socket(router).snapshot();
    assert_eq!(receiver.accounted, 7 * 1_088);
    assert!(sender.accounted <= 8_192);
    assert!(accepted <= 7 + 7 + 1 + 1, "queues, pipe, undecoded rest: {accepted}");
}

#[test]
fn n46_a_paused_dealer_stops_replies_until_it_runs_again() {
    let (mut net, dealer, router) = pair();
    request(&mut net, dealer, 1, 2_000);
    net.run();
    let received = net.receive(router, 9);
    // The ROUTER delivered nothing so far: PAUSED is held back from it, it learns it with its next record.
    let set = net.ready_sets(router)[0];
    let now = net.now;
    let _ = net.socket(router).send(Target::Set(set), &mut (b"x" as &[u8]), None, || now).expect("goes");
    net.run();
    net.socket(dealer).set_flow(Flow::Paused, 1, now);
    net.run();
    answer(&mut net, router, received, b"late");
    net.run_to(999);
    assert_eq!(net.results(dealer), Vec::<String>::new());
    net.run_to(1_000);
    assert_eq!(net.results(router), ["DeadlineExceeded NotSubmitted"], "the reply's own deadline");
    let now = net.now;
    net.socket(dealer).set_flow(Flow::Running, 2, now);
    net.run();
    assert_eq!(net.receive(dealer, 9).len(), 1);
    assert_eq!(net.results(dealer), ["DeadlineExceeded Unknown"], "error reply 110");
}

#[test]
fn t49_unread_data_ahead_of_the_reply_ends_the_request_once() {
    let (mut net, dealer, router) = pair();
    request(&mut net, dealer, 1, 2_000);
    net.run();
    let received = net.receive(router, 9);
    let set = net.ready_sets(router)[0];
    let now = net.now;
    let data = vec![0u8; 1 << 20];
    let _ = net.socket(router).send(Target::Set(set), &mut data.as_slice(), None, || now).expect("goes");
    answer(&mut net, router, received, b"reply");
    net.run_to(2_000);
    assert_eq!(net.results(dealer), ["DeadlineExceeded Unknown"]);
    assert_eq!(net.receive(dealer, 9).len(), 1);
    net.run();
    assert_eq!(net.results(dealer), Vec::<String>::new());
    assert_eq!(net.socket(dealer).counts().late_replies, 1);
}

#[test]
fn t104_a_peer_that_never_reads_blocks_nobody_else() {
    let mut net = Net::new();
    let router = net.node(ROUTER, hwms(65_536, 65_536));
    net.listen(router, "tcp://router:1");
    let a = net.node(DEALER, named("A"));
    let b = net.node(DEALER, named("B"));
    net.connect(a, "tcp://router:1");
    net.connect(b, "tcp://router:1");
    net.nodes[a].is_deaf = true;
    let names = [RoutingId::new(&b"A"[..]).expect("short"), RoutingId::new(&b"B"[..]).expect("short")];
    let mut refused = [0, 0];
    for index in 0..1_000 {
        for (name, refused) in names.iter().zip(&mut refused) {
            let body = numbered(index, 1_024);
            *refused +=
                u32::from(net.socket(router).try_send(Target::Named(name), &mut body.as_slice()).is_err());
        }
        net.run();
        net.receive(b, 10);
        net.run();
    }
    assert!(refused[0] > 800, "{refused:?}");
    assert_eq!(refused[1], 0);
    // The other direction: A floods and nobody takes; B goes on.
    net.nodes[a].is_deaf = false;
    for index in 0..200 {
        let body = numbered(index, 1_024);
        let _ = net.socket(a).try_send(Target::Any, &mut body.as_slice());
        net.run();
    }
    net.post(b, b"through");
    net.run();
    let peers = net.socket(router).snapshot().peers;
    let of = |name: &RoutingId| peers.iter().find(|peer| peer.routing_id == *name).expect("there").receive;
    assert!(of(&names[0]).used <= 65_536 && of(&names[0]).is_full);
    assert_eq!(of(&names[1]).used, 64 + 7);
}

#[test]
fn t110_a_cut_loses_what_was_accepted_tells_it_and_sends_nothing_again() {
    let (mut net, dealer, router) = pair();
    let events = net.socket(dealer).add_event_reader();
    for index in 0..100 {
        net.post(dealer, &numbered(index, 10));
    }
    request(&mut net, dealer, 1, 60_000);
    net.cut();
    assert_eq!(net.results(dealer), ["Unavailable Unknown"]);
    let lost =
        std::iter::from_fn(|| net.socket(dealer).poll_event(events)).find_map(|event| match event.kind {
            zlink_proto::transport::EventKind::PeerLost { unsent_records, .. } => Some(unsent_records),
            _ => None,
        });
    assert_eq!(lost, Some(101));
    net.run_to(5_000);
    assert_eq!(net.ready_sets(dealer).len(), 1, "it came back");
    assert_eq!(net.receive(router, 9).len(), 0);
    net.post(dealer, b"new");
    net.run();
    assert_eq!(net.receive(router, 9).len(), 1);
}

#[test]
fn n24_what_was_received_before_a_cut_is_delivered_before_the_newer_sets_records() {
    let mut net = Net::new();
    let router = net.node(ROUTER, SocketOptions::default());
    let dealer = net.node(DEALER, named("D"));
    net.listen(router, "tcp://router:1");
    net.connect(dealer, "tcp://router:1");
    for index in 0..5 {
        net.post(dealer, &numbered(index, 4));
    }
    net.run();
    net.cut();
    net.run_to(5_000);
    for index in 5..8 {
        net.post(dealer, &numbered(index, 4));
    }
    net.run();
    let received: Vec<_> = net.receive(router, 100).iter().map(number).collect();
    assert_eq!(received, (0..8).collect::<Vec<_>>());
}

#[test]
fn t88_close_delivers_everything_to_a_healthy_peer() {
    let (mut net, dealer, router) = Net::dealer_router(hwms(0, 0), hwms(0, 8_192));
    net.pipe_bytes = 1_000;
    for index in 0..1_000 {
        net.post(dealer, &numbered(index, 64));
    }
    let now = net.now;
    net.socket(dealer).close(Some(Duration::from_secs(30)), now);
    let mut received = Vec::new();
    for _ in 0..1_000 {
        net.run();
        received.extend(net.receive(router, 10).iter().map(number));
    }
    assert_eq!(received, (0..1_000).collect::<Vec<_>>());
    net.run();
    assert_eq!(net.nodes[dealer].outputs.last(), Some(&SocketOutput::Closed));
    assert_eq!(net.now, now, "nothing waited for a timer");
    assert_eq!(net.link_count(), 0);
}

#[test]
fn n88_a_peer_that_reads_nothing_ends_the_linger_by_time() {
    let (mut net, dealer, router) = Net::dealer_router(hwms(0, 0), hwms(0, 0));
    net.nodes[router].is_deaf = true;
    for index in 0..1_000 {
        net.post(dealer, &numbered(index, 1_016));
    }
    net.run();
    let now = net.now;
    net.socket(dealer).close(Some(Duration::from_secs(3)), now);
    net.run_to(2_999);
    assert_ne!(net.nodes[dealer].outputs.last(), Some(&SocketOutput::Closed));
    net.run_to(3_000);
    assert_eq!(net.nodes[dealer].outputs.last(), Some(&SocketOutput::Closed));
    let unsent = net.socket(dealer).close_report().unsent_records;
    assert_eq!(unsent, 1_000 - 65_536 / 1_024, "all but what the pipe took whole");
}

#[test]
fn n25a_a_finished_set_delivers_its_last_record() {
    let (mut net, dealer, router) = pair();
    let set = net.ready_sets(router)[0];
    let now = net.now;
    let last: &[u8] = b"session closing";
    let reason = EndReason::Service("closing");
    net.socket(router).finish_set_with(set, &mut { last }, reason, Duration::from_secs(1), now);
    net.run();
    assert_eq!(body(&net.receive(dealer, 1)[0].record), last);
    let lost = net.nodes[dealer].outputs.iter().any(|out| matches!(out, SocketOutput::PeerLost { .. }));
    assert!(lost, "and then the end, without a timer");
    assert_eq!(net.now, now);
}

#[test]
fn n27_two_sockets_that_connect_to_each_other_keep_one_set() {
    for (first, second) in [("a", "b"), ("b", "a")] {
        let mut net = Net::new();
        let one = net.node(DEALER, named(first));
        let two = net.node(DEALER, named(second));
        net.listen(one, "tcp://one:1");
        net.listen(two, "tcp://two:1");
        let now = net.now;
        net.socket(one).connect("tcp://two:1", now).expect("legal");
        net.socket(two).connect("tcp://one:1", now).expect("legal");
        net.run_to(60_000);
        assert_eq!((net.ready_sets(one).len(), net.ready_sets(two).len()), (1, 1));
        assert_eq!(net.link_count(), 1, "the other connector rests");
        net.post(one, b"x");
        net.post(two, b"y");
        net.run();
        assert_eq!((net.receive(one, 9).len(), net.receive(two, 9).len()), (1, 1));
        net.cut();
        net.run_to(120_000);
        assert_eq!((net.ready_sets(one).len(), net.ready_sets(two).len()), (1, 1), "it comes back");
    }
}

#[test]
fn n26_reject_and_handover_between_real_sockets() {
    for (policy, winner) in [(DuplicatePolicy::Reject, 0), (DuplicatePolicy::Handover, 1)] {
        let mut net = Net::new();
        let router = net.node(ROUTER, SocketOptions { duplicate_policy: policy, ..SocketOptions::default() });
        net.listen(router, "tcp://router:1");
        let dealers = [net.node(DEALER, named("D")), net.node(DEALER, named("D"))];
        net.connect(dealers[0], "tcp://router:1");
        let now = net.now;
        net.socket(dealers[1]).connect("tcp://router:1", now).expect("legal");
        net.run();
        assert_eq!(net.ready_sets(router).len(), 1);
        assert_eq!(net.ready_sets(dealers[winner]).len(), 1, "{policy:?}");
        assert_eq!(net.ready_sets(dealers[1 - winner]).len(), 0, "{policy:?}");
    }
}

#[test]
fn s42_two_live_sockets_that_probe_each_other_stay_and_a_hung_one_is_found() {
    let (mut net, dealer, router) = pair();
    let (set, other) = (net.ready_sets(dealer)[0], net.ready_sets(router)[0]);
    let now = net.now;
    net.socket(dealer).start_liveness(set, now);
    net.socket(router).start_liveness(other, now);
    for second in 1..=60 {
        net.run_to(second * 1_000);
        for node in [dealer, router] {
            let due = net.nodes[node].outputs.iter().filter_map(|out| match out {
                SocketOutput::ProbeDue(set) => Some(*set),
                _ => None,
            });
            let due: Vec<_> = due.collect();
            net.nodes[node].outputs.clear();
            for set in due {
                let probe: &[u8] = b"probe";
                net.socket(node)
                    .fill_slot(set, zlink_proto::transport::Slot::Probe, &mut { probe })
                    .expect("ready");
            }
            net.run();
            net.receive(dealer, 9);
            net.receive(router, 9);
        }
    }
    assert_eq!((net.ready_sets(dealer).len(), net.ready_sets(router).len()), (1, 1));
    net.nodes[router].is_frozen = true;
    net.run_to(70_000);
    assert_eq!(net.ready_sets(dealer).len(), 1);
    net.run_to(75_000);
    assert_eq!(net.ready_sets(dealer).len(), 0);
}

#[test]
fn n10_router_and_router_refuse_each_other_cleanly() {
    let mut net = Net::new();
    let (one, two) = (net.node(ROUTER, named("1")), net.node(ROUTER, named("2")));
    net.listen(one, "tcp://one:1");
    let now = net.now;
    net.socket(two).connect("tcp://one:1", now).expect("legal");
    net.run();
    assert_eq!((net.ready_sets(one).len(), net.ready_sets(two).len(), net.link_count()), (0, 0, 0));
}

#[test]
fn w12_a_record_above_the_receivers_maximum_is_refused_by_the_sender() {
    let small = SocketOptions { max_message_size: 1_000, ..SocketOptions::default() };
    let (mut net, dealer, router) = Net::dealer_router(SocketOptions::default(), small);
    net.post(dealer, &[0; 1_000]);
    assert!(net.socket(dealer).try_send(Target::Any, &mut (&[0u8; 1_001] as &[u8])).is_err());
    net.run();
    assert_eq!(net.receive(router, 9).len(), 1);
}

#[test]
fn b08_a_record_larger_than_the_receive_hwm_arrives_part_by_part() {
    let (mut net, dealer, router) = Net::dealer_router(SocketOptions::default(), hwms(0, 2_000));
    net.pipe_bytes = 700;
    for round in 0..3u8 {
        let mut parts: Vec<bytes::Bytes> = (0..10).map(|_| bytes::Bytes::from(vec![round; 900])).collect();
        let now = net.now;
        let sent = net.socket(dealer).send(Target::Any, &mut parts, None, || now);
        assert_eq!(sent, Ok(Submitted::Admitted));
    }
    net.run();
    let mut rounds = Vec::new();
    for _ in 0..10 {
        for one in net.receive(router, 1) {
            assert_eq!((one.record.part_count(), one.record.payload_len()), (10, 9_000));
            rounds.push(body(&one.record)[0]);
        }
        net.run();
    }
    assert_eq!(rounds, [0, 1, 2]);
}

#[test]
fn t121_ten_thousand_one_ways_under_load_are_all_handled_before_the_end() {
    let (mut net, dealer, router) = Net::dealer_router(hwms(0, 0), hwms(0, 16_384));
    net.pipe_bytes = 8_192;
    net.is_checked = false;
    for index in 0..10_000 {
        net.post(dealer, &numbered(index, 64));
    }
    // The server reads on until its peer has finished.
    let now = net.now;
    net.socket(dealer).close(None, now);
    let mut received = Vec::new();
    while received.len() < 10_000 {
        net.run();
        let batch = net.receive(router, 64);
        assert!(!batch.is_empty(), "stalled at {}", received.len());
        received.extend(batch.iter().map(number));
    }
    assert_eq!(received, (0..10_000).collect::<Vec<_>>());
}
