//! DEALER and ROUTER sockets.

use super::Connection;
use crate::error::Failure;
use crate::id::{ConnectionNumber, EndpointId, ListenerId, OperationId, RoutingId, SetId};
use crate::message::Outgoing;
use crate::time::Timestamp;
use crate::wire::{Flow, Record, SocketType};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

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

/// The end of a waiting send or of a request. Exactly one for each operation that was not cancelled by its caller.
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
    /// A waiting send was admitted.
    Sent,
    /// A request was answered.
    Reply(Record),
    /// It ended without its result.
    Failed(Failure),
}

/// The right to answer one request, once (N-56). Whoever does not use it gives it to `drop_token`.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct ReplyToken {
    pub(crate) set: SetId,
    pub(crate) sequence: u64,
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
#[derive(Debug)]
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
    /// A probe is due on this set (S-40): `fill_slot`.
    ProbeDue(SetId),
    /// The socket is closed.
    Closed,
}

/// A DEALER or ROUTER without IO.
#[derive(Debug)]
pub struct Socket {}
#[allow(clippy::too_many_arguments, missing_docs)]
impl Socket {
    pub fn connect(&mut self, _address: &str, _now: Timestamp) -> Result<EndpointId, Failure> {
        todo!()
    }
    pub fn disconnect(&mut self, _endpoint: EndpointId, _now: Timestamp) -> Result<(), Failure> {
        todo!()
    }
    pub fn add_listener(&mut self) -> ListenerId {
        todo!()
    }
    pub fn remove_listener(&mut self, _listener: ListenerId, _keep_peers: bool, _now: Timestamp) {
        todo!()
    }
    pub fn handle_connected(&mut self, _number: ConnectionNumber, _now: Timestamp) -> Option<Connection> {
        todo!()
    }
    pub fn handle_connect_failed(&mut self, _number: ConnectionNumber, _now: Timestamp) {
        todo!()
    }
    pub fn handle_accepted(&mut self, _listener: ListenerId, _now: Timestamp) -> Option<Connection> {
        todo!()
    }
    pub fn send<M: Outgoing>(
        &mut self,
        _target: Target<'_>,
        _record: &mut M,
        _timeout: Option<Duration>,
        _clock: impl FnOnce() -> Timestamp,
    ) -> Result<Submitted, Refused> {
        todo!()
    }
    pub fn try_send<M: Outgoing>(&mut self, _target: Target<'_>, _record: &mut M) -> Result<(), Refused> {
        todo!()
    }
    pub fn request<M: Outgoing>(
        &mut self,
        _target: Target<'_>,
        _record: &mut M,
        _timeout: Option<Duration>,
        _now: Timestamp,
    ) -> Result<OperationId, Failure> {
        todo!()
    }
    pub fn reply<M: Outgoing>(
        &mut self,
        _token: ReplyToken,
        _record: &mut M,
        _clock: impl FnOnce() -> Timestamp,
    ) -> Result<Submitted, Failure> {
        todo!()
    }
    pub fn reply_error(&mut self, _token: ReplyToken, _number: u32) {
        todo!()
    }
    pub fn drop_token(&mut self, _token: ReplyToken) {
        todo!()
    }
    pub fn cancel(&mut self, _operation: OperationId, _now: Timestamp) -> bool {
        todo!()
    }
    pub fn collected(&mut self, _operation: OperationId) {
        todo!()
    }
    pub fn take_settled(&mut self, _into: &mut Vec<Settled>) {
        todo!()
    }
    pub fn poll_wake(&mut self) -> Option<ConnectionNumber> {
        todo!()
    }
    pub fn poll_readable(&mut self) -> Option<SetId> {
        todo!()
    }
    pub fn heads(&mut self, _set: SetId, _count: usize, _into: &mut Vec<Head>) {
        todo!()
    }
    pub fn take(&mut self, _set: SetId, _count: usize, _into: &mut Vec<Received>, _now: Timestamp) -> bool {
        todo!()
    }
    pub fn receive(&mut self, _max: usize, _into: &mut Vec<Received>, _now: Timestamp) -> usize {
        todo!()
    }
    pub fn set_flow(&mut self, _state: Flow, _serial: u64, _now: Timestamp) {
        todo!()
    }
    pub fn poll_output(&mut self) -> Option<SocketOutput> {
        todo!()
    }
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        todo!()
    }
    pub fn handle_timeout(&mut self, _now: Timestamp) {
        todo!()
    }
}
