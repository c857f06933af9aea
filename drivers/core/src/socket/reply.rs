//! Reply tokens and replies.

use super::call::{Address, Step, Wait};
use super::shared::Shared;
use crate::error::{Error, Family};
use crate::runtime::Runtime;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use zlink_proto::error::{ErrorKind, Failure};
use zlink_proto::message::Outgoing;
use zlink_proto::time::Timestamp;
use zlink_proto::transport;

/// Whom a reply is for, in errors.
const REQUESTER: Address<'_> = Address::channel("requester", Family::Reply);

/// The right to answer one request, once (N-56). Dropped unused, the requester learns that there will be no answer.
#[must_use = "dropping it refuses the answer"]
pub struct ReplyToken<R: Runtime> {
    shared: Arc<Shared<R>>,
    token: Option<transport::ReplyToken>,
}

impl<R: Runtime> ReplyToken<R> {
    pub(super) fn new(shared: &Arc<Shared<R>>, token: transport::ReplyToken) -> Self {
        Self { shared: Arc::clone(shared), token: Some(token) }
    }

    /// True once an answer can no longer reach the requester (O-47).
    pub fn is_requester_gone(&self) -> bool {
        let token = self.token.as_ref();
        !token.is_some_and(|token| self.shared.submit(|locked| (locked.socket.is_token_live(token), false)))
    }
}

impl<R: Runtime> Drop for ReplyToken<R> {
    fn drop(&mut self) {
        if let Some(token) = self.token.take() {
            self.shared.section(|locked| locked.socket.drop_token(token));
        }
    }
}

impl<R: Runtime> fmt::Debug for ReplyToken<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReplyToken").field(&self.token).finish()
    }
}

/// A reply that is under way. `Ok`: this process accepted it. It waits for room at most the socket's reply timeout.
///
/// Dropped before that, it is withdrawn and the requester learns that there will be no answer.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Reply<R: Runtime, M> {
    token: ReplyToken<R>,
    state: ReplyState<M>,
}

enum ReplyState<M> {
    New(M),
    StandsAside,
    Waits(Wait),
    Over,
}

/// Nothing in it is pinned: messages are read by reference.
impl<R: Runtime, M> Unpin for Reply<R, M> {}

impl<R: Runtime, M: Outgoing> Reply<R, M> {
    pub(super) const fn new(token: ReplyToken<R>, message: M) -> Self {
        Self { token, state: ReplyState::New(message) }
    }

    fn submit(&mut self, mut message: M, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let shared = &self.token.shared;
        let Some(token) = self.token.token.take() else {
            let failure = Failure::not_submitted(ErrorKind::InvalidOperation, "the request was answered");
            return Poll::Ready(Err(REQUESTER.error(failure, Duration::ZERO)));
        };
        let step = shared.submit(|locked| {
            let mut since = Timestamp::ZERO;
            let submitted = locked.socket.reply(token, &mut message, || {
                since = shared.runtime.now();
                since
            });
            locked.conclude(submitted, &message, since, context)
        });
        match step {
            Ok(Step::Done { stands_aside: false }) => Poll::Ready(Ok(())),
            Ok(Step::Done { stands_aside: true }) => {
                self.state = ReplyState::StandsAside;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Ok(Step::Waits(wait)) => {
                self.state = ReplyState::Waits(wait);
                Poll::Pending
            }
            Err(failure) => Poll::Ready(Err(REQUESTER.error(failure, Duration::ZERO))),
        }
    }
}

impl<R: Runtime, M: Outgoing> Future for Reply<R, M> {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match std::mem::replace(&mut this.state, ReplyState::Over) {
            ReplyState::New(message) => this.submit(message, context),
            ReplyState::StandsAside => Poll::Ready(Ok(())),
            ReplyState::Waits(wait) => match wait.poll(&this.token.shared, context) {
                Poll::Ready(outcome) => Poll::Ready(wait.end_send(&this.token.shared, outcome, REQUESTER)),
                Poll::Pending => {
                    this.state = ReplyState::Waits(wait);
                    Poll::Pending
                }
            },
            ReplyState::Over => panic!("polled after its end"),
        }
    }
}

impl<R: Runtime, M> Drop for Reply<R, M> {
    fn drop(&mut self) {
        if let ReplyState::Waits(wait) = &self.state {
            wait.cancel(&self.token.shared);
        }
    }
}
