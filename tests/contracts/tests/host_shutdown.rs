//! Shutdown, the host's part (H-23, H-46, M-60 to M-66).

mod host_rig;

use host_rig::{Note, Rig, ms};
use std::time::Duration;
use zlink_proto::host::*;

const QUIET: Leftovers = Leftovers {
    operations_waiting: 0,
    requests_outstanding: 0,
    records_unsent: 0,
    bytes_unsent: 0,
    connections_open: 0,
};

fn stop(rig: &mut Rig, transport: Leftovers) -> (ShutdownReport, Vec<Note>) {
    let mut ended = Vec::new();
    let report = rig.host.stop(transport, false, &mut ended, rig.now);
    rig.check();
    (report, ended)
}

#[test]
fn t103_a_stop_ends_waits_and_returns_every_permit_without_waiting_for_an_apply() {
    let mut rig = Rig::new(1, 4);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 1);
    rig.receive();
    let apply = rig.host.flow_due().expect("PAUSED, and it never returns");
    for source in 1..4 {
        rig.arrive(source, owner, 1);
    }
    assert_eq!((rig.in_use(), rig.status().job_queue.capacity_waiters), (1, 3));
    assert_eq!(rig.host.shutdown(Duration::from_secs(2), rig.now), ms(2_000));
    assert_eq!(rig.host.poll_timeout(), Some(ms(2_000)));
    assert_eq!(rig.host.shutdown_step(&QUIET, rig.now), ShutdownStep::Wait);
    rig.now = ms(2_000);
    rig.host.handle_timeout(rig.now);
    assert_eq!(rig.host.poll_timeout(), None);
    assert_eq!(rig.host.shutdown_step(&QUIET, rig.now), ShutdownStep::Stop);
    let (report, ended) = stop(&mut rig, QUIET);
    assert_eq!(
        (report.outcome, report.reason),
        (ShutdownOutcome::ForceStopped, ShutdownReason::DeadlineExceeded)
    );
    assert_eq!((report.duration, report.counts.items_queued, ended.len()), (Duration::from_secs(2), 1, 1));
    let jobs = rig.status().job_queue;
    assert_eq!((jobs.in_use, jobs.capacity_waiters), (0, 0));
    assert!(!rig.host.needs_turn() && rig.host.poll_ready().is_none());
    // The apply that lost against the shutdown is not counted.
    assert_eq!(rig.host.applied(apply, false, rig.now), Applied::Removed);
    assert_eq!(rig.status().job_queue.flow_state_failures, 0);
    assert!(rig.host.flow_due().is_none());
    // Later edges and turns change nothing.
    rig.host.readable(rig.sources[1], rig.now);
    rig.check();
    assert!(rig.host.begin_turn(rig.now).is_none());
    assert_eq!(stop(&mut rig, QUIET).0, report, "a second stop changes nothing");
    assert_eq!(rig.host.shutdown_report(), Some(report));
}

#[test]
fn h23_a_turn_under_way_at_the_stop_finds_nothing_and_ends() {
    for step in 0..3 {
        let mut rig = Rig::new(4, 1);
        let owner = rig.owner("orders");
        rig.arrive(0, owner, 2);
        let mut turn = rig.host.begin_turn(rig.now).expect("ready");
        let head = HeadInfo { owner: Some(owner), bytes: 64, charge: 64, is_request: true };
        if step == 0 {
            stop(&mut rig, QUIET);
        }
        let count = rig.host.room(&mut turn, &[head, head]);
        assert_eq!(count, if step == 0 { 0 } else { 2 });
        if step == 1 {
            stop(&mut rig, QUIET);
        }
        for payload in rig.queues[0].drain(..count).collect::<Vec<_>>() {
            let job = NewJob { owner, bytes: 64, is_request: true, payload };
            let result = rig.host.attach(&mut turn, job);
            assert_eq!(result.map_err(|refused| refused.reason).is_err(), step == 1);
            rig.check();
        }
        if step == 2 {
            let (report, ended) = stop(&mut rig, QUIET);
            assert_eq!((report.counts.items_queued, ended.len()), (2, 2));
        }
        rig.host.end_turn(turn, true, rig.now);
        rig.check();
        assert_eq!((rig.in_use(), rig.host.needs_turn()), (0, false), "step {step}");
    }
}

#[test]
fn m62_records_are_admitted_until_the_fence_and_refused_behind_it() {
    let mut rig = Rig::new(8, 2);
    let owner = rig.owner("orders");
    rig.host.shutdown(Duration::from_secs(30), rig.now);
    assert_eq!(rig.host.state(), HostState::Draining);
    rig.arrive(0, owner, 1);
    rig.receive();
    assert!(rig.refused.is_empty(), "its fence is open");
    rig.host.fence_over(rig.sources[0]);
    rig.host.fence_over(rig.sources[0]);
    rig.arrive_one(0, Some(owner), 64, true);
    rig.arrive_one(0, Some(owner), 64, false);
    rig.receive();
    let reasons: Vec<Refusal> = rig.refused.iter().map(|(_, reason)| *reason).collect();
    assert_eq!(reasons, [Refusal::ShuttingDown, Refusal::ShuttingDown]);
    assert_eq!(rig.status().dropped.shutdown, 1, "the one-way; the request is answered");
    // The other peer's fence is still open.
    rig.arrive(1, owner, 1);
    rig.receive();
    assert_eq!(rig.refused.len(), 2);
    assert_eq!(rig.run().len(), 2);
    // A peer that comes later has no fence.
    let late = rig.add_source();
    rig.arrive(late, owner, 1);
    rig.receive();
    assert_eq!(rig.refused.len(), 3);
    assert_eq!(rig.host.shutdown_step(&QUIET, rig.now), ShutdownStep::Wait);
    rig.remove_source(1);
    assert_eq!(rig.host.shutdown_step(&QUIET, rig.now), ShutdownStep::Stop, "a lost peer has no fence");
    let (report, _) = stop(&mut rig, QUIET);
    assert_eq!((report.outcome, report.reason), (ShutdownOutcome::Stopped, ShutdownReason::None));
    assert_eq!(report.counts, ShutdownCounts { inbound_refused: 3, ..ShutdownCounts::default() });
}

#[test]
fn m62_a_full_owner_parks_nobody_behind_the_fence() {
    let options = HostOptions { owner_application_items_max: Some(1), ..host_rig::jobs(8) };
    let mut rig = Rig::with(options, 2);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 1);
    rig.receive();
    rig.arrive(1, owner, 1);
    rig.receive();
    assert_eq!(rig.status().owners.parked_sources, 1);
    rig.host.shutdown(Duration::from_secs(30), rig.now);
    rig.host.fence_over(rig.sources[0]);
    rig.arrive(0, owner, 1);
    rig.receive();
    assert_eq!(rig.refused.len(), 1);
    assert_eq!(rig.run().len(), 2, "what the parked peer had sent before its fence still runs");
}

#[test]
fn m63_the_drain_ends_when_nothing_is_left_and_connections_last() {
    let mut rig = Rig::new(8, 1);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 1);
    rig.receive();
    rig.host.shutdown(Duration::from_secs(30), rig.now);
    rig.host.fence_over(rig.sources[0]);
    let step = |rig: &Rig, transport: Leftovers| rig.host.shutdown_step(&transport, rig.now);
    let open = Leftovers { connections_open: 1, ..QUIET };
    assert_eq!(step(&rig, open), ShutdownStep::Wait, "an item is queued");
    let job = rig.start().expect("queued");
    assert_eq!(step(&rig, open), ShutdownStep::Wait, "a handler runs");
    assert!(rig.end(job.running).is_none());
    for busy in [
        Leftovers { operations_waiting: 1, ..open },
        Leftovers { requests_outstanding: 1, ..open },
        Leftovers { records_unsent: 1, ..open },
    ] {
        assert_eq!(step(&rig, busy), ShutdownStep::Wait, "{busy:?}");
    }
    assert_eq!(step(&rig, open), ShutdownStep::EndConnections);
    assert_eq!(step(&rig, QUIET), ShutdownStep::Stop);
}

#[test]
fn m60_a_second_call_may_shorten_and_never_extends() {
    let mut rig = Rig::new(8, 1);
    assert_eq!(rig.host.shutdown(Duration::from_secs(30), rig.now), ms(30_000));
    rig.now = ms(1_000);
    assert_eq!(rig.host.shutdown(Duration::from_secs(3_600), rig.now), ms(30_000));
    assert_eq!(rig.host.shutdown(Duration::from_secs(1), rig.now), ms(2_000));
    assert_eq!(rig.host.poll_timeout(), Some(ms(2_000)));
    assert_eq!(rig.host.shutdown_step(&QUIET, ms(2_000)), ShutdownStep::Stop);
}

#[test]
fn m66_the_report_counts_by_category() {
    let mut rig = Rig::new(8, 1);
    let owner = rig.owner("orders");
    rig.arrive(0, owner, 3);
    rig.receive();
    let job = rig.start().expect("queued");
    rig.host.shutdown(Duration::from_secs(2), rig.now);
    rig.now = ms(2_000);
    let transport = Leftovers {
        operations_waiting: 4,
        requests_outstanding: 5,
        records_unsent: 6,
        bytes_unsent: 700,
        connections_open: 8,
    };
    let (report, ended) = stop(&mut rig, transport);
    let expected = ShutdownCounts {
        operations_waiting: 4,
        requests_outstanding: 5,
        records_unsent: 6,
        bytes_unsent: 700,
        items_queued: 2,
        handlers_running: 1,
        connections_forced: 8,
        ..ShutdownCounts::default()
    };
    assert_eq!((report.counts, ended.len()), (expected, 2));
    let text = report.to_string();
    assert!(text.starts_with("ForceStopped/DeadlineExceeded after 2s operations_waiting=4"), "{text}");
    assert!(rig.end(job.running).is_none(), "an abandoned handler ends without effect");
    let status = rig.status();
    assert_eq!(
        (status.state, status.is_ready, status.owners.running_handlers),
        (HostState::Stopped, false, 0)
    );
    let mut outputs = Vec::new();
    while let Some(output) = rig.host.poll_output() {
        outputs.push(output);
    }
    assert!(outputs.contains(&HostOutput::StateChanged(HostState::Stopped)), "{outputs:?}");
}

#[test]
fn m66_a_failed_teardown_is_told_apart() {
    let mut rig = Rig::new(8, 0);
    rig.host.shutdown(Duration::from_secs(2), rig.now);
    let report = rig.host.stop(QUIET, true, &mut Vec::new(), rig.now);
    assert_eq!(
        (report.outcome, report.reason),
        (ShutdownOutcome::ForceStopped, ShutdownReason::TeardownFailed)
    );
}

#[test]
fn m13_states_have_their_numbers() {
    use HostState::*;
    let all = [Preparing, Serving, Relocating, Relocated, Draining, Stopped, Error];
    assert_eq!(all.map(|state| state as u8), [0, 1, 2, 3, 4, 5, 6]);
}
