//! Permits and the order of ordinary records (H-10 to H-29).

mod host_rig;

use host_rig::{Rig, ms};
use zlink_proto::host::*;

#[test]
fn t08_a_record_is_reserved_then_queued_then_free_at_the_first_instruction() {
    let mut rig = Rig::new(4, 1);
    let owner = rig.owner("orders");
    // The gate is taken by a turn that goes on.
    rig.arrive(0, owner, 1);
    rig.receive();
    let first = rig.start().expect("started");
    rig.arrive(0, owner, 1);
    let mut turn = rig.host.begin_turn(rig.now).expect("a source is ready");
    let jobs = rig.status().job_queue;
    assert_eq!((jobs.reserved, jobs.queued), (1, 0), "reserved before it is received");
    let head = HeadInfo { owner: Some(owner), bytes: 1, charge: 1, is_request: false };
    assert_eq!(rig.host.room(&mut turn, &[head]), 1);
    let note = rig.queues[0].pop_front().expect("arrived");
    rig.host.attach(&mut turn, NewJob { owner, bytes: 1, is_request: false, payload: note }).expect("room");
    rig.host.end_turn(turn, false, rig.now);
    let jobs = rig.status().job_queue;
    assert_eq!((jobs.reserved, jobs.queued), (0, 1), "queued while the gate is taken");
    let second = rig.end(first.running).expect("next of the same drain");
    assert_eq!(rig.in_use(), 0, "released before the callback's first instruction");
    assert_eq!(second.payload, note);
    assert!(rig.end(second.running).is_none());
}

#[test]
fn t09_nothing_more_is_received_until_a_handler_starts() {
    let mut rig = Rig::new(2, 1);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 5);
    rig.receive();
    assert_eq!((rig.queues[0].len(), rig.in_use()), (3, 2));
    let job = rig.start().expect("queued");
    rig.receive();
    assert_eq!(rig.queues[0].len(), 2, "exactly one more");
    assert!(rig.end(job.running).is_some());
}

#[test]
fn t11_a_wait_ends_with_its_source_without_refusing_or_dropping() {
    let mut rig = Rig::new(1, 2);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 1);
    rig.receive();
    rig.arrive(1, owner, 1);
    assert_eq!(rig.status().job_queue.capacity_waiters, 1);
    rig.remove_source(1);
    let status = rig.status();
    assert_eq!((status.job_queue.capacity_waiters, status.dropped.total()), (0, 0));
    assert!(rig.refused.is_empty());

    // The host closes while a source waits.
    let waiting = rig.add_source();
    rig.arrive(waiting, owner, 1);
    assert_eq!(rig.status().job_queue.capacity_waiters, 1);
    let mut ended = Vec::new();
    rig.host.stop(Leftovers::default(), false, &mut ended, rig.now);
    assert_eq!((rig.status().job_queue.capacity_waiters, rig.in_use()), (0, 0));
    assert!(!rig.host.needs_turn(), "later returns grant nobody");
}

#[test]
fn t12_grants_follow_the_order_of_waiting() {
    let mut rig = Rig::new(1, 5);
    let owner = rig.owner("orders");
    rig.arrive(4, owner, 1);
    rig.receive();
    let mut job = rig.start().expect("queued");
    rig.arrive(4, owner, 1);
    rig.receive();
    for source in 0..3 {
        rig.arrive(source, owner, 1);
    }
    // A second edge of a waiting source changes nothing.
    rig.host.readable(rig.sources[0], rig.now);
    assert_eq!(rig.status().job_queue.capacity_waiters, 3);
    let mut order = Vec::new();
    for step in 0..4 {
        // The permit of the job that starts goes to the oldest waiter; a source that asks now is behind all of them.
        job = rig.end(job.running).expect("a job for each grant");
        if step == 0 {
            rig.arrive(3, owner, 1);
        }
        order.push(rig.turn().map(|_| rig.turns.last().expect("a turn").0));
        rig.receive();
    }
    assert_eq!(order, [Some(0), Some(1), Some(2), Some(3)]);
}

#[test]
fn t13_a_withdrawn_waiter_is_passed_over_and_in_use_stays_at_the_limit() {
    let mut rig = Rig::new(1, 3);
    let owner = rig.owner("orders");
    rig.arrive(2, owner, 1);
    rig.receive();
    rig.arrive(0, owner, 1);
    rig.arrive(1, owner, 1);
    rig.remove_source(0);
    let sequence = rig.status().job_queue.pressure_sequence;
    let job = rig.start().expect("queued");
    let status = rig.status().job_queue;
    assert_eq!((status.in_use, status.pressure_sequence), (1, sequence), "a hand-off is no transition");
    assert_eq!(rig.rotation(), [(1, 1)]);
    assert!(rig.end(job.running).is_some());
}

#[test]
fn t15_after_its_batch_a_source_queues_behind_those_that_wait() {
    let mut rig = Rig::new(4, 2);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 100);
    rig.arrive(1, owner, 1);
    rig.receive();
    assert_eq!(rig.turns, [(0, 4)]);
    assert_eq!(rig.status().job_queue.capacity_waiters, 2);
    let ran = rig.run();
    let place = ran.iter().position(|note| note.source == 1).expect("it ran");
    assert_eq!(place, 4, "before the fifth of A");
    assert_eq!(ran.len(), 101);
}

#[test]
fn h14_the_worked_example_of_two_permits_and_three_sources() {
    let mut rig = Rig::new(2, 3);
    let owner = rig.owner("orders");
    for source in 0..3 {
        rig.arrive(source, owner, 3);
    }
    let order: Vec<usize> = rig.run().iter().map(|note| note.source).collect();
    assert_eq!(order, [0, 0, 1, 2, 0, 1, 2, 1, 2], "a1 a2 b1 c1 a3 b2 c2 b3 c3");
}

#[test]
fn t17_an_awaiting_handler_needs_no_permit() {
    let mut rig = Rig::new(1, 1);
    let (x, y) = (rig.owner("x"), rig.owner("y"));
    rig.arrive(0, x, 1);
    rig.arrive(0, y, 1);
    rig.receive();
    let awaiting = rig.start().expect("x starts");
    rig.now = ms(10_000);
    rig.receive();
    let other = rig.start().expect("y starts while x awaits");
    assert_eq!(other.running.owner(), y);
    assert!(rig.end(other.running).is_none());
    assert!(rig.end(awaiting.running).is_none());
    assert_eq!(rig.in_use(), 0);
}

#[test]
fn t18_control_and_malformed_records_take_and_return_the_permit() {
    let mut rig = Rig::new(1, 1);
    let owner = rig.owner("orders");
    for _ in 0..3 {
        rig.arrive_one(0, None, 20, false);
    }
    rig.arrive(0, owner, 1);
    let ran = rig.run();
    assert_eq!((rig.controls.len(), ran.len(), rig.in_use()), (3, 1, 0));
    assert_eq!(rig.turns, [(0, 1), (0, 1), (0, 1), (0, 1)], "each by a permit of its own");
}

#[test]
fn t20_control_records_wait_for_a_permit_and_keep_their_order() {
    let mut rig = Rig::new(1, 1);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 1);
    rig.receive();
    for _ in 0..4 {
        rig.arrive_one(0, None, 20, false);
    }
    rig.receive();
    assert!(rig.controls.is_empty(), "none is received");
    assert_eq!(rig.run().len(), 1);
    let numbers: Vec<usize> = rig.controls.iter().map(|note| note.number).collect();
    assert_eq!(numbers, [2, 3, 4, 5]);
}

#[test]
fn t21_a_record_recognised_late_as_a_reply_holds_its_permit_until_it_is_handled() {
    let mut rig = Rig::new(2, 1);
    rig.arrive_one(0, None, 20, false);
    let mut turn = rig.host.begin_turn(rig.now).expect("ready");
    let head = HeadInfo { owner: None, bytes: 20, charge: 20, is_request: false };
    assert_eq!(rig.host.room(&mut turn, &[head]), 1);
    assert_eq!(rig.in_use(), 1, "while it is handled");
    rig.host.finish_control(&mut turn);
    assert_eq!(rig.in_use(), 0);
    rig.host.end_turn(turn, false, rig.now);
}

#[test]
fn t23_a_permit_counts_a_job_whatever_its_size() {
    let mut rig = Rig::new(8, 1);
    let owner = rig.owner("orders");
    rig.arrive_one(0, Some(owner), 0, false);
    rig.receive();
    assert_eq!(rig.in_use(), 1);
    rig.arrive_one(0, Some(owner), 10 << 20, false);
    rig.receive();
    assert_eq!(rig.in_use(), 2);
}

#[test]
fn t64_grants_that_nobody_used_are_seen_as_reserved() {
    let mut rig = Rig::new(4, 8);
    let owner = rig.owner("orders");
    let turns: Vec<Turn> = (0..8)
        .filter_map(|source| {
            rig.arrive(source, owner, 1);
            rig.host.begin_turn(rig.now)
        })
        .collect();
    let jobs = rig.status().job_queue;
    assert_eq!((turns.len(), jobs.reserved, jobs.queued, jobs.in_use), (4, 4, 0, 4));
    for turn in turns {
        rig.host.end_turn(turn, true, rig.now);
        let jobs = rig.status().job_queue;
        assert_eq!(jobs.reserved + jobs.queued, jobs.in_use);
        rig.check();
    }
    assert_eq!(rig.run().len(), 8);
}

#[test]
fn t65_a_scheduled_job_stays_queued_until_its_first_instruction() {
    let mut rig = Rig::new(4, 1);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 1);
    rig.receive();
    let drain = rig.host.poll_ready().expect("handed to an executor");
    rig.now = ms(5_000);
    assert_eq!(rig.status().job_queue.queued, 1, "the executor did not start it");
    let now = rig.now;
    let job = rig.host.start(drain, || now).expect("started");
    assert_eq!(rig.status().job_queue.queued, 0);
    assert!(rig.end(job.running).is_none());
}

#[test]
fn t70_idle_sources_hold_and_await_nothing() {
    let mut rig = Rig::new(4, 101);
    let owner = rig.owner("orders");
    rig.arrive(50, owner, 1_000);
    assert_eq!(rig.run().len(), 1_000);
    let jobs = rig.status().job_queue;
    assert_eq!((jobs.in_use, jobs.capacity_waiters), (0, 0));
    assert!(rig.turns.iter().all(|turn| turn.0 == 50));
}

#[test]
fn t71_a_grant_with_nothing_to_receive_moves_on_in_the_same_step() {
    let mut rig = Rig::new(1, 3);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 1);
    rig.receive();
    rig.arrive(1, owner, 1);
    rig.arrive(2, owner, 1);
    let job = rig.start().expect("its permit goes to source 1");
    // The peer closed and its records were discarded before the turn.
    rig.queues[1].clear();
    assert_eq!(rig.turn(), Some(0));
    assert_eq!(rig.in_use(), 1, "handed to source 2");
    assert_eq!(rig.turn(), Some(1));
    assert_eq!(rig.turns.last(), Some(&(2, 1)));
    assert!(rig.end(job.running).is_some());
}

#[test]
fn t72_a_fast_source_passes_nobody() {
    let mut rig = Rig::new(1, 8);
    let owner = rig.owner("orders");
    for source in 0..8 {
        rig.arrive(source, owner, 1);
    }
    let mut served = Vec::new();
    while served.len() < 10_000 {
        // Source 0 always has many more; the others one at a time.
        rig.arrive(0, owner, 100 - rig.queues[0].len().min(100));
        rig.receive();
        served.extend(rig.turns.drain(..).filter(|turn| turn.1 > 0).map(|turn| turn.0));
        let mut job = rig.start();
        while let Some(running) = job {
            let source = running.payload.source;
            if rig.queues[source].is_empty() {
                rig.arrive(source, owner, 1);
            }
            job = rig.end(running.running);
        }
    }
    for round in served[8..10_000].chunks_exact(8) {
        let mut round = round.to_vec();
        round.sort_unstable();
        assert_eq!(round, [0, 1, 2, 3, 4, 5, 6, 7], "each once before anyone twice");
    }
}

#[test]
fn t73_batches_of_two_sources_never_stall_and_publish_what_they_hold() {
    let mut rig = Rig::new(4, 2);
    let owner = rig.owner("orders");
    for _ in 0..10 {
        rig.arrive(0, owner, 3);
        rig.arrive(1, owner, 3);
        assert_eq!(rig.run().len(), 6);
    }
    assert!(rig.turns.iter().all(|turn| turn.1 <= 4));
}

#[test]
fn t101_a_saturated_host_is_silent_for_an_hour_and_one_return_is_one_grant() {
    let mut rig = Rig::new(2, 1_000);
    let owner = rig.owner("orders");
    for source in 0..1_000 {
        rig.arrive(source, owner, 2);
    }
    rig.receive();
    let turns = rig.turns.len();
    rig.now = ms(3_600_000);
    rig.host.handle_timeout(rig.now);
    rig.receive();
    assert_eq!((rig.turns.len(), rig.host.needs_turn(), rig.host.poll_timeout()), (turns, false, None));
    let status = rig.status();
    assert_eq!((status.dropped.total(), rig.refused.len()), (0, 0));
    assert_eq!(status.job_queue.capacity_waits, status.job_queue.capacity_waiters.into());
    let job = rig.start().expect("queued");
    rig.receive();
    assert_eq!(rig.turns.len(), turns + 1, "one grant");
    assert!(rig.end(job.running).is_some());
}

#[test]
fn t129_readable_during_a_turn_is_not_lost() {
    // The edge may come before the look, between the look and the take, or after it; `more` says what the take saw.
    for edge in 0..4 {
        let mut rig = Rig::new(4, 1);
        let owner = rig.owner("orders");
        rig.arrive(0, owner, 1);
        let mut turn = rig.host.begin_turn(rig.now).expect("ready");
        let mut looked = 1;
        let mut step = |rig: &mut Rig, at: usize| {
            if at == edge {
                rig.arrive_one(0, Some(owner), 64, false);
                rig.host.readable(rig.sources[0], rig.now);
                looked += usize::from(at == 0);
            }
        };
        step(&mut rig, 0);
        let head = HeadInfo { owner: Some(owner), bytes: 64, charge: 64, is_request: false };
        let heads = vec![head; rig.queues[0].len()];
        let count = rig.host.room(&mut turn, &heads);
        step(&mut rig, 1);
        let taken: Vec<_> = rig.queues[0].drain(..count).collect();
        let more = !rig.queues[0].is_empty();
        step(&mut rig, 2);
        for payload in taken {
            let job = NewJob { owner, bytes: 64, is_request: false, payload };
            rig.host.attach(&mut turn, job).expect("room");
        }
        rig.host.end_turn(turn, more, rig.now);
        step(&mut rig, 3);
        assert_eq!(rig.run().len(), 2, "edge at step {edge}");
    }
}
