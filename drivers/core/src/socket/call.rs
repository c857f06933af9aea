//! The futures of sends, requests and replies. The first poll tries to finish; only what has to wait registers a waker.

use super::shared::{Locked, Shared};
use crate::error::{Error, Family};
use crate::runtime::Runtime;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use zlink_proto::error::{ErrorKind, Failure};
use zlink_proto::id::OperationId;
use zlink_proto::message::Outgoing;
use zlink_proto::time::Timestamp;
use zlink_proto::transport::{Outcome, Refused, Submitted, Target};
use zlink_proto::wire::Record;

/// Bytes that one task admits before it lets the connection tasks run once: on a runtime with one thread a sender in a loop
/// would otherwise fill the whole queue before anything is written.
const STAND_ASIDE_BYTES: usize = 262_144;

/// An operation that waits for its end.
pub(super) struct Wait {
    pub(super) operation: OperationId,
    pub(super) since: Timestamp,
}

impl Wait {
    /// The result, once.
    pub(super) fn poll<R: Runtime>(&self, shared: &Shared<R>, context: &mut Context<'_>) -> Poll<Outcome> {
        shared.submit(|locked| match locked.slots.poll(self.operation, context.waker()) {
            Some(outcome) => {
                locked.socket.collected(self.operation);
                (Poll::Ready(outcome), false)
            }
            None => (Poll::Pending, false),
        })
    }

    /// The caller lost interest: withdraws what is not submitted (O-35).
    pub(super) fn cancel<R: Runtime>(&self, shared: &Shared<R>) {
        let now = shared.runtime.now();
        shared.section(|locked| {
            if locked.slots.forget(self.operation) {
                locked.socket.collected(self.operation);
            } else {
                locked.socket.cancel(self.operation, now);
            }
        });
    }

    pub(super) fn elapsed<R: Runtime>(&self, shared: &Shared<R>) -> Duration {
        // Above zero even on a coarse clock: it did wait.
        shared.runtime.now().saturating_since(self.since).max(Duration::from_nanos(1))
    }

    /// M-34: once for each operation that really had to wait.
    fn log_backpressured<R: Runtime>(&self, shared: &Shared<R>, kind: &'static str, outcome: &'static str) {
        if tracing::enabled!(target: "zlink.message_flow", tracing::Level::INFO) {
            let waited = self.elapsed(shared);
            tracing::info!(
                target: "zlink.message_flow",
                phase = "backpressured",
                kind,
                outcome,
                ?waited,
                hint = "see blocked ratio and job waiters of the receiver",
            );
        }
    }
}

/// Where a submission went.
pub(super) enum Step {
    Done { stands_aside: bool },
    Waits(Wait),
}

impl Locked {
    /// Counts what was admitted; true: the caller stands aside once.
    #[inline]
    fn note_admitted(&mut self, record: &impl Outgoing) -> bool {
        let bytes: usize = (0..record.part_count()).map(|index| record.part(index).len()).sum();
        self.unflushed += bytes + 64;
        if self.unflushed < STAND_ASIDE_BYTES {
            return false;
        }
        self.unflushed = 0;
        true
    }

    /// What becomes of a submission: the answer and whether anything but a connection can have to be woken.
    #[inline]
    pub(super) fn conclude<E>(
        &mut self,
        submitted: Result<Submitted, E>,
        record: &impl Outgoing,
        since: Timestamp,
        context: &Context<'_>,
    ) -> (Result<Step, E>, bool) {
        match submitted {
            Ok(Submitted::Admitted) => (Ok(Step::Done { stands_aside: self.note_admitted(record) }), false),
            Ok(Submitted::Waiting(operation)) => {
                self.slots.register(operation, context.waker());
                (Ok(Step::Waits(Wait { operation, since })), true)
            }
            Err(error) => (Err(error), true),
        }
    }
}

/// Whom a call names, for errors.
pub(super) fn target_name(target: Target<'_>) -> String {
    match target {
        Target::Any => "any peer".into(),
        Target::Named(id) => id.to_string(),
        Target::Set(set) | Target::Admission(set) => format!("set {}", set.generation),
    }
}

pub(super) fn refused_error(refused: Refused, family: Family, target: Target<'_>) -> Error {
    let failure = match refused {
        Refused::Failed(failure) => failure,
        Refused::Full => Failure::not_submitted(ErrorKind::DeadlineExceeded, "it would have to wait"),
    };
    Error::new(failure, family, target_name(target), Duration::ZERO)
}

/// A send that is under way. `Ok`: this process accepted the record (O-05).
///
/// Dropped before that, the record is withdrawn and was never sent; dropped after it, the record is sent. Every 256 KiB or so it
/// lets other tasks run once, after admission.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Send<'a, R: Runtime, M> {
    shared: &'a Shared<R>,
    target: Target<'a>,
    timeout: Option<Duration>,
    state: SendState<M>,
}

enum SendState<M> {
    New(M),
    StandsAside,
    Waits(Wait),
    Over,
}

/// Nothing in it is pinned: messages are read by reference.
impl<R: Runtime, M> Unpin for Send<'_, R, M> {}

impl<'a, R: Runtime, M: Outgoing> Send<'a, R, M> {
    pub(super) const fn new(shared: &'a Shared<R>, target: Target<'a>, message: M) -> Self {
        Self { shared, target, timeout: None, state: SendState::New(message) }
    }

    /// Shortens the wait for room; it never exceeds the socket's send timeout (O-12).
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    #[inline]
    fn submit(&mut self, mut message: M, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let (shared, target, timeout) = (self.shared, self.target, self.timeout);
        let step = shared.submit(|locked| {
            let mut since = Timestamp::ZERO;
            let submitted = locked.socket.send(target, &mut message, timeout, || {
                since = shared.runtime.now();
                since
            });
            locked.conclude(submitted, &message, since, context)
        });
        match step {
            Ok(Step::Done { stands_aside: false }) => Poll::Ready(Ok(())),
            Ok(Step::Done { stands_aside: true }) => {
                self.state = SendState::StandsAside;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Ok(Step::Waits(wait)) => {
                self.state = SendState::Waits(wait);
                Poll::Pending
            }
            Err(refused) => Poll::Ready(Err(refused_error(refused, Family::Send, target))),
        }
    }
}

impl<R: Runtime, M: Outgoing> Future for Send<'_, R, M> {
    type Output = Result<(), Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match std::mem::replace(&mut this.state, SendState::Over) {
            SendState::New(message) => this.submit(message, context),
            SendState::StandsAside => Poll::Ready(Ok(())),
            SendState::Waits(wait) => match wait.poll(this.shared, context) {
                Poll::Ready(outcome) => {
                    Poll::Ready(wait.end_send(this.shared, outcome, Family::Send, this.target))
                }
                Poll::Pending => {
                    this.state = SendState::Waits(wait);
                    Poll::Pending
                }
            },
            SendState::Over => panic!("polled after its end"),
        }
    }
}

impl<R: Runtime, M> Drop for Send<'_, R, M> {
    fn drop(&mut self) {
        if let SendState::Waits(wait) = &self.state {
            wait.log_backpressured(self.shared, "send", "cancelled");
            wait.cancel(self.shared);
        }
    }
}

impl Wait {
    /// The result of something that only has to be admitted.
    pub(super) fn end_send<R: Runtime>(
        &self,
        shared: &Shared<R>,
        outcome: Outcome,
        family: Family,
        target: Target<'_>,
    ) -> Result<(), Error> {
        let kind = if family == Family::Reply { "response" } else { "send" };
        match outcome {
            Outcome::Sent | Outcome::Reply(_) => {
                self.log_backpressured(shared, kind, "succeeded");
                Ok(())
            }
            Outcome::Failed(failure) => {
                self.log_backpressured(shared, kind, "failed");
                Err(Error::new(failure, family, target_name(target), self.elapsed(shared)))
            }
        }
    }
}

/// A request that is under way: ends with its reply, a failure, or its deadline, whichever comes first (O-06).
///
/// Dropped before submission, the record is withdrawn and was never sent; dropped after it, only the wait ends and the other
/// side is not told.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Request<'a, R: Runtime, M> {
    shared: &'a Shared<R>,
    target: Target<'a>,
    timeout: Option<Duration>,
    state: RequestState<M>,
}

enum RequestState<M> {
    New(M),
    Waits(Wait),
    Over,
}

/// Nothing in it is pinned: messages are read by reference.
impl<R: Runtime, M> Unpin for Request<'_, R, M> {}

impl<'a, R: Runtime, M: Outgoing> Request<'a, R, M> {
    pub(super) const fn new(shared: &'a Shared<R>, target: Target<'a>, message: M) -> Self {
        Self { shared, target, timeout: None, state: RequestState::New(message) }
    }

    /// The deadline: waiting, admission and reply together. Replaces the socket's request timeout, longer or shorter (O-13).
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    fn submit(&mut self, mut message: M, context: &mut Context<'_>) -> Result<Wait, Error> {
        let (shared, target, timeout) = (self.shared, self.target, self.timeout);
        let since = shared.runtime.now();
        shared
            .section(|locked| {
                let operation = locked.socket.request(target, &mut message, timeout, since)?;
                locked.slots.register(operation, context.waker());
                Ok(Wait { operation, since })
            })
            .map_err(|failure| Error::new(failure, Family::Request, target_name(target), Duration::ZERO))
    }
}

impl<R: Runtime, M: Outgoing> Future for Request<'_, R, M> {
    type Output = Result<Record, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match std::mem::replace(&mut this.state, RequestState::Over) {
            RequestState::New(message) => {
                this.state = RequestState::Waits(this.submit(message, context)?);
                Poll::Pending
            }
            RequestState::Waits(wait) => match wait.poll(this.shared, context) {
                Poll::Ready(outcome) => Poll::Ready(wait.end_request(this.shared, outcome, this.target)),
                Poll::Pending => {
                    this.state = RequestState::Waits(wait);
                    Poll::Pending
                }
            },
            RequestState::Over => panic!("polled after its end"),
        }
    }
}

impl<R: Runtime, M> Drop for Request<'_, R, M> {
    fn drop(&mut self) {
        if let RequestState::Waits(wait) = &self.state {
            wait.cancel(self.shared);
        }
    }
}

impl Wait {
    fn end_request<R: Runtime>(
        &self,
        shared: &Shared<R>,
        outcome: Outcome,
        target: Target<'_>,
    ) -> Result<Record, Error> {
        let failure = match outcome {
            Outcome::Reply(record) => return Ok(record),
            Outcome::Failed(failure) => failure,
            Outcome::Sent => Failure::unknown(ErrorKind::InternalFailure, "a request ended like a send"),
        };
        Err(Error::new(failure, Family::Request, target_name(target), self.elapsed(shared)))
    }
}
