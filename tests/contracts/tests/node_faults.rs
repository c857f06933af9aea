//! Peers that do not keep to the protocol, and records that are merely malformed (S-07, S-21, S-22, S-35).

use bytes::Bytes;
use std::time::Duration;
use zlink_proto::host::HostOptions;
use zlink_proto::node::Observed;
use zlink_proto::transport::{Slot, SocketOptions, Target};
use zlink_proto::wire::service::{
    Admission, Command, Content, FaultClass, RejectReason, RuntimeState, ServerDescriptor, ServiceRecord,
    encode_liveness,
};
use zlink_testkit::nodes::{Pair, World, client_config, named, server_config};

const ENVELOPE: &[u8] = b"\x01\0\0\0\x1c\x04Ping\x10application/json\0\0\0\x02{}";
const SEND: &[u8] = b"\x5a\x4d\x01\x12\0\x06orders";

/// Part 0 of a channel request whose correlation is `sequence`.
fn request_part(sequence: u64) -> Vec<u8> {
    let mut part = b"\x5a\x4d\x01\x13\0".to_vec();
    part.extend_from_slice(&sequence.to_be_bytes());
    part.extend_from_slice(b"\x06orders");
    part
}

/// The sequence that the next request of the pair's client gets: hello was the first.
const NEXT: u64 = 2;

fn dropped(world: &mut World, pair: Pair) -> u64 {
    world.status(pair.server_host).dropped.decode_error
}

#[test]
fn t29_malformed_records_harm_nobody_else() {
    let (mut world, pair) = World::pair(8);
    let bad = request_part(NEXT);
    let request = world.request_parts(pair.client_host, pair.client, &[&bad, b"\x02"]);
    assert_eq!(
        world.result(pair.client_host, request).as_deref(),
        Some("ProtocolError 104/12"),
        "its envelope"
    );
    let mut bad = request_part(NEXT + 1);
    bad.push(0);
    let request = world.request_parts(pair.client_host, pair.client, &[&bad, ENVELOPE]);
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("ProtocolError 104/16"), "its body");
    world.send_parts(pair.client_host, pair.client, &[SEND, b""]);
    world.send_parts(pair.client_host, pair.client, &[SEND]);
    assert_eq!(dropped(&mut world, pair), 2, "one-ways are observed");
    let observed = &world.hosts[pair.server_host].observed;
    assert!(observed.iter().all(|seen| matches!(seen, Observed::Malformed { .. })), "{observed:?}");
    assert!(world.start(pair.server_host).is_none(), "no handler ran");
    world.post(pair.client_host, pair.client, b"next");
    assert_eq!(world.run_jobs(pair.server_host), ["next"], "the connection lives");
}

#[test]
fn t29_a_malformed_reply_ends_its_request_and_nothing_else() {
    let (mut world, pair) = World::pair(8);
    let other = world.request(pair.client_host, pair.client, b"other", 30);
    let bad = world.request(pair.client_host, pair.client, b"bad", 30);
    let first = world.must_start(pair.server_host);
    let second = world.end_and_keep(pair.server_host, first);
    world.reply_parts(pair.server_host, second, |sequence| {
        let mut part = b"\x5a\x4d\x01\x14\0".to_vec();
        part.extend_from_slice(&sequence.to_be_bytes());
        part.extend_from_slice(&[0; 8]);
        vec![part.into(), Bytes::from_static(b"\x02")]
    });
    assert_eq!(world.result(pair.client_host, bad).as_deref(), Some("ProtocolError malformed"));
    assert_eq!(world.result(pair.client_host, other).as_deref(), Some("InternalFailure 105/17"));
    assert_eq!(world.peers(pair.client_host, pair.client), 1, "the connection stays");
}

#[test]
fn t91_replies_that_break_the_protocol_close_the_connection() {
    type Make = fn(u64) -> Vec<u8>;
    let cases: [(&str, Make); 3] = [
        ("another correlation", |sequence| {
            let mut part = b"\x5a\x4d\x01\x14\0".to_vec();
            part.extend_from_slice(&(sequence + 1).to_be_bytes());
            part.extend_from_slice(b"\0\0\0\x65\0\0\0\0");
            part
        }),
        ("no service record", |_| b"hello".to_vec()),
        ("a reject", |_| ServiceRecord::of(Content::Reject(RejectReason::ChannelMismatch)).encode_first()),
    ];
    for (name, make) in cases {
        let (mut world, pair) = World::pair(8);
        let request = world.request(pair.client_host, pair.client, b"ask", 30);
        let job = world.must_start(pair.server_host);
        world.reply_parts(pair.server_host, job, |sequence| vec![make(sequence).into()]);
        assert_eq!(
            world.result(pair.client_host, request).as_deref(),
            Some("ProtocolError Unknown"),
            "{name}"
        );
        assert_eq!(world.peers(pair.client_host, pair.client), 0, "{name}");
    }
}

#[test]
fn t91_calls_that_break_the_protocol_close_only_their_connection() {
    let bad_request = request_part(NEXT + 7);
    let good_request = request_part(NEXT);
    let hello = encode_liveness(Command::LivenessProbe, 1);
    let cases: [(FaultClass, bool, &[&[u8]]); 6] = [
        (FaultClass::CorrelationMismatch, true, &[&bad_request, ENVELOPE]),
        (FaultClass::KindMismatch, false, &[&good_request, ENVELOPE]),
        (FaultClass::KindMismatch, true, &[SEND, ENVELOPE]),
        (FaultClass::KindMismatch, true, &[&hello]),
        (FaultClass::WrongDirection, false, &[b"\x5a\x4d\x01\x10\0", ENVELOPE]),
        (FaultClass::TruncatedField, false, &[b"\x5a\x4d\x01"]),
    ];
    for (class, is_request, parts) in cases {
        let (mut world, pair) = World::pair(8);
        let bystander = world.host(HostOptions::default());
        let other = world.client(bystander, &["tcp://server:1"], named("bystander"));
        if is_request {
            let request = world.request_parts(pair.client_host, pair.client, parts);
            assert_eq!(world.result(pair.client_host, request).as_deref(), Some("Unavailable Unknown"));
        } else {
            world.send_parts(pair.client_host, pair.client, parts);
        }
        let fault = match world.hosts[pair.server_host].observed.as_slice() {
            [Observed::ProtocolError { fault: Some(fault) }] => fault.class,
            seen => panic!("{class:?}: {seen:?}"),
        };
        assert_eq!(fault, class);
        assert_eq!(world.peers(pair.client_host, pair.client), 0, "{class:?}: closed");
        assert_eq!(world.peers(bystander, other), 1, "{class:?}: others are untouched");
        world.run_for(Duration::from_secs(1));
        assert_eq!(world.peers(pair.client_host, pair.client), 1, "it reconnects");
    }
}

#[test]
fn t91_a_server_that_sends_a_call_is_closed_by_its_client() {
    let (mut world, pair) = World::pair(8);
    world.send_as_server(pair, vec![Bytes::from_static(SEND), Bytes::from_static(ENVELOPE)]);
    match world.hosts[pair.client_host].observed.as_slice() {
        [Observed::ProtocolError { fault: Some(fault) }] => {
            assert_eq!(fault.class, FaultClass::WrongDirection)
        }
        seen => panic!("{seen:?}"),
    }
    assert_eq!(world.peers(pair.client_host, pair.client), 0);
}

#[test]
fn s31_a_second_hello_closes() {
    let (mut world, pair) = World::pair(8);
    let hello = Content::Hello(Admission::Client(zlink_proto::wire::service::ClientHello {
        channel: "orders",
        security_identity: "cluster-a",
        max_message: 1,
    }));
    let hello = ServiceRecord::of(hello).encode_first();
    world.request_parts(pair.client_host, pair.client, &[&hello]);
    assert_eq!(world.hosts[pair.server_host].observed, [Observed::ProtocolError { fault: None }]);
    assert_eq!(world.peers(pair.client_host, pair.client), 0);
}

/// What the server of a pair says of itself.
fn descriptor() -> ServerDescriptor<'static> {
    ServerDescriptor {
        channel: "orders",
        server: b"server",
        lifecycle_generation: 7,
        descriptor_revision: 1,
        weight: 100,
        runtime_state: RuntimeState::Serving,
        security_identity: "cluster-a",
        max_message: 16_777_216,
        endpoint: "tcp://server:1",
    }
}

#[test]
fn t92_updates_are_applied_ignored_or_end_the_connection() {
    let known = descriptor();
    let newer = ServerDescriptor { descriptor_revision: 2, weight: 0, ..known };
    let cases = [
        ("equal revision and equal bytes", known, true),
        ("newer", newer, true),
        ("newer, draining", ServerDescriptor { runtime_state: RuntimeState::Draining, ..newer }, true),
        ("equal revision, other bytes", ServerDescriptor { weight: 1, ..known }, false),
        ("another channel", ServerDescriptor { channel: "x", ..newer }, false),
        ("another identity", ServerDescriptor { security_identity: "x", ..newer }, false),
        ("another generation", ServerDescriptor { lifecycle_generation: 8, ..newer }, false),
        ("another endpoint", ServerDescriptor { endpoint: "x", ..newer }, false),
        ("another limit", ServerDescriptor { max_message: 1, ..newer }, false),
    ];
    for (name, update, is_legal) in cases {
        let (mut world, pair) = World::pair(8);
        world.send_update(pair, update);
        let live = world.node(pair.client_host).host().admitted_peers(pair.client);
        assert_eq!(live, u32::from(is_legal), "{name}");
        let is_seen = !world.hosts[pair.client_host].observed.is_empty();
        assert_eq!(is_seen, !is_legal, "{name}: {:?}", world.hosts[pair.client_host].observed);
    }
    let (mut world, pair) = World::pair(8);
    world.send_update(pair, newer);
    world.send_update(pair, known);
    assert_eq!(world.node(pair.client_host).host().admitted_peers(pair.client), 0, "a lower revision");
}

#[test]
fn s45_a_new_weight_is_told_and_used() {
    let (mut world, pair) = World::pair(8);
    world.node(pair.server_host).host().set_weight(pair.server, 0).expect("a legal weight");
    world.node(pair.server_host).with_socket(pair.server, |_, _| ());
    world.run();
    assert_eq!(world.peers(pair.client_host, pair.client), 1, "membership stays");
    let request = world.request(pair.client_host, pair.client, b"x", 30);
    world.run_for(Duration::from_secs(5));
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("NotFound NotSubmitted"));
    assert!(world.node(pair.server_host).host().set_weight(pair.server, 10_001).is_err());
}

#[test]
fn s32_each_reason_to_reject_and_whether_it_is_final() {
    type Change = fn(&mut zlink_proto::node::ClientConfig);
    let cases: [(&str, RejectReason, bool, Change); 2] = [
        ("channel", RejectReason::ChannelMismatch, true, |config| config.channel = "other".into()),
        ("identity", RejectReason::SecurityIdentityMismatch, true, |config| {
            config.security_identity = "cluster-b".into();
        }),
    ];
    for (name, reason, is_final, change) in cases {
        let mut world = World::new();
        let server_host = world.host(HostOptions::default());
        world.server(server_host, server_config("tcp://server:1"), named("server"));
        let client_host = world.host(HostOptions::default());
        let mut config = client_config();
        change(&mut config);
        let client = world.node(client_host).add_client(config, SocketOptions::default()).expect("legal");
        world.node(client_host).connect(client, "tcp://server:1").expect("legal");
        world.run_for(Duration::from_secs(20));
        let rejection = world.node(client_host).host().rejection(client);
        assert_eq!(rejection, Some(reason), "{name}: the reject was read before the end (N-25a)");
        let tries = world.hosts[client_host].observed.len();
        assert_eq!(tries == 1, is_final, "{name}: {tries} tries");
        assert_eq!(world.link_count(), 0, "{name}: {:?}", world.hosts[server_host].observed);
    }
}

#[test]
fn s41_an_ack_of_a_probe_that_nobody_sent_is_ignored() {
    let (mut world, pair) = World::pair(8);
    let set = world.socket_status(pair.server_host, pair.server).peers[0].set;
    for id in [5, 6] {
        world.node(pair.server_host).with_socket(pair.server, |socket, _| {
            let mut record = &encode_liveness(Command::LivenessProbe, id)[..];
            socket.fill_slot(set, Slot::Probe, &mut record).expect("ready");
        });
    }
    world.run();
    assert_eq!(world.peers(pair.client_host, pair.client), 1);
    assert!(world.hosts[pair.server_host].observed.is_empty(), "acks of nothing are ignored (S-41)");
}

#[test]
fn s07_nothing_behind_a_fault_is_looked_at() {
    let (mut world, pair) = World::pair(8);
    for parts in
        [vec![Bytes::from_static(b"x")], vec![Bytes::from_static(SEND), Bytes::from_static(ENVELOPE)]]
    {
        world.node(pair.client_host).with_socket(pair.client, |socket, now| {
            let mut parts = parts;
            socket.send(Target::Any, &mut parts, None, || now).expect("accepted")
        });
    }
    world.run();
    assert_eq!(world.hosts[pair.server_host].observed.len(), 1);
    assert!(world.start(pair.server_host).is_none(), "no handler runs for what stands behind it");
}
