//! What waits, where, for whom and since when: the first lines of a status (M-11).

use alloc::string::String;
use core::fmt;
use core::time::Duration;

/// One of the five places in which a message can wait (H-86), or what keeps it there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Place {
    /// Waiting sends and requests of this process.
    WaitingOperations,
    /// The send queue of a peer.
    SendQueue,
    /// The receive queue of a peer.
    ReceiveQueue,
    /// Sources that wait for a job permit.
    Permit,
    /// Sources that wait for room at an owner (H-88).
    OwnerRoom,
    /// Jobs in the mailbox of an owner.
    Mailbox,
}

impl Place {
    /// The words of a status line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WaitingOperations => "waiting operations",
            Self::SendQueue => "send queue",
            Self::ReceiveQueue => "receive queue",
            Self::Permit => "job permit",
            Self::OwnerRoom => "room at owner",
            Self::Mailbox => "owner mailbox",
        }
    }
}

/// One line: so many wait at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// Where.
    pub place: Place,
    /// How many: sources, operations, records or jobs.
    pub count: u64,
    /// For whom: a peer, an owner.
    pub whom: String,
    /// Age of the oldest, if it is known.
    pub since: Option<Duration>,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waiting: {} in {}, {}", self.count, self.place.name(), self.whom)?;
        match self.since {
            Some(since) => write!(f, ", since {since:?}"),
            None => Ok(()),
        }
    }
}
