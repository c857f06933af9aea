//! Options as they are given (H-01 to H-05) and the error that lists everything that is wrong with them.

use super::config::HostConfig;
use super::profiles::{CoreHwmProfile, JobQueueProfile, ProcessorCandidates};
use crate::time::round_timeout;
use crate::wire::WEIGHT_MAX;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// Largest number of jobs, waiters and slots: 2^31 - 1.
const I31_MAX: u64 = 0x7fff_ffff;
/// Largest number of bytes: 2^63 - 1.
const I63_MAX: u64 = 0x7fff_ffff_ffff_ffff;

/// What happens to a one-way record of another host whose owner is full (H-88).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum OwnerOverflow {
    /// It stays in its peer's receive queue and the source is parked: nothing is lost.
    #[default]
    Wait,
    /// It is dropped, observed and counted: owners do not delay each other.
    Refuse,
}

/// What is recorded about messages (M-30).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum DiagnosticsLevel {
    /// Nothing.
    Off,
    /// Dispatch errors, backpressure, drops.
    #[default]
    Errors,
    /// Also received, dispatched, completed, replied.
    Normal,
    /// All phases.
    Detailed,
}

/// All options of a host as they were given; unset is `None`. [`validate`](Self::validate) checks them together.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // The names and their notes are those of the option table, 4-host §1.
pub struct HostOptions {
    pub core_hwm_memory_limit_bytes: Option<u64>,
    pub core_hwm_budget_bytes: Option<u64>,
    pub core_hwm_profile: CoreHwmProfile,
    /// The known hard memory limit, from the driver: bounds the two above (B-34).
    pub memory_hard_limit_bytes: Option<u64>,
    pub job_queue_profile: JobQueueProfile,
    pub max_queued_jobs: Option<u64>,
    pub job_queue_pause_percent: u32,
    pub job_queue_resume_percent: u32,
    pub processor_candidates: ProcessorCandidates,
    pub send_timeout: Duration,
    pub request_timeout: Duration,
    pub waiters_max: u64,
    pub waiter_bytes_max: u64,
    pub completion_slots_max: u64,
    pub request_waiting_bytes_max: u64,
    pub rotation_bytes_max: u64,
    pub rotation_time_max: Duration,
    pub owner_application_items_max: Option<u64>,
    pub owner_application_bytes_max: u64,
    pub owner_overflow: OwnerOverflow,
    pub owner_item_cost_bytes: u64,
    pub owner_slice: Duration,
    pub channel_weight: u32,
    pub listener_message_bytes_max: u64,
    pub shutdown_deadline: Duration,
    pub diagnostics_level: DiagnosticsLevel,
    pub diagnostics_sample_rate: f64,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            core_hwm_memory_limit_bytes: None,
            core_hwm_budget_bytes: None,
            core_hwm_profile: CoreHwmProfile::Balanced,
            memory_hard_limit_bytes: None,
            job_queue_profile: JobQueueProfile::Balanced,
            max_queued_jobs: None,
            job_queue_pause_percent: 80,
            job_queue_resume_percent: 60,
            processor_candidates: ProcessorCandidates::default(),
            send_timeout: Duration::from_secs(1),
            request_timeout: Duration::from_secs(30),
            waiters_max: 4_096,
            waiter_bytes_max: 64 << 20,
            completion_slots_max: 65_536,
            request_waiting_bytes_max: 64 << 20,
            rotation_bytes_max: 4 << 20,
            rotation_time_max: Duration::from_millis(2),
            owner_application_items_max: None,
            owner_application_bytes_max: 64 << 20,
            owner_overflow: OwnerOverflow::Wait,
            owner_item_cost_bytes: 256,
            owner_slice: Duration::from_millis(10),
            channel_weight: 100,
            listener_message_bytes_max: 16_777_216,
            shutdown_deadline: Duration::from_secs(30),
            diagnostics_level: DiagnosticsLevel::Errors,
            diagnostics_sample_rate: 1.0,
        }
    }
}

/// One option that was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The option's name.
    pub option: &'static str,
    /// What was given.
    pub given: String,
    /// What would have been accepted.
    pub allowed: String,
}

/// Everything that is wrong with a set of options (H-01). Nothing was bound or started.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{} option(s) refused: {}", violations.len(), List(violations))]
pub struct OptionsError {
    /// In the order of the option table; never empty.
    pub violations: Vec<Violation>,
}

struct List<'a>(&'a [Violation]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Violation { option, given, allowed }) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{option} = {given} (allowed: {allowed})")?;
        }
        Ok(())
    }
}

/// Collects violations.
#[derive(Default)]
pub(super) struct Checks(Vec<Violation>);

impl Checks {
    pub(super) fn range(&mut self, option: &'static str, given: u64, least: u64, most: u64) {
        if !(least..=most).contains(&given) {
            self.refuse(option, given.to_string(), alloc::format!("{least}..={most}"));
        }
    }

    /// Rounds up to whole milliseconds (O-10).
    pub(super) fn timeout(&mut self, option: &'static str, given: Duration) -> Duration {
        round_timeout(given).unwrap_or_else(|given| {
            self.refuse(option, alloc::format!("{given:?}"), "1 ms..=2147483647 ms".to_string());
            given
        })
    }

    pub(super) fn at_least(&mut self, option: &'static str, given: Duration, least: Duration) {
        if given < least {
            self.refuse(option, alloc::format!("{given:?}"), alloc::format!(">= {least:?}"));
        }
    }

    pub(super) fn weight(&mut self, given: u32) {
        self.range("channel_weight", given.into(), 0, WEIGHT_MAX.into());
    }

    pub(super) fn rate(&mut self, given: f64) {
        if !(0.0..=1.0).contains(&given) {
            self.refuse("diagnostics_sample_rate", given.to_string(), "0.0..=1.0".to_string());
        }
    }

    pub(super) fn refuse(&mut self, option: &'static str, given: String, allowed: String) {
        self.0.push(Violation { option, given, allowed });
    }

    pub(super) fn finish(self) -> Result<(), OptionsError> {
        if self.0.is_empty() { Ok(()) } else { Err(OptionsError { violations: self.0 }) }
    }
}

impl HostOptions {
    /// Checks all options together and computes what is automatic.
    ///
    /// # Errors
    /// Lists every violation: option, given value, allowed range (H-01).
    pub fn validate(self) -> Result<HostConfig, OptionsError> {
        let mut checks = Checks::default();
        self.check_bytes(&mut checks);
        let limit = self.job_limit(&mut checks);
        self.check_marks(&mut checks);
        let send_timeout = checks.timeout("send_timeout", self.send_timeout);
        let request_timeout = checks.timeout("request_timeout", self.request_timeout);
        self.check_bounds(&mut checks);
        checks.finish()?;
        Ok(HostConfig::new(self, limit, send_timeout, request_timeout))
    }

    fn check_bytes(&self, checks: &mut Checks) {
        let hard_limit = self.memory_hard_limit_bytes.unwrap_or(I63_MAX);
        for (option, given) in [
            ("core_hwm_memory_limit_bytes", self.core_hwm_memory_limit_bytes),
            ("core_hwm_budget_bytes", self.core_hwm_budget_bytes),
        ] {
            if let Some(given) = given {
                checks.range(option, given, 1, hard_limit);
            }
        }
    }

    /// H-05: a given maximum is exact; else processors times jobs a processor.
    fn job_limit(&self, checks: &mut Checks) -> u32 {
        let (option, limit) = match self.max_queued_jobs {
            Some(given) => ("max_queued_jobs", given),
            None => {
                let processors = self.processor_candidates.effective();
                let jobs = u64::from(self.job_queue_profile.jobs_per_processor());
                ("job_queue_profile", processors.saturating_mul(jobs))
            }
        };
        checks.range(option, limit, 1, I31_MAX);
        u32::try_from(limit).unwrap_or(u32::MAX)
    }

    fn check_marks(&self, checks: &mut Checks) {
        let (pause, resume) = (self.job_queue_pause_percent, self.job_queue_resume_percent);
        checks.range("job_queue_pause_percent", pause.into(), 1, 100);
        let is_resume_in_range = resume <= 99;
        if !is_resume_in_range || ((1..=100).contains(&pause) && resume >= pause) {
            let allowed = alloc::format!("0..=99 and < job_queue_pause_percent ({pause})");
            checks.refuse("job_queue_resume_percent", resume.to_string(), allowed);
        }
    }

    fn check_bounds(&self, checks: &mut Checks) {
        checks.range("waiters_max", self.waiters_max, 1, I31_MAX);
        checks.range("waiter_bytes_max", self.waiter_bytes_max, 1, I63_MAX);
        checks.range("completion_slots_max", self.completion_slots_max, 1, I31_MAX);
        checks.range("request_waiting_bytes_max", self.request_waiting_bytes_max, 1, I63_MAX);
        checks.range("rotation_bytes_max", self.rotation_bytes_max, 1, I63_MAX);
        checks.at_least("rotation_time_max", self.rotation_time_max, Duration::from_micros(1));
        if let Some(given) = self.owner_application_items_max {
            checks.range("owner_application_items_max", given, 1, I63_MAX);
        }
        checks.range("owner_application_bytes_max", self.owner_application_bytes_max, 1, I63_MAX);
        checks.range("owner_item_cost_bytes", self.owner_item_cost_bytes, 0, I63_MAX);
        checks.at_least("owner_slice", self.owner_slice, Duration::from_micros(1));
        checks.weight(self.channel_weight);
        checks.range("listener_message_bytes_max", self.listener_message_bytes_max, 0, u32::MAX.into());
        checks.at_least("shutdown_deadline", self.shutdown_deadline, Duration::from_nanos(1));
        checks.rate(self.diagnostics_sample_rate);
    }
}
