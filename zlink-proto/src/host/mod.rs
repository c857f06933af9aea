//! The jobs authority: permits, receive turns, owners, pressure, shutdown (rules H-, O-8x, M-).
//!
//! It counts jobs that were accepted and not started, never bytes of transport queues, and tells the transport one thing: an
//! absolute RUNNING or PAUSED per socket ([`Host::flow_due`]).
//!
//! ```text
//!  transport receive queue ──permit──▶ receive turn ──admission span──▶ owner mailbox ──claim──▶ callback ──▶ terminal
//!                         reserved               queued                            release permit │        release owner
//!                         └──────────── permits in use = reserved + queued ───────────────────────┘        reservation
//!                                                └──────────── owner account: items + bytes ──────────────────────┘
//! ```
//!
//! What a loop does with it:
//!
//! ```text
//! while let Some(apply) = flow_due()  { set the socket's flow state, then applied(apply, ok) }
//! while let Some(turn) = begin_turn() { look at heads, room, take, attach each, end_turn }     // then sleep or go on: needs_turn
//! while let Some(drain) = poll_ready(){ a task: start(drain), run the handler, next(running) until None }
//! handle_timeout(now) when poll_timeout is due;  while let Some(output) = poll_output() { … }
//! ```

mod bits;
mod config;
mod diagnostics;
mod doctor;
mod drain;
mod fifo;
mod mailbox;
mod members;
mod options;
mod owners;
mod parking;
mod permits;
mod pressure;
mod profiles;
mod refusal;
mod registry;
mod results;
mod ring;
mod rotation;
mod samples;
mod shutdown;
mod sources;
mod status;
mod status_text;
mod turn;
mod waiting;

pub use config::{HostConfig, Origin};
pub use diagnostics::{DropReason, Dropped, Phase, RateLimit};
pub use doctor::{Diagnosis, Symptom};
pub use drain::{Drain, Job, Running};
pub use members::SourceId;
pub use options::{DiagnosticsLevel, HostOptions, OptionsError, OwnerOverflow, Violation};
pub use owners::{OwnerConfig, OwnerId, OwnerKind};
pub use profiles::{CoreHwmProfile, JobQueueProfile, ProcessorCandidates};
pub use refusal::{Refusal, Refused};
pub use registry::{Applied, AppliedFlow, Apply, SocketKey};
pub use results::{ReplyResult, UnknownResult};
pub use rotation::{ROTATION_RECORDS_MAX, ROTATION_RECORDS_PER_LOOK};
pub use samples::Histogram;
pub use shutdown::{
    HostState, Leftovers, ShutdownCounts, ShutdownOutcome, ShutdownReason, ShutdownReport, ShutdownStep,
};
pub use status::{
    FamilyStatus, FlowSocketStatus, HostStatus, JobQueueStatus, OperationsStatus, OwnersStatus,
    TransportStatus,
};
pub use turn::{HeadInfo, NewJob, Turn};
pub use waiting::{Place, Waiting};

use crate::time::Timestamp;
use crate::wire::Flow;
use alloc::vec::Vec;
use members::Members;
use owners::Owners;
use permits::Permits;
use pressure::Pressure;
use registry::Registry;
use ring::Ring;
use rotation::Rotation;
use samples::{PendingTurns, Samples};
use shutdown::Lifecycle;
use turn::Room;

/// Something to report; each is the latest of its kind, so reading late loses nothing but intermediate values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostOutput {
    /// `zlink.runtime.host.pressure_changed` (M-36).
    PressureChanged {
        /// The state now.
        state: Flow,
        /// Its sequence.
        sequence: u64,
    },
    /// `zlink.runtime.host.termination_changed` (M-36).
    StateChanged(HostState),
    /// An owner's item limit is below M + n, so remote records alone can fill it (H-07). Reported once.
    OwnerLimitBelowJobLimit,
}

/// What was reported last, and what is to be.
#[derive(Clone, Copy, Debug, Default)]
struct Warnings {
    owner_limit_below_job_limit: bool,
    was_owner_limit_reported: bool,
    reported_sequence: u64,
    reported_state: HostState,
}

/// Counters of the epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Counters {
    local_rejections: u64,
    remote_rejections: u64,
    owner_waits: u64,
    dropped: Dropped,
}

/// The jobs authority of one process, without IO, clock, thread or lock. `T` is what a handler gets.
#[derive(Debug)]
pub struct Host<T> {
    config: HostConfig,
    /// Latest time seen; it never goes back (O-14).
    clock: Timestamp,
    started_at: Timestamp,
    epoch: u64,
    lifecycle: Lifecycle,
    permits: Permits,
    registry: Registry,
    members: Members,
    ring: Ring,
    rotation: Option<Rotation>,
    owners: Owners<T>,
    /// Sources that are parked.
    parked: u32,
    pending: PendingTurns,
    samples: Samples,
    counters: Counters,
    warnings: Warnings,
    item_cost: u64,
    /// Used again by the next turn.
    spare_rooms: Vec<Room>,
}

impl<T> Host<T> {
    /// A serving host.
    ///
    /// # Errors
    /// Lists every violated option (H-01).
    pub fn new(options: HostOptions, now: Timestamp) -> Result<Self, OptionsError> {
        let config = options.validate()?;
        let pressure = Pressure::new(config.pause_permits(), config.resume_permits(), now);
        Ok(Self {
            clock: now,
            started_at: now,
            epoch: 1,
            lifecycle: Lifecycle::default(),
            permits: Permits::new(config.job_limit(), pressure),
            registry: Registry::default(),
            members: Members::default(),
            ring: Ring::default(),
            rotation: None,
            owners: Owners::default(),
            parked: 0,
            pending: PendingTurns::default(),
            samples: Samples::default(),
            counters: Counters::default(),
            warnings: Warnings { reported_state: HostState::Serving, ..Warnings::default() },
            item_cost: config.options().owner_item_cost_bytes,
            spare_rooms: Vec::new(),
            config,
        })
    }

    /// What the host runs with.
    pub fn config(&self) -> &HostConfig {
        &self.config
    }

    /// Changes what is recorded, at run time (M-30, M-31).
    ///
    /// # Errors
    /// The rate is not within 0.0 to 1.0; what was set before stays.
    pub fn set_diagnostics(&mut self, level: DiagnosticsLevel, sample_rate: f64) -> Result<(), OptionsError> {
        self.config.set_diagnostics(level, sample_rate)
    }

    /// Changes the weight that channels offered from now on announce; the composition tells the peers (S-45).
    ///
    /// # Errors
    /// It is above 10,000; what was set before stays.
    pub fn set_channel_weight(&mut self, weight: u32) -> Result<(), OptionsError> {
        self.config.set_channel_weight(weight)
    }

    /// Something to report. Call until `None`.
    pub fn poll_output(&mut self) -> Option<HostOutput> {
        let warnings = &mut self.warnings;
        if warnings.owner_limit_below_job_limit && !warnings.was_owner_limit_reported {
            warnings.was_owner_limit_reported = true;
            return Some(HostOutput::OwnerLimitBelowJobLimit);
        }
        let pressure = self.permits.pressure();
        if warnings.reported_sequence != pressure.sequence() {
            warnings.reported_sequence = pressure.sequence();
            let (state, sequence) = (pressure.state(), pressure.sequence());
            return Some(HostOutput::PressureChanged { state, sequence });
        }
        let state = self.lifecycle.state();
        if warnings.reported_state != state {
            warnings.reported_state = state;
            return Some(HostOutput::StateChanged(state));
        }
        None
    }

    /// Earliest time at which `handle_timeout` has something to do.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.lifecycle.poll_timeout()
    }

    /// Lets timers act.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        let now = self.advance(now);
        self.lifecycle.handle_timeout(now);
    }

    /// Time never goes back (O-14).
    #[inline]
    fn advance(&mut self, now: Timestamp) -> Timestamp {
        self.clock = self.clock.max(now);
        self.clock
    }

    /// Called at the end of each step that may have changed the pressure (H-41).
    #[inline]
    fn sync_flow(&mut self) {
        let pressure = self.permits.pressure();
        if self.registry.sequence() != pressure.sequence() {
            self.registry.set_current(pressure.state(), pressure.sequence());
        }
    }

    /// A new epoch in one step: gauges and the running pause stay, the peak is the current value, counts are zero (M-40 to M-43).
    pub fn reset_metrics(&mut self, now: Timestamp) {
        let now = self.advance(now);
        self.epoch += 1;
        self.permits.reset(now);
        self.registry.reset();
        self.samples.reset();
        self.counters = Counters::default();
    }

    /// Panics if a sum or a set does not match (H-87). For tests.
    pub fn check_invariants(&self) {
        self.permits.check_invariants();
        self.registry.check_invariants();
        self.ring.check_invariants();
        let queued = self.owners.check_invariants();
        assert_eq!(queued, self.permits.counts().queued, "each queued permit belongs to one item");
        assert_eq!(
            self.registry.sequence(),
            self.permits.pressure().sequence(),
            "the registry knows the state"
        );
        self.check_members();
    }

    fn check_members(&self) {
        use members::MemberState;
        let mut parked = 0;
        for member in self.members.live() {
            let entry = self.members.get(member);
            let is_ready = entry.state == MemberState::Ready;
            assert_eq!(self.ring.is_ready(member), is_ready, "the ring's ready set");
            let is_parked = entry.state == MemberState::Parked;
            let is_sleeping = entry.parking.is_some_and(|parking| !parking.is_woken);
            assert!(!is_parked || is_sleeping, "a parked source sleeps on an owner");
            parked += u32::from(entry.parking.is_some());
        }
        assert!(parked <= self.parked, "parked sources are counted");
        if self.ring.has_ready() {
            assert!(self.permits.obtainable() > 0, "while saturated every ready source waits in the FIFO");
        }
        let listed: u32 = self.owners.iter().map(|(_, owner)| owner.parked.len()).sum();
        assert_eq!(listed, self.parked, "parked sources are in the FIFO of an owner");
    }
}
