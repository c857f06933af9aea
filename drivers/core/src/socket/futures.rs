//! The futures of raw sends and requests, as applications see them.

use super::call::{Address, Raw, Requesting, Sending};
use super::shared::Shared;
use crate::error::{Error, Family};
use crate::runtime::Runtime;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use zlink_proto::message::Outgoing;
use zlink_proto::transport::Target;
use zlink_proto::wire::Record;

/// A send that is under way. `Ok`: this process accepted the record (O-05).
///
/// Dropped before that, the record is withdrawn and was never sent; dropped after it, the record is sent. Every 256 KiB or so it
/// lets other tasks run once, after admission.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Send<'a, R: Runtime, M>(Sending<'a, R, Raw<M>>);

impl<'a, R: Runtime, M: Outgoing> Send<'a, R, M> {
    pub(super) const fn new(shared: &'a Shared<R>, target: Target<'a>, message: M) -> Self {
        Self(Sending::new(shared, Address::raw(target, Family::Send), Raw(message)))
    }

    /// Shortens the wait for room; it never exceeds the socket's send timeout (O-12).
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.0.set_timeout(timeout);
        self
    }
}

impl<R: Runtime, M: Outgoing> Future for Send<'_, R, M> {
    type Output = Result<(), Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.get_mut().0).poll(context)
    }
}

/// A request that is under way: ends with its reply, a failure, or its deadline, whichever comes first (O-06).
///
/// Dropped before submission, the record is withdrawn and was never sent; dropped after it, only the wait ends and the other
/// side is not told.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Request<'a, R: Runtime, M>(Requesting<'a, R, Raw<M>>);

impl<'a, R: Runtime, M: Outgoing> Request<'a, R, M> {
    pub(super) const fn new(shared: &'a Shared<R>, target: Target<'a>, message: M) -> Self {
        Self(Requesting::new(shared, Address::raw(target, Family::Request), Raw(message)))
    }

    /// The deadline: waiting, admission and reply together. Replaces the socket's request timeout, longer or shorter (O-13).
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.0.set_timeout(timeout);
        self
    }
}

impl<R: Runtime, M: Outgoing> Future for Request<'_, R, M> {
    type Output = Result<Record, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.get_mut().0).poll(context).map_ok(|(record, _)| record)
    }
}
