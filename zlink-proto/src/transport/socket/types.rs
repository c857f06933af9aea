//! What callers give to a socket and get from it.

use crate::error::Failure;
use crate::id::{ConnectionNumber, EndpointId, ListenerId, OperationId, RoutingId, SetId};
use crate::transport::ReplyToken;
use crate::wire::{Record, SocketType};
use alloc::string::String;

/// Where a record goes.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// DEALER: the socket's selector chooses (N-61).
    Any,
    /// ROUTER: the peer of this name (N-68).
    Named(&'a RoutingId),
    /// Any socket: exactly this set, no selection (N-60a).
    Set(SetId),
    /// As `Set`, exempt from remote PAUSED: hello and its answer (S-31).
    Admission(SetId),
}

/// What became of a submission that was not refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Submitted {
    /// In the send queue.
    Admitted,
    /// Waits; ends as a `Settled` of this operation.
    Waiting(OperationId),
}

/// Why a submission was refused. The record stays with the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// `try_send`: it would have to wait.
    Full,
    /// It failed at once.
    Failed(Failure),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The end of a waiting send or of a request. Exactly one for each operation that was not cancelled by its caller. Whoever took
/// it calls `collected`: only then is the operation's place used again.
#[derive(Debug)]
pub struct Settled {
    /// The operation.
    pub operation: OperationId,
    /// Its result.
    pub outcome: Outcome,
}

/// Result of an operation.
#[derive(Debug)]
pub enum Outcome {
    /// A waiting send was admitted, or a waiting reservation was granted.
    Sent,
    /// A request was answered.
    Reply(Record),
    /// It ended without its result.
    Failed(Failure),
}

/// Room that is booked for one record (O-35).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub struct Reservation {
    /// Name of the reservation for `send_reserved` and `release_reservation`.
    pub operation: OperationId,
    /// False: it waits for room; its `Settled` says `Sent` once it is granted.
    pub is_granted: bool,
}

/// A record of the service layer that has a slot of its own in each set and is never an operation (S-40, S-44).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// The probe.
    Probe,
    /// The answer to the peer's probe.
    Ack,
    /// The latest update of our descriptor (S-35): it is never lost to a deadline, and an older one is not worth sending.
    Update,
}

/// A received record.
#[derive(Debug)]
pub struct Received {
    /// The set on which it came.
    pub set: SetId,
    /// The sender's name.
    pub from: RoutingId,
    /// The record.
    pub record: Record,
    /// For a request.
    pub token: Option<ReplyToken>,
}

/// First look at a queued record: enough to find its owner before it is taken (H-88).
#[derive(Debug)]
pub struct Head {
    /// The record, shared.
    pub record: Record,
    /// Its charge.
    pub charge: u64,
}

/// What the outside has to do or to know. Rare; records and results move by `receive`, `take` and `take_settled`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SocketOutput {
    /// Open a connection to this endpoint, then `handle_connected` or `handle_connect_failed`.
    Connect {
        /// The endpoint.
        endpoint: EndpointId,
        /// The attempt.
        number: ConnectionNumber,
        /// Where to, as it was given to `connect`.
        address: String,
    },
    /// Give up an attempt that is under way.
    Abandon(ConnectionNumber),
    /// Stop listening and close the OS listener.
    StopListening(ListenerId),
    /// A set is ready (N-13).
    PeerReady {
        /// The set.
        set: SetId,
        /// Its name.
        routing_id: RoutingId,
        /// The peer's type.
        socket_type: SocketType,
        /// Our endpoint, if we connected.
        endpoint: Option<EndpointId>,
    },
    /// A set that was ready ended (N-22). What it left in its receive queue can still be taken.
    PeerLost {
        /// The set.
        set: SetId,
    },
    /// The last record of an ended set was taken or discarded (N-24): its source ends.
    Drained(SetId),
    /// A probe is due on this set (S-40): `fill_slot` with the id of `probe_id`.
    ProbeDue(SetId),
    /// The socket is closed.
    Closed,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It is moved by a few plain instructions up to 128 bytes, and by a call above.
    #[test]
    fn a_received_record_is_small() {
        assert!(size_of::<Received>() <= 120, "{}", size_of::<Received>());
    }
}
