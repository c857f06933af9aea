//! What overload looks like from outside: when sends begin to fail, whom it touches, what it holds, and how a shutdown counts it.

use std::time::Duration;
use zlink_proto::error::{ErrorKind, Submission};
use zlink_proto::host::{HostOptions, ShutdownOutcome, ShutdownReason, SocketKey};
use zlink_proto::id::OperationId;
use zlink_proto::message::Body;
use zlink_proto::node::Started;
use zlink_proto::transport::{Refused, SocketOptions, Submitted};
use zlink_testkit::nodes::{HostId, Pair, World, client_config, jobs, named, prefix, server_config};

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
/// Bytes that a link of the simulation holds, in place of kernel buffers.
const LINK_BYTES: u64 = 65_536;
/// Beside the payload: two parts of 64, and head, channel, packet name and content type.
const RECORD_CHARGE_MAX: u64 = 1_024 + 256;

fn limited(name: &str, send_hwm: u64, receive_hwm: u64) -> SocketOptions {
    SocketOptions {
        send_hwm: Some(send_hwm),
        receive_hwm: Some(receive_hwm),
        max_message_size: 2_048,
        ..named(name)
    }
}

/// A server whose first handler runs, and a client.
fn stuck(jobs_max: u32, send_hwm: u64, receive_hwm: u64) -> (World, Pair, Started) {
    let server = limited("server", send_hwm, receive_hwm);
    let client = limited("client", send_hwm, receive_hwm);
    let (mut world, pair) = World::pair_with(jobs(jobs_max), server_config("tcp://server:1"), server, client);
    world.post(pair.client_host, pair.client, &[0; 1_024]);
    let running = world.must_start(pair.server_host);
    (world, pair, running)
}

/// Submits without letting anything else happen.
fn submit(world: &mut World, host: HostId, key: SocketKey) -> Result<Submitted, Refused> {
    world.node(host).send(key, &prefix(), Body::Borrowed(&[0; 1_024]), None)
}

/// Two sends each millisecond against a handler that takes one: the time of the first deadline, what was accepted and what was handled.
fn overload(send_hwm: u64) -> (u64, u64, u64) {
    const JOBS: u32 = 4;
    let (mut world, pair, mut running) = stuck(JOBS, send_hwm, 65_536);
    let (mut accepted, mut handled, mut waiting) = (1, 0, Vec::new());
    for time in 0.. {
        assert!(time < 10_000, "nobody failed");
        for _ in 0..2 {
            match submit(&mut world, pair.client_host, pair.client) {
                Ok(Submitted::Admitted) => accepted += 1,
                Ok(Submitted::Waiting(operation)) => waiting.push(operation),
                Err(refused) => panic!("{refused:?}"),
            }
        }
        world.run_for(MILLISECOND);
        let mut has_failed = false;
        waiting.retain(|operation| match world.result(pair.client_host, *operation).as_deref() {
            None => true,
            Some("sent") => {
                accepted += 1;
                false
            }
            Some(end) => {
                assert_eq!(end, "DeadlineExceeded NotSubmitted");
                has_failed = true;
                false
            }
        });
        if has_failed {
            return (time, accepted, handled);
        }
        handled += 1;
        running = match world.end(pair.server_host, running) {
            Some(next) => next,
            None => world.must_start(pair.server_host),
        };
    }
    unreachable!("the loop ends above")
}

#[test]
fn t67_larger_queues_only_delay_the_first_failure_and_the_bound_holds() {
    let mut times = Vec::new();
    for send_hwm in [65_536, 1_048_576] {
        let (time, accepted, handled) = overload(send_hwm);
        // Places ② and ③, the link between them, the permits and the one running turn, each record at its least charge.
        let largest = 2_048 + 65_536; // C: one record may enter an empty queue whatever its limit
        let bytes = send_hwm.max(largest) + largest + LINK_BYTES;
        let bound = bytes / 1_024 + 4 + 1;
        assert!(accepted - handled <= bound, "{accepted} - {handled} > {bound}");
        let least = send_hwm / RECORD_CHARGE_MAX / 4; // a full queue opens again when half of it is empty
        assert!(accepted - handled >= least, "{accepted} - {handled}: the queues were used");
        times.push(time);
    }
    assert!(times[0] >= 999, "nobody fails before its second is over: {times:?}");
    assert!(times[1] > times[0] + 100, "memory absorbs it first: {times:?}");
}

#[test]
fn t68_beyond_the_waiters_sends_fail_at_once_and_are_counted() {
    let (mut world, pair, _running) = stuck(1, 4_096, 4_096);
    let mut waiting: Vec<OperationId> = Vec::new();
    while waiting.len() < 4_096 {
        match submit(&mut world, pair.client_host, pair.client) {
            Ok(Submitted::Waiting(operation)) => waiting.push(operation),
            Ok(Submitted::Admitted) => assert!(waiting.is_empty(), "nobody passes those that wait"),
            Err(refused) => panic!("{refused:?} after {}", waiting.len()),
        }
        if waiting.is_empty() {
            world.run();
        }
    }
    for _ in 0..3 {
        match submit(&mut world, pair.client_host, pair.client) {
            Err(Refused::Failed(failure)) => assert_eq!(
                (failure.kind, failure.submission),
                (ErrorKind::DeadlineExceeded, Submission::NotSubmitted)
            ),
            other => panic!("{other:?}"),
        }
    }
    let status = world.socket_status(pair.client_host, pair.client);
    assert_eq!((status.waiting_sends, status.counts.waiters_full), (4_096, 3));
    world.run_for(SECOND);
    let ends: Vec<_> =
        waiting.iter().filter_map(|operation| world.result(pair.client_host, *operation)).collect();
    assert_eq!(ends.len(), 4_096, "each ends once");
    assert!(
        ends.iter().all(|end| end == "DeadlineExceeded NotSubmitted" || end == "sent"),
        "{:?}",
        ends.first()
    );
    assert!(
        ends.iter().filter(|end| *end != "sent").count() > 4_000,
        "those that waited the whole time failed"
    );
}

/// A caller host with a client of the slow channel and a client of the fast one; their servers live on hosts of their own.
fn slow_and_fast() -> (World, HostId, [(HostId, SocketKey); 2]) {
    let mut world = World::new();
    let caller = world.host(HostOptions::default());
    let mut sides = Vec::new();
    for (name, endpoint) in [("slow", "tcp://slow:1"), ("fast", "tcp://fast:1")] {
        let host = world.host(jobs(1));
        let config = zlink_proto::node::ServerConfig { channel: name.into(), ..server_config(endpoint) };
        world.server(host, config, limited(name, 4_096, 4_096));
        let config = zlink_proto::node::ClientConfig { channel: name.into(), ..client_config() };
        let options =
            SocketOptions { send_timeout: Duration::from_secs(60), ..limited("caller", 4_096, 4_096) };
        let client = world.node(caller).add_client(config, options).expect("legal");
        world.node(caller).connect(client, endpoint).expect("a good endpoint");
        sides.push((host, client));
    }
    world.run();
    (world, caller, [sides[0], sides[1]])
}

fn call(world: &mut World, caller: HostId, client: SocketKey, channel: &str) -> Result<Submitted, Refused> {
    let prefix =
        zlink_proto::wire::service::Prefix::new(channel, "Place", "application/json").expect("legal names");
    let sent = world.node(caller).send(client, &prefix, Body::Borrowed(&[0; 1_024]), None);
    world.run();
    sent
}

#[test]
fn t69_a_slow_server_delays_its_own_callers_only() {
    let (mut world, caller, [(slow_host, slow), (fast_host, fast)]) = slow_and_fast();
    // The slow server's handler begins and does not end; calls to it wait in the end.
    let mut waiting = None;
    let mut running = None;
    for _ in 0..1_000 {
        if let Ok(Submitted::Waiting(operation)) = call(&mut world, caller, slow, "slow") {
            waiting = Some(operation);
            break;
        }
        running = running.or_else(|| world.start(slow_host));
    }
    let (waiting, running) = (waiting.expect("somebody waits"), running.expect("a handler"));
    // A handler of the caller that made this call is stuck with it. Everybody else goes on, for as long as it takes.
    for _ in 0..100 {
        assert_eq!(call(&mut world, caller, fast, "fast"), Ok(Submitted::Admitted));
        assert_eq!(world.run_jobs(fast_host).len(), 1);
        world.run_for(Duration::from_millis(10));
    }
    assert_eq!(world.result(caller, waiting), None, "still waits");
    world.end_all(slow_host, running);
    world.run();
    world.run_jobs(slow_host);
    assert_eq!(world.result(caller, waiting).as_deref(), Some("sent"), "and ends with the first room");
}

/// Sums of what the five places hold, on both sides.
fn held(world: &mut World, pair: Pair) -> [u64; 6] {
    let client = world.socket_status(pair.client_host, pair.client);
    let server = world.socket_status(pair.server_host, pair.server);
    let host = world.status(pair.server_host);
    [
        client.waiting_sends.into(),
        client.waiting_send_bytes,
        client.peers.iter().map(|peer| peer.send.used).sum(),
        server.peers.iter().map(|peer| peer.receive.used).sum(),
        host.job_queue.in_use.into(),
        host.owners.items,
    ]
}

#[test]
fn t74_full_places_take_nothing_more_whatever_is_submitted() {
    let (mut world, pair, running) = stuck(4, 16_384, 16_384);
    while world.socket_status(pair.client_host, pair.client).counts.waiters_full == 0 {
        let _ = submit(&mut world, pair.client_host, pair.client);
        if world.socket_status(pair.client_host, pair.client).waiting_sends < 8 {
            world.run();
        }
    }
    world.run();
    let full = held(&mut world, pair);
    assert!(full[0] == 4_096 && full[2] <= 16_384 + 2_048 && full[3] <= 16_384 + 2_048, "{full:?}");
    assert_eq!((full[4], full[5]), (4, 5), "all permits, and the running handler beside them");
    for _ in 0..1_000_000 {
        assert!(submit(&mut world, pair.client_host, pair.client).is_err());
    }
    world.run();
    assert_eq!(held(&mut world, pair), full, "a million submissions later");
    world.run_for(SECOND);
    assert_eq!(held(&mut world, pair)[..2], [0, 0], "those that waited are over");
    world.end_all(pair.server_host, running);
    world.run_jobs(pair.server_host);
    assert_eq!(held(&mut world, pair), [0; 6], "and everything that was accepted was handled");
}

#[test]
fn t87_a_forced_shutdown_is_punctual_and_counts_what_it_cut() {
    let (mut world, pair, running) = stuck(4, 4_096, 4_096);
    // Jobs behind the endless handler, sends that wait, a request without an answer.
    let request = world.try_request(pair.client_host, pair.client, b"ask", 60).expect("room");
    let mut waiting = Vec::new();
    for _ in 0..1_000 {
        if let Ok(Submitted::Waiting(operation)) = submit(&mut world, pair.client_host, pair.client) {
            waiting.push(operation);
            if waiting.len() == 3 {
                break;
            }
        }
        world.run();
    }
    assert_eq!(waiting.len(), 3);
    world.hosts[pair.server_host].is_frozen = true; // from here on it reads nothing
    let end = world.shutdown(pair.client_host, Duration::from_millis(500));
    world.run_to(end);
    let report = world.hosts[pair.client_host].report.expect("its time is over");
    assert_eq!(
        (report.outcome, report.reason),
        (ShutdownOutcome::ForceStopped, ShutdownReason::DeadlineExceeded)
    );
    assert_eq!(report.duration, Duration::from_millis(500), "not a step later");
    assert_eq!((report.counts.operations_waiting, report.counts.requests_outstanding), (3, 1), "{report}");
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("ShuttingDown Unknown"));
    for operation in waiting {
        let end = world.result(pair.client_host, operation);
        assert_eq!(end.as_deref(), Some("ShuttingDown NotSubmitted"));
    }

    world.hosts[pair.server_host].is_frozen = false;
    world.run();
    let queued = world.status(pair.server_host).owners.queued_items;
    assert!(queued > 0);
    world.shutdown(pair.server_host, 2 * SECOND);
    world.run_for(2 * SECOND);
    let report = world.hosts[pair.server_host].report.expect("its time is over");
    assert_eq!(
        (report.outcome, report.reason),
        (ShutdownOutcome::ForceStopped, ShutdownReason::DeadlineExceeded)
    );
    assert_eq!(report.duration, 2 * SECOND);
    assert_eq!(report.counts.handlers_running, 1, "{report}");
    assert!(report.counts.items_queued >= queued, "{report}");
    world.end(pair.server_host, running);
    let status = world.status(pair.server_host);
    assert_eq!((status.job_queue.in_use, status.owners.items), (0, 0));
}
