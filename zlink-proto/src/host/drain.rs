//! Drains: claim, start, terminal (H-70 to H-76).

use super::Host;
use super::mailbox::Item;
use super::owners::{OwnerConfig, OwnerId, OwnerState};
use super::refusal::{Refusal, Refused};
use super::samples::Observed;
use super::turn::NewJob;
use crate::time::Timestamp;
use alloc::vec::Vec;

/// Handlers between two looks at the time (H-76).
const HANDLERS_PER_LOOK: u32 = 16;

/// The right to run one drain of an owner: given by [`Host::poll_ready`], eaten by [`Host::start`].
#[derive(Debug)]
#[must_use]
pub struct Drain {
    owner: OwnerId,
}

impl Drain {
    /// Whose work it is.
    pub fn owner(&self) -> OwnerId {
        self.owner
    }
}

/// A running handler: its reservation and its drain. [`Host::next`] ends it at the handler's terminal (H-62).
#[derive(Debug)]
#[must_use]
pub struct Running {
    owner: OwnerId,
    cost: u64,
    /// Handlers of this slice so far.
    handled: u32,
    slice_end: Timestamp,
    is_observed: bool,
    observed: Observed,
}

impl Running {
    /// Whose work it is.
    pub fn owner(&self) -> OwnerId {
        self.owner
    }
}

/// A started job: its permit is back, the callback's first instruction comes next (H-74).
#[derive(Debug)]
#[must_use]
pub struct Job<T> {
    /// What was attached.
    pub payload: T,
    /// Accepted number at its owner, from 1 (H-63).
    pub number: u64,
    /// Ends it.
    pub running: Running,
}

impl<T> Host<T> {
    /// A new owner, Active, with the limits of the options (H-61). Check its configuration with
    /// [`HostConfig::validate_owner`](super::HostConfig::validate_owner) first.
    pub fn add_owner(&mut self, config: OwnerConfig) -> OwnerId {
        let items_max = self.config.owner_items_max(config.concurrency);
        if self.config.is_owner_limit_below_job_limit(config.concurrency) {
            self.warnings.owner_limit_below_job_limit = true;
        }
        self.owners.add(config, items_max, self.config.options().owner_application_bytes_max)
    }

    /// Closes an owner: items that wait end, and their payloads are pushed to `ended`; parked sources go on; running handlers too.
    pub fn close_owner(&mut self, owner: OwnerId, ended: &mut Vec<T>, now: Timestamp) {
        let now = self.advance(now);
        let Some(entry) = self.owners.get_mut(owner) else { return };
        entry.state = OwnerState::Closed;
        while let Some(item) = self.owners.get_mut(owner).and_then(|entry| entry.mailbox.pop_unstarted()) {
            if let Some(permit) = item.permit {
                self.permits.release(permit, || now);
            }
            ended.push(item.payload);
        }
        self.owners.relist(owner);
        self.wake_all_parked(owner, now);
        self.owners.free_if_over(owner);
        self.sync_flow();
    }

    /// Work of this host for one of its owners: room, but no permit (H-26). A one-way that finds no room may be submitted again
    /// until its deadline; for a request that is the end (H-84).
    ///
    /// # Errors
    /// The payload comes back with the check that failed; nothing changed (H-64).
    pub fn submit_local(&mut self, job: NewJob<T>) -> Result<(), Refused<T>> {
        let NewJob { owner, bytes, is_request, payload } = job;
        let cost = bytes.saturating_add(self.item_cost);
        let refused = match self.owners.get(owner) {
            _ if self.is_sealed() => Some(Refusal::ShuttingDown),
            Some(entry) if !entry.is_active() => Some(Refusal::TargetClosed),
            Some(entry) if !entry.mailbox.fits(cost) => Some(Refusal::OwnerFull),
            Some(_) => None,
            None => Some(Refusal::TargetClosed),
        };
        if let Some(reason) = refused {
            if reason == Refusal::OwnerFull && is_request {
                self.counters.local_rejections = self.counters.local_rejections.saturating_add(1);
            }
            return Err(Refused { reason, payload });
        }
        if let Some(entry) = self.owners.get_mut(owner) {
            entry.mailbox.push(Item { payload, cost, permit: None, accepted_at: None });
        }
        self.owners.relist(owner);
        Ok(())
    }

    /// An owner for which a drain must be scheduled, once for each drain; the one that is ready longest first.
    pub fn poll_ready(&mut self) -> Option<Drain> {
        self.owners.schedule().map(|owner| Drain { owner })
    }

    /// True if `poll_ready` has something.
    pub fn has_ready(&self) -> bool {
        self.owners.has_ready()
    }

    /// Begins a drain: its first job, started. `None`: there is nothing, the drain is over.
    pub fn start(&mut self, drain: Drain, clock: impl Fn() -> Timestamp) -> Option<Job<T>> {
        let Drain { owner } = drain;
        self.owners.get(owner)?;
        self.owners.drain_began(owner);
        let slice_end = self.clock.saturating_add(self.config.options().owner_slice);
        self.claim(owner, 0, slice_end, clock)
    }

    /// A handler's terminal (returned, failed, panicked, cancelled): ends its reservation, then claims and starts the next
    /// job. `None`: the drain is over; if only its slice is over (H-76), `poll_ready` gives the owner again.
    #[inline]
    pub fn next(&mut self, ended: Running, clock: impl Fn() -> Timestamp) -> Option<Job<T>> {
        let Running { owner, cost, handled, slice_end, is_observed, observed } = ended;
        // A handler that was abandoned at the stop of the host finds nothing.
        self.owners.get_mut(owner)?.mailbox.end_running(cost);
        if self.parked > 0 {
            self.wake_parked(owner, self.clock);
        }
        let is_look_due = handled % HANDLERS_PER_LOOK == 0;
        if (is_look_due || is_observed) && self.is_slice_over(observed, is_look_due, slice_end, &clock) {
            self.owners.drain_over(owner);
            return None;
        }
        self.claim(owner, handled, slice_end, clock)
    }

    /// The time is looked at at least every 16 handlers and whenever one was pending (H-76).
    #[cold]
    fn is_slice_over(
        &mut self,
        observed: Observed,
        is_look_due: bool,
        slice_end: Timestamp,
        clock: impl Fn() -> Timestamp,
    ) -> bool {
        let now = self.advance(clock());
        if let Some(started_at) = observed.started_at {
            self.samples.ended(now.saturating_since(started_at));
        }
        if let Some(pending) = observed.pending {
            self.pending.remove(pending);
        }
        (is_look_due || observed.pending.is_some()) && now >= slice_end
    }

    #[inline]
    fn claim(
        &mut self,
        owner: OwnerId,
        handled: u32,
        slice_end: Timestamp,
        clock: impl Fn() -> Timestamp,
    ) -> Option<Job<T>> {
        let entry = self.owners.get_mut(owner)?;
        let Some((number, item)) = entry.mailbox.claim() else {
            self.owners.drain_over(owner);
            return None;
        };
        if entry.is_misplaced() {
            self.owners.relist(owner);
        }
        let latest = &mut self.clock;
        let mut read = || {
            *latest = clock().max(*latest);
            *latest
        };
        let started_at = item.accepted_at.map(|accepted_at| {
            let now = read();
            self.samples.started(now.saturating_since(accepted_at));
            now
        });
        if let Some(permit) = item.permit {
            self.permits.release(permit, read);
        }
        self.sync_flow();
        let running = Running {
            owner,
            cost: item.cost,
            handled: handled.wrapping_add(1),
            slice_end,
            is_observed: started_at.is_some(),
            observed: Observed { started_at, pending: None },
        };
        Some(Job { payload: item.payload, number, running })
    }

    /// The handler returned pending for the first time: status shows how long it runs (M-38).
    pub fn pending(&mut self, running: &mut Running, now: Timestamp) {
        let now = self.advance(now);
        if running.observed.pending.is_none() && self.owners.get(running.owner).is_some() {
            running.observed.pending = Some(self.pending.add(running.owner, now));
            running.is_observed = true;
        }
    }
}
