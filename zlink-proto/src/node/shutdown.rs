//! Draining to the end (M-61 to M-66): what the composition still has, and what to do next.

use super::action::{Action, run_actions};
use super::role::Role;
use super::{HostSide, Job, Reach};
use crate::host::{Leftovers, ReplyResult, ShutdownReport, ShutdownStep};
use crate::transport::Socket;
use alloc::vec::Vec;
use core::time::Duration;

/// What one socket still has.
pub fn leftovers(socket: &Socket) -> Leftovers {
    let status = socket.snapshot();
    let live = status.peers.iter().filter(|peer| !peer.is_ended);
    let mut left = Leftovers {
        operations_waiting: u64::from(status.waiting_sends) + u64::from(status.waiting_replies),
        requests_outstanding: u64::from(status.pending_requests),
        ..Leftovers::default()
    };
    for peer in live {
        left.records_unsent += peer.send.records;
        left.bytes_unsent += peer.send.used;
        left.connections_open += u64::from(!peer.blockers.hold);
    }
    left
}

fn all_leftovers<R: Reach>(reach: &mut R) -> Leftovers {
    let keys: Vec<_> = reach.host(|side| side.sockets().collect());
    let mut sum = Leftovers::default();
    for key in keys {
        let Some(one) = reach.socket(key, |socket, _| leftovers(socket)) else { continue };
        sum.operations_waiting += one.operations_waiting;
        sum.requests_outstanding += one.requests_outstanding;
        sum.records_unsent += one.records_unsent;
        sum.bytes_unsent += one.bytes_unsent;
        sum.connections_open += one.connections_open;
    }
    sum
}

/// What to do next while the host drains; the orderly end of connections is begun here. To be called whenever something ended:
/// a job, an operation, a fence, a set, or the time. `Stop`: call [`stop`].
pub fn shutdown_step<R: Reach>(reach: &mut R) -> ShutdownStep {
    let left = all_leftovers(reach);
    let now = reach.now();
    let step = reach.host(|side| {
        // Records that are not yet written hold nothing up: the orderly end writes them first (N-25a).
        let step = side.host().shutdown_step(&Leftovers { records_unsent: 0, bytes_unsent: 0, ..left }, now);
        if step == ShutdownStep::EndConnections {
            let deadline = side.host().poll_timeout().unwrap_or(now);
            side.end_connections(deadline.saturating_since(now).max(Duration::from_millis(1)));
        }
        step
    });
    run_actions(reach);
    step
}

/// The teardown, one step (M-64): waiting requesters get 103/0 by best effort; every permit and reservation returns. The caller
/// closes the sockets with linger 0 afterwards.
pub fn stop<R: Reach>(reach: &mut R) -> ShutdownReport {
    let left = all_leftovers(reach);
    let now = reach.now();
    let report = reach.host(|side| {
        let mut ended = Vec::new();
        let report = side.host_mut().stop(left, false, &mut ended, now);
        for job in ended {
            side.refuse(job, ReplyResult::TERMINATED);
        }
        report
    });
    run_actions(reach);
    report
}

impl HostSide {
    /// Answers a request that no handler will get; a one-way is gone.
    pub fn refuse(&mut self, job: Job, result: ReplyResult) {
        if let Some(role) = self.role_mut(job.source.socket) {
            role.refuse(job, result);
        }
    }
}

impl Role {
    pub(super) fn refuse(&mut self, mut job: Job, result: ReplyResult) {
        if let Some(token) = job.take_token() {
            self.actions.push(Action::Answer { token, result });
        }
    }
}
