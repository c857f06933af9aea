//! Status, doctor, reset, diagnostics (M-10 to M-15, M-30 to M-50).

mod host_rig;

use host_rig::{Note, Rig, jobs, ms};
use std::time::Duration;
use zlink_proto::host::*;
use zlink_proto::wire::Flow;

#[test]
fn t54_a_send_that_waited_is_recorded_at_the_default_level() {
    use DiagnosticsLevel::*;
    let level = HostOptions::default().diagnostics_level;
    assert_eq!(level, Errors);
    assert!(level.records(Phase::Backpressured, 0.0, u64::MAX), "never sampled away");
    assert!(level.records(Phase::Dropped, 0.0, u64::MAX));
    assert!(!level.records(Phase::Received, 1.0, 0));
    let phases = [
        Phase::Received,
        Phase::Admitted,
        Phase::Dispatched,
        Phase::Completed,
        Phase::Replied,
        Phase::Sent,
        Phase::ReplyReceived,
        Phase::Backpressured,
        Phase::Dropped,
    ];
    let recorded = |level: DiagnosticsLevel| -> Vec<&str> {
        phases.iter().filter(|phase| level.records(**phase, 1.0, 0)).map(|phase| phase.name()).collect()
    };
    assert_eq!(recorded(Off), [""; 0]);
    assert_eq!(recorded(Errors), ["backpressured", "dropped"]);
    assert_eq!(
        recorded(Normal),
        ["received", "dispatched", "completed", "replied", "backpressured", "dropped"]
    );
    assert_eq!(recorded(Detailed).len(), 9);
}

#[test]
fn m31_samples_are_chosen_by_the_flow_id() {
    let share = (0..10_000_u64)
        .filter(|flow| {
            let hash = flow.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            DiagnosticsLevel::Detailed.records(Phase::Sent, 0.25, hash)
        })
        .count();
    assert!((2_300..2_700).contains(&share), "{share}");
    assert!(!DiagnosticsLevel::Detailed.records(Phase::Sent, 0.0, 0));
    assert!(DiagnosticsLevel::Detailed.records(Phase::Sent, 1.0, u64::MAX));
}

#[test]
fn m33_a_hundred_records_a_second_pass_and_the_rest_is_counted() {
    let mut limit = RateLimit::default();
    let passed = (0..250).filter(|_| limit.pass(ms(1_000)).is_some()).count();
    assert_eq!(passed, 100);
    assert_eq!(limit.pass(ms(2_000)), Some(150));
    assert_eq!(limit.pass(ms(2_001)), Some(0));
}

#[test]
fn t63_stuck_handlers_are_seen_as_permits_not_bytes() {
    let mut rig = Rig::new(2, 3);
    let owner = rig.owner("orders");
    for source in 0..3 {
        rig.arrive(source, owner, 5);
    }
    rig.receive();
    rig.now = ms(1_500);
    let mut status = rig.status();
    status.transport.applied_hwm = 64 << 20;
    status.transport.accounted = 13 * 128;
    assert_eq!((status.job_queue.in_use, status.job_queue.capacity_waiters), (2, 3));
    let diagnosis = status.doctor().expect("a symptom");
    assert_eq!(diagnosis.symptom, Symptom::HandlersStartTooSlowly);
    assert!(diagnosis.numbers.contains("in_use 2 of 2") && diagnosis.numbers.contains("waiters 3"));
    let text = status.to_string();
    let first = text.lines().next().expect("a line");
    assert_eq!(first, "waiting: 3 in job permit, 2 of 2 permits in use, since 1.5s");
}

#[test]
fn m11_display_begins_with_what_waits_where_for_whom_and_since_when() {
    let mut rig = Rig::with(HostOptions { owner_application_items_max: Some(1), ..jobs(10) }, 2);
    let owner = rig.owner("orders");
    assert!(rig.status().to_string().starts_with("waiting: nothing\n"));
    rig.now = ms(1_000);
    rig.arrive(0, owner, 3);
    rig.receive();
    rig.now = ms(4_000);
    let mut status = rig.status();
    let peer = Waiting {
        place: Place::SendQueue,
        count: 7,
        whom: "peer billing".to_string(),
        since: Some(Duration::from_millis(250)),
    };
    status.waiting.push(peer);
    let text = status.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "waiting: 1 in room at owner, channel orders, since 3s");
    assert_eq!(lines[1], "waiting: 1 in owner mailbox, channel orders");
    assert_eq!(lines[2], "waiting: 7 in send queue, peer billing, since 250ms");
    assert!(lines[3].starts_with("host: serving, ready"), "{text}");
    for name in ["in_use", "reserved", "queued", "pressure", "parked sources", "flow socket 0", "requests"] {
        assert!(text.contains(name), "{name} in {text}");
    }
}

/// A status in which nothing is wrong.
fn healthy() -> HostStatus {
    let mut status = Rig::new(100, 0).status();
    status.transport.applied_hwm = 1_000_000;
    status
}

type Prepare = fn(&mut HostStatus);

#[test]
fn t114_one_status_for_each_row_and_the_first_that_fits() {
    assert_eq!(healthy().doctor(), None);
    let rows: [(Symptom, &str, Prepare); 15] = [
        (Symptom::HandlersStartTooSlowly, "waiters 9", |status| {
            (status.job_queue.queued, status.job_queue.in_use) = (100, 100);
            status.job_queue.capacity_waiters = 9;
        }),
        (Symptom::ReservationsFillLimit, "reserved 90", |status| {
            status.job_queue.in_use = 100;
            (status.job_queue.reserved, status.job_queue.queued) = (90, 10);
        }),
        (Symptom::GateTaken, "longest running turn 7s", |status| {
            (status.job_queue.queued, status.job_queue.in_use) = (3, 3);
            let turn = (OwnerKind::Channel, "orders".to_string(), Duration::from_secs(7));
            status.owners.longest_running_turn = Some(turn);
        }),
        (Symptom::BytesLimit, "blocked 500000 ppm", |status| {
            status.transport.accounted = 950_000;
            status.transport.blocked_ratio_ppm = 500_000;
        }),
        (Symptom::ReceiverWithoutRoom, "12 sends", |status| {
            status.operations.client.deadline_not_submitted = 12;
        }),
        (Symptom::TooManySends, "waiters_full 40", |status| status.operations.client.waiters_full = 40),
        (Symptom::RepliesBehindData, "replies waiting 2", |status| {
            status.operations.reply.waiters = 2;
            status.transport.remote_paused_peers = 1;
        }),
        (Symptom::SlowHandlerOrLostReply, "request timeouts 3", |status| {
            status.operations.request_timeouts = 3;
        }),
        (Symptom::RepliesNeedNoPermit, "replies 8", |status| {
            (status.job_queue.queued, status.job_queue.in_use) = (100, 100);
            status.operations.replies = 8;
        }),
        (Symptom::SustainedOverload, "cumulative pause 60s", |status| {
            status.job_queue.transitions_paused = 1;
            status.job_queue.cumulative_pause = Duration::from_secs(60);
        }),
        (Symptom::MarksTooClose, "paused 1000", |status| {
            status.job_queue.transitions_paused = 1_000;
            status.job_queue.cumulative_pause = Duration::from_secs(2);
        }),
        (Symptom::RaisedLimitFilled, "peak 100 of 100", |status| {
            status.job_queue.peak_in_use = 100;
            status.job_queue.automatic_maximum = 50;
        }),
        (Symptom::OwnerFullSourcesWait, "parked sources 4", |status| status.owners.parked_sources = 4),
        (Symptom::OwnerOverloaded, "remote 5", |status| status.owners.structural_rejections_remote = 5),
        (Symptom::Dropped, "no_handler: 6", |status| status.dropped.no_handler = 6),
    ];
    for (symptom, number, prepare) in rows {
        let mut status = healthy();
        prepare(&mut status);
        let diagnosis = status.doctor().unwrap_or_else(|| panic!("{symptom:?}"));
        assert_eq!(diagnosis.symptom, symptom);
        assert!(diagnosis.numbers.contains(number), "{diagnosis}");
        let text = diagnosis.to_string();
        assert!(text.contains(symptom.conclusion()) && text.contains(symptom.advice()));
    }
    // Two rows fit: the first.
    let mut status = healthy();
    rows[14].2(&mut status);
    rows[3].2(&mut status);
    assert_eq!(status.doctor().map(|diagnosis| diagnosis.symptom), Some(Symptom::BytesLimit));
    let mut status = healthy();
    rows[12].2(&mut status);
    rows[0].2(&mut status);
    assert_eq!(status.doctor().map(|diagnosis| diagnosis.symptom), Some(Symptom::HandlersStartTooSlowly));
}

#[test]
fn t95_every_status_of_a_random_run_is_consistent() {
    let mut rig = Rig::new(6, 5);
    let owners = [rig.owner("x"), rig.owner_of("y", 2)];
    let mut running: Vec<Running> = Vec::new();
    let mut seed = 5_u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut last = rig.status();
    for step in 0..4_000 {
        rig.now = ms(step * 7);
        let mut is_reset = false;
        match random(10) {
            // Bursts, with time to drain between them.
            0..4 if step % 100 < 40 => rig.arrive(random(5) as usize, owners[random(2) as usize], 1),
            0..3 => drop(rig.turn()),
            3 | 4 => running.extend(rig.start().map(|job| job.running)),
            5..9 if !running.is_empty() => {
                let place = random(running.len() as u64) as usize;
                let next = rig.end(running.swap_remove(place));
                running.extend(next.map(|job| job.running));
            }
            9 if random(20) == 0 => {
                rig.host.reset_metrics(rig.now);
                is_reset = true;
            }
            _ => {}
        }
        let status = rig.status();
        check(&status, &last, is_reset);
        last = status;
    }
    assert!(last.epoch > 3 && last.job_queue.pressure_sequence > 20, "{last}");
}

fn check(status: &HostStatus, last: &HostStatus, is_reset: bool) {
    let (jobs, before) = (&status.job_queue, &last.job_queue);
    assert_eq!(jobs.reserved + jobs.queued, jobs.in_use);
    assert!(jobs.in_use <= jobs.maximum && jobs.peak_in_use >= jobs.in_use);
    assert!(jobs.pressure_sequence >= before.pressure_sequence);
    assert_eq!(jobs.pressure_state == Flow::Paused, jobs.pressure_sequence % 2 == 1);
    assert_eq!(status.owners.items, status.owners.queued_items + status.owners.running_handlers);
    if is_reset {
        assert_eq!(status.epoch, last.epoch + 1);
        let gauges = |jobs: &JobQueueStatus| {
            (jobs.reserved, jobs.queued, jobs.capacity_waiters, jobs.pressure_sequence, jobs.pressure_state)
        };
        assert_eq!(gauges(jobs), gauges(before), "gauges stay");
        assert_eq!((jobs.peak_in_use, jobs.capacity_waits), (jobs.in_use, 0));
        assert_eq!((jobs.capacity_wait_duration, jobs.cumulative_pause), (Duration::ZERO, Duration::ZERO));
        assert_eq!((jobs.transitions_paused, jobs.transitions_running), (0, 0));
    } else {
        assert!(jobs.capacity_waits >= before.capacity_waits);
        assert!(jobs.capacity_wait_duration >= before.capacity_wait_duration);
        let moved = jobs.pressure_sequence - before.pressure_sequence;
        let counted = |jobs: &JobQueueStatus| jobs.transitions_paused + jobs.transitions_running;
        assert_eq!(counted(jobs), counted(before) + moved, "every transition belongs to one epoch");
    }
}

#[test]
fn m43_a_wait_that_crosses_the_reset_adds_neither_count_nor_time() {
    let mut rig = Rig::new(1, 2);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 1);
    rig.receive();
    rig.arrive(1, owner, 1);
    rig.now = ms(100);
    rig.host.reset_metrics(rig.now);
    rig.now = ms(300);
    let job: Job<Note> = rig.start().expect("queued");
    let jobs = rig.status().job_queue;
    assert_eq!((jobs.capacity_waits, jobs.capacity_wait_duration), (0, Duration::ZERO));
    rig.receive();
    rig.arrive(0, owner, 1);
    rig.now = ms(450);
    let next = rig.end(job.running).expect("source 1");
    let jobs = rig.status().job_queue;
    assert_eq!((jobs.capacity_waits, jobs.capacity_wait_duration), (1, Duration::from_millis(150)));
    assert!(rig.end(next.running).is_none());
}
