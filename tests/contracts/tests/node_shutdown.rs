//! Seal, fence, drain, stop (M-60 to M-68).

use std::time::Duration;
use zlink_proto::error::{ErrorKind, Submission};
use zlink_proto::host::{HostOptions, Refusal, ShutdownOutcome, ShutdownReason};
use zlink_proto::message::Body;
use zlink_proto::node::Observed;
use zlink_proto::time::Timestamp;
use zlink_proto::transport::{Refused, SocketOptions, Submitted};
use zlink_proto::wire::service::RejectReason;
use zlink_testkit::nodes::{Pair, World, client_config, jobs, named, prefix, server_config};

const SECOND: Duration = Duration::from_secs(1);

fn is_sealed(result: &Result<Submitted, Refused>) -> bool {
    matches!(result, Err(Refused::Failed(failure))
        if failure.kind == ErrorKind::ShuttingDown && failure.submission == Submission::NotSubmitted)
}

#[test]
fn t89_behind_the_fence_requests_are_told_and_one_ways_observed() {
    let (mut world, pair) = World::pair(8);
    let pending = world.request(pair.client_host, pair.client, b"in progress", 60);
    let running = world.must_start(pair.server_host);
    world.shutdown(pair.server_host, 30 * SECOND);
    // The client avoids the server now (S-35), so these calls are its set's, as those of a peer that has not heard yet.
    let set = world.socket_status(pair.client_host, pair.client).peers[0].set;
    let one_way = world.node(pair.client_host).with_socket(pair.client, |socket, now| {
        let prefix = prefix();
        let mut record = zlink_proto::wire::service::ChannelSend::new(&prefix, Body::Borrowed(b"late"));
        socket.send(zlink_proto::transport::Target::Set(set), &mut record, None, || now)
    });
    assert_eq!(one_way, Some(Ok(Submitted::Admitted)));
    let request = world.node(pair.client_host).with_socket(pair.client, |socket, now| {
        let prefix = prefix();
        let mut record = zlink_proto::wire::service::ChannelRequest::new(&prefix, Body::Borrowed(b"late"));
        socket.request(zlink_proto::transport::Target::Set(set), &mut record, None, now)
    });
    world.run();
    let request = request.expect("the socket").expect("accepted");
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("ShuttingDown 103/0"));
    let refused = |is_request| Observed::Refused { reason: Refusal::ShuttingDown, is_request };
    assert_eq!(world.hosts[pair.server_host].observed, [refused(false), refused(true)]);
    assert_eq!(world.status(pair.server_host).dropped.shutdown, 1);
    assert!(world.hosts[pair.server_host].report.is_none(), "a handler runs");
    assert!(world.answer(pair.server_host, running, b"done").is_none());
    assert_eq!(
        world.result(pair.client_host, pending).as_deref(),
        Some("done"),
        "the handler's reply was sent"
    );
    world.run_for(3 * SECOND);
    let report = world.hosts[pair.server_host].report.expect("nothing is left");
    assert_eq!((report.outcome, report.reason), (ShutdownOutcome::Stopped, ShutdownReason::None));
    assert_eq!(report.counts.inbound_refused, 2);
}

#[test]
fn t89_a_second_call_may_only_shorten() {
    let (mut world, pair) = World::pair(8);
    world.post(pair.client_host, pair.client, b"x");
    let running = world.must_start(pair.server_host);
    let end = world.shutdown(pair.server_host, 30 * SECOND);
    assert_eq!(world.shutdown(pair.server_host, 3_600 * SECOND), end, "not later");
    let start = world.now;
    assert_eq!(world.shutdown(pair.server_host, SECOND), start.saturating_add(SECOND));
    world.run_to(start.saturating_add(Duration::from_millis(999)));
    assert!(world.hosts[pair.server_host].report.is_none());
    world.run_to(start.saturating_add(SECOND));
    let report = world.hosts[pair.server_host].report.expect("its deadline is over");
    assert_eq!(
        (report.outcome, report.reason),
        (ShutdownOutcome::ForceStopped, ShutdownReason::DeadlineExceeded)
    );
    assert_eq!((report.duration, report.counts.handlers_running), (SECOND, 1));
    assert!(world.end(pair.server_host, running).is_none(), "its end finds nothing");
    assert!(world.start(pair.server_host).is_none());
}

#[test]
fn m61_sealed_hosts_refuse_new_calls_and_new_peers() {
    let (mut world, pair) = World::pair(8);
    world.post(pair.client_host, pair.client, b"x");
    let running = world.must_start(pair.server_host);
    world.shutdown(pair.server_host, 30 * SECOND);
    let late = world.host(HostOptions::default());
    let client = world.client(late, &["tcp://server:1"], named("late"));
    assert_eq!(world.node(late).host().rejection(client), Some(RejectReason::RuntimeNotServing));
    world.end(pair.server_host, running);

    let (mut world, pair) = World::pair(8);
    let request = world.request(pair.client_host, pair.client, b"before", 60);
    world.shutdown(pair.client_host, 30 * SECOND);
    assert!(is_sealed(&world.send(pair.client_host, pair.client, b"x")));
    let refused = world.try_request(pair.client_host, pair.client, b"x", 1);
    assert_eq!(refused.map_err(|failure| failure.kind), Err(ErrorKind::ShuttingDown));
    assert!(world.node(pair.client_host).add_client(client_config(), SocketOptions::default()).is_err());
    world.run_for(5 * SECOND);
    assert!(world.hosts[pair.client_host].report.is_none(), "a request is outstanding");
    world.run_jobs(pair.server_host);
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("before"));
    world.run_for(3 * SECOND);
    let report = world.hosts[pair.client_host].report.expect("nothing is left");
    assert_eq!(report.outcome, ShutdownOutcome::Stopped, "{report}");
    assert_eq!(world.link_count(), 0);
}

#[test]
fn t121_everything_that_a_client_had_accepted_is_handled() {
    let mut world = World::new();
    let hosts = [world.host(jobs(64)), world.host(jobs(64))];
    let mut keys = Vec::new();
    for (host, name) in hosts.into_iter().zip(["a", "b"]) {
        let config = server_config(&format!("tcp://{name}:1"));
        let options = SocketOptions { receive_hwm: Some(65_536), ..named(name) };
        keys.push(world.server(host, config, options));
    }
    let client_host = world.host(HostOptions { send_timeout: 30 * SECOND, ..HostOptions::default() });
    let options = SocketOptions { send_timeout: 30 * SECOND, send_hwm: Some(655_360), ..named("client") };
    let client = world.client(client_host, &["tcp://a:1", "tcp://b:1"], options);
    let (mut waiting, mut accepted) = (Vec::new(), 0);
    for number in 0..10_000_u32 {
        let payload = number.to_be_bytes();
        match world.node(client_host).send(client, &prefix(), Body::Borrowed(&payload), None) {
            Ok(Submitted::Admitted) => accepted += 1,
            Ok(Submitted::Waiting(operation)) => waiting.push(operation),
            Err(refused) => panic!("{number}: {refused:?}"),
        }
    }
    assert!(!waiting.is_empty() && accepted > 1_000, "under load: {accepted}, {} wait", waiting.len());
    world.run();
    let within = world.shutdown(hosts[0], 30 * SECOND);
    let mut handled = [0, 0];
    for _ in 0..20_000 {
        for (place, host) in hosts.into_iter().enumerate() {
            if let Some(job) = world.start(host) {
                handled[place] += 1;
                let mut next = world.end(host, job);
                while let Some(job) = next {
                    handled[place] += 1;
                    next = world.end(host, job);
                }
            }
        }
        if world.hosts[hosts[0]].report.is_some() && world.start_is_idle(hosts[1]) {
            break;
        }
        world.run_for(Duration::from_millis(10));
    }
    let sent =
        waiting.iter().filter(|&&one| world.result(client_host, one).as_deref() == Some("sent")).count();
    assert_eq!(handled[0] + handled[1], accepted + sent, "all that was accepted was handled: {handled:?}");
    let report = world.hosts[hosts[0]].report.expect("it ends by itself");
    assert_eq!(report.outcome, ShutdownOutcome::Stopped, "{report}");
    assert!(world.now < within);
    assert!(handled[0] > 0);
    let before = handled[1];
    world.post(client_host, client, b"next");
    assert_eq!(world.run_jobs(hosts[1]).len(), 1, "the next selection avoids that server ({before})");
}

#[test]
fn t121_a_peer_that_never_acks_is_cut_at_the_deadline() {
    let (mut world, pair) = World::pair(8);
    world.hosts[pair.client_host].is_frozen = true;
    let start = world.now;
    world.shutdown(pair.server_host, 10 * SECOND);
    world.run_to(start.saturating_add(Duration::from_millis(9_999)));
    assert!(world.hosts[pair.server_host].report.is_none());
    world.run_to(start.saturating_add(10 * SECOND));
    let report = world.hosts[pair.server_host].report.expect("its deadline is over");
    assert_eq!(report.outcome, ShutdownOutcome::ForceStopped);
    assert_eq!(report.counts.connections_forced, 1, "{report}");
}

#[test]
fn t124_a_drained_connection_ends_after_its_last_record() {
    let (mut world, pair) = World::pair(8);
    let request = world.request(pair.client_host, pair.client, b"last", 60);
    let running = world.must_start(pair.server_host);
    world.shutdown(pair.server_host, 30 * SECOND);
    world.answer(pair.server_host, running, b"answer");
    world.run_for(2 * SECOND);
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("answer"));
    assert!(
        world.hosts[pair.server_host].report.is_some_and(|report| report.outcome == ShutdownOutcome::Stopped)
    );
}

#[test]
fn m64_at_the_deadline_queued_requesters_are_told_or_lose_their_connection() {
    let (mut world, pair) = World::pair(8);
    let first = world.request(pair.client_host, pair.client, b"runs", 60);
    let second = world.request(pair.client_host, pair.client, b"waits", 60);
    let running = world.must_start(pair.server_host);
    let id = running.reply.expect("a request");
    world.shutdown(pair.server_host, SECOND);
    world.run_for(SECOND);
    let report = world.hosts[pair.server_host].report.expect("its deadline is over");
    assert_eq!((report.counts.items_queued, report.counts.handlers_running), (1, 1));
    assert_eq!(world.hosts[pair.server_host].gone, [id], "the running handler is signalled");
    for request in [first, second] {
        let result = world.result(pair.client_host, request).expect("an end");
        assert!(["ShuttingDown 103/0", "Unavailable Unknown"].contains(&result.as_str()), "{result}");
    }
    let reply = world.node(pair.server_host).reply(&running, Body::Borrowed(b"x"));
    assert!(reply.is_err());
    world.end(pair.server_host, running);
    assert_eq!(world.status(pair.server_host).job_queue.in_use, 0);
    assert_eq!(world.status(pair.server_host).owners.items, 0);
}

#[test]
fn m60_a_host_without_peers_stops_at_once() {
    let mut world = World::new();
    let host = world.host(HostOptions::default());
    world.server(host, server_config("tcp://server:1"), named("server"));
    world.shutdown(host, 30 * SECOND);
    let report = world.hosts[host].report.expect("at once");
    assert_eq!((report.outcome, report.duration), (ShutdownOutcome::Stopped, Duration::ZERO));
    assert_eq!(world.now, Timestamp::ZERO);
}

#[test]
fn m62a_what_the_peer_accepted_before_it_heard_is_still_handled() {
    let (mut world, pair) = World::pair(8);
    world.post(pair.client_host, pair.client, b"gate");
    let running = world.must_start(pair.server_host);
    let Pair { client_host, client, server_host, .. } = pair;
    for _ in 0..50 {
        let sent = world.node(client_host).send(client, &prefix(), Body::Borrowed(b"accepted"), None);
        assert_eq!(sent, Ok(Submitted::Admitted));
    }
    world.node(server_host).shutdown(30 * SECOND);
    world.run();
    let seen = world.end_all(server_host, running);
    assert_eq!(seen.len(), 50, "more than M: they waited for permits, not for the fence");
    world.run_for(3 * SECOND);
    let report = world.hosts[server_host].report.expect("nothing is left");
    assert_eq!((report.outcome, report.counts.inbound_refused), (ShutdownOutcome::Stopped, 0));
}

#[test]
fn m62a_what_a_lost_peer_had_sent_is_handled_before_the_host_stops() {
    for is_lost_first in [true, false] {
        let (mut world, pair) = World::pair(1);
        world.post(pair.client_host, pair.client, b"gate");
        let running = world.must_start(pair.server_host);
        for _ in 0..3 {
            let sent = world.node(pair.client_host).send(pair.client, &prefix(), Body::Borrowed(b"x"), None);
            assert_eq!(sent, Ok(Submitted::Admitted));
        }
        world.run();
        world.unlisten(pair.server_host);
        world.hosts[pair.client_host].is_frozen = true;
        if is_lost_first {
            world.cut(pair.client_host);
        }
        world.shutdown(pair.server_host, 30 * SECOND);
        world.cut(pair.client_host);
        assert!(world.hosts[pair.server_host].report.is_none(), "two records have no permit yet");
        assert_eq!(world.end_all(pair.server_host, running).len(), 3, "lost first: {is_lost_first}");
        let report = world.hosts[pair.server_host].report.expect("nothing is left");
        assert_eq!((report.outcome, report.counts.inbound_refused), (ShutdownOutcome::Stopped, 0));
    }
}

#[test]
fn m61_a_role_that_is_removed_answers_what_it_had_queued() {
    let (mut world, pair) = World::pair(8);
    let first = world.request(pair.client_host, pair.client, b"runs", 60);
    let second = world.request(pair.client_host, pair.client, b"waits", 60);
    let running = world.must_start(pair.server_host);
    let (key, now) = (pair.server, world.now);
    world.node(pair.server_host).host().remove_role(key, 5 * SECOND, now);
    world.node(pair.server_host).with_socket(key, |_, _| ());
    world.run();
    assert_eq!(world.result(pair.client_host, second).as_deref(), Some("NotFound 102/14"));
    assert!(world.result(pair.client_host, first).is_some(), "its connection ended");
    assert_eq!(world.hosts[pair.server_host].gone.len(), 1, "the running handler is told");
    assert!(world.end(pair.server_host, running).is_none());
    assert_eq!(world.status(pair.server_host).owners.items, 0);
    assert_eq!(world.status(pair.server_host).job_queue.in_use, 0);
    let again = world.node(pair.server_host).add_server(server_config("tcp://server:1"), named("again"));
    assert!(again.is_ok(), "the channel is free again");
}
