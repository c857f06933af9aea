//! Calls of a client: deadlines, replies, selection, liveness.

use std::time::Duration;
use zlink_proto::error::ErrorKind;
use zlink_proto::host::HostOptions;
use zlink_proto::host::SocketKey;
use zlink_proto::message::Body;
use zlink_proto::transport::{Refused, SocketOptions, Submitted};
use zlink_proto::wire::Flow;
use zlink_testkit::nodes::{HostId, Pair, World, jobs, named, prefix, server_config};

/// Sets the receive flow state of a socket without its host.
fn set_flow(world: &mut World, host: HostId, key: SocketKey, state: Flow, serial: u64) {
    world.node(host).with_socket(key, |socket, now| socket.set_flow(state, serial, now));
    world.run();
}

fn pause_client(world: &mut World, pair: Pair) {
    // PAUSED reaches the server with the first record that it sends: an update.
    set_flow(world, pair.client_host, pair.client, Flow::Paused, 1_000);
    world.node(pair.server_host).host().set_weight(pair.server, 99).expect("legal");
    world.node(pair.server_host).with_socket(pair.server, |_, _| ());
    world.run();
    assert_eq!(world.socket_status(pair.server_host, pair.server).flow.paused_peers, 1);
}

#[test]
fn t49_a_reply_to_a_paused_client_waits_and_its_request_ends_once() {
    let (mut world, pair) = World::pair(8);
    pause_client(&mut world, pair);
    let request = world.request(pair.client_host, pair.client, b"ask", 2);
    let job = world.must_start(pair.server_host);
    world.answer(pair.server_host, job, b"answer");
    assert_eq!(world.socket_status(pair.server_host, pair.server).waiting_replies, 1);
    world.run_for(Duration::from_millis(900));
    assert_eq!(world.result(pair.client_host, request), None);
    set_flow(&mut world, pair.client_host, pair.client, Flow::Running, 1_001);
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("answer"));

    let request = world.request(pair.client_host, pair.client, b"ask", 2);
    let job = world.must_start(pair.server_host);
    world.run_for(Duration::from_secs(2));
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("DeadlineExceeded Unknown"));
    world.answer(pair.server_host, job, b"late");
    assert_eq!(world.result(pair.client_host, request), None, "one terminal");
    assert_eq!(world.socket_status(pair.client_host, pair.client).counts.late_replies, 1);
    assert_eq!(world.socket_status(pair.client_host, pair.client).counts.unsolicited_replies, 0);
}

#[test]
fn t127_replies_to_a_paused_client_end_by_their_deadline_or_pass_by_option() {
    for passes in [false, true] {
        let options = SocketOptions { replies_pass_pause: passes, ..named("server") };
        let (mut world, pair) =
            World::pair_with(jobs(8), server_config("tcp://server:1"), options, named("client"));
        pause_client(&mut world, pair);
        let requests: Vec<_> =
            (0..5).map(|_| world.request(pair.client_host, pair.client, b"nested", 30)).collect();
        world.run_jobs(pair.server_host);
        world.run_for(Duration::from_secs(1));
        set_flow(&mut world, pair.client_host, pair.client, Flow::Running, 1_001);
        let expected = if passes { "nested" } else { "DeadlineExceeded Unknown" };
        for request in requests {
            assert_eq!(
                world.result(pair.client_host, request).as_deref(),
                Some(expected),
                "passes: {passes}"
            );
        }
        assert_eq!(world.node(pair.server_host).host().open_replies(), 0);
        assert_eq!(world.socket_status(pair.server_host, pair.server).reply_tokens, 0);
        let request = world.request(pair.client_host, pair.client, b"after", 30);
        world.run_jobs(pair.server_host);
        assert_eq!(world.result(pair.client_host, request).as_deref(), Some("after"), "the system recovered");
    }
}

#[test]
fn t53_a_request_ends_at_its_deadline_and_the_remote_handler_runs_on() {
    let (mut world, pair) = World::pair(8);
    let request = world.request(pair.client_host, pair.client, b"slow", 3);
    let job = world.must_start(pair.server_host);
    world.run_for(Duration::from_millis(2_999));
    assert_eq!(world.result(pair.client_host, request), None);
    world.run_for(Duration::from_millis(1));
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("DeadlineExceeded Unknown"));
    let id = job.reply.expect("a request");
    assert!(
        !world.node(pair.server_host).host().is_requester_gone(id),
        "the deadline travels nowhere (O-15)"
    );
    world.answer(pair.server_host, job, b"late");
    assert_eq!(world.socket_status(pair.client_host, pair.client).counts.late_replies, 1);
}

#[test]
fn t84_a_handler_is_told_once_that_its_requester_left() {
    let (mut world, pair) = World::pair(8);
    let request = world.request(pair.client_host, pair.client, b"ask", 30);
    world.request(pair.client_host, pair.client, b"queued", 30);
    let job = world.must_start(pair.server_host);
    let id = job.reply.expect("a request");
    world.unlisten(pair.server_host);
    world.cut(pair.client_host);
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("Unavailable Unknown"));
    assert_eq!(world.hosts[pair.server_host].gone, [id]);
    assert!(world.node(pair.server_host).host().is_requester_gone(id));
    let reply = world.node(pair.server_host).reply(&job, Body::Borrowed(b"x"));
    assert_eq!(reply.map_err(|failure| failure.kind), Err(ErrorKind::Unavailable));
    let next = world.end(pair.server_host, job).expect("what was received is still handled (N-24)");
    let id = next.reply.expect("a request");
    assert!(world.node(pair.server_host).host().is_requester_gone(id), "gone before it began");
    world.end(pair.server_host, next);
    assert_eq!(world.hosts[pair.server_host].gone.len(), 1);
    assert_eq!(world.node(pair.server_host).host().open_replies(), 0);
}

#[test]
fn t86_the_first_terminator_answers_and_later_ones_are_refused() {
    let (mut world, pair) = World::pair(8);
    let request = world.request(pair.client_host, pair.client, b"ask", 30);
    let job = world.must_start(pair.server_host);
    assert_eq!(world.node(pair.server_host).reply(&job, Body::Borrowed(b"first")), Ok(()));
    let second = world.node(pair.server_host).reply(&job, Body::Borrowed(b"second"));
    assert_eq!(second.map_err(|failure| failure.kind), Err(ErrorKind::InvalidOperation));
    world.end(pair.server_host, job);
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("first"));

    pause_client(&mut world, pair);
    let request = world.request(pair.client_host, pair.client, b"ask", 30);
    let job = world.must_start(pair.server_host);
    assert_eq!(world.node(pair.server_host).reply(&job, Body::Borrowed(b"waits")), Ok(()));
    world.run_for(Duration::from_secs(2));
    let again = world.node(pair.server_host).reply(&job, Body::Borrowed(b"again"));
    assert_eq!(again.map_err(|failure| failure.kind), Err(ErrorKind::InvalidOperation));
    set_flow(&mut world, pair.client_host, pair.client, Flow::Running, 1_001);
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("DeadlineExceeded Unknown"));
    world.end(pair.server_host, job);
}

#[test]
fn t116_the_smaller_maximum_counts_on_both_ways() {
    // Names and heads of a request with these names: 13 + 7 + 5 + 6 + 17 + 4 bytes.
    const OVERHEAD: usize = 52;
    let options = SocketOptions { max_message_size: 1_000, ..named("server") };
    let (mut world, pair) =
        World::pair_with(jobs(8), server_config("tcp://server:1"), options, named("client"));
    let fits = vec![1; 1_000 - OVERHEAD];
    let request = world.request(pair.client_host, pair.client, &fits, 30);
    let job = world.must_start(pair.server_host);
    assert_eq!(job.job.payload().len(), fits.len());
    let mut large = fits.clone();
    large.push(1);
    let refused = world.try_request(pair.client_host, pair.client, &large, 30);
    assert_eq!(refused.map_err(|failure| failure.kind), Err(ErrorKind::InvalidOperation));
    let large = vec![1; 1_000 - 21 - 9 - 23 + 1];
    let refused = world.node(pair.server_host).reply(&job, Body::Borrowed(&large));
    assert_eq!(refused.map_err(|failure| failure.kind), Err(ErrorKind::InvalidOperation));
    assert_eq!(
        world.node(pair.server_host).reply(&job, Body::Borrowed(&large[1..])),
        Ok(()),
        "the right stayed"
    );
    world.run();
    assert!(world.result(pair.client_host, request).is_some_and(|text| text.len() == large.len() - 1));
    world.end(pair.server_host, job);
}

#[test]
fn t106_each_path_has_its_own_send_timeout() {
    let options = SocketOptions { send_timeout: Duration::from_millis(300), ..named("client") };
    let server = SocketOptions { reply_timeout: Duration::from_millis(200), ..named("server") };
    let (mut world, pair) = World::pair_with(jobs(1), server_config("tcp://server:1"), server, options);
    world.post(pair.client_host, pair.client, b"runs");
    let running = world.must_start(pair.server_host);
    world.post(pair.client_host, pair.client, b"holds the permit");
    let send = match world.send(pair.client_host, pair.client, b"waits") {
        Ok(Submitted::Waiting(operation)) => operation,
        other => panic!("{other:?}"),
    };
    world.run_for(Duration::from_millis(299));
    assert_eq!(world.result(pair.client_host, send), None);
    world.run_for(Duration::from_millis(1));
    assert_eq!(world.result(pair.client_host, send).as_deref(), Some("DeadlineExceeded NotSubmitted"));
    world.end_all(pair.server_host, running);
    pause_client(&mut world, pair);
    let request = world.request(pair.client_host, pair.client, b"ask", 30);
    world.run_jobs(pair.server_host);
    world.run_for(Duration::from_millis(200));
    assert_eq!(world.socket_status(pair.server_host, pair.server).waiting_replies, 0, "110 is due to it");
    set_flow(&mut world, pair.client_host, pair.client, Flow::Running, 1_001);
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("DeadlineExceeded Unknown"));
}

#[test]
fn t120_calls_while_the_only_server_is_away() {
    let options = SocketOptions { send_timeout: Duration::from_secs(5), ..named("client") };
    let (mut world, pair) =
        World::pair_with(jobs(8), server_config("tcp://server:1"), named("server"), options);
    world.unlisten(pair.server_host);
    world.cut(pair.server_host);
    let second = Some(Duration::from_secs(1));
    let short = world.node(pair.client_host).send(pair.client, &prefix(), Body::Borrowed(b"x"), second);
    let Ok(Submitted::Waiting(short)) = short else { panic!("{short:?}") };
    let Ok(Submitted::Waiting(long)) = world.send(pair.client_host, pair.client, b"x") else { panic!() };
    let request = world.request(pair.client_host, pair.client, b"x", 30);
    world.run_for(Duration::from_secs(1));
    assert_eq!(world.result(pair.client_host, short).as_deref(), Some("DeadlineExceeded NotSubmitted"));
    world.run_for(Duration::from_millis(3_999));
    assert_eq!(world.result(pair.client_host, long), None);
    world.run_for(Duration::from_millis(1));
    assert_eq!(
        world.result(pair.client_host, long).as_deref(),
        Some("DeadlineExceeded NotSubmitted"),
        "a tie"
    );
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("NotFound NotSubmitted"));
    world.relisten(pair.server_host, "tcp://server:1", pair.server);
    world.run_for(Duration::from_secs(5));
    world.post(pair.client_host, pair.client, b"goes");
    assert_eq!(world.run_jobs(pair.server_host), ["goes"]);
}

/// Two servers of one channel on two hosts, weights 100 (a) and 300 (b), and a client.
fn weighted() -> (World, [HostId; 2], [SocketKey; 2], HostId, SocketKey) {
    let mut world = World::new();
    let hosts = [world.host(jobs(64)), world.host(jobs(64))];
    let mut keys = Vec::new();
    for (host, name, weight) in [(hosts[0], "a", 100), (hosts[1], "b", 300)] {
        let mut config = server_config(&format!("tcp://{name}:1"));
        config.weight = weight;
        keys.push(world.server(host, config, named(name)));
    }
    let client_host = world.host(HostOptions::default());
    let client = world.client(client_host, &["tcp://a:1", "tcp://b:1"], named("client"));
    (world, hosts, [keys[0], keys[1]], client_host, client)
}

fn calls(
    world: &mut World,
    hosts: [HostId; 2],
    client_host: HostId,
    client: SocketKey,
    count: usize,
) -> String {
    let mut winners = String::new();
    for _ in 0..count {
        world.post(client_host, client, b"x");
        for (host, name) in hosts.into_iter().zip(['a', 'b']) {
            winners.extend(world.run_jobs(host).iter().map(|_| name));
        }
    }
    winners
}

#[test]
fn t93_servers_are_selected_by_weight_and_a_paused_one_keeps_its_place() {
    let (mut world, hosts, keys, client_host, client) = weighted();
    assert_eq!(calls(&mut world, hosts, client_host, client, 8), "babbbabb");

    let (mut world, hosts, keys_again, client_host, client) = weighted();
    assert_eq!(keys, keys_again);
    assert_eq!(calls(&mut world, hosts, client_host, client, 1), "b");
    set_flow(&mut world, hosts[1], keys[1], Flow::Paused, 1_000);
    assert_eq!(calls(&mut world, hosts, client_host, client, 2), "aa", "the paused one is left out");
    set_flow(&mut world, hosts[1], keys[1], Flow::Running, 1_001);
    assert_eq!(
        calls(&mut world, hosts, client_host, client, 2),
        "ab",
        "its accumulator stayed: a tie, then b"
    );
}

#[test]
fn t93_a_draining_server_is_selected_no_more() {
    let (mut world, hosts, _, client_host, client) = weighted();
    world.post(client_host, client, b"x");
    let running = world.must_start(hosts[1]);
    world.shutdown(hosts[1], Duration::from_secs(30));
    assert_eq!(calls(&mut world, [hosts[0], hosts[0]], client_host, client, 4), "aaaa");
    world.end(hosts[1], running);
}

#[test]
fn t94_a_silent_peer_ends_at_15_s_and_pressure_alone_ends_nobody() {
    let (mut world, pair) = World::pair(8);
    world.hosts[pair.server_host].is_frozen = true;
    let start = world.now;
    world.run_to(start.saturating_add(Duration::from_millis(14_999)));
    assert_eq!(world.peers(pair.client_host, pair.client), 1);
    world.run_to(start.saturating_add(Duration::from_secs(15)));
    assert_eq!(world.peers(pair.client_host, pair.client), 0, "a hung peer is found");

    let (mut world, pair) = World::pair(8);
    world.run_for(Duration::from_secs(60));
    assert_eq!(world.peers(pair.client_host, pair.client), 1, "probes are answered");
    pause_client(&mut world, pair);
    world.run_for(Duration::from_secs(60));
    assert_eq!(world.peers(pair.client_host, pair.client), 1, "PAUSED of this host");

    let (mut world, pair) = World::pair(1);
    world.post(pair.client_host, pair.client, b"runs");
    let running = world.must_start(pair.server_host);
    world.post(pair.client_host, pair.client, b"holds the permit");
    world.run_for(Duration::from_secs(60));
    assert_eq!(world.peers(pair.client_host, pair.client), 1, "no permit for 60 s");
    world.end_all(pair.server_host, running);
}

#[test]
fn t32_a_new_server_of_a_paused_host_is_never_seen_running() {
    let (mut world, pair) = World::pair(1);
    world.post(pair.client_host, pair.client, b"runs");
    let running = world.must_start(pair.server_host);
    world.post(pair.client_host, pair.client, b"holds the permit");
    let mut config = server_config("tcp://second:1");
    config.channel = "second".into();
    let second = world.server(pair.server_host, config, named("second"));
    assert_eq!(world.socket_status(pair.server_host, second).receive_flow, Flow::Paused);
    let late = world.host(HostOptions::default());
    let mut config = zlink_testkit::nodes::client_config();
    config.channel = "second".into();
    let client = world.node(late).add_client(config, named("late")).expect("legal");
    world.node(late).connect(client, "tcp://second:1").expect("legal");
    world.run();
    assert_eq!(
        world.socket_status(late, client).flow.paused_peers,
        1,
        "PAUSED is the first that it hears (N-42)"
    );
    world.end_all(pair.server_host, running);
    assert_eq!(world.socket_status(late, client).flow.paused_peers, 0);
    assert_eq!(world.peers(late, client), 1);
}

#[test]
fn o56_a_call_without_the_role_is_not_configured() {
    let (mut world, pair) = World::pair(8);
    let (client, server) = (pair.client, pair.server_host);
    let mut other = World::new();
    let host = other.host(HostOptions::default());
    let sent = other.node(host).send(client, &prefix(), Body::Borrowed(b"x"), None);
    assert!(matches!(sent, Err(Refused::Failed(failure)) if failure.kind == ErrorKind::NotConfigured));
    assert_eq!(world.run_jobs(server).len(), 0);
}
