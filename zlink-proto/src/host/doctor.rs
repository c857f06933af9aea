//! The `doctor` view of a status: what is seen, what it means, where to look (M-50). First match first.

use super::status::HostStatus;
use crate::wire::Flow;
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::time::Duration;

/// A pause this long with few transitions is sustained overload.
const LONG_PAUSE: Duration = Duration::from_secs(10);
/// More transitions than this, of short pauses, mean marks too close together.
const MANY_TRANSITIONS: u64 = 10;
/// A pause shorter than this on average is short.
const SHORT_PAUSE: Duration = Duration::from_millis(100);

/// A row of the table, in its order. Rows about publishing belong to topologies that publish.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Symptom {
    /// All permits used, sources wait, the transport holds little.
    HandlersStartTooSlowly,
    /// All permits used, most of them reserved.
    ReservationsFillLimit,
    /// Jobs are scheduled and none starts.
    GateTaken,
    /// Bytes are used up, permits are free.
    BytesLimit,
    /// Sends end at their deadline.
    ReceiverWithoutRoom,
    /// Sends end at once.
    TooManySends,
    /// Replies stand behind data or wait for RUNNING.
    RepliesBehindData,
    /// Requests time out, sends are fine.
    SlowHandlerOrLostReply,
    /// Replies complete while all permits are used.
    RepliesNeedNoPermit,
    /// Paused long, few transitions.
    SustainedOverload,
    /// Many transitions, short pauses.
    MarksTooClose,
    /// A raised limit was filled all the same.
    RaisedLimitFilled,
    /// Sources are parked, permits are free.
    OwnerFullSourcesWait,
    /// Owners refuse, nobody waits.
    OwnerOverloaded,
    /// Messages were dropped for a named reason.
    Dropped,
}

/// One row that fits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnosis {
    /// Which row.
    pub symptom: Symptom,
    /// The numbers that it was seen by.
    pub numbers: String,
}

impl Symptom {
    /// What it means.
    pub const fn conclusion(self) -> &'static str {
        match self {
            Self::HandlersStartTooSlowly => "handlers start too slowly; receiving waits for permits",
            Self::ReservationsFillLimit => "short pre-receive reservations fill the limit",
            Self::GateTaken => "its gate is taken; the permit goes back at the first instruction only",
            Self::BytesLimit => "bytes limit: large payloads, slow network, or the peer does not read",
            Self::ReceiverWithoutRoom => "no room at the receiver for so long",
            Self::TooManySends => "too many concurrent sends on this side",
            Self::RepliesBehindData => "replies stand behind earlier data in one FIFO, or wait for RUNNING",
            Self::SlowHandlerOrLostReply => "slow handler or lost reply path",
            Self::RepliesNeedNoPermit => "expected: replies need no permit",
            Self::SustainedOverload => "sustained overload",
            Self::MarksTooClose => "marks too close or limit too small",
            Self::RaisedLimitFilled => "expected: memory absorbs it first",
            Self::OwnerFullSourcesWait => "one owner is full and its senders' connections wait behind it",
            Self::OwnerOverloaded => "one owner is overloaded, not the host",
            Self::Dropped => "a named reason, not load",
        }
    }

    /// What to look at or to do (M-37).
    pub const fn advice(self) -> &'static str {
        match self {
            Self::HandlersStartTooSlowly => {
                "handler start gates, handler duration, number of nodes; not the HWM"
            }
            Self::ReservationsFillLimit => "size max_queued_jobs from reserved + queued",
            Self::GateTaken => "longest running turn, owner queue sizes",
            Self::BytesLimit => "payload sizes, peer's status, then HWM",
            Self::ReceiverWithoutRoom => "receiver: blocked ratio, job waiters, handler time",
            Self::TooManySends => "sender's concurrency",
            Self::RepliesBehindData => {
                "client handlers; RouteMesh or replies_pass_pause if replies must not wait"
            }
            Self::SlowHandlerOrLostReply => "request duration, nested requests without timeout",
            Self::RepliesNeedNoPermit => "nothing to do",
            Self::SustainedOverload => "capacity",
            Self::MarksTooClose => "widen pause and resume, raise limit",
            Self::RaisedLimitFilled => "lower the limit and the send timeout to fail fast",
            Self::OwnerFullSourcesWait => {
                "that owner's handler; split the owner, raise its limits, or owner_overflow = Refuse"
            }
            Self::OwnerOverloaded => "split the owner, raise its limits",
            Self::Dropped => "the reason label",
        }
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (conclusion, advice) = (self.symptom.conclusion(), self.symptom.advice());
        write!(f, "{conclusion} ({}); look at: {advice}", self.numbers)
    }
}

impl HostStatus {
    /// The first row of the table that fits, with the numbers it used. `None`: nothing to see.
    pub fn doctor(&self) -> Option<Diagnosis> {
        let rows = [
            self.permits_row(),
            self.bytes_row(),
            self.sends_row(),
            self.replies_row(),
            self.pressure_row(),
            self.owners_row(),
        ];
        rows.into_iter().flatten().next().map(|(symptom, numbers)| Diagnosis { symptom, numbers })
    }

    fn is_saturated(&self) -> bool {
        self.job_queue.in_use >= self.job_queue.maximum
    }

    fn permits_row(&self) -> Option<(Symptom, String)> {
        let (jobs, transport) = (&self.job_queue, &self.transport);
        let numbers = || {
            format!(
                "in_use {} of {}, queued {}, reserved {}, waiters {}, accounted {} of {} bytes",
                jobs.in_use,
                jobs.maximum,
                jobs.queued,
                jobs.reserved,
                jobs.capacity_waiters,
                transport.accounted,
                transport.applied_hwm
            )
        };
        // Low is below half of what may be held; without a limit every amount is.
        let is_low = transport.applied_hwm == 0 || transport.accounted < transport.applied_hwm / 2;
        if self.is_saturated() && jobs.capacity_waiters > 0 && is_low {
            return Some((Symptom::HandlersStartTooSlowly, numbers()));
        }
        if self.is_saturated() && jobs.reserved > jobs.queued {
            return Some((Symptom::ReservationsFillLimit, numbers()));
        }
        let (_, _, ran) = self.owners.longest_running_turn.as_ref()?;
        let is_stuck = *ran >= Duration::from_secs(1) && jobs.queued > 0 && !self.is_saturated();
        is_stuck.then(|| (Symptom::GateTaken, format!("{}, longest running turn {ran:?}", numbers())))
    }

    fn bytes_row(&self) -> Option<(Symptom, String)> {
        let transport = &self.transport;
        // Near is four fifths and more.
        let is_near = transport.applied_hwm > 0 && transport.accounted >= transport.applied_hwm / 5 * 4;
        let fits = is_near && transport.blocked_ratio_ppm > 0 && !self.is_saturated();
        fits.then(|| {
            let (accounted, hwm, ratio) =
                (transport.accounted, transport.applied_hwm, transport.blocked_ratio_ppm);
            let free = self.job_queue.maximum - self.job_queue.in_use;
            let numbers =
                format!("accounted {accounted} of {hwm} bytes, blocked {ratio} ppm, free permits {free}");
            (Symptom::BytesLimit, numbers)
        })
    }

    fn sends_row(&self) -> Option<(Symptom, String)> {
        let client = &self.operations.client;
        if client.deadline_not_submitted > client.waiters_full {
            let numbers =
                format!("{} sends ended at their deadline, not submitted", client.deadline_not_submitted);
            return Some((Symptom::ReceiverWithoutRoom, numbers));
        }
        (client.waiters_full > 0).then(|| {
            let numbers = format!(
                "waiters_full {}, waiting {} of {}",
                client.waiters_full, client.waiters, client.waiters_max
            );
            (Symptom::TooManySends, numbers)
        })
    }

    fn replies_row(&self) -> Option<(Symptom, String)> {
        let (operations, paused) = (&self.operations, self.transport.remote_paused_peers);
        let is_own_pause = self.job_queue.pressure_state == Flow::Paused;
        let is_late = operations.request_timeouts > 0 || operations.reply.waiters > 0;
        let numbers = format!(
            "request timeouts {}, replies waiting {}, remote paused peers {paused}, replies {}",
            operations.request_timeouts, operations.reply.waiters, operations.replies
        );
        if is_late && (paused > 0 || is_own_pause || operations.reply.waiters > 0) {
            return Some((Symptom::RepliesBehindData, numbers));
        }
        if operations.request_timeouts > 0 {
            return Some((Symptom::SlowHandlerOrLostReply, numbers));
        }
        let fits = operations.replies > 0 && self.is_saturated();
        fits.then_some((Symptom::RepliesNeedNoPermit, numbers))
    }

    fn pressure_row(&self) -> Option<(Symptom, String)> {
        let jobs = &self.job_queue;
        let numbers = format!(
            "cumulative pause {:?}, transitions running {} paused {}, peak {} of {}",
            jobs.cumulative_pause,
            jobs.transitions_running,
            jobs.transitions_paused,
            jobs.peak_in_use,
            jobs.maximum
        );
        let is_few = jobs.transitions_paused < MANY_TRANSITIONS;
        if is_few && jobs.current_pause.max(jobs.cumulative_pause) >= LONG_PAUSE {
            return Some((Symptom::SustainedOverload, numbers));
        }
        let pauses = u32::try_from(jobs.transitions_paused.max(1)).unwrap_or(u32::MAX);
        if !is_few && jobs.cumulative_pause / pauses < SHORT_PAUSE {
            return Some((Symptom::MarksTooClose, numbers));
        }
        let is_raised = jobs.manual_maximum.is_some_and(|maximum| maximum > jobs.automatic_maximum);
        let fits = is_raised && jobs.peak_in_use == jobs.maximum;
        fits.then_some((Symptom::RaisedLimitFilled, numbers))
    }

    fn owners_row(&self) -> Option<(Symptom, String)> {
        let owners = &self.owners;
        if owners.parked_sources > 0 && !self.is_saturated() {
            let numbers =
                format!("parked sources {}, oldest {:?}", owners.parked_sources, owners.oldest_parked);
            return Some((Symptom::OwnerFullSourcesWait, numbers));
        }
        let (local, remote) = (owners.structural_rejections_local, owners.structural_rejections_remote);
        if (local > 0 || remote > 0) && self.job_queue.capacity_waiters == 0 {
            let numbers = format!("structural_rejections local {local} remote {remote}, waiters 0");
            return Some((Symptom::OwnerOverloaded, numbers));
        }
        let dropped = &self.dropped;
        (dropped.total() > 0).then(|| (Symptom::Dropped, format!("{dropped:?}")))
    }
}
