//! What a caller learns about a call that ended without its result (O-82).

use std::fmt;
use std::time::Duration;
use zlink_proto::error::{ErrorKind, Failure, Submission};

/// The family of a call (5 Operations §1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    /// Making, binding, connecting, configuring, closing.
    Setup,
    /// A raw socket's send.
    Send,
    /// Receiving from a raw socket.
    Receive,
    /// A request, of a raw socket or of a channel.
    Request,
    /// The answer to a request.
    Reply,
    /// A channel send on ClientServer.
    Client,
}

impl Family {
    const fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Request => "request",
            Self::Reply => "reply",
            Self::Client => "client",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a call ended without its result: what kind of end, whether the other side can have seen it, and what to look at next.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    failure: Failure,
    family: Family,
    target: String,
    elapsed: Duration,
    hint: Option<&'static str>,
    detail: Option<String>,
}

impl Error {
    /// Why it ended (O-80).
    pub fn kind(&self) -> ErrorKind {
        self.0.failure.kind
    }

    /// Whether the other side can have handled it (O-32): `NotSubmitted` means that a retry is safe.
    pub fn submission(&self) -> Submission {
        self.0.failure.submission
    }

    /// What kind of call it was.
    pub fn family(&self) -> Family {
        self.0.family
    }

    /// Whom it was for: a routing id, an endpoint, a channel, or `any peer`.
    pub fn target(&self) -> &str {
        &self.0.target
    }

    /// Time from the registration of the call to its end; zero if it ended at once.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed
    }

    /// What to look at next.
    pub fn hint(&self) -> Option<&'static str> {
        self.0.hint
    }

    /// What happened, for people.
    pub fn reason(&self) -> &str {
        self.0.detail.as_deref().unwrap_or(self.0.failure.reason)
    }

    pub(crate) fn new(
        failure: Failure,
        family: Family,
        target: impl Into<String>,
        elapsed: Duration,
    ) -> Self {
        let hint = hint(failure, elapsed);
        Self(Box::new(Inner { failure, family, target: target.into(), elapsed, hint, detail: None }))
    }

    /// An error of a call that opened nothing, with details that only exist at run time.
    pub(crate) fn setup(kind: ErrorKind, target: impl Into<String>, detail: impl fmt::Display) -> Self {
        let mut error =
            Self::new(Failure::not_submitted(kind, "see its detail"), Family::Setup, target, Duration::ZERO);
        error.0.detail = Some(detail.to_string());
        error
    }
}

/// O-82: one hint. Decided by kind, submission and whether the call waited; never by text (O-36).
const fn hint(failure: Failure, elapsed: Duration) -> Option<&'static str> {
    match (failure.kind, failure.submission) {
        (ErrorKind::DeadlineExceeded, Submission::NotSubmitted) if elapsed.is_zero() => {
            Some("too many concurrent sends here")
        }
        (ErrorKind::DeadlineExceeded, Submission::NotSubmitted) => {
            Some("peer's send queue full: see blocked ratio and job waiters of the receiver")
        }
        (ErrorKind::DeadlineExceeded, Submission::Unknown) => {
            Some("slow handler or lost reply path: see request duration, nested requests without timeout")
        }
        (ErrorKind::CapacityExceeded, _) => {
            Some("a bounded resource of this process is full: see completion slots and request waiting bytes")
        }
        (ErrorKind::Unavailable, _) => Some("see the peer's state and its reconnect attempts"),
        (ErrorKind::NotFound, _) => Some("see the names of channels and routing ids on both sides"),
        (ErrorKind::ShuttingDown, _) => Some("see the shutdown report of the side that stops"),
        (ErrorKind::ProtocolError, _) => {
            Some("see the versions of both sides and the dispatch errors of the peer")
        }
        (
            ErrorKind::AlreadyExists
            | ErrorKind::TypeMismatch
            | ErrorKind::NotConfigured
            | ErrorKind::Rejected
            | ErrorKind::InvalidOperation
            | ErrorKind::DataLost
            | ErrorKind::InternalFailure,
            _,
        ) => None,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { failure, family, target, elapsed, hint, .. } = &*self.0;
        let submission = match failure.submission {
            Submission::NotSubmitted => "not submitted",
            Submission::Unknown => "submission unknown",
        };
        write!(f, "{family} to {target}: {}: {} ({submission}", kind_words(failure.kind), self.reason())?;
        if !elapsed.is_zero() {
            write!(f, ", after {elapsed:?}")?;
        }
        f.write_str(")")?;
        hint.map_or(Ok(()), |hint| write!(f, "; hint: {hint}"))
    }
}

/// Errors are written in lower case.
const fn kind_words(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "not found",
        ErrorKind::AlreadyExists => "already exists",
        ErrorKind::TypeMismatch => "type mismatch",
        ErrorKind::NotConfigured => "not configured",
        ErrorKind::Rejected => "rejected",
        ErrorKind::Unavailable => "unavailable",
        ErrorKind::CapacityExceeded => "capacity exceeded",
        ErrorKind::DeadlineExceeded => "deadline exceeded",
        ErrorKind::ShuttingDown => "shutting down",
        ErrorKind::ProtocolError => "protocol error",
        ErrorKind::InvalidOperation => "invalid operation",
        ErrorKind::DataLost => "data lost",
        ErrorKind::InternalFailure => "internal failure",
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.kind())
            .field("submission", &self.submission())
            .field("family", &self.family())
            .field("target", &self.target())
            .field("elapsed", &self.elapsed())
            .field("reason", &self.reason())
            .field("hint", &self.hint())
            .finish()
    }
}

impl std::error::Error for Error {}

/// Why `try_send` did not send. The message comes back.
#[derive(Debug)]
pub enum TrySendError<M> {
    /// It would have to wait.
    Full(M),
    /// It failed.
    Failed(M, Error),
}

impl<M> TrySendError<M> {
    /// The message.
    pub fn into_message(self) -> M {
        match self {
            Self::Full(message) | Self::Failed(message, _) => message,
        }
    }

    /// True for `Full`.
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }
}

impl<M> fmt::Display for TrySendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(_) => f.write_str("full: the message would have to wait"),
            Self::Failed(_, error) => error.fmt(f),
        }
    }
}

impl<M: fmt::Debug> std::error::Error for TrySendError<M> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o82_an_error_shows_everything_and_one_hint() {
        let failure = Failure::not_submitted(ErrorKind::DeadlineExceeded, "no room before the deadline");
        let error = Error::new(failure, Family::Send, "any peer", Duration::from_millis(1_000));
        assert_eq!(
            error.to_string(),
            "send to any peer: deadline exceeded: no room before the deadline (not submitted, after 1s); \
             hint: peer's send queue full: see blocked ratio and job waiters of the receiver"
        );
        let at_once = Error::new(failure, Family::Send, "any peer", Duration::ZERO);
        assert_eq!(at_once.hint(), Some("too many concurrent sends here"));
        assert_eq!(std::mem::size_of::<Error>(), std::mem::size_of::<usize>());
    }
}
