//! Servers of channels.

use super::context::Context;
use super::handler::{Answers, Handlers, OneWay, handler};
use super::message::{HandlerError, Incoming, Reply};
use super::shared::Channel;
use super::{Handle, SocketName, new_socket};
use crate::error::{Error, Family};
use crate::net;
use crate::runtime::Runtime;
use crate::socket::shared::{Shared, seed};
use crate::socket::{SocketOptions, listen_on};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use zlink_proto::error::{ErrorKind, Failure};
use zlink_proto::host::SocketKey;
use zlink_proto::node::ServerConfig;
use zlink_proto::transport::endpoint::{Endpoint, EndpointUse, HostName};
use zlink_proto::wire::SocketType;

/// Describes the server of a channel: its handlers by packet name, its limits.
///
/// Handlers of a channel start in the order in which their messages were accepted, one at a time unless `concurrency` says more.
pub struct ServerBuilder<R: Runtime> {
    host: Arc<Handle<R>>,
    channel: String,
    handlers: Handlers<R>,
    /// The first name that was given twice.
    duplicate: Option<String>,
    concurrency: u32,
    weight: u32,
    advertised: Option<String>,
    options: SocketOptions,
    has_send_timeout: bool,
}

impl<R: Runtime> ServerBuilder<R> {
    pub(super) fn new(host: Arc<Handle<R>>, channel: &str) -> Self {
        let mut options = SocketOptions::default();
        options.machine.max_message_size = host.options.listener_message_bytes_max;
        Self {
            weight: host.options.channel_weight,
            host,
            channel: channel.into(),
            handlers: Handlers::default(),
            duplicate: None,
            concurrency: 1,
            advertised: None,
            options,
            has_send_timeout: false,
        }
    }

    /// Handles one-way messages of a packet name. A handler that fails or panics is observed, nothing else happens.
    #[must_use]
    pub fn on_send<F, T>(mut self, packet: &str, call: F) -> Self
    where
        F: Fn(Context<R>, Incoming) -> T + Send + Sync + 'static,
        T: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        if !self.handlers.add(false, packet, handler::<R, OneWay, F, T>(call)) {
            self.duplicate.get_or_insert_with(|| packet.into());
        }
        self
    }

    /// Handles requests of a packet name. A handler that fails or panics answers `InternalFailure`.
    #[must_use]
    pub fn on_request<F, T>(mut self, packet: &str, call: F) -> Self
    where
        F: Fn(Context<R>, Incoming) -> T + Send + Sync + 'static,
        T: Future<Output = Result<Reply, HandlerError>> + Send + 'static,
    {
        if !self.handlers.add(true, packet, handler::<R, Answers, F, T>(call)) {
            self.duplicate.get_or_insert_with(|| packet.into());
        }
        self
    }

    /// Handles one-way messages of all other packet names.
    #[must_use]
    pub fn fallback_send<F, T>(mut self, call: F) -> Self
    where
        F: Fn(Context<R>, Incoming) -> T + Send + Sync + 'static,
        T: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        if !self.handlers.set_fallback(false, handler::<R, OneWay, F, T>(call)) {
            self.duplicate.get_or_insert_with(|| "fallback_send".into());
        }
        self
    }

    /// Handles requests of all other packet names. Without it they are answered `NotFound`.
    #[must_use]
    pub fn fallback_request<F, T>(mut self, call: F) -> Self
    where
        F: Fn(Context<R>, Incoming) -> T + Send + Sync + 'static,
        T: Future<Output = Result<Reply, HandlerError>> + Send + 'static,
    {
        if !self.handlers.set_fallback(true, handler::<R, Answers, F, T>(call)) {
            self.duplicate.get_or_insert_with(|| "fallback_request".into());
        }
        self
    }

    /// Handlers that may run at once, 1 to 65,535; they start in order and end in any. Default: 1.
    #[must_use]
    pub const fn concurrency(mut self, handlers: u32) -> Self {
        self.concurrency = handlers;
        self
    }

    /// Weight in the selection of the clients, 0 to 10,000. Default: that of the host.
    #[must_use]
    pub const fn weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// Host name that clients are told, for a server that listens on all addresses (N-04).
    #[must_use]
    pub fn advertise(mut self, host: &str) -> Self {
        self.advertised = Some(host.into());
        self
    }

    /// Bytes of replies that wait to be sent to one client. 0: unlimited.
    #[must_use]
    pub fn send_hwm(mut self, bytes: u64) -> Self {
        self.options = self.options.send_hwm(bytes);
        self
    }

    /// Bytes of one client that wait to be received before its connection is not read. 0: unlimited.
    #[must_use]
    pub fn receive_hwm(mut self, bytes: u64) -> Self {
        self.options = self.options.receive_hwm(bytes);
        self
    }

    /// Largest record in bytes of its parts together. 0: none. Default: that of the host, 16 MiB.
    #[must_use]
    pub fn max_message_size(mut self, bytes: u64) -> Self {
        self.options = self.options.max_message_size(bytes);
        self
    }

    /// Longest wait of a reply for room. Default: that of the host.
    #[must_use]
    pub fn send_timeout(mut self, timeout: Duration) -> Self {
        self.options = self.options.send_timeout(timeout).reply_timeout(timeout);
        self.has_send_timeout = true;
        self
    }

    /// Changes any other option of its socket.
    #[must_use]
    pub fn socket_options(mut self, change: impl FnOnce(SocketOptions) -> SocketOptions) -> Self {
        self.options = change(self.options);
        self
    }

    /// Listens, and serves from now on. Nothing of a failed bind remains.
    ///
    /// # Errors
    /// `InvalidOperation` for a wrong option, name or address; `AlreadyExists` if the channel has a server here or the address is in
    /// use; `NotConfigured` for a wildcard without an advertised host; `Rejected`, `Unavailable` as for a socket; `ShuttingDown`.
    pub async fn bind(mut self, endpoint: &str) -> Result<Server<R>, Error> {
        let parsed = self.check(endpoint)?;
        self.host.complete(&mut self.options, self.has_send_timeout);
        let socket = new_socket(SocketType::Router, &self.options, &self.channel)?;
        let shared = Arc::clone(&self.host.shared);
        let config = ServerConfig {
            channel: self.channel.clone(),
            security_identity: self.host.security_identity.clone(),
            routing_id: socket.routing_id().as_bytes().to_vec(),
            endpoint: parsed.to_string(),
            lifecycle_generation: seed() >> 1,
            weight: self.weight,
            max_message_bytes: self.options.machine.max_message_size,
            concurrency: self.concurrency,
        };
        let handlers = Arc::new(std::mem::take(&mut self.handlers));
        let key = shared.section(|locked| {
            let (key, owner) = locked.side.add_server(config)?;
            locked.channels.push(Channel { owner, socket: key, handlers, workers: Vec::new() });
            Ok(key)
        });
        let key = key.map_err(|failure| Error::new(failure, Family::Setup, &*self.channel, Duration::ZERO))?;
        let name = SocketName { is_server: true, channel: self.channel.clone() };
        let socket = self.host.attach(key, name, socket, self.options.net.clone());
        // Until it is complete, dropping it takes everything back.
        let guard = Unbound { host: &self.host, key, socket: &socket, is_complete: false };
        let (listener, bound) = net::listen(&shared.runtime, &parsed, &socket.net).await?;
        let announced = match &self.advertised {
            Some(host) => format!("tcp://{host}:{}", bound.port()),
            None => bound.to_string(),
        };
        shared.section(|locked| locked.side.set_endpoint(key, &announced));
        guard.complete();
        listen_on(&socket, listener, bound.to_string());
        tracing::info!(channel = %self.channel, endpoint = %bound, "zlink.runtime.client_server.state_changed");
        Ok(Server { host: self.host, key, socket, endpoint: bound.to_string() })
    }

    fn check(&self, endpoint: &str) -> Result<Endpoint, Error> {
        let refuse = |kind, detail: &dyn fmt::Display| Err(Error::setup(kind, &*self.channel, detail));
        if let Some(packet) = &self.duplicate {
            return refuse(ErrorKind::InvalidOperation, &format_args!("two handlers for {packet}"));
        }
        if let Some(packet) = self.handlers.illegal_name() {
            return refuse(
                ErrorKind::InvalidOperation,
                &format_args!("packet name {packet:?}: 1 to 255 bytes of text without NUL"),
            );
        }
        let parsed = net::parse(endpoint, EndpointUse::Bind)?;
        if *parsed.host() == HostName::Any && self.advertised.is_none() {
            return refuse(ErrorKind::NotConfigured, &"a server on all addresses needs `advertise`");
        }
        if self.host.shared.is_sealed() {
            return refuse(ErrorKind::ShuttingDown, &"the host shuts down");
        }
        Ok(parsed)
    }
}

/// A server whose listener is not there yet.
struct Unbound<'a, R: Runtime> {
    host: &'a Handle<R>,
    key: SocketKey,
    socket: &'a Shared<R>,
    is_complete: bool,
}

impl<R: Runtime> Unbound<'_, R> {
    fn complete(mut self) {
        self.is_complete = true;
    }
}

impl<R: Runtime> Drop for Unbound<'_, R> {
    fn drop(&mut self) {
        if !self.is_complete {
            self.host.detach(self.key, self.socket);
        }
    }
}

/// A server of a channel. It serves until its host ends or `close` is called; dropping the handle changes nothing.
pub struct Server<R: Runtime> {
    host: Arc<Handle<R>>,
    key: SocketKey,
    socket: Arc<Shared<R>>,
    endpoint: String,
}

impl<R: Runtime> Server<R> {
    /// Where it listens, with the real port.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Clients that are admitted now.
    pub fn client_count(&self) -> u32 {
        self.host.shared.section(|locked| locked.side.admitted_peers(self.key))
    }

    /// Changes its weight; clients are told (S-45). 0 takes it out of selection.
    ///
    /// # Errors
    /// `InvalidOperation` above 10,000; `NotFound` once it is closed.
    pub fn set_weight(&self, weight: u32) -> Result<(), Error> {
        let set = self.host.shared.section(|locked| locked.side.set_weight(self.key, weight));
        set.map_err(|failure: Failure| Error::new(failure, Family::Setup, &*self.endpoint, Duration::ZERO))
    }

    /// Stops serving. Jobs that did not start end; handlers that run may still answer within the linger.
    pub fn close(self) {
        self.host.detach(self.key, &self.socket);
    }
}

impl<R: Runtime> fmt::Debug for Server<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}
