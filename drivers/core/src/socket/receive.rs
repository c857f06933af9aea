//! Receiving from a raw socket.

use super::reply::ReplyToken;
use super::shared::{Locked, Shared};
use crate::error::{Error, Family};
use crate::runtime::Runtime;
use crate::sync::WaiterKey;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use zlink_proto::error::{ErrorKind, Failure};
use zlink_proto::id::{RoutingId, SetId};
use zlink_proto::transport;
use zlink_proto::wire::Record;

/// A received record (N-67).
pub struct Received<R: Runtime> {
    /// The set on which it came.
    pub set: SetId,
    /// The sender's name.
    pub from: RoutingId,
    /// The record.
    pub record: Record,
    /// For a request: the right to answer.
    pub token: Option<ReplyToken<R>>,
}

impl<R: Runtime> Received<R> {
    #[inline]
    fn new(shared: &Arc<Shared<R>>, received: transport::Received) -> Self {
        let transport::Received { set, from, record, token } = received;
        Self { set, from, record, token: token.map(|token| ReplyToken::new(shared, token)) }
    }
}

impl<R: Runtime> fmt::Debug for Received<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Received")
            .field("set", &self.set)
            .field("from", &self.from)
            .field("record", &self.record)
            .field("token", &self.token)
            .finish()
    }
}

// Moved by a few plain instructions, not by a call.
const _: () = assert!(size_of::<Option<transport::ReplyToken>>() == 24);

/// Where received records go.
pub(super) trait Sink<R: Runtime> {
    type Output;
    /// Most records that it takes.
    fn max(&self) -> usize;
    fn put(&mut self, received: Received<R>);
    fn output(&mut self, count: usize) -> Option<Self::Output>;
}

/// One record.
pub(super) struct One<R: Runtime>(pub(super) Option<Received<R>>);

impl<R: Runtime> Sink<R> for One<R> {
    type Output = Received<R>;

    fn max(&self) -> usize {
        1
    }

    fn put(&mut self, received: Received<R>) {
        self.0 = Some(received);
    }

    fn output(&mut self, _count: usize) -> Option<Received<R>> {
        self.0.take()
    }
}

/// A batch.
pub(super) struct Many<'v, R: Runtime> {
    pub(super) into: &'v mut Vec<Received<R>>,
    pub(super) max: usize,
}

impl<R: Runtime> Sink<R> for Many<'_, R> {
    type Output = usize;

    fn max(&self) -> usize {
        self.max
    }

    fn put(&mut self, received: Received<R>) {
        self.into.push(received);
    }

    fn output(&mut self, count: usize) -> Option<usize> {
        (count > 0 || self.max == 0).then_some(count)
    }
}

/// A wait for records. Dropping it loses nothing: records are taken in the poll that returns them.
pub(super) struct Receive<'a, R: Runtime, S> {
    pub(super) shared: &'a Arc<Shared<R>>,
    pub(super) sink: S,
    pub(super) waiter: WaiterKey,
}

impl<R: Runtime, S> Unpin for Receive<'_, R, S> {}

impl<R: Runtime, S: Sink<R>> Receive<'_, R, S> {
    /// Takes what is there.
    fn take(shared: &Arc<Shared<R>>, sink: &mut S, locked: &mut Locked) -> usize {
        let now = shared.runtime.now();
        locked.socket.receive_with(sink.max(), now, |received| sink.put(Received::new(shared, received)))
    }
}

impl<R: Runtime, S: Sink<R>> Future for Receive<'_, R, S> {
    type Output = Result<S::Output, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { shared, sink, waiter } = self.get_mut();
        shared.section(|locked| {
            let count = Self::take(shared, sink, locked);
            if let Some(output) = sink.output(count) {
                return Poll::Ready(Ok(output));
            }
            if locked.is_closed {
                let failure = Failure::not_submitted(ErrorKind::ShuttingDown, "the socket is closed");
                return Poll::Ready(Err(Error::new(failure, Family::Receive, "any peer", Duration::ZERO)));
            }
            locked.receivers.register(waiter, context.waker());
            Poll::Pending
        })
    }
}

impl<R: Runtime, S> Drop for Receive<'_, R, S> {
    fn drop(&mut self) {
        if self.waiter.is_used() {
            self.shared.section(|locked| locked.receivers.deregister(&self.waiter));
        }
    }
}
