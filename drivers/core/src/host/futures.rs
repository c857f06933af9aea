//! The futures of a client's calls.

use super::client::{Client, ClientReservation};
use super::message::Reply;
use super::prefix::{ChannelMessage, RequestMessage, SendMessage};
use crate::error::Error;
use crate::runtime::Runtime;
use crate::socket::Reserve;
use crate::socket::call::{Address, Requesting, Sending};
use crate::socket::shared::Shared;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use zlink_proto::node::Answer;

/// A call, or the reason why it never began.
enum Call<F> {
    Runs(F),
    Ended(Option<Error>),
}

impl<F: Future + Unpin> Call<F> {
    #[inline]
    fn poll<T>(&mut self, context: &mut Context<'_>) -> Poll<Result<T, Error>>
    where
        F: Future<Output = Result<T, Error>>,
    {
        match self {
            Self::Runs(call) => Pin::new(call).poll(context),
            Self::Ended(error) => Poll::Ready(Err(error.take().expect("not polled after its end"))),
        }
    }
}

/// A channel send that is under way. `Ok`: this process accepted the message (O-05).
///
/// Dropped before that, the message is withdrawn and was never sent; dropped after it, it is sent. Every 256 KiB or so it lets other
/// tasks run once, after admission.
#[must_use = "a future does nothing unless it is awaited"]
pub struct ClientSend<'a, R: Runtime>(Call<Sending<'a, R, SendMessage<'a>>>);

impl<'a, R: Runtime> ClientSend<'a, R> {
    #[inline]
    pub(super) const fn new(shared: &'a Shared<R>, address: Address<'a>, message: SendMessage<'a>) -> Self {
        Self(Call::Runs(Sending::new(shared, address, message)))
    }

    pub(super) const fn ended(error: Error) -> Self {
        Self(Call::Ended(Some(error)))
    }

    /// Shortens the wait for room; it never exceeds the client's send timeout (O-12).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        if let Call::Runs(call) = &mut self.0 {
            call.set_timeout(timeout);
        }
        self
    }
}

impl<R: Runtime> Future for ClientSend<'_, R> {
    type Output = Result<(), Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().0.poll(context)
    }
}

/// A channel request that is under way: ends with its reply, a failure, or its deadline, whichever comes first (O-06).
///
/// Dropped before submission, the message is withdrawn and was never sent; dropped after it, only the wait ends and the handler is
/// not told.
#[must_use = "a future does nothing unless it is awaited"]
pub struct ClientRequest<'a, R: Runtime> {
    call: Call<Requesting<'a, R, RequestMessage<'a>>>,
    end: Option<(&'a Shared<R>, Address<'a>)>,
}

impl<'a, R: Runtime> ClientRequest<'a, R> {
    pub(super) const fn new(
        shared: &'a Shared<R>,
        address: Address<'a>,
        message: ChannelMessage<'a>,
    ) -> Self {
        let call = Requesting::new(shared, address, RequestMessage(message));
        Self { call: Call::Runs(call), end: Some((shared, address)) }
    }

    pub(super) const fn ended(error: Error) -> Self {
        Self { call: Call::Ended(Some(error)), end: None }
    }

    /// The deadline: waiting, admission, handler and reply together. Replaces the default, longer or shorter (O-13).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        if let Call::Runs(call) = &mut self.call {
            call.set_timeout(timeout);
        }
        self
    }
}

impl<R: Runtime> Future for ClientRequest<'_, R> {
    type Output = Result<Reply, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Poll::Ready(result) = this.call.poll(context) else { return Poll::Pending };
        let (record, wait) = result?;
        Poll::Ready(match Answer::read(record) {
            Ok(answer) => Ok(Reply::new(answer.into_payload())),
            Err(error) => {
                let (shared, address) = this.end.expect("a call that began");
                Err(address.error(error.failure, wait.elapsed(shared)))
            }
        })
    }
}

/// A wait for room, at most the send timeout. Dropping it withdraws it.
#[must_use = "a future does nothing unless it is awaited"]
pub struct ClientReserve<'a, R: Runtime> {
    client: &'a Client<R>,
    call: Reserve<'a, R>,
}

impl<'a, R: Runtime> ClientReserve<'a, R> {
    pub(super) fn new(client: &'a Client<R>, address: Address<'a>, bytes: u64) -> Self {
        Self { client, call: Reserve::new(client.socket(), address, bytes) }
    }
}

impl<'a, R: Runtime> Future for ClientReserve<'a, R> {
    type Output = Result<ClientReservation<'a, R>, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let client = this.client;
        Pin::new(&mut this.call)
            .poll(context)
            .map_ok(|reservation| ClientReservation::new(client, reservation))
    }
}
