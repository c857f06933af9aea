//! Permits from the record to the handler's first instruction, seen from both ends of a connection.

use std::time::Duration;
use zlink_proto::host::HostOptions;
use zlink_proto::message::Body;
use zlink_proto::node::{Observed, Started};
use zlink_proto::time::Timestamp;
use zlink_proto::transport::{SocketOptions, Submitted};
use zlink_proto::wire::Flow;
use zlink_proto::wire::service::{Command, FaultClass, encode_liveness};
use zlink_testkit::nodes::{HostId, Pair, World, client_config, jobs, named, prefix, server_config};
use zlink_testkit::pair::Net;

const ENVELOPE: &[u8] = b"\x01\0\0\0\x1c\x04Ping\x10application/json\0\0\0\x02{}";

fn in_use(world: &mut World, host: HostId) -> (u32, u32) {
    let jobs = world.status(host).job_queue;
    (jobs.reserved, jobs.queued)
}

/// A handler that runs, so that whatever comes next for this owner waits with its permit.
fn occupied(world: &mut World, pair: Pair) -> Started {
    world.post(pair.client_host, pair.client, b"first");
    world.must_start(pair.server_host)
}

#[test]
fn t08_a_permit_is_in_use_until_the_first_instruction_of_the_handler() {
    let (mut world, pair) = World::pair(4);
    let running = occupied(&mut world, pair);
    assert_eq!(in_use(&mut world, pair.server_host), (0, 0), "the running handler holds none");
    world.post(pair.client_host, pair.client, b"second");
    assert_eq!(in_use(&mut world, pair.server_host), (0, 1), "queued while another turn has the gate");
    let second = world.end(pair.server_host, running).expect("the second job");
    assert_eq!(in_use(&mut world, pair.server_host), (0, 0));
    assert!(world.end(pair.server_host, second).is_none());
}

#[test]
fn t09_what_has_no_permit_stays_in_the_receive_queue_of_the_transport() {
    let (mut world, pair) = World::pair(2);
    let running = occupied(&mut world, pair);
    for _ in 0..5 {
        let sent = world.node(pair.client_host).send(pair.client, &prefix(), Body::Borrowed(b"x"), None);
        assert_eq!(sent, Ok(Submitted::Admitted), "sent before the server could say PAUSED");
    }
    world.run();
    let waiting = |world: &mut World| {
        let status = world.socket_status(pair.server_host, pair.server);
        status.peers.iter().map(|peer| peer.receive.records).sum::<u64>()
    };
    assert_eq!(in_use(&mut world, pair.server_host), (0, 2));
    let paused = world.socket_status(pair.client_host, pair.client).flow.paused_peers;
    assert_eq!(paused, 1, "a host without permits says so");
    let left = waiting(&mut world);
    assert_eq!(left, 3, "received 2 of 5");
    let next = world.end(pair.server_host, running);
    assert!(next.is_some());
    assert_eq!(waiting(&mut world), left - 1, "one handler started: exactly one more was received");
}

#[test]
fn t18_control_and_malformed_records_take_and_return_the_only_permit() {
    let (mut world, pair) = World::pair(1);
    let running = occupied(&mut world, pair);
    world.end(pair.server_host, running);
    world.node(pair.client_host).with_socket(pair.client, |socket, now| {
        let set = socket.snapshot().peers[0].set;
        let probe = encode_liveness(Command::LivenessProbe, 9);
        socket.send(zlink_proto::transport::Target::Set(set), &mut probe.as_slice(), None, || now)
    });
    world.send_parts(pair.client_host, pair.client, &[b"\x5a\x4d\x01\x12\0\x06orders\0", ENVELOPE]);
    world.post(pair.client_host, pair.client, b"data");
    assert_eq!(world.hosts[pair.server_host].observed.len(), 1, "the malformed one was seen");
    assert_eq!(in_use(&mut world, pair.server_host), (0, 1), "the data has the permit now");
    assert_eq!(world.run_jobs(pair.server_host), ["data"]);
    assert_eq!(in_use(&mut world, pair.server_host), (0, 0));
    assert_eq!(world.peers(pair.client_host, pair.client), 1, "nothing of this closed the connection");
}

/// A host with M = 1 that serves one channel and is the client of another host's: its own client side shares the permits.
fn both_roles() -> (World, HostId, HostId, [zlink_proto::host::SocketKey; 3]) {
    let mut world = World::new();
    let (middle, back) = (world.host(jobs(1)), world.host(HostOptions::default()));
    let front = world.host(HostOptions::default());
    let back_server = world.server(back, server_config("tcp://back:1"), named("back"));
    let client = world.client(middle, &["tcp://back:1"], named("middle-client"));
    world.server(middle, server_config("tcp://middle:1"), named("middle"));
    let front_client = world.client(front, &["tcp://middle:1"], named("front"));
    (world, middle, back, [client, back_server, front_client])
}

#[test]
fn t19_a_reply_at_the_head_needs_no_permit_and_passes_no_earlier_record() {
    let (mut world, middle, back, [client, back_server, front_client]) = both_roles();
    let front = 2;
    let request = world.request(middle, client, b"ask", 30);
    world.post(front, front_client, b"a");
    let running = world.must_start(middle);
    world.post(front, front_client, b"b");
    assert_eq!(in_use(&mut world, middle), (0, 1), "M = 1 in use");
    world.run_jobs(back);
    assert_eq!(world.result(middle, request).as_deref(), Some("ask"), "alone at the head: no permit needed");

    let request = world.request(middle, client, b"again", 30);
    let job = world.must_start(back);
    world.node(back).host().set_weight(back_server, 50).expect("a legal weight");
    world.node(back).with_socket(back_server, |_, _| ());
    world.answer(back, job, b"late");
    assert_eq!(world.result(middle, request), None, "an update stands before the reply and has no permit");
    let next = world.end(middle, running).expect("b");
    world.run();
    assert_eq!(world.result(middle, request).as_deref(), Some("late"));
    world.end(middle, next);
}

#[test]
fn t20_records_of_every_kind_wait_for_the_permit_and_come_in_order() {
    let (mut world, pair) = World::pair(1);
    let running = occupied(&mut world, pair);
    let set = world.socket_status(pair.client_host, pair.client).peers[0].set;
    world.post(pair.client_host, pair.client, b"holds the permit");
    assert_eq!(in_use(&mut world, pair.server_host), (0, 1));
    // Written before the client heard PAUSED, as a peer with a full pipe would.
    let records: [&[u8]; 2] = [&encode_liveness(Command::LivenessProbe, 5), b"\x5a\x4d\x01\x0c\0"];
    for record in records {
        world.node(pair.client_host).with_socket(pair.client, |socket, now| {
            let target = zlink_proto::transport::Target::Admission(set);
            socket.send(target, &mut { record }, None, || now).expect("accepted")
        });
    }
    world.run_for(Duration::from_secs(60));
    assert!(world.hosts[pair.server_host].observed.is_empty(), "nothing was received");
    assert_eq!(world.peers(pair.client_host, pair.client), 1, "and nothing was closed");
    let next = world.end(pair.server_host, running).expect("the one that holds the permit");
    let observed = &world.hosts[pair.server_host].observed;
    let fault = match observed.as_slice() {
        [Observed::ProtocolError { fault: Some(fault) }] => fault,
        other => panic!("{other:?}"),
    };
    assert_eq!(fault.class, FaultClass::UnknownCommand, "12 is no command (S-81)");
    world.end(pair.server_host, next);
    assert_eq!(in_use(&mut world, pair.server_host), (0, 0));
}

#[test]
fn t122_a_client_that_connects_to_a_paused_server_is_admitted_when_there_is_a_permit() {
    let (mut world, pair) = World::pair(1);
    let running = occupied(&mut world, pair);
    world.post(pair.client_host, pair.client, b"holds the permit");
    let late = world.host(HostOptions::default());
    let client = world.node(late).add_client(client_config(), named("late")).expect("a legal client");
    world.node(late).connect(client, "tcp://server:1").expect("a legal endpoint");
    world.run();
    let links = world.link_count();
    let hold = world.now.saturating_add(Duration::from_secs(60));
    world.run_to(hold);
    assert_eq!(world.peers(late, client), 0, "hello waits for a permit like any record");
    let connection = world.socket_status(late, client).peers[0].connection;
    world.end(pair.server_host, running);
    world.run();
    assert_eq!(world.peers(late, client), 1);
    assert_eq!(world.socket_status(late, client).peers[0].connection, connection, "nothing was closed");
    assert_eq!(world.link_count(), links);
    assert_eq!(world.now, Timestamp::from_millis(60_000));
}

#[test]
fn s31_a_peer_that_says_nothing_is_closed_after_the_handshake_limit() {
    let (mut net, dealer, router) = Net::dealer_router(SocketOptions::default(), SocketOptions::default());
    let sets = [(router, net.ready_sets(router)[0]), (dealer, net.ready_sets(dealer)[0])];
    let start = net.now.as_nanos() / 1_000_000;
    for (node, set) in sets {
        let now = net.now;
        net.socket(node).start_admission(set, now);
    }
    net.run_to(start + 2_000);
    let now = net.now;
    net.socket(router).set_flow(Flow::Paused, 1, now);
    // The router has set PAUSED, and it reaches the connector with the first record.
    net.post(dealer, b"hello");
    net.run_to(start + 60_000);
    assert_eq!(
        (net.ready_sets(router).len(), net.ready_sets(dealer).len()),
        (1, 1),
        "both clocks stand still"
    );
    let now = net.now;
    net.socket(router).set_flow(Flow::Running, 2, now);
    assert_eq!(net.receive(router, 9).len(), 1);
    net.run_to(start + 62_999);
    assert_eq!(net.ready_sets(router).len(), 1);
    net.run_to(start + 63_000);
    assert_eq!((net.ready_sets(router).len(), net.ready_sets(dealer).len()), (0, 0), "2 s before, 3 s after");
}
