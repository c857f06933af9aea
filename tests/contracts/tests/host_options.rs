//! Options, profiles, zeros (H-01 to H-07, M-15).

use std::time::Duration;
use zlink_proto::host::*;
use zlink_proto::time::Timestamp;

fn start(options: HostOptions) -> Result<Host<()>, OptionsError> {
    Host::new(options, Timestamp::ZERO)
}

fn processors(count: i64) -> ProcessorCandidates {
    ProcessorCandidates { logical: Some(count), ..ProcessorCandidates::default() }
}

fn violated(options: HostOptions) -> Vec<&'static str> {
    match start(options) {
        Ok(_) => Vec::new(),
        Err(error) => error.violations.iter().map(|violation| violation.option).collect(),
    }
}

#[test]
fn t01_defaults_on_four_processors() {
    let host = start(HostOptions { processor_candidates: processors(4), ..HostOptions::default() });
    let config = host.expect("defaults are valid").config().clone();
    assert_eq!(config.options().core_hwm_profile, CoreHwmProfile::Balanced);
    assert_eq!(config.options().job_queue_profile, JobQueueProfile::Balanced);
    let marks = (config.job_limit(), config.pause_permits(), config.resume_permits());
    assert_eq!(marks, (512, 410, 307));
    assert_eq!(config.job_limit_origin(), Origin::Automatic);
}

#[test]
fn t02_profiles_of_the_two_authorities_do_not_meet() {
    let options = HostOptions {
        core_hwm_profile: CoreHwmProfile::Compact,
        core_hwm_budget_bytes: Some(1 << 30),
        job_queue_profile: JobQueueProfile::Throughput,
        processor_candidates: processors(3),
        ..HostOptions::default()
    };
    let host = start(options).expect("valid");
    let status = host.status(Timestamp::ZERO);
    assert_eq!((status.job_queue.profile, status.job_queue.maximum), (JobQueueProfile::Throughput, 768));
    assert_eq!(host.config().core_hwm(), (None, Some(1 << 30), CoreHwmProfile::Compact), "exactly as given");
    assert_eq!(status.transport.profile, CoreHwmProfile::Compact);
    assert_eq!(status.transport.manual_budget, Some(1 << 30));
}

#[test]
fn t03_the_job_maximum_has_a_lower_and_an_upper_bound() {
    let with = |maximum| HostOptions { max_queued_jobs: maximum, ..HostOptions::default() };
    for bad in [0, 2_147_483_648, u64::MAX] {
        assert_eq!(violated(with(Some(bad))), ["max_queued_jobs"], "{bad}");
    }
    for good in [None, Some(1), Some(2_147_483_647)] {
        assert!(start(with(good)).is_ok(), "{good:?}");
    }
}

#[test]
fn t04_marks_name_each_violated_option() {
    let with = |pause, resume| HostOptions {
        job_queue_pause_percent: pause,
        job_queue_resume_percent: resume,
        ..HostOptions::default()
    };
    assert_eq!(violated(with(0, 60)), ["job_queue_pause_percent"]);
    assert_eq!(violated(with(101, 60)), ["job_queue_pause_percent"]);
    assert_eq!(violated(with(100, 100)), ["job_queue_resume_percent"]);
    assert_eq!(violated(with(80, u32::MAX)), ["job_queue_resume_percent"]);
    assert_eq!(violated(with(60, 60)), ["job_queue_resume_percent"]);
    assert_eq!(violated(with(50, 60)), ["job_queue_resume_percent"]);
    assert_eq!(violated(with(0, 100)), ["job_queue_pause_percent", "job_queue_resume_percent"]);
    for (pause, resume) in [(100, 0), (1, 0), (100, 99)] {
        assert!(violated(with(pause, resume)).is_empty(), "{pause} {resume}");
    }
}

#[test]
fn t05_processors_are_the_smallest_known_candidate() {
    let all = ProcessorCandidates {
        logical: Some(8),
        processor_set: Some(4),
        quota: Some((250_000, 100_000)),
        executor_threads: Some(3),
    };
    let quota = ProcessorCandidates { quota: Some((40_000, 100_000)), ..ProcessorCandidates::default() };
    let zero =
        ProcessorCandidates { logical: Some(0), processor_set: Some(6), ..ProcessorCandidates::default() };
    let negative = ProcessorCandidates { quota: Some((-1, 100_000)), ..processors(5) };
    let candidates = [all, ProcessorCandidates::default(), quota, zero, negative];
    assert_eq!(candidates.map(|candidates| candidates.effective()), [2, 1, 1, 6, 5]);
    let profiles = [
        (JobQueueProfile::Compact, 128),
        (JobQueueProfile::LowLatency, 256),
        (JobQueueProfile::Balanced, 512),
        (JobQueueProfile::Throughput, 1_024),
    ];
    for (job_queue_profile, limit) in profiles {
        let options =
            HostOptions { job_queue_profile, processor_candidates: processors(4), ..HostOptions::default() };
        assert_eq!(start(options).expect("valid").config().job_limit(), limit);
    }
}

#[test]
fn t06_a_computed_maximum_beyond_the_range_is_an_error() {
    let with = |count| HostOptions {
        job_queue_profile: JobQueueProfile::Throughput,
        processor_candidates: processors(count),
        ..HostOptions::default()
    };
    assert_eq!(violated(with(1 << 24)), ["job_queue_profile"]);
    assert_eq!(violated(with(i64::MAX)), ["job_queue_profile"]);
    let host = start(with(8_388_607)).expect("valid");
    assert_eq!(host.config().job_limit(), 2_147_483_392);
}

#[test]
fn t07_timeouts_are_rounded_up_or_rejected() {
    let with = |send_timeout| HostOptions { send_timeout, ..HostOptions::default() };
    for bad in [Duration::ZERO, Duration::MAX, Duration::from_millis(1 << 31)] {
        assert_eq!(violated(with(bad)), ["send_timeout"], "{bad:?}");
        assert_eq!(
            violated(HostOptions { request_timeout: bad, ..HostOptions::default() }),
            ["request_timeout"]
        );
    }
    let rounded = |given| start(with(given)).expect("valid").config().options().send_timeout;
    assert_eq!(rounded(Duration::from_micros(200)), Duration::from_millis(1));
    assert_eq!(rounded(Duration::from_nanos(1_000_100)), Duration::from_millis(2));
    assert_eq!(HostOptions::default().send_timeout, Duration::from_secs(1));
    assert_eq!(HostOptions::default().request_timeout, Duration::from_secs(30));
}

type Set = fn(&mut HostOptions, u64);

#[test]
fn t59_each_option_accepts_its_range_and_nothing_else() {
    const I31: u64 = 0x7fff_ffff;
    const I63: u64 = 0x7fff_ffff_ffff_ffff;
    let table: [(&str, u64, u64, Set); 12] = [
        ("core_hwm_memory_limit_bytes", 1, I63, |options, value| {
            options.core_hwm_memory_limit_bytes = Some(value);
        }),
        ("core_hwm_budget_bytes", 1, I63, |options, value| options.core_hwm_budget_bytes = Some(value)),
        ("max_queued_jobs", 1, I31, |options, value| options.max_queued_jobs = Some(value)),
        ("waiters_max", 1, I31, |options, value| options.waiters_max = value),
        ("waiter_bytes_max", 1, I63, |options, value| options.waiter_bytes_max = value),
        ("completion_slots_max", 1, I31, |options, value| options.completion_slots_max = value),
        ("request_waiting_bytes_max", 1, I63, |options, value| options.request_waiting_bytes_max = value),
        ("rotation_bytes_max", 1, I63, |options, value| options.rotation_bytes_max = value),
        ("owner_application_items_max", 1, I63, |options, value| {
            options.owner_application_items_max = Some(value);
        }),
        ("owner_application_bytes_max", 1, I63, |options, value| options.owner_application_bytes_max = value),
        ("owner_item_cost_bytes", 0, I63, |options, value| options.owner_item_cost_bytes = value),
        ("listener_message_bytes_max", 0, 0xffff_ffff, |options, value| {
            options.listener_message_bytes_max = value;
        }),
    ];
    for (name, least, most, set) in table {
        for (value, is_good) in [(0, least == 0), (least, true), (most, true), (most + 1, false)] {
            let mut options = HostOptions::default();
            set(&mut options, value);
            let expected: &[&str] = if is_good { &[] } else { &[name] };
            assert_eq!(violated(options), expected, "{name} = {value}");
        }
    }
    let weight = |channel_weight| HostOptions { channel_weight, ..HostOptions::default() };
    assert_eq!([0, 10_000, 10_001].map(|value| violated(weight(value)).len()), [0, 0, 1]);
    let rate = |diagnostics_sample_rate| HostOptions { diagnostics_sample_rate, ..HostOptions::default() };
    assert_eq!([0.0, 1.0, 1.1, -0.1, f64::NAN].map(|value| violated(rate(value)).len()), [0, 0, 1, 1, 1]);
    let durations = [(Duration::ZERO, 3), (Duration::from_nanos(999), 2), (Duration::from_micros(1), 0)];
    for (value, count) in durations {
        let options = HostOptions {
            rotation_time_max: value,
            owner_slice: value,
            shutdown_deadline: value,
            ..HostOptions::default()
        };
        assert_eq!(violated(options).len(), count, "{value:?}");
    }
}

#[test]
fn t59_a_known_hard_limit_bounds_budget_and_memory_limit() {
    let with = |value| HostOptions {
        core_hwm_budget_bytes: Some(value),
        memory_hard_limit_bytes: Some(1_000),
        ..HostOptions::default()
    };
    assert_eq!(violated(with(1_001)), ["core_hwm_budget_bytes"]);
    assert!(violated(with(1_000)).is_empty());
}

#[test]
fn t59_origins_are_shown() {
    let unlimited = HostOptions { listener_message_bytes_max: 0, ..HostOptions::default() };
    let host = start(unlimited).expect("0 is no cap here");
    assert_eq!(host.config().listener_message_limit(), (0, Origin::Unlimited));
    let manual = HostOptions { max_queued_jobs: Some(7), ..HostOptions::default() };
    let status = start(manual).expect("valid").status(Timestamp::ZERO);
    assert_eq!(status.job_queue.maximum_origin, Origin::Manual);
    assert!(status.to_string().contains("limit 7 (manual)"), "{status}");
}

#[test]
fn t60_one_error_lists_every_violation() {
    let options = HostOptions {
        max_queued_jobs: Some(0),
        job_queue_pause_percent: 0,
        send_timeout: Duration::ZERO,
        waiters_max: 0,
        channel_weight: 20_000,
        ..HostOptions::default()
    };
    let error = start(options).expect_err("five violations");
    let names: Vec<_> = error.violations.iter().map(|violation| violation.option).collect();
    let expected =
        ["max_queued_jobs", "job_queue_pause_percent", "send_timeout", "waiters_max", "channel_weight"];
    assert_eq!(names, expected);
    let text = error.to_string();
    assert!(text.contains("max_queued_jobs = 0 (allowed: 1..=2147483647)"), "{text}");
    assert!(expected.iter().all(|name| text.contains(name)));
}

#[test]
fn t61_one_label_changes_one_authority() {
    let base = HostOptions { processor_candidates: processors(4), ..HostOptions::default() };
    let before = start(base.clone()).expect("valid").config().clone();
    let core = HostOptions { core_hwm_profile: CoreHwmProfile::Throughput, ..base.clone() };
    let core = start(core).expect("valid").config().clone();
    assert_eq!(
        (core.job_limit(), core.pause_permits(), core.resume_permits()),
        (before.job_limit(), before.pause_permits(), before.resume_permits())
    );
    let jobs = HostOptions { job_queue_profile: JobQueueProfile::Compact, ..base };
    let jobs = start(jobs).expect("valid").config().clone();
    assert_eq!(jobs.core_hwm(), before.core_hwm());
    assert_ne!(jobs.job_limit(), before.job_limit());
}

#[test]
fn h07_a_concurrency_outside_its_range_is_refused() {
    let host = start(HostOptions::default()).expect("valid");
    let owner = |concurrency| OwnerConfig { kind: OwnerKind::Channel, name: "orders".into(), concurrency };
    let is_valid = |concurrency| host.config().validate_owner(&owner(concurrency)).is_ok();
    assert_eq!([0, 1, 65_535, 65_536].map(is_valid), [false, true, true, false]);
}

#[test]
fn h02_what_may_change_at_run_time_is_checked_and_a_refused_value_changes_nothing() {
    let mut host = start(HostOptions::default()).expect("valid");
    assert!(host.set_diagnostics(DiagnosticsLevel::Detailed, 1.5).is_err());
    assert!(host.set_channel_weight(10_001).is_err());
    let options = host.config().options();
    assert_eq!((options.diagnostics_level, options.channel_weight), (DiagnosticsLevel::Errors, 100));
    assert!(host.set_diagnostics(DiagnosticsLevel::Detailed, 0.5).is_ok());
    assert!(host.set_channel_weight(0).is_ok());
    assert_eq!(host.status(Timestamp::ZERO).diagnostics_level, DiagnosticsLevel::Detailed);
    assert_eq!(host.config().options().channel_weight, 0);
}
