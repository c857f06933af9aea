//! Why a submission was refused, and what each side gets to see (H-64, H-84).

use super::results::ReplyResult;
use crate::error::ErrorKind;

/// The check of the admission span that failed (H-63).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Refusal {
    /// Items or bytes of the owner are used up.
    OwnerFull,
    /// The owner is closed.
    TargetClosed,
    /// The host drains and the peer's fence is over, or it is stopped.
    ShuttingDown,
}

impl Refusal {
    /// The answer to a request of another host (O-84).
    pub const fn reply(self) -> ReplyResult {
        match self {
            Self::OwnerFull => ReplyResult::QUEUE_FULL,
            Self::TargetClosed => ReplyResult::TARGET_NOT_FOUND,
            Self::ShuttingDown => ReplyResult::TERMINATED,
        }
    }

    /// What a request of this host ends with (H-84).
    pub const fn local_kind(self) -> ErrorKind {
        match self {
            Self::OwnerFull => ErrorKind::CapacityExceeded,
            Self::TargetClosed => ErrorKind::NotFound,
            Self::ShuttingDown => ErrorKind::ShuttingDown,
        }
    }

    /// Reason of the observation for a one-way record.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::OwnerFull => "backpressure",
            Self::TargetClosed => "target_closed",
            Self::ShuttingDown => "shutdown",
        }
    }
}

/// A refused submission: nothing changed (H-64), the payload comes back.
#[derive(Debug)]
#[must_use]
pub struct Refused<T> {
    /// Which check failed.
    pub reason: Refusal,
    /// What was submitted.
    pub payload: T,
}
