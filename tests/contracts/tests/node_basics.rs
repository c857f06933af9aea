//! From a client's call to a handler and back.

use bytes::Bytes;
use zlink_testkit::nodes::World;

#[test]
fn t124_a_client_is_admitted_and_its_calls_are_handled_in_order() {
    let (mut world, pair) = World::pair(8);
    assert_eq!(world.node(pair.client_host).host().ready_peers(pair.client), 1);
    assert_eq!(world.node(pair.server_host).host().admitted_peers(pair.server), 1);
    world.post(pair.client_host, pair.client, b"one");
    let request = world.request(pair.client_host, pair.client, b"two", 5);
    world.post(pair.client_host, pair.client, b"three");
    let seen = world.run_jobs(pair.server_host);
    assert_eq!(seen, [Bytes::from("one"), Bytes::from("two"), Bytes::from("three")]);
    assert_eq!(world.result(pair.client_host, request).as_deref(), Some("two"));
}
