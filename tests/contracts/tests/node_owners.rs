//! What full means, who waits where, and what a handler's end frees.

use std::time::Duration;
use zlink_proto::host::{HostOptions, OwnerOverflow};
use zlink_proto::transport::{SocketOptions, Submitted};
use zlink_testkit::nodes::{CHANNEL, Pair, World, jobs, named, server_config};

/// A server whose owner takes `items`.
fn small_owner(items: u64, overflow: OwnerOverflow) -> (World, Pair) {
    let options =
        HostOptions { owner_application_items_max: Some(items), owner_overflow: overflow, ..jobs(100) };
    World::pair_with(options, server_config("tcp://server:1"), named("server"), named("client"))
}

fn post(world: &mut World, pair: Pair, count: usize) {
    for number in 0..count {
        world.post(pair.client_host, pair.client, format!("{number}").as_bytes());
    }
}

#[test]
fn t45_a_full_owner_answers_and_used_up_permits_make_wait() {
    let (mut world, pair) = small_owner(2, OwnerOverflow::Wait);
    post(&mut world, pair, 1);
    let running = world.must_start(pair.server_host);
    post(&mut world, pair, 1);
    let request = world.request(pair.client_host, pair.client, b"r", 30);
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("Unavailable 106/18"));
    let owners = world.status(pair.server_host).owners;
    assert_eq!((owners.structural_rejections_remote, owners.structural_rejections_local), (1, 0));
    assert_eq!(world.status(pair.server_host).job_queue.capacity_waits, 0);
    world.end(pair.server_host, running);

    let (mut world, pair) = World::pair(1);
    post(&mut world, pair, 1);
    let running = world.must_start(pair.server_host);
    post(&mut world, pair, 1);
    let request = world.request(pair.client_host, pair.client, b"r", 30);
    world.run_for(Duration::from_secs(10));
    assert_eq!(world.result(pair.client_host, request), None, "plain waiting");
    world.end_all(pair.server_host, running);
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("r"));
    assert_eq!(world.status(pair.server_host).owners.structural_rejections_remote, 0);
}

#[test]
fn t46_a_one_way_for_a_full_owner_stays_with_the_transport_and_runs_later() {
    let (mut world, pair) = small_owner(2, OwnerOverflow::Wait);
    post(&mut world, pair, 1);
    let running = world.must_start(pair.server_host);
    post(&mut world, pair, 3);
    let status = world.status(pair.server_host);
    assert_eq!((status.owners.parked_sources, status.owners.items), (1, 2));
    assert_eq!(
        (status.job_queue.reserved, status.job_queue.queued),
        (0, 1),
        "the parked one holds no permit"
    );
    let receive = world.socket_status(pair.server_host, pair.server).peers[0].receive.records;
    assert_eq!(receive, 2, "nothing is lost");
    let seen = world.end_all(pair.server_host, running);
    assert_eq!(seen, ["0", "1", "2"]);
    let status = world.status(pair.server_host);
    assert_eq!((status.owners.parked_sources, status.owners.owner_waits, status.dropped.total()), (0, 2, 0));
}

#[test]
fn t46_refuse_drops_and_counts() {
    let (mut world, pair) = small_owner(2, OwnerOverflow::Refuse);
    post(&mut world, pair, 1);
    let running = world.must_start(pair.server_host);
    post(&mut world, pair, 3);
    let status = world.status(pair.server_host);
    assert_eq!((status.dropped.backpressure, status.owners.parked_sources), (2, 0));
    assert_eq!(world.end_all(pair.server_host, running), ["0"]);
}

#[test]
fn t75_a_stuck_owner_holds_up_its_own_connection_only() {
    let mut world = World::new();
    let host = world.host(HostOptions { owner_application_items_max: Some(10), ..jobs(100) });
    world.server(host, server_config("tcp://x:1"), named("x"));
    let mut other = server_config("tcp://y:1");
    other.channel = "y".into();
    world.server(host, other, named("y"));
    let client_host = world.host(HostOptions::default());
    let client = world.client(client_host, &["tcp://x:1"], named("client"));
    let mut config = zlink_testkit::nodes::client_config();
    config.channel = "y".into();
    let second = world.node(client_host).add_client(config, named("second")).expect("legal");
    world.node(client_host).connect(second, "tcp://y:1").expect("legal");
    world.run();

    world.post(client_host, client, b"stuck");
    let stuck = world.must_start(host);
    for number in 0..49 {
        world.post(client_host, client, format!("{number}").as_bytes());
    }
    let status = world.status(host);
    assert_eq!((status.owners.items, status.owners.parked_sources), (10, 1), "never more than its limit");
    let y = zlink_proto::wire::service::Prefix::new("y", "P", "application/json").expect("legal");
    let sent = world.node(client_host).send(second, &y, zlink_proto::message::Body::Borrowed(b"for y"), None);
    assert_eq!(sent, Ok(Submitted::Admitted));
    world.run();
    assert_eq!(world.run_jobs(host), ["for y"], "another owner goes on");
    world.run_for(Duration::from_secs(60));
    assert_eq!(world.peers(client_host, client), 1, "probes keep both ends alive for 60 s");
    assert_eq!(world.status(host).owners.parked_sources, 1);
    let seen = world.end_all(host, stuck);
    assert_eq!(seen.len(), 49, "all of them run in the end");
    assert_eq!(seen[48], "48");
}

#[test]
fn t83_a_handler_that_fails_frees_everything_and_the_next_one_runs() {
    let (mut world, pair) = World::pair(4);
    let request = world.request(pair.client_host, pair.client, b"r", 30);
    post(&mut world, pair, 2);
    let failed = world.must_start(pair.server_host);
    let next = world.end(pair.server_host, failed).expect("the one-way");
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("InternalFailure 105/17"));
    assert_eq!(world.status(pair.server_host).owners.items, 2, "the failed one's reservation ended");
    let last = world.end(pair.server_host, next).expect("the last one");
    assert!(world.end(pair.server_host, last).is_none());
    let status = world.status(pair.server_host);
    assert_eq!((status.job_queue.in_use, status.owners.items, status.owners.bytes), (0, 0, 0));
    assert_eq!(world.node(pair.server_host).host().open_replies(), 0);
}

#[test]
fn t99_the_charge_of_a_record_ends_when_it_is_taken_and_its_reservation_with_its_handler() {
    let options = SocketOptions { receive_hwm: Some(65_536), ..named("server") };
    let (mut world, pair) =
        World::pair_with(jobs(4), server_config("tcp://server:1"), options, named("client"));
    let payload = vec![7; 60 * 1_024];
    world.post(pair.client_host, pair.client, &payload);
    let running = world.must_start(pair.server_host);
    world.run_for(Duration::from_secs(59));
    assert_eq!(world.socket_status(pair.server_host, pair.server).peers[0].receive.used, 0);
    assert_eq!(world.status(pair.server_host).job_queue.in_use, 0);
    assert_eq!(world.status(pair.server_host).owners.bytes, payload.len() as u64 + 256);
    world.post(pair.client_host, pair.client, &payload);
    assert_eq!(world.status(pair.server_host).owners.items, 2, "admitted at once");
    assert_eq!(running.job.payload(), payload, "valid as long as the handler runs");
    let next = world.end(pair.server_host, running).expect("the second one");
    world.end(pair.server_host, next);
    assert_eq!(world.status(pair.server_host).owners.bytes, 0);
}

#[test]
fn o84_what_no_handler_takes_is_answered_by_its_cause() {
    let mut config = server_config("tcp://server:1");
    config.handlers.retain(|handler| !handler.is_request);
    let (mut world, pair) = World::pair_with(jobs(4), config, named("server"), named("client"));
    let request = world.request(pair.client_host, pair.client, b"r", 30);
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("NotFound 102/9"), "no handler");
    let strange = zlink_proto::wire::service::Prefix::new(CHANNEL, "P", "text/strange").expect("legal");
    let sent = world.node(pair.client_host).send(
        pair.client,
        &strange,
        zlink_proto::message::Body::Borrowed(b"x"),
        None,
    );
    assert_eq!(sent, Ok(Submitted::Admitted));
    world.run();
    let dropped = world.status(pair.server_host).dropped;
    assert_eq!((dropped.no_handler, dropped.decode_error), (0, 1), "an unregistered content type (S-12)");
    assert!(world.start(pair.server_host).is_none());
    assert_eq!(world.status(pair.server_host).job_queue.in_use, 0);
}

#[test]
fn h06_one_server_a_channel_and_one_handler_a_key() {
    let mut world = World::new();
    let host = world.host(HostOptions::default());
    world.server(host, server_config("tcp://server:1"), named("server"));
    let again = world.node(host).add_server(server_config("tcp://other:1"), named("other"));
    assert_eq!(again.map_err(|failure| failure.kind), Err(zlink_proto::error::ErrorKind::AlreadyExists));
    let mut twice = server_config("tcp://other:1");
    twice.channel = "other".into();
    twice.handlers.push(twice.handlers[0].clone());
    let twice = world.node(host).add_server(twice, named("other"));
    assert_eq!(twice.map_err(|failure| failure.kind), Err(zlink_proto::error::ErrorKind::InvalidOperation));
}
