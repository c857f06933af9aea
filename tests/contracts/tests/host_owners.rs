//! Owners: admission, claim, start, terminal, parking (H-60 to H-88).

mod host_rig;

use host_rig::{Note, Rig, jobs, ms};
use std::time::Duration;
use zlink_proto::host::*;

fn local(rig: &mut Rig, owner: OwnerId, bytes: u64, is_request: bool) -> Result<(), Refusal> {
    let payload = Note { source: usize::MAX, number: 0, owner: Some(owner), bytes, is_request };
    let result = rig.host.submit_local(NewJob { owner, bytes, is_request, payload });
    rig.check();
    result.map_err(|refused| refused.reason)
}

fn items_max(items: u64) -> HostOptions {
    HostOptions { owner_application_items_max: Some(items), ..jobs(100) }
}

#[test]
fn t10_a_failed_admission_leaves_no_trace_and_the_next_one_gets_the_next_number() {
    let mut rig = Rig::with(
        HostOptions { owner_application_items_max: Some(5), owner_application_bytes_max: 2_000, ..jobs(100) },
        1,
    );
    let owner = rig.owner("orders");
    let closed = rig.owner("closed");
    rig.host.close_owner(closed, &mut Vec::new(), rig.now);
    rig.arrive(0, owner, 3);
    rig.receive();
    let before = rig.status().owners;
    // The owner is gone; bytes are full.
    for is_request in [false, true] {
        assert_eq!(local(&mut rig, closed, 1, is_request), Err(Refusal::TargetClosed));
        assert_eq!(local(&mut rig, owner, 1_000, is_request), Err(Refusal::OwnerFull));
    }
    let after = rig.status().owners;
    assert_eq!(
        (after.items, after.bytes, after.queued_items),
        (before.items, before.bytes, before.queued_items)
    );
    assert_eq!(local(&mut rig, owner, 1, false), Ok(()));
    assert_eq!(local(&mut rig, owner, 1, false), Ok(()));
    // Items are full.
    assert_eq!(local(&mut rig, owner, 1, true), Err(Refusal::OwnerFull));
    let mut numbers = Vec::new();
    let mut job = rig.start();
    while let Some(started) = job {
        numbers.push(started.number);
        job = rig.end(started.running);
    }
    assert_eq!(numbers, [1, 2, 3, 4, 5], "the first valid one after the failures is number 4");
    // Draining with the fence over.
    rig.host.shutdown(Duration::from_secs(30), rig.now);
    rig.host.fence_over(rig.sources[0]);
    rig.arrive_one(0, Some(owner), 64, true);
    rig.receive();
    assert_eq!(rig.refused[0].1, Refusal::ShuttingDown);
    assert_eq!(local(&mut rig, owner, 1, true), Err(Refusal::ShuttingDown));
    assert_eq!((rig.in_use(), rig.status().owners.items), (0, 0));
    let kinds = [Refusal::TargetClosed, Refusal::OwnerFull, Refusal::ShuttingDown].map(Refusal::local_kind);
    use zlink_proto::error::ErrorKind::*;
    assert_eq!(kinds, [NotFound, CapacityExceeded, ShuttingDown]);
}

#[test]
fn h61_both_axes_or_neither_equal_is_allowed_and_an_empty_lane_takes_one_of_any_size() {
    let options = HostOptions { owner_application_bytes_max: 1_000, ..items_max(3) };
    let mut rig = Rig::with(options, 0);
    let owner = rig.owner("orders");
    assert_eq!(local(&mut rig, owner, 10_000, false), Ok(()), "empty: any size");
    assert_eq!(local(&mut rig, owner, 0, false), Err(Refusal::OwnerFull));
    let job = rig.start().expect("queued");
    assert_eq!(local(&mut rig, owner, 0, false), Err(Refusal::OwnerFull), "running counts");
    assert!(rig.end(job.running).is_none());
    // Cost is 256 an item beside the payload: 244 + 256 twice is exactly the limit.
    assert_eq!(local(&mut rig, owner, 244, false), Ok(()));
    assert_eq!(local(&mut rig, owner, 245, false), Err(Refusal::OwnerFull));
    assert_eq!(
        local(&mut rig, owner, u64::MAX, false),
        Err(Refusal::OwnerFull),
        "an overflow counts as full"
    );
    assert_eq!(local(&mut rig, owner, 244, false), Ok(()));
    assert_eq!(rig.status().owners.bytes, 1_000);
}

#[test]
fn t56_a_claim_cannot_fail_for_room_that_local_work_took() {
    let mut rig = Rig::with(items_max(4), 1);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 1);
    rig.receive();
    for _ in 0..3 {
        assert_eq!(local(&mut rig, owner, 1, false), Ok(()));
    }
    assert_eq!(local(&mut rig, owner, 1, true), Err(Refusal::OwnerFull), "a request ends at once");
    assert_eq!(Refusal::OwnerFull.local_kind(), zlink_proto::error::ErrorKind::CapacityExceeded);
    assert_eq!(local(&mut rig, owner, 1, false), Err(Refusal::OwnerFull), "a send would wait");
    let status = rig.status().owners;
    assert_eq!(status.structural_rejections_local, 1, "waiting is no structural refusal");
    let job = rig.start().expect("the record runs");
    assert_eq!(job.payload.source, 0);
    assert_eq!(rig.status().owners.items, 4, "mailbox and execution together");
    assert_eq!(local(&mut rig, owner, 1, true), Err(Refusal::OwnerFull));
    assert!(rig.end(job.running).is_some());
    assert_eq!(local(&mut rig, owner, 1, true), Ok(()));
}

#[test]
fn t58_the_reservation_lasts_to_the_terminal_and_the_permit_to_the_start() {
    // Returned, failed, panicked and cancelled handlers are one terminal for the host: `next`. Force stop is the other.
    let mut rig = Rig::new(4, 1);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 2);
    rig.receive();
    let job = rig.start().expect("queued");
    let status = rig.status();
    assert_eq!((status.owners.items, status.owners.running_handlers, status.job_queue.in_use), (2, 1, 1));
    let job = rig.end(job.running).expect("next");
    assert_eq!((rig.status().owners.items, rig.in_use()), (1, 0));
    let mut ended = Vec::new();
    let report = rig.host.stop(Leftovers::default(), false, &mut ended, rig.now);
    assert_eq!((report.counts.handlers_running, rig.status().owners.items), (1, 0));
    assert!(rig.end(job.running).is_none(), "a late terminal changes nothing");
    assert_eq!(rig.status().owners.items, 0);
}

#[test]
fn t62_the_item_limit_of_an_owner_and_its_one_warning() {
    let with = |items| HostOptions { owner_application_items_max: items, ..jobs(4) };
    let mut rig = Rig::with(with(Some(4)), 1);
    rig.owner("first");
    rig.owner("second");
    assert_eq!(rig.host.poll_output(), Some(HostOutput::OwnerLimitBelowJobLimit));
    assert_eq!(rig.host.poll_output(), None, "one warning");

    let mut rig = Rig::with(with(Some(5)), 1);
    let owner = rig.owner("orders");
    assert_eq!(rig.host.poll_output(), None);
    rig.arrive(0, owner, 20);
    rig.receive();
    let job = rig.start().expect("one runs");
    rig.receive();
    let status = rig.status();
    assert_eq!((status.owners.items, status.job_queue.in_use), (5, 4), "one runs, M wait");
    assert_eq!(
        (status.owners.parked_sources, rig.refused.len()),
        (0, 0),
        "never full by remote records alone"
    );
    assert!(rig.end(job.running).is_some());

    let limit = |maximum| {
        let host: Host<()> = Host::new(jobs(maximum), ms(0)).expect("valid");
        (host.config().owner_items_max(1), host.config().is_owner_limit_below_job_limit(1))
    };
    assert_eq!(limit(512), (1_024, false));
    assert_eq!(limit(4_096), (4_097, false));
}

#[test]
fn t75_a_stuck_owner_with_refuse_answers_and_lets_the_others_run() {
    let options = HostOptions { owner_overflow: OwnerOverflow::Refuse, ..items_max(10) };
    let mut rig = Rig::with(options, 1);
    let (x, y, z) = (rig.owner("x"), rig.owner("y"), rig.owner("z"));
    rig.arrive(0, x, 1);
    rig.receive();
    let stuck = rig.start().expect("x runs");
    for number in 0..50 {
        rig.arrive_one(0, Some(x), 64, number % 2 == 0);
    }
    rig.arrive(0, y, 1);
    rig.arrive(0, z, 1);
    rig.receive();
    assert_eq!(rig.refused.len(), 41, "x holds 10, the running one included");
    assert!(rig.refused.iter().all(|(_, reason)| *reason == Refusal::OwnerFull));
    let status = rig.status();
    let one_ways = rig.refused.iter().filter(|(note, _)| !note.is_request).count() as u64;
    assert_eq!((status.dropped.backpressure, status.owners.structural_rejections_remote), (one_ways, 41));
    assert_eq!((status.owners.owner_waits, status.job_queue.capacity_waits), (0, 0));
    assert_eq!(Refusal::OwnerFull.reply(), ReplyResult::new(106, 18));
    let ran: Vec<OwnerId> =
        [rig.start(), rig.start()].into_iter().flatten().map(|job| job.running.owner()).collect();
    assert_eq!(ran, [y, z]);
    assert!(rig.end(stuck.running).is_some());
}

#[test]
fn t75_a_stuck_owner_with_wait_delays_its_connection_only() {
    let mut rig = Rig::with(items_max(10), 2);
    let (x, y) = (rig.owner("x"), rig.owner("y"));
    rig.arrive(0, x, 51);
    rig.arrive(0, y, 1);
    rig.receive();
    let mut job = rig.start().expect("x runs");
    rig.receive();
    let status = rig.status();
    assert_eq!((status.owners.items, status.owners.parked_sources, status.owners.owner_waits), (10, 1, 1));
    assert_eq!(status.job_queue.in_use, 9, "the parked source holds no permit");
    assert_eq!((status.job_queue.capacity_waits, status.owners.structural_rejections_remote), (0, 0));
    // The other connection goes on: y runs, requests for x are answered.
    rig.arrive(1, y, 1);
    rig.arrive_one(1, Some(x), 64, true);
    rig.receive();
    assert_eq!(rig.refused.len(), 1, "a request never parks");
    let other = rig.start().expect("y runs");
    assert_eq!(other.payload.source, 1);
    assert!(rig.end(other.running).is_none());
    // The handler of x ends again and again: all 50 run, none is lost, y behind them.
    let mut x_ran = 1;
    loop {
        rig.receive();
        match rig.end(job.running) {
            Some(next) => job = next,
            None => break,
        }
        x_ran += 1;
    }
    rig.receive();
    assert_eq!(x_ran, 51);
    assert_eq!(rig.start().map(|job| job.payload.source), Some(0));
    assert_eq!(rig.status().owners.parked_sources, 0);
}

#[test]
fn t83_after_a_panic_the_owner_goes_on() {
    // The driver catches it and reports the terminal like any other.
    let mut rig = Rig::new(4, 1);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 2);
    rig.receive();
    let panicked = rig.start().expect("queued");
    assert_eq!(rig.in_use(), 1, "its permit is gone long before");
    let next = rig.end(panicked.running).expect("the next item runs");
    assert_eq!(rig.status().owners.items, 1);
    assert!(rig.end(next.running).is_none());
    assert_eq!((rig.status().owners.items, rig.in_use()), (0, 0));
    let failed = ReplyResult::representative(zlink_proto::error::ErrorKind::InternalFailure);
    assert_eq!(failed, ReplyResult::REQUEST_FAILED);
}

/// Two parked sources on a full owner of one item, whose handler runs.
fn parked() -> (Rig, OwnerId, Job<Note>) {
    let mut rig = Rig::with(items_max(1), 3);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 1);
    rig.receive();
    let job = rig.start().expect("queued");
    rig.arrive(1, owner, 2);
    rig.arrive(2, owner, 1);
    rig.receive();
    assert_eq!(rig.status().owners.parked_sources, 2);
    assert!(!rig.host.needs_turn());
    rig.turns.clear();
    (rig, owner, job)
}

#[test]
fn t119_the_end_of_a_handler_takes_the_next_record_at_once() {
    let (mut rig, _, job) = parked();
    assert!(rig.end(job.running).is_none());
    assert!(rig.host.needs_turn(), "no timer is involved");
    assert_eq!(rig.host.poll_timeout(), None);
    rig.receive();
    // Source 1 took one and parked again with its second, behind source 2.
    assert_eq!(rig.turns.iter().filter(|turn| turn.1 > 0).collect::<Vec<_>>(), [&(1, 1)]);
    assert_eq!(rig.status().owners.parked_sources, 2);
    let job = rig.start().expect("taken");
    assert_eq!(job.payload.source, 1);
    rig.turns.clear();
    assert!(rig.end(job.running).is_none());
    rig.receive();
    assert_eq!(rig.turns[0], (2, 1));
    assert_eq!(rig.run().len(), 2);
    assert_eq!(rig.status().owners.parked_sources, 0);
}

#[test]
fn t119_an_owner_that_closes_wakes_all_and_their_records_are_refused() {
    let (mut rig, owner, job) = parked();
    rig.host.close_owner(owner, &mut Vec::new(), rig.now);
    rig.check();
    rig.receive();
    assert_eq!(rig.refused.len(), 3);
    assert!(rig.refused.iter().all(|(_, reason)| *reason == Refusal::TargetClosed));
    assert_eq!(
        (rig.status().dropped.stale_target, rig.status().owners.parked_sources, rig.in_use()),
        (3, 0, 0)
    );
    assert!(rig.end(job.running).is_none());
}

#[test]
fn t119_a_source_that_closes_leaves_nothing_parked_and_passes_its_wake_on() {
    let (mut rig, _, job) = parked();
    rig.remove_source(1);
    assert_eq!(rig.status().owners.parked_sources, 1);
    assert!(rig.end(job.running).is_none());
    rig.receive();
    assert_eq!(rig.turns, [(2, 1)]);
    // Woken, then dead before its turn.
    let (mut rig, _, job) = parked();
    assert!(rig.end(job.running).is_none());
    rig.remove_source(1);
    rig.receive();
    assert_eq!(rig.turns, [(2, 1)]);
    assert_eq!(rig.status().owners.parked_sources, 0);
}

#[test]
fn h88_a_woken_source_whose_room_was_taken_keeps_its_place() {
    let (mut rig, owner, job) = parked();
    assert!(rig.end(job.running).is_none());
    assert_eq!(local(&mut rig, owner, 1, false), Ok(()));
    rig.receive();
    assert_eq!((rig.turns.as_slice(), rig.status().owners.parked_sources), (&[(1, 0)][..], 2));
    assert_eq!(rig.status().owners.owner_waits, 2, "parked once each");
    let job = rig.start().expect("the local one");
    rig.turns.clear();
    assert!(rig.end(job.running).is_none());
    rig.receive();
    assert_eq!(rig.turns[0], (1, 1), "still the oldest");
}

#[test]
fn h88_a_small_record_does_not_pass_a_parked_large_one() {
    let options = HostOptions { owner_application_bytes_max: 2_000, ..jobs(100) };
    let mut rig = Rig::with(options, 2);
    let owner = rig.owner("orders");
    assert_eq!(local(&mut rig, owner, 500, false), Ok(()));
    rig.arrive_one(0, Some(owner), 1_500, false);
    rig.receive();
    rig.arrive_one(1, Some(owner), 1, false);
    rig.receive();
    assert_eq!(rig.status().owners.parked_sources, 2, "it would fit, but stands behind");
    let ran = rig.run();
    assert_eq!(ran.iter().map(|note| note.bytes).collect::<Vec<_>>(), [500, 1_500, 1]);
}

#[test]
fn h88_room_that_does_not_fit_the_head_record_wakes_nobody() {
    let options = HostOptions { owner_application_bytes_max: 2_000, ..jobs(100) };
    let mut rig = Rig::with(options, 1);
    let owner = rig.owner("orders");
    for _ in 0..2 {
        assert_eq!(local(&mut rig, owner, 500, false), Ok(()));
    }
    rig.arrive_one(0, Some(owner), 1_700, false);
    rig.receive();
    let job = rig.start().expect("queued");
    let job = rig.end(job.running).expect("the second");
    assert!(!rig.host.needs_turn(), "756 of 2,000 bytes are used, 1,956 are needed");
    assert!(rig.end(job.running).is_none());
    assert!(rig.host.needs_turn());
}

#[test]
fn h88_records_in_front_of_the_one_without_room_are_taken() {
    let mut rig = Rig::with(items_max(2), 1);
    let (x, y) = (rig.owner("x"), rig.owner("y"));
    rig.arrive(0, y, 1);
    rig.arrive(0, x, 3);
    rig.arrive(0, y, 1);
    rig.receive();
    assert_eq!(rig.turns, [(0, 3)], "y, x, x; the third x and what is behind it wait");
    assert_eq!(rig.run().len(), 5);
}

#[test]
fn h71_a_reserved_room_that_is_not_used_wakes_who_waits_for_it() {
    let mut rig = Rig::with(items_max(1), 2);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 1);
    let mut turn = rig.host.begin_turn(rig.now).expect("ready");
    let head = HeadInfo { owner: Some(owner), bytes: 64, charge: 64, is_request: false };
    assert_eq!(rig.host.room(&mut turn, &[head]), 1);
    rig.arrive(1, owner, 1);
    assert_eq!(rig.rotation(), [(1, 0)], "the room is promised to source 0");
    // The record of source 0 was discarded before it was taken.
    rig.queues[0].clear();
    rig.host.end_turn(turn, false, rig.now);
    rig.check();
    assert_eq!(rig.rotation(), [(1, 1)]);
}

#[test]
fn c1_a_woken_worker_empties_the_ready_set_and_an_owner_is_in_it_once() {
    let mut rig = Rig::new(100, 1);
    let owners = [rig.owner("x"), rig.owner("y"), rig.owner("z")];
    for owner in owners {
        rig.arrive(0, owner, 3);
    }
    rig.receive();
    // Only one notification arrives; the worker asks until nothing is left.
    let mut drains = Vec::new();
    while let Some(drain) = rig.host.poll_ready() {
        drains.push(drain.owner());
        let now = rig.now;
        let mut job = rig.host.start(drain, || now);
        while let Some(started) = job {
            job = rig.end(started.running);
        }
    }
    assert_eq!(drains, owners, "one drain each for three items");
    assert_eq!((rig.in_use(), rig.status().owners.items), (0, 0));
}

#[test]
fn c5_a_claimed_record_is_accounted_at_every_instant() {
    let mut rig = Rig::new(8, 1);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 3);
    rig.receive();
    let cost = (64 + 256) * 3;
    assert_eq!(rig.status().owners.bytes, cost);
    let drain = rig.host.poll_ready().expect("ready");
    assert_eq!(rig.status().owners.bytes, cost);
    let now = rig.now;
    let job = rig.host.start(drain, || now).expect("claimed");
    assert_eq!((rig.status().owners.bytes, rig.status().owners.items), (cost, 3), "moved, not released");
    assert!(rig.end(job.running).is_some());
    assert_eq!(rig.status().owners.bytes, cost / 3 * 2);
}

#[test]
fn c8_two_submitters_and_a_running_handler_make_one_drain() {
    let mut rig = Rig::new(8, 2);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 1);
    rig.arrive(1, owner, 1);
    rig.receive();
    assert_eq!(local(&mut rig, owner, 1, false), Ok(()));
    let drain = rig.host.poll_ready().expect("one drain");
    assert!(rig.host.poll_ready().is_none());
    let now = rig.now;
    let job = rig.host.start(drain, || now).expect("first");
    assert_eq!(local(&mut rig, owner, 1, false), Ok(()));
    assert!(rig.host.poll_ready().is_none(), "the running drain takes it");
    let mut job = rig.end(job.running);
    let mut rest = 0;
    while let Some(started) = job {
        rest += 1;
        job = rig.end(started.running);
    }
    assert_eq!(rest, 3);
    assert_eq!(local(&mut rig, owner, 1, false), Ok(()));
    assert!(
        rig.host.poll_ready().is_some(),
        "a submit into an empty queue after the drain ended schedules one"
    );
}

#[test]
fn h72_concurrency_runs_so_many_at_once_in_order() {
    let mut rig = Rig::new(100, 1);
    let owner = rig.owner_of("orders", 3);
    rig.arrive(0, owner, 5);
    rig.receive();
    let started: Vec<Job<Note>> = std::iter::from_fn(|| rig.start()).collect();
    let numbers: Vec<u64> = started.iter().map(|job| job.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(rig.status().owners.running_handlers, 3);
    let mut running: Vec<Running> = started.into_iter().map(|job| job.running).collect();
    let fourth = rig.end(running.remove(1)).expect("the middle one ended");
    assert_eq!(fourth.number, 4);
    let fifth = rig.end(running.remove(0)).expect("and the first");
    assert_eq!(fifth.number, 5);
    for running in [running.remove(0), fourth.running, fifth.running] {
        assert!(rig.end(running).is_none());
    }
    assert_eq!(rig.status().owners.items, 0);
    // With fewer items than turns no drain is scheduled in vain.
    rig.arrive(0, owner, 1);
    rig.receive();
    let drain = rig.host.poll_ready();
    assert!(drain.is_some() && rig.host.poll_ready().is_none());
}

#[test]
fn h76_a_slice_that_is_over_sends_its_owner_to_the_tail() {
    let mut rig = Rig::new(1_000, 1);
    let (x, y) = (rig.owner("x"), rig.owner("y"));
    rig.arrive(0, x, 100);
    rig.arrive(0, y, 1);
    rig.receive();
    let mut job = rig.start().expect("x");
    rig.now = ms(20);
    let mut handled = 1;
    while let Some(next) = rig.end(job.running) {
        handled += 1;
        job = next;
    }
    assert_eq!(handled, 16, "the time is looked at after 16 handlers at the latest");
    assert_eq!(rig.start().map(|job| job.running.owner()), Some(y));
    let mut job = rig.start().expect("x again, it had work left");
    assert_eq!((job.running.owner(), job.number), (x, 17));
    rig.now = ms(40);
    let now = rig.now;
    rig.host.pending(&mut job.running, now);
    assert!(rig.end(job.running).is_none(), "and whenever one was pending");
    assert_eq!(rig.status().owners.queued_items, 83);
}

#[test]
fn h80_closing_an_owner_ends_what_waits_and_not_what_runs() {
    let mut rig = Rig::new(8, 1);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 4);
    rig.receive();
    let job = rig.start().expect("queued");
    let mut ended = Vec::new();
    rig.host.close_owner(owner, &mut ended, rig.now);
    rig.check();
    assert_eq!((ended.len(), rig.in_use()), (3, 0), "permits of items that never ran return");
    assert_eq!(rig.status().owners.running_handlers, 1);
    assert!(rig.end(job.running).is_none());
    let next = rig.owner("next");
    assert_ne!(next, owner, "a handle of a closed owner matches nothing");
    assert_eq!(local(&mut rig, owner, 1, false), Err(Refusal::TargetClosed));
}

#[test]
fn m38_the_longest_pending_turn_is_shown_and_one_in_64_is_timed() {
    let mut rig = Rig::new(1_000, 1);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 128);
    rig.receive();
    rig.now = ms(5);
    let mut job = rig.start().expect("queued");
    let now = rig.now;
    rig.host.pending(&mut job.running, now);
    rig.now = ms(305);
    let longest = rig.status().owners.longest_running_turn.expect("pending");
    assert_eq!((longest.0, longest.2), (OwnerKind::Channel, Duration::from_millis(300)));
    assert!(rig.end(job.running).is_none(), "its slice is over");
    assert_eq!(rig.status().owners.longest_running_turn, None);
    rig.run();
    let status = rig.status();
    assert_eq!((status.job_wait.count(), status.handler_duration.count()), (2, 2));
    assert_eq!(status.handler_duration.sum, Duration::from_millis(300));
    assert_eq!(status.job_wait.sum, Duration::from_millis(5 + 305));
}

#[test]
fn t57_random_admissions_claims_and_terminals_keep_account_and_contents_equal() {
    let options = HostOptions { owner_application_bytes_max: 4_000, ..items_max(12) };
    let mut rig = Rig::with(HostOptions { max_queued_jobs: Some(7), ..options }, 6);
    let owners = [rig.owner("x"), rig.owner_of("y", 3)];
    let mut running: Vec<Running> = Vec::new();
    let mut seed = 11_u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let (mut arrived, mut ran) = (0, 0);
    for step in 0..6_000 {
        rig.now = ms(step);
        let owner = owners[random(2) as usize];
        match random(8) {
            0..3 if step < 5_000 => {
                let is_request = random(3) == 0;
                arrived += 1;
                rig.arrive_one(random(6) as usize, Some(owner), random(900), is_request);
            }
            3 => {
                let bytes = random(900);
                if local(&mut rig, owner, bytes, random(2) == 0).is_ok() {
                    arrived += 1;
                }
            }
            4 => drop(rig.turn()),
            5 | 6 => running.extend(rig.start().map(|job| job.running)),
            _ if !running.is_empty() => {
                let place = random(running.len() as u64) as usize;
                ran += 1;
                let next = rig.end(running.swap_remove(place));
                running.extend(next.map(|job| job.running));
            }
            _ => {}
        }
    }
    for ended in running {
        ran += 1;
        let mut job = rig.end(ended);
        while let Some(started) = job {
            ran += 1;
            job = rig.end(started.running);
        }
    }
    ran += rig.run().len();
    assert_eq!(arrived, ran + rig.refused.len(), "each record ran once or was refused once");
    assert!(rig.refused.iter().all(|(note, _)| note.is_request), "under Wait no one-way is lost");
    assert_eq!((rig.in_use(), rig.status().owners.items), (0, 0));
    assert!(ran > 1_000 && !rig.refused.is_empty());
}
