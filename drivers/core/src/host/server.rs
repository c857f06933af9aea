//! Servers of channels.

use super::context::Context;
use super::handler::{Answers, Handler, Handlers, OneWay, handler};
use super::message::{HandlerError, Incoming, Reply};
use super::shared::Channel;
use super::{Handle, SocketName, new_socket};
use crate::error::{Error, Family};
use crate::net;
use crate::runtime::Runtime;
use crate::socket::shared::seed;
use crate::socket::{SocketOptions, listen_on};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use zlink_proto::error::{ErrorKind, Failure};
use zlink_proto::host::SocketKey;
use zlink_proto::node::{HandlerConfig, ServerConfig};
use zlink_proto::transport::endpoint::{Endpoint, EndpointUse, HostName};
use zlink_proto::wire::SocketType;

/// Describes the server of a channel: its handlers by packet name, its limits.
///
/// Handlers of a channel start in the order in which their messages were accepted, one at a time unless `concurrency` says more.
pub struct ServerBuilder<R: Runtime> {
    host: Arc<Handle<R>>,
    channel: String,
    handlers: Handlers<R>,
    routes: Vec<HandlerConfig>,
    content_types: Vec<String>,
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
            routes: Vec::new(),
            content_types: Vec::new(),
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
        self.add(Some(packet), false, handler::<R, OneWay, F, T>(call));
        self
    }

    /// Handles requests of a packet name. A handler that fails or panics answers `InternalFailure`.
    #[must_use]
    pub fn on_request<F, T>(mut self, packet: &str, call: F) -> Self
    where
        F: Fn(Context<R>, Incoming) -> T + Send + Sync + 'static,
        T: Future<Output = Result<Reply, HandlerError>> + Send + 'static,
    {
        self.add(Some(packet), true, handler::<R, Answers, F, T>(call));
        self
    }

    /// Handles one-way messages of all other packet names.
    #[must_use]
    pub fn fallback_send<F, T>(mut self, call: F) -> Self
    where
        F: Fn(Context<R>, Incoming) -> T + Send + Sync + 'static,
        T: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        self.add(None, false, handler::<R, OneWay, F, T>(call));
        self
    }

    /// Handles requests of all other packet names. Without it they are answered `NotFound`.
    #[must_use]
    pub fn fallback_request<F, T>(mut self, call: F) -> Self
    where
        F: Fn(Context<R>, Incoming) -> T + Send + Sync + 'static,
        T: Future<Output = Result<Reply, HandlerError>> + Send + 'static,
    {
        self.add(None, true, handler::<R, Answers, F, T>(call));
        self
    }

    fn add(&mut self, packet: Option<&str>, is_request: bool, handler: Arc<dyn Handler<R>>) {
        let number = self.handlers.add(handler);
        self.routes.push(HandlerConfig { packet: packet.map(Into::into), is_request, number });
    }

    /// A content type beside `application/json` and `application/octet-stream` that the handlers understand (S-12). Messages of others
    /// are refused.
    #[must_use]
    pub fn content_type(mut self, content_type: &str) -> Self {
        self.content_types.push(content_type.into());
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
        let mut socket = new_socket(SocketType::Router, &self.options, &self.channel)?;
        let host = Arc::clone(&self.host.shared);
        // Nobody is accepted before the role is there; without it the listener just goes.
        let (listener, bound) = net::listen(&host.runtime, &parsed, &self.options.net).await?;
        let endpoint = match &self.advertised {
            Some(host) => format!("tcp://{host}:{}", bound.port()),
            None => bound.to_string(),
        };
        let config = ServerConfig {
            channel: self.channel.clone(),
            security_identity: self.host.security_identity.clone(),
            endpoint,
            lifecycle_generation: seed(),
            weight: self.weight,
            concurrency: self.concurrency,
            handlers: std::mem::take(&mut self.routes),
            content_types: std::mem::take(&mut self.content_types),
        };
        let handlers = Arc::new(std::mem::take(&mut self.handlers));
        let now = host.runtime.now();
        let added = host.section(|locked| {
            let (key, owner, side) = locked.side.add_server(config, &mut socket, now)?;
            locked.channels.push(Channel { owner, socket: key, handlers, workers: Vec::new() });
            Ok((key, side))
        });
        let (key, side) =
            added.map_err(|failure| Error::new(failure, Family::Setup, &*self.channel, Duration::ZERO))?;
        let name = SocketName { is_server: true, channel: self.channel.clone() };
        let socket = self.host.attach(key, name, socket, side, self.options.net.clone());
        listen_on(&socket, listener, bound.to_string());
        tracing::info!(channel = %self.channel, endpoint = %bound, "zlink.runtime.client_server.state_changed");
        Ok(Server { host: self.host, key, endpoint: bound.to_string() })
    }

    fn check(&self, endpoint: &str) -> Result<Endpoint, Error> {
        let refuse = |kind, detail: &dyn fmt::Display| Err(Error::setup(kind, &*self.channel, detail));
        let is_text = |text: &str| (1..=255).contains(&text.len()) && !text.contains('\0');
        let packets = self.routes.iter().filter_map(|route| route.packet.as_deref());
        if let Some(packet) = packets.into_iter().find(|packet| !is_text(packet)) {
            return refuse(
                ErrorKind::InvalidOperation,
                &format_args!("packet name {packet:?}: 1 to 255 bytes of text without NUL"),
            );
        }
        let parsed = net::parse(endpoint, EndpointUse::Bind)?;
        if *parsed.host() == HostName::Any && self.advertised.is_none() {
            return refuse(ErrorKind::NotConfigured, &"a server on all addresses needs `advertise`");
        }
        Ok(parsed)
    }
}

/// A server of a channel. It serves until its host ends or `close` is called; dropping the handle changes nothing.
pub struct Server<R: Runtime> {
    host: Arc<Handle<R>>,
    key: SocketKey,
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
        self.host.detach(self.key);
    }
}

impl<R: Runtime> fmt::Debug for Server<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}
