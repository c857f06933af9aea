//! Pressure and the receive-flow registry (H-30 to H-47, M-42).

mod host_rig;

use host_rig::{Rig, ms};
use std::time::Duration;
use zlink_proto::host::*;
use zlink_proto::time::Timestamp;
use zlink_proto::wire::Flow;

/// A rig with `limit` permits whose jobs are started one by one.
struct Load {
    rig: Rig,
    owner: OwnerId,
    running: Option<Running>,
}

impl Load {
    fn new(limit: u64) -> Self {
        let mut rig = Rig::new(limit, 1);
        let owner = rig.owner("orders");
        Self { rig, owner, running: None }
    }

    /// Brings in_use to `target`.
    fn set(&mut self, target: u32) {
        while self.rig.in_use() < target {
            self.rig.arrive(0, self.owner, 1);
            self.rig.receive();
        }
        while self.rig.in_use() > target {
            let job = match self.running.take() {
                Some(running) => self.rig.end(running),
                None => self.rig.start(),
            };
            self.running = Some(job.expect("queued").running);
        }
    }

    fn pressure(&self) -> (Flow, u64) {
        let jobs = self.rig.status().job_queue;
        (jobs.pressure_state, jobs.pressure_sequence)
    }

    fn apply(&mut self) -> Option<(Flow, u64)> {
        let apply = self.rig.host.flow_due()?;
        self.end(apply, true);
        Some((apply.state, apply.sequence))
    }

    fn end(&mut self, apply: Apply, is_ok: bool) -> Applied {
        let result = self.rig.host.applied(apply, is_ok, self.rig.now);
        self.rig.check();
        result
    }
}

#[test]
fn t30_transitions_at_the_marks_only() {
    let mut load = Load::new(10);
    let mut seen = Vec::new();
    for in_use in [7, 8, 7, 6, 7] {
        load.set(in_use);
        seen.push(load.pressure());
    }
    use Flow::{Paused, Running};
    assert_eq!(seen, [(Running, 0), (Paused, 1), (Paused, 1), (Running, 2), (Running, 2)]);
    let jobs = load.rig.status().job_queue;
    assert_eq!((jobs.transitions_running, jobs.transitions_paused), (1, 1));
}

#[test]
fn h31_a_hand_off_at_the_limit_is_no_transition() {
    let mut load = Load::new(1);
    load.set(1);
    load.rig.arrive(0, load.owner, 5);
    let before = load.pressure();
    for _ in 0..4 {
        let job = match load.running.take() {
            Some(running) => load.rig.end(running),
            None => load.rig.start(),
        };
        load.running = job.map(|job| job.running);
        assert_eq!(load.pressure(), before);
        load.rig.receive();
    }
    assert_eq!(before, (Flow::Paused, 1));
}

#[test]
fn t33_a_transition_and_a_close_in_all_orders() {
    // (transition, apply begins, apply ends badly, close) in the orders that make sense; after the close nothing is called.
    for close_at in 0..4 {
        let mut load = Load::new(10);
        let socket = load.rig.socket;
        let mut apply = None;
        let mut is_closed = false;
        for step in 0..4 {
            if step == close_at {
                let is_applying = load.rig.host.remove_socket(socket, load.rig.now);
                assert_eq!(is_applying, apply.is_some(), "close waits for a running apply only");
                is_closed = true;
                load.rig.check();
                load.running = None;
            }
            match step {
                0 if !is_closed => load.set(8),
                1 if close_at != 0 => {
                    apply = load.rig.host.flow_due();
                    assert_eq!(apply.is_some(), !is_closed, "a removed target gets no call");
                }
                2 => {
                    if let Some(apply) = apply.take() {
                        let expected = if is_closed { Applied::Removed } else { Applied::Failed };
                        assert_eq!(load.end(apply, false), expected);
                    }
                }
                _ => {}
            }
        }
        assert!(load.rig.host.flow_due().is_none());
        assert!(load.rig.host.applied_flow(socket).is_none());
        let failures = load.rig.status().job_queue.flow_state_failures;
        assert_eq!(failures, u64::from(close_at > 2), "the one that lost against close is not counted");
    }
}

#[test]
fn t34_of_several_newer_states_only_the_latest_is_applied() {
    let mut load = Load::new(10);
    load.set(8);
    let slow = load.rig.host.flow_due().expect("PAUSED(1)");
    assert_eq!((slow.state, slow.sequence), (Flow::Paused, 1));
    load.set(6);
    load.set(8);
    assert!(load.rig.host.flow_due().is_none(), "at most one runs");
    assert_eq!(load.end(slow, true), Applied::Synced);
    assert_eq!(load.apply(), None, "PAUSED(3) equals what was applied");
    assert_eq!(load.pressure(), (Flow::Paused, 3));

    let mut load = Load::new(10);
    load.set(8);
    let slow = load.rig.host.flow_due().expect("PAUSED(1)");
    load.set(6);
    assert_eq!(load.end(slow, true), Applied::Synced);
    assert_eq!(load.apply(), Some((Flow::Running, 2)));
    assert_eq!(load.apply(), None, "exactly one call");
}

#[test]
fn h42_serials_grow_with_each_apply() {
    let mut load = Load::new(10);
    let mut last = 1;
    for in_use in [8, 6, 8, 6] {
        load.set(in_use);
        let apply = load.rig.host.flow_due().expect("a transition");
        assert!(apply.serial() > last);
        last = apply.serial();
        load.end(apply, true);
    }
}

#[test]
fn t38_a_failed_apply_is_counted_and_the_next_state_is_applied() {
    let mut load = Load::new(10);
    load.set(8);
    let apply = load.rig.host.flow_due().expect("PAUSED(1)");
    assert_eq!(load.end(apply, false), Applied::Failed);
    assert_eq!(load.rig.status().job_queue.flow_state_failures, 1);
    assert!(load.rig.host.flow_due().is_none(), "no timed retry");
    load.set(9);
    assert!(load.rig.host.flow_due().is_none(), "permits go on, the state did not change");
    load.set(6);
    assert_eq!(load.apply(), Some((Flow::Running, 2)), "whatever was applied before");
}

#[test]
fn h45_after_a_failure_an_equal_newer_state_is_applied() {
    let mut load = Load::new(10);
    load.set(8);
    let apply = load.rig.host.flow_due().expect("PAUSED(1)");
    load.set(6);
    load.set(8);
    assert_eq!(load.end(apply, false), Applied::Failed);
    assert_eq!(load.apply(), Some((Flow::Paused, 3)), "the value at the target is unknown");
}

#[test]
fn t39_a_reset_during_a_pause() {
    let mut load = Load::new(10);
    load.rig.now = ms(100_000);
    load.set(9);
    load.rig.now = ms(130_000);
    load.rig.host.reset_metrics(load.rig.now);
    load.rig.now = ms(140_000);
    let jobs = load.rig.status().job_queue;
    assert_eq!(jobs.pressure_state, Flow::Paused);
    assert_eq!(
        (jobs.current_pause, jobs.cumulative_pause),
        (Duration::from_secs(40), Duration::from_secs(10))
    );
    assert_eq!((jobs.peak_in_use, jobs.capacity_waits), (9, 0));
    assert_eq!((jobs.transitions_paused, jobs.transitions_running), (0, 0));
    load.rig.now = ms(150_000);
    load.set(6);
    let jobs = load.rig.status().job_queue;
    assert_eq!((jobs.transitions_paused, jobs.transitions_running), (0, 1));
    assert_eq!((jobs.current_pause, jobs.cumulative_pause), (Duration::ZERO, Duration::from_secs(20)));
}

#[test]
fn c4_a_socket_receives_after_its_first_apply_only() {
    let mut host: Host<u32> = Host::new(HostOptions::default(), Timestamp::ZERO).expect("valid");
    let socket = host.add_socket();
    let set = zlink_proto::id::SetId { generation: 1, slot: 0 };
    let source = SourceId { socket, set };
    host.add_source(source, Timestamp::ZERO);
    host.readable(source, Timestamp::ZERO);
    host.check_invariants();
    assert!(!host.needs_turn(), "not published yet");
    let apply = host.flow_due().expect("RUNNING, too");
    assert_eq!((apply.state, apply.serial()), (Flow::Running, 1));
    assert!(host.flow_due().is_none());
    assert_eq!(host.applied(apply, true, Timestamp::ZERO), Applied::Started);
    assert!(host.needs_turn());
    assert!(!host.remove_socket(socket, Timestamp::ZERO), "nothing runs: close at once");
    host.check_invariants();
    assert!(!host.needs_turn());

    let socket = host.add_socket();
    let apply = host.flow_due().expect("first apply");
    assert_eq!(host.applied(apply, false, Timestamp::ZERO), Applied::StartFailed);
    assert_eq!(host.applied(apply, true, Timestamp::ZERO), Applied::Removed, "an apply ends once");
    host.remove_socket(socket, Timestamp::ZERO);
    host.check_invariants();
}

#[test]
fn h43_a_socket_that_is_registered_while_paused_is_told_paused_first() {
    let mut load = Load::new(10);
    load.set(8);
    assert_eq!(load.apply(), Some((Flow::Paused, 1)));
    load.rig.host.add_socket();
    assert_eq!(load.apply(), Some((Flow::Paused, 1)));
    assert_eq!(load.apply(), None);
}

#[test]
fn t112_status_shows_what_each_socket_was_told() {
    let mut load = Load::new(10);
    let other = load.rig.host.add_socket();
    let _ = load.apply();
    load.set(8);
    let first = load.rig.host.flow_due().expect("PAUSED(1)");
    let second = load.rig.host.flow_due().expect("PAUSED(1)");
    assert_ne!(first.socket, second.socket);
    let (good, bad) = if first.socket == other { (second, first) } else { (first, second) };
    load.end(good, true);
    load.end(bad, false);
    let shown = |load: &Load, socket| {
        let status = load.rig.status();
        let found = status.flow_sockets.iter().find(|entry| entry.socket == socket).copied();
        found.map(|entry| (entry.applied, entry.sequence))
    };
    assert_eq!(shown(&load, good.socket), Some((Some(Flow::Paused), 1)));
    assert_eq!(shown(&load, bad.socket), Some((None, 1)), "unknown after the failure");
    load.set(6);
    while load.apply().is_some() {}
    for socket in [good.socket, bad.socket] {
        assert_eq!(shown(&load, socket), Some((Some(Flow::Running), 2)));
    }
    assert_eq!(load.rig.status().flow_sockets.len(), 2);
}

#[test]
fn t98_a_status_changes_nothing() {
    let mut load = Load::new(10);
    load.set(9);
    load.rig.arrive(0, load.owner, 3);
    load.rig.receive();
    let first = load.rig.status();
    let needs_turn = load.rig.host.needs_turn();
    for _ in 0..3 {
        assert_eq!(load.rig.status(), first);
        let _ = load.rig.status().doctor();
    }
    load.rig.check();
    assert_eq!(load.rig.host.needs_turn(), needs_turn);
    // Job numbers know nothing of the transport: its copy is empty until the composition fills it in.
    assert_eq!((first.transport.accounted, first.transport.blocked_ratio_ppm), (0, 0));
}

#[test]
fn m36_a_pressure_change_is_reported_once_with_its_latest_value() {
    let mut load = Load::new(10);
    load.set(8);
    load.set(6);
    load.set(8);
    let expected = HostOutput::PressureChanged { state: Flow::Paused, sequence: 3 };
    assert_eq!(load.rig.host.poll_output(), Some(expected));
    assert_eq!(load.rig.host.poll_output(), None);
}
