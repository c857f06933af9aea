//! Results on the wire and their public kinds (O-83, O-84). The only place where this table stands.

use crate::error::ErrorKind;

/// The pair (result, code) of a reply record (command 20).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReplyResult {
    /// Class of the result.
    pub result: u32,
    /// Cause; 0 for results that need none.
    pub code: u32,
}

/// A pair that the table does not have: the record is malformed (O-83).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("result {} with code {} is not in the table", pair.result, pair.code)]
pub struct UnknownResult {
    /// What was received.
    pub pair: ReplyResult,
}

/// Rows with a code: code, result, name, kind.
const CODES: [(u32, u32, &str, ErrorKind); 25] = [
    (1, 102, "actorRouteNotFound", ErrorKind::NotFound),
    (2, 105, "actorCreateFailed", ErrorKind::InternalFailure),
    (3, 107, "actorAlreadyExists", ErrorKind::AlreadyExists),
    (4, 107, "actorTypeMismatch", ErrorKind::TypeMismatch),
    (5, 105, "spotCreateFailed", ErrorKind::InternalFailure),
    (6, 102, "spotRouteNotFound", ErrorKind::NotFound),
    (7, 107, "spotTypeMismatch", ErrorKind::TypeMismatch),
    (8, 102, "actorSessionNotBound", ErrorKind::InvalidOperation),
    (9, 102, "handlerNotFound", ErrorKind::NotFound),
    (10, 102, "routeHandlerNotFound", ErrorKind::NotFound),
    (11, 102, "actorDispatchHandlerNotFound", ErrorKind::NotFound),
    (12, 104, "payloadDecodeFailed", ErrorKind::ProtocolError),
    (13, 105, "routeNotConnected", ErrorKind::Unavailable),
    (14, 102, "requestTargetNotFound", ErrorKind::NotFound),
    (15, 106, "requestRejected", ErrorKind::Rejected),
    (16, 104, "requestProtocolError", ErrorKind::ProtocolError),
    (17, 105, "requestFailed", ErrorKind::InternalFailure),
    (18, 106, "workerQueueFull", ErrorKind::Unavailable),
    (19, 105, "workerTimedOut", ErrorKind::DeadlineExceeded),
    (20, 105, "workerFailed", ErrorKind::InternalFailure),
    (21, 107, "actorLocationStale", ErrorKind::Unavailable),
    (22, 106, "actorCreateRejected", ErrorKind::Rejected),
    (33, 107, "spotGenerationStale", ErrorKind::InvalidOperation),
    (34, 107, "spotMoving", ErrorKind::Unavailable),
    (35, 105, "relocationDataLost", ErrorKind::DataLost),
];

/// Results that stand with code 0: result, name, kind.
const PLAIN: [(u32, &str, Option<ErrorKind>); 9] = [
    (0, "ok", None),
    (101, "timedOut", Some(ErrorKind::DeadlineExceeded)),
    (103, "terminated", Some(ErrorKind::ShuttingDown)),
    (108, "busy", Some(ErrorKind::Unavailable)),
    (109, "notConnected", Some(ErrorKind::Unavailable)),
    (110, "invalidArgument", Some(ErrorKind::InvalidOperation)),
    (111, "invalidState", Some(ErrorKind::InvalidOperation)),
    (112, "notSupported", Some(ErrorKind::InvalidOperation)),
    (113, "backpressured", Some(ErrorKind::Unavailable)),
];

impl ReplyResult {
    /// Success.
    pub const OK: Self = Self::new(0, 0);
    /// The target's own deadline came (O-84).
    pub const TIMED_OUT: Self = Self::new(101, 0);
    /// The target drains or stops.
    pub const TERMINATED: Self = Self::new(103, 0);
    /// No handler for this packet.
    pub const HANDLER_NOT_FOUND: Self = Self::new(102, 9);
    /// The payload could not be decoded.
    pub const PAYLOAD_DECODE_FAILED: Self = Self::new(104, 12);
    /// The record addresses nothing here, or an owner that is closed.
    pub const TARGET_NOT_FOUND: Self = Self::new(102, 14);
    /// A filter stopped the request.
    pub const REQUEST_REJECTED: Self = Self::new(106, 15);
    /// The record is malformed.
    pub const PROTOCOL_ERROR: Self = Self::new(104, 16);
    /// The handler failed, panicked or ended without a reply (O-61).
    pub const REQUEST_FAILED: Self = Self::new(105, 17);
    /// The owner is full (H-84).
    pub const QUEUE_FULL: Self = Self::new(106, 18);

    /// Any pair; `kind` says whether it is in the table.
    pub const fn new(result: u32, code: u32) -> Self {
        Self { result, code }
    }

    /// What the requester gets to see. `None`: success.
    ///
    /// # Errors
    /// The pair is not in the table (O-83): malformed.
    pub fn kind(self) -> Result<Option<ErrorKind>, UnknownResult> {
        self.row().map(|(_, kind)| kind)
    }

    /// The name of the cause, for people.
    ///
    /// # Errors
    /// The pair is not in the table.
    pub fn name(self) -> Result<&'static str, UnknownResult> {
        self.row().map(|(name, _)| name)
    }

    fn row(self) -> Result<(&'static str, Option<ErrorKind>), UnknownResult> {
        let row = if self.code == 0 {
            PLAIN.iter().find(|row| row.0 == self.result).map(|&(_, name, kind)| (name, kind))
        } else {
            let row = CODES.iter().find(|row| row.0 == self.code && row.1 == self.result);
            row.map(|&(_, _, name, kind)| (name, Some(kind)))
        };
        row.ok_or(UnknownResult { pair: self })
    }

    /// What to send for `kind` when nothing names the cause better (O-84).
    pub const fn representative(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::NotFound => Self::TARGET_NOT_FOUND,
            ErrorKind::AlreadyExists => Self::new(107, 3),
            ErrorKind::TypeMismatch => Self::new(107, 7),
            ErrorKind::NotConfigured | ErrorKind::InternalFailure => Self::REQUEST_FAILED,
            ErrorKind::Rejected => Self::REQUEST_REJECTED,
            ErrorKind::Unavailable => Self::new(105, 13),
            ErrorKind::CapacityExceeded => Self::QUEUE_FULL,
            ErrorKind::DeadlineExceeded => Self::new(105, 19),
            ErrorKind::ShuttingDown => Self::TERMINATED,
            ErrorKind::ProtocolError => Self::PROTOCOL_ERROR,
            ErrorKind::InvalidOperation => Self::new(111, 0),
            ErrorKind::DataLost => Self::new(105, 35),
        }
    }
}
