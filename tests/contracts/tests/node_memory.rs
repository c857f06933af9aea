//! What a call costs in allocations, both ends together.

use allocation_counter::measure;
use zlink_proto::message::Body;
use zlink_testkit::nodes::{World, prefix};

/// Calls of one batch.
const CALLS: u64 = 4_000;

#[test]
fn s51_a_one_way_call_allocates_nothing_of_its_own() {
    let (mut world, pair) = World::pair(8_192);
    let prefix = prefix();
    let payload = [7; 64];
    let batch = |world: &mut World| {
        for _ in 0..CALLS {
            let sent =
                world.node(pair.client_host).send(pair.client, &prefix, Body::Borrowed(&payload), None);
            assert_eq!(sent, Ok(zlink_proto::transport::Submitted::Admitted));
        }
        world.run();
        let mut next = world.node(pair.server_host).start_job();
        let mut handled = 0;
        while let Some(job) = next {
            handled += 1;
            next = world.node(pair.server_host).end_job(job, zlink_proto::host::ReplyResult::REQUEST_FAILED);
            if next.is_none() {
                next = world.node(pair.server_host).start_job();
            }
        }
        assert_eq!(handled, CALLS);
    };
    batch(&mut world);
    let used = measure(|| batch(&mut world));
    assert!(used.count_total * 10 < CALLS, "{} allocations for {CALLS} calls", used.count_total);
}
