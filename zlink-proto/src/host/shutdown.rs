//! Shutdown: seal, fence, drain, stop (M-13, M-60 to M-66).
//!
//! ```text
//!  serving ─shutdown(d)─▶ draining ─all ended, or d over─▶ teardown (one step) ─▶ stopped
//!              │ second call: shares the run; may shorten d, never extend it
//! ```

use super::Host;
use super::members::{MemberState, SourceId};
use crate::time::Timestamp;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// State of a host, with its number (M-13).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum HostState {
    /// Starts.
    Preparing = 0,
    /// Works; the only state that is ready.
    #[default]
    Serving = 1,
    /// Hands its objects to other nodes.
    Relocating = 2,
    /// Did so.
    Relocated = 3,
    /// Sealed, ends what it has.
    Draining = 4,
    /// Over; status stays readable.
    Stopped = 5,
    /// Failed.
    Error = 6,
}

impl fmt::Display for HostState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Preparing => "preparing",
            Self::Serving => "serving",
            Self::Relocating => "relocating",
            Self::Relocated => "relocated",
            Self::Draining => "draining",
            Self::Stopped => "stopped",
            Self::Error => "error",
        })
    }
}

/// What the transport still has, for the decision to stop and for the report (M-63, M-66).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Leftovers {
    /// Sends and replies that were not submitted.
    pub operations_waiting: u64,
    /// Submitted requests without an answer.
    pub requests_outstanding: u64,
    /// Accepted here, not handed to the network.
    pub records_unsent: u64,
    /// Their bytes.
    pub bytes_unsent: u64,
    /// Connections without their orderly end.
    pub connections_open: u64,
}

/// What to do next while draining.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShutdownStep {
    /// Go on: something is not over yet.
    Wait,
    /// Everything else is over: end the connections in order (N-25a), all of them at once.
    EndConnections,
    /// Call [`Host::stop`].
    Stop,
}

/// How a shutdown ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ShutdownOutcome {
    /// Nothing was left.
    Stopped,
    /// Something was cut.
    ForceStopped,
}

/// Why it was forced.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ShutdownReason {
    /// It was not.
    None,
    /// The deadline came first.
    DeadlineExceeded,
    /// A step of the teardown failed.
    TeardownFailed,
}

/// Counts by category (M-66); the names are public contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
pub struct ShutdownCounts {
    pub operations_waiting: u64,
    pub requests_outstanding: u64,
    pub records_unsent: u64,
    pub bytes_unsent: u64,
    pub items_queued: u64,
    pub handlers_running: u64,
    pub sessions_open: u64,
    pub multicasts_running: u64,
    pub inbound_refused: u64,
    pub connections_forced: u64,
}

impl ShutdownCounts {
    /// True if nothing was cut; refused records are no loss.
    fn is_clean(&self) -> bool {
        Self { inbound_refused: 0, ..*self } == Self::default()
    }
}

/// What a shutdown did (M-66).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShutdownReport {
    /// How it ended.
    pub outcome: ShutdownOutcome,
    /// Why it was forced.
    pub reason: ShutdownReason,
    /// From the first call to the stop.
    pub duration: Duration,
    /// What was left.
    pub counts: ShutdownCounts,
}

impl fmt::Display for ShutdownReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        write!(f, "{:?}/{:?} after {:?}", self.outcome, self.reason, self.duration)?;
        for (name, count) in [
            ("operations_waiting", counts.operations_waiting),
            ("requests_outstanding", counts.requests_outstanding),
            ("records_unsent", counts.records_unsent),
            ("bytes_unsent", counts.bytes_unsent),
            ("items_queued", counts.items_queued),
            ("handlers_running", counts.handlers_running),
            ("sessions_open", counts.sessions_open),
            ("multicasts_running", counts.multicasts_running),
            ("inbound_refused", counts.inbound_refused),
            ("connections_forced", counts.connections_forced),
        ] {
            if count > 0 {
                write!(f, " {name}={count}")?;
            }
        }
        Ok(())
    }
}

/// Where the host is in its life.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Lifecycle {
    #[default]
    Serving,
    Draining(Draining),
    Stopped(ShutdownReport),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Draining {
    started_at: Timestamp,
    deadline: Timestamp,
    is_due: bool,
    /// Peers whose fence is not over.
    fences: u32,
    inbound_refused: u64,
}

impl Lifecycle {
    pub(super) fn state(&self) -> HostState {
        match self {
            Self::Serving => HostState::Serving,
            Self::Draining(_) => HostState::Draining,
            Self::Stopped(_) => HostState::Stopped,
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        match self {
            Self::Draining(draining) if !draining.is_due => Some(draining.deadline),
            Self::Serving | Self::Draining(_) | Self::Stopped(_) => None,
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Timestamp) {
        if let Self::Draining(draining) = self {
            draining.is_due |= now >= draining.deadline;
        }
    }

    pub(super) fn count_refused(&mut self) {
        if let Self::Draining(draining) = self {
            draining.inbound_refused = draining.inbound_refused.saturating_add(1);
        }
    }
}

impl<T> Host<T> {
    /// State of the host (M-13).
    pub fn state(&self) -> HostState {
        self.lifecycle.state()
    }

    /// New operations and peers are refused (M-61).
    pub fn is_sealed(&self) -> bool {
        !matches!(self.lifecycle, Lifecycle::Serving)
    }

    /// Nothing is taken any more.
    pub fn is_stopped(&self) -> bool {
        matches!(self.lifecycle, Lifecycle::Stopped(_))
    }

    /// Seals the host (M-61) and begins to drain; the composition then tells each admitted peer, and sends it the probe of its
    /// fence. A later call shares the run and may shorten it. Returns the time at which it ends at the latest (M-60).
    pub fn shutdown(&mut self, within: Duration, now: Timestamp) -> Timestamp {
        let now = self.advance(now);
        let deadline = now.saturating_add(within);
        match &mut self.lifecycle {
            Lifecycle::Serving => {
                let fences = self.members.live().count() as u32;
                let draining =
                    Draining { started_at: now, deadline, is_due: false, fences, inbound_refused: 0 };
                self.lifecycle = Lifecycle::Draining(draining);
                deadline
            }
            Lifecycle::Draining(draining) => {
                draining.deadline = draining.deadline.min(deadline);
                draining.deadline
            }
            Lifecycle::Stopped(_) => now,
        }
    }

    /// The peer acknowledged the probe that stands behind the update "draining": its records are refused from now on (M-62a).
    pub fn fence_over(&mut self, source: SourceId) {
        if let Some(member) = self.members.find(source) {
            self.end_fence(member);
        }
    }

    pub(super) fn end_fence(&mut self, member: u32) {
        let Lifecycle::Draining(draining) = &mut self.lifecycle else { return };
        let entry = self.members.get_mut(member);
        if !core::mem::replace(&mut entry.is_fence_over, true) {
            draining.fences -= 1;
        }
    }

    /// First check of the admission span (H-63).
    #[inline]
    pub(super) fn is_admitting(&self, member: u32) -> bool {
        match self.lifecycle {
            Lifecycle::Serving => true,
            Lifecycle::Draining(_) => !self.members.get(member).is_fence_over,
            Lifecycle::Stopped(_) => false,
        }
    }

    /// What to do next while draining (M-63), given what the transport still has.
    pub fn shutdown_step(&self, transport: &Leftovers, now: Timestamp) -> ShutdownStep {
        let Lifecycle::Draining(draining) = &self.lifecycle else {
            return if self.is_stopped() { ShutdownStep::Stop } else { ShutdownStep::Wait };
        };
        if draining.is_due || now >= draining.deadline {
            return ShutdownStep::Stop;
        }
        let has_work = self.owners.iter().any(|(_, owner)| owner.mailbox.used().items > 0);
        let Leftovers { operations_waiting, requests_outstanding, records_unsent, .. } = *transport;
        if draining.fences > 0 || has_work || operations_waiting + requests_outstanding + records_unsent > 0 {
            ShutdownStep::Wait
        } else if transport.connections_open > 0 {
            ShutdownStep::EndConnections
        } else {
            ShutdownStep::Stop
        }
    }

    /// The teardown, one step (M-64): waits end, every permit and reservation returns, running handlers are abandoned, payloads
    /// that never ran are pushed to `ended`. A host that is not draining is sealed first; a second call changes nothing.
    pub fn stop(
        &mut self,
        transport: Leftovers,
        has_failed: bool,
        ended: &mut Vec<T>,
        now: Timestamp,
    ) -> ShutdownReport {
        let now = self.advance(now);
        let (started_at, inbound_refused) = match &self.lifecycle {
            Lifecycle::Stopped(report) => return *report,
            Lifecycle::Draining(draining) => (draining.started_at, draining.inbound_refused),
            Lifecycle::Serving => (now, 0),
        };
        self.permits.close(now);
        self.registry.close();
        let permits = &mut self.permits;
        let (items_queued, handlers_running) = self.owners.end_all(|item| {
            if let Some(permit) = item.permit {
                permits.release(permit, || now);
            }
            ended.push(item.payload);
        });
        self.end_sources(now);
        self.pending.clear();
        let counts = ShutdownCounts {
            operations_waiting: transport.operations_waiting,
            requests_outstanding: transport.requests_outstanding,
            records_unsent: transport.records_unsent,
            bytes_unsent: transport.bytes_unsent,
            items_queued,
            handlers_running,
            sessions_open: 0,
            multicasts_running: 0,
            inbound_refused,
            connections_forced: transport.connections_open,
        };
        let (outcome, reason) = match (has_failed, counts.is_clean()) {
            (true, _) => (ShutdownOutcome::ForceStopped, ShutdownReason::TeardownFailed),
            (false, true) => (ShutdownOutcome::Stopped, ShutdownReason::None),
            (false, false) => (ShutdownOutcome::ForceStopped, ShutdownReason::DeadlineExceeded),
        };
        let report = ShutdownReport { outcome, reason, duration: now.saturating_since(started_at), counts };
        self.lifecycle = Lifecycle::Stopped(report);
        self.sync_flow();
        report
    }

    /// Nobody waits, nobody is parked, reservations return; a turn that is under way finds nothing to attach to.
    fn end_sources(&mut self, now: Timestamp) {
        self.parked = 0;
        self.rotation = None;
        while self.permits.fetch_handed().is_some() {}
        while self.ring.take_ready().is_some() {}
        for index in 0..self.members.as_slice().len() as u32 {
            self.permits.release_held(index, now);
            let member = self.members.get_mut(index);
            member.parking = None;
            if member.state != MemberState::Serving {
                member.state = MemberState::Idle;
            }
        }
    }

    /// The report, once the host is stopped.
    pub fn shutdown_report(&self) -> Option<ShutdownReport> {
        match &self.lifecycle {
            Lifecycle::Stopped(report) => Some(*report),
            Lifecycle::Serving | Lifecycle::Draining(_) => None,
        }
    }
}
