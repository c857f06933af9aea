//! Clients of channels.

use super::futures::{ClientRequest, ClientReserve, ClientSend};
use super::message::{Message, Reply};
use super::prefix::{ChannelMessage, Prefixes, SendMessage};
use super::shared::HostWaiter;
use super::{Handle, SocketName, new_socket};
use crate::blocking::block_on;
use crate::error::{Error, Family, TrySendError};
use crate::net;
use crate::runtime::Runtime;
use crate::socket::call::{Address, Submit};
use crate::socket::shared::Shared;
use crate::socket::{Reservation, SocketOptions, connect_to, disconnect_from};
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;
use zlink_proto::error::{ErrorKind, Failure};
use zlink_proto::host::SocketKey;
use zlink_proto::node::ClientConfig;
use zlink_proto::transport::endpoint::EndpointUse;
use zlink_proto::transport::{Refused, Target};
use zlink_proto::wire::SocketType;

/// Describes a client of a channel.
pub struct ClientBuilder<R: Runtime> {
    host: Arc<Handle<R>>,
    channel: String,
    options: SocketOptions,
    has_send_timeout: bool,
}

impl<R: Runtime> ClientBuilder<R> {
    pub(super) fn new(host: Arc<Handle<R>>, channel: &str) -> Self {
        Self { host, channel: channel.into(), options: SocketOptions::default(), has_send_timeout: false }
    }

    /// Bytes that wait to be sent to one server before senders wait. 0: unlimited.
    #[must_use]
    pub fn send_hwm(mut self, bytes: u64) -> Self {
        self.options = self.options.send_hwm(bytes);
        self
    }

    /// Bytes of one server that wait to be received. 0: unlimited.
    #[must_use]
    pub fn receive_hwm(mut self, bytes: u64) -> Self {
        self.options = self.options.receive_hwm(bytes);
        self
    }

    /// Largest record in bytes of its parts together. 0: none. The smaller one of both sides counts (S-37).
    #[must_use]
    pub fn max_message_size(mut self, bytes: u64) -> Self {
        self.options = self.options.max_message_size(bytes);
        self
    }

    /// Longest wait of a send for room. Default: that of the host.
    #[must_use]
    pub fn send_timeout(mut self, timeout: Duration) -> Self {
        self.options = self.options.send_timeout(timeout);
        self.has_send_timeout = true;
        self
    }

    /// Changes any other option of its socket.
    #[must_use]
    pub fn socket_options(mut self, change: impl FnOnce(SocketOptions) -> SocketOptions) -> Self {
        self.options = change(self.options);
        self
    }

    /// Registers a server: it is connected, and connected again after each end. Does not wait for it: `ready` does.
    ///
    /// # Errors
    /// `InvalidOperation` for a wrong option, name or address, `ShuttingDown`.
    pub async fn connect(mut self, endpoint: &str) -> Result<Client<R>, Error> {
        net::parse(endpoint, EndpointUse::Connect)?;
        self.host.complete(&mut self.options, self.has_send_timeout);
        self.options.machine.service_selection = true;
        let mut socket = new_socket(SocketType::Dealer, &self.options, &self.channel)?;
        let config = ClientConfig {
            channel: self.channel.clone(),
            security_identity: self.host.security_identity.clone(),
        };
        let now = self.host.shared.runtime.now();
        let added = self.host.shared.section(|locked| locked.side.add_client(config, &mut socket, now));
        let (key, side) =
            added.map_err(|failure| Error::new(failure, Family::Setup, &*self.channel, Duration::ZERO))?;
        let name = SocketName { is_server: false, channel: self.channel.clone() };
        let socket = self.host.attach(key, name, socket, side, self.options.net.clone());
        let inner =
            Inner { host: self.host, key, socket, channel: self.channel, prefixes: Prefixes::default() };
        let client = Client { inner: Arc::new(inner) };
        client.connect_also(endpoint)?;
        Ok(client)
    }
}

/// A client of a channel: each call goes to one of its ready servers, chosen by weight. Clones share it; the last one that is dropped
/// closes it in the background, after what was accepted is transmitted.
pub struct Client<R: Runtime> {
    inner: Arc<Inner<R>>,
}

struct Inner<R: Runtime> {
    host: Arc<Handle<R>>,
    key: SocketKey,
    socket: Arc<Shared<R>>,
    channel: String,
    prefixes: Prefixes,
}

impl<R: Runtime> Drop for Inner<R> {
    fn drop(&mut self) {
        self.host.detach(self.key);
    }
}

impl<R: Runtime> Client<R> {
    /// Registers one more server.
    ///
    /// # Errors
    /// `InvalidOperation` for an address that is not legal, `AlreadyExists` if it is registered.
    pub fn connect_also(&self, endpoint: &str) -> Result<(), Error> {
        connect_to(&self.inner.socket, endpoint)
    }

    /// Ends a server of this client.
    ///
    /// # Errors
    /// `NotFound`: it is not registered.
    pub fn disconnect(&self, endpoint: &str) -> Result<(), Error> {
        disconnect_from(&self.inner.socket, endpoint)
    }

    /// The channel.
    pub fn channel(&self) -> &str {
        &self.inner.channel
    }

    /// Servers that have admitted this client and are connected.
    pub fn server_count(&self) -> u32 {
        self.inner.host.shared.section(|locked| locked.side.admitted_peers(self.inner.key))
    }

    /// Waits until a server has admitted this client.
    ///
    /// # Errors
    /// `ShuttingDown`: the host ends.
    pub async fn ready(&self) -> Result<(), Error> {
        let mut waiter = HostWaiter::new(&self.inner.host.shared, |locked| &mut locked.peer_waiters);
        let result = poll_fn(|context| {
            waiter.poll(context, |locked| {
                if locked.side.ready_peers(self.inner.key) > 0 {
                    return Some(Ok(()));
                }
                let is_sealed = locked.side.host().is_sealed();
                is_sealed.then(|| Err(self.address(Family::Setup).error(SEALED, Duration::ZERO)))
            })
        });
        result.await
    }

    /// Sends to a server, or waits for room, at most the send timeout; `Ok` says that this process accepted the message (O-05). See
    /// [`ClientSend`] for what dropping the future means.
    ///
    /// # Errors
    /// `DeadlineExceeded`: no room in time, or too many sends wait here; `NotFound`: no server for 5 s; `Unavailable`: the chosen
    /// server was lost; `InvalidOperation`: the message is not legal; `ShuttingDown`. Nothing was sent then.
    #[inline]
    pub fn send<'a>(&'a self, message: Message<'a>) -> ClientSend<'a, R> {
        let address = self.address(Family::Client);
        match self.prepare(message) {
            Ok(message) => ClientSend::new(&self.inner.socket, address, SendMessage(message)),
            Err((_, failure)) => ClientSend::ended(address.error(failure, Duration::ZERO)),
        }
    }

    /// Sends if that needs no wait.
    ///
    /// # Errors
    /// Gives the message back.
    pub fn try_send<'a>(&'a self, message: Message<'a>) -> Result<(), TrySendError<Message<'a>>> {
        let address = self.address(Family::Client);
        let prepared = self.prepare(message).map_err(|(message, failure)| {
            TrySendError::Failed(message, address.error(failure, Duration::ZERO))
        })?;
        let mut prepared = SendMessage(prepared);
        let sent = self.inner.socket.section(|locked| {
            locked.check_sealed()?;
            locked.socket.try_send(Target::Any, &mut prepared.record())
        });
        let message = prepared.0;
        match sent {
            Ok(()) => Ok(()),
            Err(Refused::Full) => Err(TrySendError::Full(message.into_message())),
            Err(Refused::Failed(failure)) => {
                Err(TrySendError::Failed(message.into_message(), address.error(failure, Duration::ZERO)))
            }
        }
    }

    /// Books room for a payload of `bytes`: the send with it cannot wait any more (O-35).
    pub fn reserve(&self, bytes: u64) -> ClientReserve<'_, R> {
        // Head, envelope, names of any length and the second part; what is too much returns with the send.
        let bytes = bytes.saturating_add(self.inner.channel.len() as u64 + 600);
        ClientReserve::new(self, self.address(Family::Client), bytes)
    }

    /// Sends a request to a server and waits for its reply, at most the request timeout. See [`ClientRequest`] for what dropping
    /// the future means.
    ///
    /// # Errors
    /// The first of reply, failure, deadline (O-06).
    pub fn request<'a>(&'a self, message: Message<'a>) -> ClientRequest<'a, R> {
        let address = self.address(Family::Request);
        match self.prepare(message) {
            Ok(message) => ClientRequest::new(&self.inner.socket, address, message),
            Err((_, failure)) => ClientRequest::ended(address.error(failure, Duration::ZERO)),
        }
    }

    /// As `send`, for plain threads.
    ///
    /// # Errors
    /// As `send`; `InvalidOperation` inside a handler.
    pub fn send_blocking(&self, message: Message<'_>) -> Result<(), Error> {
        block_on(Family::Client, &self.inner.channel, self.send(message))
    }

    /// As `request`, for plain threads.
    ///
    /// # Errors
    /// As `request`; `InvalidOperation` inside a handler.
    pub fn request_blocking(&self, message: Message<'_>) -> Result<Reply, Error> {
        block_on(Family::Request, &self.inner.channel, self.request(message))
    }

    fn address(&self, family: Family) -> Address<'_> {
        Address::channel(&self.inner.channel, family)
    }

    pub(super) fn socket(&self) -> &Shared<R> {
        &self.inner.socket
    }

    /// Checks a message before anything is submitted.
    #[inline]
    pub(super) fn prepare<'a>(
        &'a self,
        message: Message<'a>,
    ) -> Result<ChannelMessage<'a>, (Message<'a>, Failure)> {
        if message.has_illegal_metadata() {
            return Err((message, BAD_METADATA));
        }
        match self.inner.prefixes.get(&self.inner.channel, &message) {
            Some(prefix) => Ok(ChannelMessage::new(prefix, message)),
            None => Err((message, BAD_NAME)),
        }
    }
}

const SEALED: Failure = Failure::not_submitted(ErrorKind::ShuttingDown, "the host shuts down");
const BAD_NAME: Failure = Failure::not_submitted(
    ErrorKind::InvalidOperation,
    "packet name and content type are 1 to 255 bytes of text without NUL",
);
const BAD_METADATA: Failure = Failure::not_submitted(
    ErrorKind::InvalidOperation,
    "metadata has unique keys of 1 to 255 bytes and at most 1,024 bytes",
);

impl<R: Runtime> Clone for Client<R> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<R: Runtime> fmt::Debug for Client<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("channel", &self.inner.channel).finish_non_exhaustive()
    }
}

/// Booked room for one message of a client. Unused, all of it returns when this is dropped.
#[must_use = "unused room returns at once"]
pub struct ClientReservation<'a, R: Runtime> {
    client: &'a Client<R>,
    reservation: Reservation<'a, R>,
}

impl<'a, R: Runtime> ClientReservation<'a, R> {
    pub(super) const fn new(client: &'a Client<R>, reservation: Reservation<'a, R>) -> Self {
        Self { client, reservation }
    }

    /// Sends with it, without waiting. A larger message needs the extra room at once.
    ///
    /// # Errors
    /// Gives the message back: `Full` if the extra room is not there (the reservation is still good), `Failed` with `Unavailable` if
    /// the reservation had ended.
    pub fn send<'m>(&mut self, message: Message<'m>) -> Result<(), TrySendError<Message<'m>>>
    where
        'a: 'm,
    {
        let client: &'m Client<R> = self.client;
        let prepared = client.prepare(message).map_err(|(message, failure)| {
            TrySendError::Failed(message, client.address(Family::Client).error(failure, Duration::ZERO))
        })?;
        let mut prepared = SendMessage(prepared);
        match self.reservation.submit(&mut prepared) {
            Ok(()) => Ok(()),
            Err(None) => Err(TrySendError::Full(prepared.0.into_message())),
            Err(Some(error)) => Err(TrySendError::Failed(prepared.0.into_message(), error)),
        }
    }
}
