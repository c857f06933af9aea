//! OS sockets: listeners, connects over all addresses of a name, options. Errors name the part at fault (N-01, N-02).

use crate::error::Error;
use crate::runtime::{Runtime, Stream};
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::Duration;
use zlink_proto::error::ErrorKind;
use zlink_proto::transport::endpoint::{Endpoint, EndpointUse, HostName};

/// Connections that the system may hold before they are accepted.
const BACKLOG: i32 = 1_024;

/// Options of OS sockets (spec 3 §15, spec 2 §5).
#[derive(Clone, Debug)]
pub(crate) struct NetOptions {
    pub(crate) nodelay: bool,
    pub(crate) keepalive: bool,
    /// Bytes; none: the system's choice.
    pub(crate) send_buffer: Option<usize>,
    pub(crate) receive_buffer: Option<usize>,
}

impl Default for NetOptions {
    fn default() -> Self {
        Self { nodelay: true, keepalive: true, send_buffer: None, receive_buffer: None }
    }
}

impl NetOptions {
    /// Applies them to a stream. An option that the system refuses is no reason to give up a connection.
    pub(crate) fn apply(&self, socket: &SockRef<'_>) {
        let keepalive =
            TcpKeepalive::new().with_time(Duration::from_secs(15)).with_interval(Duration::from_secs(5));
        #[cfg(not(windows))]
        let keepalive = keepalive.with_retries(3);
        let results = [
            socket.set_tcp_nodelay(self.nodelay),
            if self.keepalive { socket.set_tcp_keepalive(&keepalive) } else { Ok(()) },
            self.send_buffer.map_or(Ok(()), |bytes| socket.set_send_buffer_size(bytes)),
            self.receive_buffer.map_or(Ok(()), |bytes| socket.set_recv_buffer_size(bytes)),
        ];
        for error in results.into_iter().filter_map(Result::err) {
            tracing::debug!(%error, "option of a stream refused");
        }
    }
}

/// Checks an endpoint and opens nothing.
pub(crate) fn parse(endpoint: &str, purpose: EndpointUse) -> Result<Endpoint, Error> {
    Endpoint::parse(endpoint, purpose)
        .map_err(|error| Error::setup(ErrorKind::InvalidOperation, endpoint, error))
}

/// The addresses of an endpoint, in the order in which to try them.
pub(crate) async fn addresses<R: Runtime>(runtime: &R, endpoint: &Endpoint) -> io::Result<Vec<SocketAddr>> {
    match endpoint.host() {
        HostName::Any => Ok(vec![
            SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), endpoint.port()),
            SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), endpoint.port()),
        ]),
        HostName::Address(ip) => Ok(vec![SocketAddr::new(*ip, endpoint.port())]),
        HostName::Name(name) => runtime.resolve(name, endpoint.port()).await,
    }
}

/// Connects to the first address that answers. The names are resolved anew each time.
pub(crate) async fn connect<R: Runtime>(
    runtime: &R,
    endpoint: &str,
    options: &NetOptions,
) -> io::Result<R::Stream> {
    let endpoint = Endpoint::parse(endpoint, EndpointUse::Connect).map_err(io::Error::other)?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses(runtime, &endpoint).await? {
        match runtime.connect(address).await {
            Ok(stream) => {
                options.apply(&stream.socket());
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Listens on the first address of an endpoint that can be had. Nothing of a failed bind remains (N-02).
///
/// # Errors
/// In use `AlreadyExists`, not permitted `Rejected`, not an address of this machine `Unavailable`.
pub(crate) async fn listen<R: Runtime>(
    runtime: &R,
    endpoint: &Endpoint,
    options: &NetOptions,
) -> Result<(R::Listener, Endpoint), Error> {
    let fail = |error: &io::Error| Error::setup(bind_error_kind(error), endpoint.to_string(), error);
    let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address");
    for address in addresses(runtime, endpoint).await.map_err(|error| fail(&error))? {
        match open_listener(address, matches!(endpoint.host(), HostName::Any), options) {
            Ok(listener) => {
                let port = listener.local_addr().map_err(|error| fail(&error))?.port();
                let listener = runtime.listener(listener).map_err(|error| fail(&error))?;
                return Ok((listener, endpoint.clone().with_port(port)));
            }
            // Without IPv6 the wildcard means IPv4; an address in use is no reason to try the next one.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(fail(&error)),
            Err(error) => last = error,
        }
    }
    Err(fail(&last))
}

fn open_listener(address: SocketAddr, is_wildcard: bool, options: &NetOptions) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(!is_wildcard)?;
    }
    // A restarted server gets its port although old connections linger. On Windows it would steal one.
    #[cfg(not(windows))]
    socket.set_reuse_address(true)?;
    if let Some(bytes) = options.receive_buffer {
        // Accepted streams inherit it; set before listen it also bounds the window that is announced.
        socket.set_recv_buffer_size(bytes)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn bind_error_kind(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::AddrInUse => ErrorKind::AlreadyExists,
        io::ErrorKind::PermissionDenied => ErrorKind::Rejected,
        io::ErrorKind::AddrNotAvailable | io::ErrorKind::NotFound => ErrorKind::Unavailable,
        _ => ErrorKind::InternalFailure,
    }
}
