//! Draining to the end (M-61 to M-66): what the composition still has, and what to do next.

use super::action::{Action, run_actions};
use super::role::Role;
use super::{HostSide, Job, Reach};
use crate::host::{Leftovers, ReplyResult, ShutdownReport, ShutdownStep, SourceId};
use crate::time::Timestamp;
use crate::transport::Socket;
use crate::wire::service::RuntimeState;
use alloc::vec::Vec;
use core::time::Duration;

/// What one socket still has.
pub fn leftovers(socket: &Socket) -> Leftovers {
    let status = socket.snapshot();
    let mut left = Leftovers {
        operations_waiting: u64::from(status.waiting_sends) + u64::from(status.waiting_replies),
        requests_outstanding: u64::from(status.pending_requests),
        ..Leftovers::default()
    };
    for peer in status.peers.iter().filter(|peer| !peer.is_ended) {
        left.records_unsent += peer.send.records;
        left.bytes_unsent += peer.send.used;
        left.connections_open += 1;
    }
    left
}

fn all_leftovers<R: Reach>(reach: &mut R) -> Leftovers {
    let keys: Vec<_> = reach.host(|side| side.sockets().collect());
    let mut sum = Leftovers::default();
    for key in keys {
        let Some(one) = reach.socket(key, |socket, _, _| leftovers(socket)) else { continue };
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
            side.end_connections(deadline.saturating_since(now));
        }
        step
    });
    run_actions(reach);
    step
}

/// The teardown, one step (M-64): requesters that wait get 103/0 by best effort; every permit and reservation returns, handlers are
/// signalled, connections close.
pub fn stop<R: Reach>(reach: &mut R) -> ShutdownReport {
    let left = all_leftovers(reach);
    let now = reach.now();
    let report = reach.host(|side| side.stop(left, now));
    run_actions(reach);
    report
}

impl HostSide {
    /// Seals the host and begins to drain (M-61, M-62a): callers are refused, every server says "draining", every admitted peer gets a
    /// fence. A later call may shorten it. Returns when it ends at the latest. `run_actions` has something to do.
    pub fn shutdown(&mut self, within: Duration, now: Timestamp) -> Timestamp {
        let is_first = !self.host.is_sealed();
        let deadline = self.host.shutdown(within, now);
        if is_first {
            let mut without_fence = Vec::new();
            for role in self.roles_mut() {
                role.actions.push(Action::Seal);
                role.update(None, Some(RuntimeState::Draining));
                let Role { sessions, actions, key, .. } = role;
                for session in sessions.iter() {
                    let set = session.set;
                    if session.is_live() {
                        actions.push(Action::Fence { set });
                    } else if !session.is_admitted() {
                        without_fence.push(SourceId { socket: *key, set });
                    }
                }
            }
            without_fence.into_iter().for_each(|source| self.host.fence_over(source));
        }
        deadline
    }

    /// All fences are over and nothing else is left: each connection gets its orderly end, once.
    fn end_connections(&mut self, linger: Duration) {
        if !core::mem::replace(&mut self.is_ending, true) {
            self.roles_mut().for_each(|role| role.actions.push(Action::Close { linger }));
        }
    }

    fn stop(&mut self, left: Leftovers, now: Timestamp) -> ShutdownReport {
        let mut ended = Vec::new();
        let report = self.host.stop(left, false, &mut ended, now);
        let mut tokens = Vec::new();
        self.replies.stop(|source, token| tokens.push((source, token)));
        for job in &mut ended {
            tokens.extend(job.token.take().map(|token| (job.source, token)));
        }
        for (source, token) in tokens {
            if let Some(role) = self.role_mut(source.socket) {
                role.actions.push(Action::Answer { token, result: ReplyResult::TERMINATED });
            }
        }
        self.roles_mut().for_each(|role| role.actions.push(Action::Close { linger: Duration::ZERO }));
        report
    }
}

impl Role {
    /// Answers a request that no handler will get; a one-way is gone.
    pub(super) fn refuse(&mut self, job: &mut Job, result: ReplyResult) {
        if let Some(token) = job.token.take() {
            self.actions.push(Action::Answer { token, result });
        }
    }
}
