//! Receive rotation (H-50 to H-55).

mod host_rig;

use host_rig::{Rig, jobs};
use std::time::Duration;
use zlink_proto::host::*;

/// Starts and ends everything that is queued, without receiving.
fn run_queued(rig: &mut Rig) -> usize {
    let mut count = 0;
    let mut job = rig.start();
    while let Some(running) = job {
        count += 1;
        job = rig.end(running.running).or_else(|| rig.start());
    }
    count
}

#[test]
fn t24_a_trickle_is_taken_in_the_rotation_after_its_arrival() {
    let mut rig = Rig::new(1_000, 2);
    let owner = rig.owner("orders");
    for _ in 0..10 {
        rig.arrive(0, owner, 200);
        rig.rotation();
        rig.arrive(1, owner, 1);
        let turns = rig.rotation();
        assert!(turns.contains(&(1, 1)), "{turns:?}");
        run_queued(&mut rig);
    }
}

#[test]
fn t25_rotations_of_a_flood_and_a_single_record() {
    let mut rig = Rig::new(1_000, 2);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 200);
    rig.arrive(1, owner, 1);
    assert_eq!(rig.rotation(), [(0, 64)]);
    assert_eq!(rig.rotation(), [(1, 1), (0, 63)]);
    assert_eq!(rig.rotation(), [(0, 64)]);
    assert_eq!(rig.rotation(), [(0, 9)]);
    assert!(!rig.host.needs_turn());
}

#[test]
fn t26_bytes_end_a_rotation_and_the_record_that_crosses_is_taken() {
    let mut rig = Rig::new(1_000, 2);
    let owner = rig.owner("orders");
    for _ in 0..10 {
        rig.arrive_one(0, Some(owner), 1 << 20, false);
    }
    rig.arrive(1, owner, 1);
    assert_eq!(rig.rotation(), [(0, 4)]);
    assert_eq!(rig.rotation(), [(1, 1), (0, 4)], "begins after the member at which it stopped");

    let mut rig = Rig::with(HostOptions { rotation_bytes_max: 100, ..jobs(1_000) }, 1);
    let owner = rig.owner("orders");
    for bytes in [60, 60, 1] {
        rig.arrive_one(0, Some(owner), bytes, false);
    }
    assert_eq!(rig.rotation(), [(0, 2)]);
}

#[test]
fn t26_time_is_looked_at_every_16_records_at_the_latest() {
    let mut rig = Rig::new(1_000, 2);
    let owner = rig.owner("orders");
    rig.take_time = Duration::from_millis(1);
    rig.arrive(0, owner, 100);
    rig.arrive(1, owner, 1);
    let turns = rig.rotation();
    assert!(turns.len() == 1 && turns[0].1 <= 16, "{turns:?}");
    assert_eq!(rig.in_use() as usize, turns[0].1, "what was reserved beyond that went back");
    assert_eq!(rig.rotation()[0], (1, 1), "the cursor stands after that member");
    assert!(rig.host.needs_turn(), "the rest schedules the next rotation by itself");
}

#[test]
fn t26_time_is_looked_at_when_a_batch_ends() {
    let mut rig = Rig::new(1_000, 5);
    let owner = rig.owner("orders");
    rig.take_time = Duration::from_millis(1);
    for source in 0..5 {
        rig.arrive(source, owner, 1);
    }
    assert_eq!(rig.rotation(), [(0, 1), (1, 1)]);
    assert_eq!(rig.rotation(), [(2, 1), (3, 1)]);
}

#[test]
fn t27_members_are_peers_not_sockets() {
    let mut rig = Rig::new(1_000, 2);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 1_000);
    rig.rotation();
    rig.arrive(1, owner, 1);
    assert_eq!(rig.rotation()[0], (1, 1));
}

#[test]
fn t28_permits_that_return_one_by_one_go_round_in_waiting_order() {
    let mut rig = Rig::new(4, 26);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 100);
    rig.receive();
    for source in 1..26 {
        rig.arrive(source, owner, 1);
    }
    // The consumer was stuck; now its handlers start one after the other.
    let mut job = rig.start().expect("queued");
    rig.turns.clear();
    for _ in 0..27 {
        rig.receive();
        job = rig.end(job.running).expect("queued");
    }
    let order: Vec<usize> = rig.turns.iter().map(|turn| turn.0).collect();
    let expected: Vec<usize> = [0].into_iter().chain(1..26).chain([0]).collect();
    assert_eq!(order, expected);
}

#[test]
fn t29_malformed_records_run_no_handler_and_what_follows_is_served() {
    let mut rig = Rig::new(8, 1);
    let owner = rig.owner("orders");
    for is_request in [true, false, false] {
        rig.arrive_one(0, None, 10, is_request);
    }
    rig.arrive(0, owner, 1);
    let ran = rig.run();
    assert_eq!((ran.len(), rig.controls.len(), rig.in_use()), (1, 3, 0));
}

#[test]
fn h52_a_removed_member_leaves_the_cursor_at_its_successor_and_a_new_one_is_last() {
    let mut rig = Rig::new(1_000, 4);
    let owner = rig.owner("orders");
    for source in 0..4 {
        rig.arrive(source, owner, 70);
    }
    assert_eq!(rig.rotation(), [(0, 64)]);
    // The cursor stands at 1.
    rig.remove_source(1);
    let new = rig.add_source();
    rig.arrive(new, owner, 70);
    assert_eq!(rig.rotation(), [(2, 64)]);
    assert_eq!(rig.rotation(), [(3, 64)]);
    assert_eq!(rig.rotation(), [(0, 6), (new, 58)], "the new member stands before the cursor's place");
    assert_eq!(rig.rotation(), [(2, 6), (3, 6), (new, 12)]);
}

#[test]
fn h52_the_ring_keeps_its_order_through_many_changes() {
    // Against a plain list: who is served first, after members came and went at every place of the cursor.
    let mut rig = Rig::new(100_000, 0);
    let owner = rig.owner("orders");
    let mut list: Vec<usize> = Vec::new();
    let mut cursor = 0;
    let mut seed = 3_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    for step in 0..3_000 {
        if step % 500 == 499 {
            // Most members leave: their places are squeezed out when the next one comes.
            while list.len() > 30 {
                let place = random(list.len());
                rig.remove_source(list.remove(place));
                cursor -= usize::from(place < cursor);
            }
        }
        match random(5) {
            0 | 1 => {
                let new = rig.add_source();
                list.insert(cursor, new);
                cursor += 1;
            }
            2 if !list.is_empty() => {
                let place = random(list.len());
                rig.remove_source(list.remove(place));
                cursor -= usize::from(place < cursor);
            }
            _ if !list.is_empty() => {
                let places = [random(list.len()), random(list.len())];
                for place in places {
                    rig.arrive(list[place], owner, 1);
                }
                let after = |place: &usize| (place + list.len() - cursor % list.len()) % list.len();
                let first = *places.iter().min_by_key(|place| after(place)).expect("two");
                let last = *places.iter().max_by_key(|place| after(place)).expect("two");
                let turns = rig.rotation();
                assert_eq!(turns[0].0, list[first]);
                cursor = last + 1;
                run_queued(&mut rig);
            }
            _ => {}
        }
    }
}

#[test]
fn c3_a_receive_turn_calls_no_handler_and_leaves_owners_alone() {
    let mut rig = Rig::new(100, 1);
    let (owner, other) = (rig.owner("orders"), rig.owner("other"));
    rig.arrive(0, other, 1);
    rig.receive();
    let running = rig.start().expect("started");
    let before = rig.status().owners;
    rig.arrive(0, owner, 10);
    rig.receive();
    let after = rig.status().owners;
    assert_eq!(after.running_handlers, before.running_handlers);
    assert_eq!(after.queued_items, before.queued_items + 10, "ownership moved, nothing else");
    assert!(rig.end(running.running).is_none());
}
