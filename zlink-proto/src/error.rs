//! The public kinds of errors (O-80) and what an error says about submission (O-32).

use core::fmt;

/// Why an operation ended without its result (O-80). Cancellation is not a kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum ErrorKind {
    /// No such target, handler or candidate.
    NotFound = 0,
    /// The id is taken.
    AlreadyExists = 1,
    /// The id exists with another type.
    TypeMismatch = 2,
    /// The role, mesh or codec is not set up here.
    NotConfigured = 3,
    /// The target decided no.
    Rejected = 4,
    /// Route, connection or owner not usable, or another host's queue is full.
    Unavailable = 5,
    /// A bounded resource of this host is full.
    CapacityExceeded = 6,
    /// The deadline came first, or the waiters of the family are full.
    DeadlineExceeded = 7,
    /// This or the target host stops.
    ShuttingDown = 8,
    /// A peer's bytes are wrong.
    ProtocolError = 9,
    /// The caller may not do this.
    InvalidOperation = 10,
    /// Accepted state is gone.
    DataLost = 11,
    /// A handler failed, or a bug.
    InternalFailure = 12,
}

impl ErrorKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 13] = [
        Self::NotFound,
        Self::AlreadyExists,
        Self::TypeMismatch,
        Self::NotConfigured,
        Self::Rejected,
        Self::Unavailable,
        Self::CapacityExceeded,
        Self::DeadlineExceeded,
        Self::ShuttingDown,
        Self::ProtocolError,
        Self::InvalidOperation,
        Self::DataLost,
        Self::InternalFailure,
    ];

    /// The name as the spec writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotFound => "NotFound",
            Self::AlreadyExists => "AlreadyExists",
            Self::TypeMismatch => "TypeMismatch",
            Self::NotConfigured => "NotConfigured",
            Self::Rejected => "Rejected",
            Self::Unavailable => "Unavailable",
            Self::CapacityExceeded => "CapacityExceeded",
            Self::DeadlineExceeded => "DeadlineExceeded",
            Self::ShuttingDown => "ShuttingDown",
            Self::ProtocolError => "ProtocolError",
            Self::InvalidOperation => "InvalidOperation",
            Self::DataLost => "DataLost",
            Self::InternalFailure => "InternalFailure",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether the handler can have run (O-32).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Submission {
    /// The handler provably never ran; a retry is safe.
    NotSubmitted,
    /// It may have run.
    Unknown,
}

/// Why an operation ended without its result, and what that says about the other side.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[error("{kind}: {reason}")]
pub struct Failure {
    /// The public kind.
    pub kind: ErrorKind,
    /// Whether the record can have been handled.
    pub submission: Submission,
    /// What happened, for people; nobody decides by it (O-36).
    pub reason: &'static str,
}

impl Failure {
    /// A failure after which a retry is safe.
    pub const fn not_submitted(kind: ErrorKind, reason: &'static str) -> Self {
        Self { kind, submission: Submission::NotSubmitted, reason }
    }

    /// A failure after which the other side may have handled the record.
    pub const fn unknown(kind: ErrorKind, reason: &'static str) -> Self {
        Self { kind, submission: Submission::Unknown, reason }
    }
}
