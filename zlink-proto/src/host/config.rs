//! What a host runs with: validated options and computed limits, fixed at start (H-02), each with its origin (M-15).

use super::options::{DiagnosticsLevel, HostOptions, OptionsError, OwnerOverflow};
use super::owners::OwnerConfig;
use super::pressure::{pause_mark, resume_mark};
use super::profiles::{CoreHwmProfile, JobQueueProfile};
use core::fmt;
use core::time::Duration;

/// Where an effective limit comes from (M-15).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Origin {
    /// Computed.
    Automatic,
    /// Given.
    Manual,
    /// Given as 0 where that means no limit.
    Unlimited,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Automatic => "automatic",
            Self::Manual => "manual",
            Self::Unlimited => "unlimited",
        })
    }
}

/// Validated options. The transport gets its values from here unchanged (H-03).
#[derive(Clone, Debug)]
pub struct HostConfig {
    options: HostOptions,
    processors: u64,
    job_limit: u32,
}

impl HostConfig {
    pub(super) fn new(
        options: HostOptions,
        job_limit: u32,
        send_timeout: Duration,
        request_timeout: Duration,
    ) -> Self {
        let processors = options.processor_candidates.effective();
        Self { options: HostOptions { send_timeout, request_timeout, ..options }, processors, job_limit }
    }

    /// The options, timeouts rounded up to whole milliseconds (O-10).
    pub fn options(&self) -> &HostOptions {
        &self.options
    }

    /// H-04.
    pub fn effective_processors(&self) -> u64 {
        self.processors
    }

    /// M, the largest number of jobs accepted and not started (H-05).
    pub fn job_limit(&self) -> u32 {
        self.job_limit
    }

    /// Manual if `max_queued_jobs` was given; never unlimited.
    pub fn job_limit_origin(&self) -> Origin {
        if self.options.max_queued_jobs.is_some() { Origin::Manual } else { Origin::Automatic }
    }

    /// Permits in use at which the host pauses (H-30).
    pub fn pause_permits(&self) -> u32 {
        pause_mark(self.job_limit, self.options.job_queue_pause_percent)
    }

    /// Permits in use at which it runs again (H-30).
    pub fn resume_permits(&self) -> u32 {
        resume_mark(self.job_limit, self.options.job_queue_resume_percent)
    }

    /// Items that an owner whose handlers run `concurrency` at once may hold: max(1,024, M + n) unless given (H-61).
    pub fn owner_items_max(&self, concurrency: u32) -> u64 {
        let all_remote = u64::from(self.job_limit) + u64::from(concurrency);
        self.options.owner_application_items_max.unwrap_or_else(|| all_remote.max(1_024))
    }

    /// True if records of other hosts alone can fill such an owner: legal, but worth a warning (H-07).
    pub fn is_owner_limit_below_job_limit(&self, concurrency: u32) -> bool {
        self.owner_items_max(concurrency) < u64::from(self.job_limit) + u64::from(concurrency)
    }

    /// Cap on received messages of a listener and where it comes from: 0 means no cap of the host.
    pub fn listener_message_limit(&self) -> (u64, Origin) {
        let bytes = self.options.listener_message_bytes_max;
        (bytes, if bytes == 0 { Origin::Unlimited } else { Origin::Manual })
    }

    /// Checks what is given per channel (H-72).
    ///
    /// # Errors
    /// Lists every violation.
    pub fn validate_owner(&self, owner: &OwnerConfig) -> Result<(), OptionsError> {
        let mut checks = super::options::Checks::default();
        checks.range("concurrency", owner.concurrency.into(), 1, 65_535);
        checks.finish()
    }

    /// Changes what is recorded (M-30, M-31).
    ///
    /// # Errors
    /// The rate is not within 0.0 to 1.0; what was set before stays.
    pub(super) fn set_diagnostics(&mut self, level: DiagnosticsLevel, rate: f64) -> Result<(), OptionsError> {
        let mut checks = super::options::Checks::default();
        checks.rate(rate);
        checks.finish()?;
        self.options.diagnostics_level = level;
        self.options.diagnostics_sample_rate = rate;
        Ok(())
    }

    /// Changes the default weight of channels (S-45).
    ///
    /// # Errors
    /// It is above 10,000; what was set before stays.
    pub(super) fn set_channel_weight(&mut self, weight: u32) -> Result<(), OptionsError> {
        let mut checks = super::options::Checks::default();
        checks.weight(weight);
        checks.finish()?;
        self.options.channel_weight = weight;
        Ok(())
    }

    pub(super) fn overflow(&self) -> OwnerOverflow {
        self.options.owner_overflow
    }

    pub(super) fn diagnostics_level(&self) -> DiagnosticsLevel {
        self.options.diagnostics_level
    }

    pub(super) fn job_queue_profile(&self) -> JobQueueProfile {
        self.options.job_queue_profile
    }

    /// What the transport is told: (memory limit, budget, profile) exactly as given (H-03).
    pub fn core_hwm(&self) -> (Option<u64>, Option<u64>, CoreHwmProfile) {
        let options = &self.options;
        (options.core_hwm_memory_limit_bytes, options.core_hwm_budget_bytes, options.core_hwm_profile)
    }
}
