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
use zlink_proto::message::{Outgoing, Part};
use zlink_proto::time::Timestamp;
use zlink_proto::transport::{Outcome, Refused, Submitted, Target};
use zlink_proto::wire::Record;

/// Bytes that one task admits before it lets the connection tasks run once: on a runtime with one thread a sender in a loop
/// would otherwise fill the whole queue before anything is written.
const STAND_ASIDE_BYTES: usize = 262_144;

/// An operation that waits for its end.
pub(crate) struct Wait {
    pub(crate) operation: OperationId,
    pub(crate) since: Timestamp,
}

impl Wait {
    /// The result, once.
    pub(crate) fn poll<R: Runtime>(&self, shared: &Shared<R>, context: &mut Context<'_>) -> Poll<Outcome> {
        shared.submit(|locked| match locked.slots.poll(self.operation, context.waker()) {
            Some(outcome) => {
                locked.socket.collected(self.operation);
                (Poll::Ready(outcome), false)
            }
            None => (Poll::Pending, false),
        })
    }

    /// The caller lost interest: withdraws what is not submitted (O-35).
    pub(crate) fn cancel<R: Runtime>(&self, shared: &Shared<R>) {
        let now = shared.runtime.now();
        shared.section(|locked| {
            if locked.slots.forget(self.operation) {
                locked.socket.collected(self.operation);
            } else {
                locked.socket.cancel(self.operation, now);
            }
        });
    }

    pub(crate) fn elapsed<R: Runtime>(&self, shared: &Shared<R>) -> Duration {
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
pub(crate) enum Step {
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
    pub(crate) fn conclude<E>(
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

/// Whom a call is for and what its errors say of it.
#[derive(Clone, Copy)]
pub(crate) struct Address<'a> {
    pub(crate) target: Target<'a>,
    pub(crate) family: Family,
    /// The channel of a call of a host.
    pub(crate) channel: Option<&'a str>,
}

impl<'a> Address<'a> {
    pub(crate) const fn raw(target: Target<'a>, family: Family) -> Self {
        Self { target, family, channel: None }
    }

    pub(crate) const fn channel(channel: &'a str, family: Family) -> Self {
        Self { target: Target::Any, family, channel: Some(channel) }
    }

    fn name(&self) -> String {
        match (self.channel, self.target) {
            (Some(channel), _) => channel.into(),
            (None, Target::Any) => "any peer".into(),
            (None, Target::Named(id)) => id.to_string(),
            (None, Target::Set(set) | Target::Admission(set)) => format!("set {}", set.generation),
        }
    }

    #[cold]
    pub(crate) fn error(&self, failure: Failure, elapsed: Duration) -> Error {
        Error::new(failure, self.family, self.name(), elapsed)
    }

    #[cold]
    pub(crate) fn refused(&self, refused: Refused) -> Error {
        let failure = match refused {
            Refused::Failed(failure) => failure,
            Refused::Full => Failure::not_submitted(ErrorKind::DeadlineExceeded, "it would have to wait"),
        };
        self.error(failure, Duration::ZERO)
    }
}

/// A message as its record. It is encoded in the first poll of its call, and dropped there unless it has to be given back.
pub(crate) trait Submit {
    type Record<'r>: Outgoing
    where
        Self: 'r;

    fn record(&mut self) -> Self::Record<'_>;
}

/// A message that is its own record.
pub(crate) struct Raw<M>(pub(crate) M);

impl<M: Outgoing> Submit for Raw<M> {
    type Record<'r>
        = ByMut<'r, M>
    where
        M: 'r;

    #[inline]
    fn record(&mut self) -> ByMut<'_, M> {
        ByMut(&mut self.0)
    }
}

/// A record behind a reference.
pub(crate) struct ByMut<'r, M>(&'r mut M);

impl<M: Outgoing> Outgoing for ByMut<'_, M> {
    #[inline]
    fn part_count(&self) -> usize {
        self.0.part_count()
    }

    #[inline]
    fn part(&self, index: usize) -> Part<'_> {
        self.0.part(index)
    }

    #[inline]
    fn assign_sequence(&mut self, sequence: u64) {
        self.0.assign_sequence(sequence);
    }
}

/// A send that is under way; what [`Send`] and the sends of a host are made of.
pub(crate) struct Sending<'a, R: Runtime, S> {
    shared: &'a Shared<R>,
    address: Address<'a>,
    timeout: Option<Duration>,
    state: SendState<S>,
}

enum SendState<S> {
    New(S),
    StandsAside,
    Waits(Wait),
    Over,
}

/// Nothing in it is pinned: messages are read by reference.
impl<R: Runtime, S> Unpin for Sending<'_, R, S> {}

impl<'a, R: Runtime, S: Submit> Sending<'a, R, S> {
    pub(crate) const fn new(shared: &'a Shared<R>, address: Address<'a>, message: S) -> Self {
        Self { shared, address, timeout: None, state: SendState::New(message) }
    }

    pub(crate) const fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = Some(timeout);
    }

    #[inline]
    fn submit(&mut self, mut message: S, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let (shared, target, timeout) = (self.shared, self.address.target, self.timeout);
        let step = shared.submit(|locked| {
            let mut since = Timestamp::ZERO;
            let mut record = message.record();
            let submitted = match locked.check_sealed() {
                Ok(()) => locked.socket.send(target, &mut record, timeout, || {
                    since = shared.runtime.now();
                    since
                }),
                Err(failure) => Err(failure.into()),
            };
            locked.conclude(submitted, &record, since, context)
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
            Err(refused) => Poll::Ready(Err(self.address.refused(refused))),
        }
    }
}

impl<R: Runtime, S: Submit> Future for Sending<'_, R, S> {
    type Output = Result<(), Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match std::mem::replace(&mut this.state, SendState::Over) {
            SendState::New(message) => this.submit(message, context),
            SendState::StandsAside => Poll::Ready(Ok(())),
            SendState::Waits(wait) => match wait.poll(this.shared, context) {
                Poll::Ready(outcome) => Poll::Ready(wait.end_send(this.shared, outcome, this.address)),
                Poll::Pending => {
                    this.state = SendState::Waits(wait);
                    Poll::Pending
                }
            },
            SendState::Over => panic!("polled after its end"),
        }
    }
}

impl<R: Runtime, S> Drop for Sending<'_, R, S> {
    fn drop(&mut self) {
        if let SendState::Waits(wait) = &self.state {
            wait.log_backpressured(self.shared, "send", "cancelled");
            wait.cancel(self.shared);
        }
    }
}

impl Wait {
    /// The result of something that only has to be admitted.
    pub(crate) fn end_send<R: Runtime>(
        &self,
        shared: &Shared<R>,
        outcome: Outcome,
        address: Address<'_>,
    ) -> Result<(), Error> {
        let kind = if address.family == Family::Reply { "response" } else { "send" };
        match outcome {
            Outcome::Sent | Outcome::Reply(_) => {
                self.log_backpressured(shared, kind, "succeeded");
                Ok(())
            }
            Outcome::Failed(failure) => {
                self.log_backpressured(shared, kind, "failed");
                Err(address.error(failure, self.elapsed(shared)))
            }
        }
    }
}

/// A request that is under way; what [`Request`] and the requests of a host are made of.
pub(crate) struct Requesting<'a, R: Runtime, S> {
    shared: &'a Shared<R>,
    address: Address<'a>,
    timeout: Option<Duration>,
    state: RequestState<S>,
}

enum RequestState<S> {
    New(S),
    Waits(Wait),
    Over,
}

/// Nothing in it is pinned: messages are read by reference.
impl<R: Runtime, S> Unpin for Requesting<'_, R, S> {}

impl<'a, R: Runtime, S: Submit> Requesting<'a, R, S> {
    pub(crate) const fn new(shared: &'a Shared<R>, address: Address<'a>, message: S) -> Self {
        Self { shared, address, timeout: None, state: RequestState::New(message) }
    }

    pub(crate) const fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = Some(timeout);
    }

    fn submit(&mut self, mut message: S, context: &mut Context<'_>) -> Result<Wait, Error> {
        let (shared, target, timeout) = (self.shared, self.address.target, self.timeout);
        let since = shared.runtime.now();
        shared
            .section(|locked| {
                locked.check_sealed()?;
                let operation = locked.socket.request(target, &mut message.record(), timeout, since)?;
                locked.slots.register(operation, context.waker());
                Ok(Wait { operation, since })
            })
            .map_err(|failure| self.address.error(failure, Duration::ZERO))
    }
}

/// The reply, and the call that ended, for errors that its content turns out to be.
impl<R: Runtime, S: Submit> Future for Requesting<'_, R, S> {
    type Output = Result<(Record, Wait), Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match std::mem::replace(&mut this.state, RequestState::Over) {
            RequestState::New(message) => {
                this.state = RequestState::Waits(this.submit(message, context)?);
                Poll::Pending
            }
            RequestState::Waits(wait) => match wait.poll(this.shared, context) {
                Poll::Ready(Outcome::Reply(record)) => Poll::Ready(Ok((record, wait))),
                Poll::Ready(Outcome::Failed(failure)) => {
                    Poll::Ready(Err(this.address.error(failure, wait.elapsed(this.shared))))
                }
                Poll::Ready(Outcome::Sent) => {
                    let failure = Failure::unknown(ErrorKind::InternalFailure, "a request ended like a send");
                    Poll::Ready(Err(this.address.error(failure, wait.elapsed(this.shared))))
                }
                Poll::Pending => {
                    this.state = RequestState::Waits(wait);
                    Poll::Pending
                }
            },
            RequestState::Over => panic!("polled after its end"),
        }
    }
}

impl<R: Runtime, S> Drop for Requesting<'_, R, S> {
    fn drop(&mut self) {
        if let RequestState::Waits(wait) = &self.state {
            wait.cancel(self.shared);
        }
    }
}
