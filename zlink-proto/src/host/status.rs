//! Status: one immutable value of one instant (M-10 to M-15). Reading it changes nothing.

use super::Host;
use super::config::Origin;
use super::diagnostics::Dropped;
use super::options::DiagnosticsLevel;
use super::owners::OwnerKind;
use super::profiles::{CoreHwmProfile, JobQueueProfile};
use super::registry::SocketKey;
use super::samples::Histogram;
use super::shutdown::HostState;
use super::waiting::{Place, Waiting};
use crate::time::Timestamp;
use crate::wire::Flow;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

/// The job queue: configured, effective, now, in this epoch. Permits count jobs that were accepted and not started.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // The names are those of 7-observability §1.
pub struct JobQueueStatus {
    pub profile: JobQueueProfile,
    /// `max_queued_jobs`, if it was given.
    pub manual_maximum: Option<u64>,
    pub pause_percent: u32,
    pub resume_percent: u32,
    pub effective_processor_count: u64,
    pub maximum: u32,
    pub maximum_origin: Origin,
    /// What the profile alone would give.
    pub automatic_maximum: u64,
    pub pause_permits: u32,
    pub resume_permits: u32,
    pub reserved: u32,
    pub queued: u32,
    /// reserved + queued.
    pub in_use: u32,
    pub pressure_state: Flow,
    pub pressure_sequence: u64,
    pub current_pause: Duration,
    pub capacity_waiters: u32,
    pub oldest_waiter_age: Option<Duration>,
    pub peak_in_use: u32,
    pub capacity_waits: u64,
    pub capacity_wait_duration: Duration,
    pub transitions_running: u64,
    pub transitions_paused: u64,
    pub cumulative_pause: Duration,
    pub flow_state_failures: u64,
}

/// Owners together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
pub struct OwnersStatus {
    /// Owners of kind channel.
    pub channels: u64,
    /// Jobs that wait.
    pub queued_items: u64,
    /// Items that are accounted: waiting, running, promised to a turn.
    pub items: u64,
    pub bytes: u64,
    /// Owner with the most waiting jobs, and how many.
    pub largest_queue: Option<(String, u64)>,
    pub structural_rejections_local: u64,
    pub structural_rejections_remote: u64,
    pub running_handlers: u64,
    /// Kind and name of the owner whose turn is pending longest, and for how long (M-38).
    pub longest_running_turn: Option<(OwnerKind, String, Duration)>,
    pub parked_sources: u32,
    pub oldest_parked: Option<Duration>,
    pub owner_waits: u64,
}

/// What a socket was told last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowSocketStatus {
    /// The socket.
    pub socket: SocketKey,
    /// `None`: unknown.
    pub applied: Option<Flow>,
    /// Pressure sequence of the last apply.
    pub sequence: u64,
    /// Peers that have paused us; the composition fills it in.
    pub peers_that_paused_us: u64,
}

/// Copy of the transport's figures, filled in by the composition. Never an input of a decision here (M-14).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
pub struct TransportStatus {
    pub memory_limit: Option<u64>,
    pub manual_budget: Option<u64>,
    pub profile: CoreHwmProfile,
    pub effective_budget: u64,
    pub applied_hwm: u64,
    pub accounted: u64,
    pub accounted_peak: u64,
    pub completion_accounted: u64,
    pub completion_accounted_peak: u64,
    pub completion_pending: u64,
    pub blocked_ratio_ppm: u32,
    pub active_send_queues: u64,
    pub active_receive_queues: u64,
    pub active_completion_queues: u64,
    /// Peers that have set PAUSED towards us.
    pub remote_paused_peers: u64,
}

/// One family of operations (5-operations §1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
pub struct FamilyStatus {
    pub waiters: u64,
    pub waiters_max: u64,
    pub waiting_bytes: u64,
    pub waiting_bytes_max: u64,
    pub oldest_age: Option<Duration>,
    /// Ended at once because all waiters were taken.
    pub waiters_full: u64,
    /// Ended at their deadline, provably not submitted (waiters_full not included).
    pub deadline_not_submitted: u64,
}

/// Operations of this host, filled in by the composition; sums over sockets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
pub struct OperationsStatus {
    pub client: FamilyStatus,
    pub reply: FamilyStatus,
    pub requests_outstanding: u64,
    pub completion_slots: u64,
    pub completion_slots_max: u64,
    pub request_waiting_bytes: u64,
    /// Requests answered in this epoch.
    pub replies: u64,
    /// Requests that ended at their deadline in this epoch.
    pub request_timeouts: u64,
}

/// Everything about a host at one instant. `transport`, `operations` and further `waiting` lines come from the composition.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct HostStatus {
    /// Time of the host's part.
    pub at: Timestamp,
    pub state: HostState,
    pub is_ready: bool,
    pub uptime: Duration,
    /// Measurement epoch; `reset_metrics` begins a new one.
    pub epoch: u64,
    pub diagnostics_level: DiagnosticsLevel,
    /// What waits, where, for whom and since when (M-11).
    pub waiting: Vec<Waiting>,
    pub job_queue: JobQueueStatus,
    pub owners: OwnersStatus,
    pub dropped: Dropped,
    pub job_wait: Histogram,
    pub handler_duration: Histogram,
    /// Registered flow sockets in the order of their places.
    pub flow_sockets: Vec<FlowSocketStatus>,
    pub transport: TransportStatus,
    pub operations: OperationsStatus,
}

impl<T> Host<T> {
    /// The host's part of a status. Passive: it changes nothing and walks no queue; its cost is one visit to each owner and socket.
    pub fn status(&self, now: Timestamp) -> HostStatus {
        let now = self.clock.max(now);
        let state = self.state();
        let owners = self.owners_status(now);
        let job_queue = self.job_queue_status(now);
        let (memory_limit, manual_budget, profile) = self.config.core_hwm();
        HostStatus {
            at: now,
            state,
            is_ready: state == HostState::Serving,
            uptime: now.saturating_since(self.started_at),
            epoch: self.epoch,
            diagnostics_level: self.config.diagnostics_level(),
            waiting: self.waiting(&job_queue, now),
            job_queue,
            owners,
            dropped: self.counters.dropped,
            job_wait: self.samples.wait,
            handler_duration: self.samples.duration,
            flow_sockets: self.registry.sockets().filter_map(|socket| self.flow_socket(socket)).collect(),
            transport: TransportStatus { memory_limit, manual_budget, profile, ..TransportStatus::default() },
            operations: OperationsStatus::default(),
        }
    }

    fn flow_socket(&self, socket: SocketKey) -> Option<FlowSocketStatus> {
        let applied = self.registry.applied_flow(socket)?;
        Some(FlowSocketStatus {
            socket,
            applied: applied.state,
            sequence: applied.sequence,
            peers_that_paused_us: 0,
        })
    }

    fn job_queue_status(&self, now: Timestamp) -> JobQueueStatus {
        let (config, options) = (&self.config, self.config.options());
        let counts = self.permits.counts();
        let pressure = self.permits.pressure();
        let (transitions_running, transitions_paused) = pressure.transitions();
        let profile = config.job_queue_profile();
        let processors = config.effective_processors();
        JobQueueStatus {
            profile,
            manual_maximum: options.max_queued_jobs,
            pause_percent: options.job_queue_pause_percent,
            resume_percent: options.job_queue_resume_percent,
            effective_processor_count: processors,
            maximum: self.permits.limit(),
            maximum_origin: config.job_limit_origin(),
            automatic_maximum: processors.saturating_mul(profile.jobs_per_processor().into()),
            pause_permits: pressure.pause(),
            resume_permits: pressure.resume(),
            reserved: counts.reserved,
            queued: counts.queued,
            in_use: counts.reserved + counts.queued,
            pressure_state: pressure.state(),
            pressure_sequence: pressure.sequence(),
            current_pause: pressure.current_pause(now),
            capacity_waiters: counts.waiters,
            oldest_waiter_age: self
                .permits
                .oldest_waiter()
                .map(|(_, asked_at)| now.saturating_since(asked_at)),
            peak_in_use: counts.peak,
            capacity_waits: counts.waits,
            capacity_wait_duration: counts.wait_duration,
            transitions_running,
            transitions_paused,
            cumulative_pause: pressure.cumulative_pause(now),
            flow_state_failures: self.registry.failures(),
        }
    }

    fn owners_status(&self, now: Timestamp) -> OwnersStatus {
        let mut status = OwnersStatus {
            structural_rejections_local: self.counters.local_rejections,
            structural_rejections_remote: self.counters.remote_rejections,
            owner_waits: self.counters.owner_waits,
            parked_sources: self.parked,
            ..OwnersStatus::default()
        };
        let mut largest = None;
        for (_, owner) in self.owners.iter() {
            match owner.config.kind {
                OwnerKind::Channel => status.channels += 1,
            }
            let (queued, used) = (owner.mailbox.len() as u64, owner.mailbox.used());
            status.queued_items += queued;
            status.items += used.items;
            status.bytes = status.bytes.saturating_add(used.bytes);
            status.running_handlers += owner.mailbox.running().items;
            if queued > largest.map_or(0, |(_, most)| most) {
                largest = Some((&owner.config.name, queued));
            }
            if let Some(since) = owner.parked.first().and_then(|member| self.parked_since(member)) {
                let age = now.saturating_since(since);
                status.oldest_parked = Some(status.oldest_parked.map_or(age, |oldest| oldest.max(age)));
            }
        }
        status.largest_queue = largest.map(|(name, queued)| (name.clone(), queued));
        status.longest_running_turn = self.pending.longest().and_then(|(id, since)| {
            let owner = self.owners.get(id)?;
            Some((owner.config.kind, owner.config.name.clone(), now.saturating_since(since)))
        });
        status
    }

    fn parked_since(&self, member: u32) -> Option<Timestamp> {
        self.members.get(member).parking.map(|parking| parking.since)
    }

    fn waiting(&self, jobs: &JobQueueStatus, now: Timestamp) -> Vec<Waiting> {
        let mut lines = Vec::new();
        if jobs.capacity_waiters > 0 {
            let whom = alloc::format!("{} of {} permits in use", jobs.in_use, jobs.maximum);
            let count = jobs.capacity_waiters.into();
            lines.push(Waiting { place: Place::Permit, count, whom, since: jobs.oldest_waiter_age });
        }
        for (_, owner) in self.owners.iter() {
            let whom = || alloc::format!("{} {}", owner.config.kind, owner.config.name);
            if let Some(first) = owner.parked.first() {
                let since = self.parked_since(first).map(|since| now.saturating_since(since));
                let count = owner.parked.len().into();
                lines.push(Waiting { place: Place::OwnerRoom, count, whom: whom(), since });
            }
            if owner.mailbox.len() > 0 {
                let count = owner.mailbox.len() as u64;
                lines.push(Waiting { place: Place::Mailbox, count, whom: whom(), since: None });
            }
        }
        lines
    }
}
