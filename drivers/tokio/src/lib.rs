//! zlink on tokio: the runtime, and the words of the generic driver with tokio filled in.
//!
//! Depend on it as `zlink = { package = "zlink-driver-tokio", … }`.

use socket2::SockRef;
use std::future::Future;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep};
use zlink_driver::runtime::{self, Runtime};
use zlink_proto::time::Timestamp;

pub use zlink_driver::host::{
    DiagnosticsLevel, HandlerError, HostOptions, HostState, HostStatus, JobQueueProfile, Message,
    OwnerOverflow, Payload, Reply, ShutdownCounts, ShutdownOutcome, ShutdownReason, ShutdownReport,
    SocketName, Status,
};
pub use zlink_driver::{Error, ErrorKind, Family, Submission, TrySendError};

/// One host.
pub type Host = zlink_driver::host::Host<Tokio>;
/// Describes a host.
pub type HostBuilder = zlink_driver::host::HostBuilder<Tokio>;
/// A server of a channel.
pub type Server = zlink_driver::host::Server<Tokio>;
/// Describes a server.
pub type ServerBuilder = zlink_driver::host::ServerBuilder<Tokio>;
/// A client of a channel.
pub type Client = zlink_driver::host::Client<Tokio>;
/// Describes a client.
pub type ClientBuilder = zlink_driver::host::ClientBuilder<Tokio>;
/// What a handler knows beside its message.
pub type Context = zlink_driver::host::Context<Tokio>;
/// A message that came to a handler.
pub type Incoming = zlink_driver::host::Incoming;

/// Raw sockets.
pub mod socket {
    use super::Tokio;

    pub use zlink_driver::socket::{
        CloseReport, DuplicatePolicy, EndReason, Event, EventKind, Outgoing, Record, RoutingId, SetId,
        SocketOptions, SocketStatus,
    };

    /// A DEALER: sends to one of its peers, chosen by weight.
    pub type Dealer = zlink_driver::socket::Dealer<Tokio>;
    /// A ROUTER: sends to the peer that is named, answers requests.
    pub type Router = zlink_driver::socket::Router<Tokio>;
    /// A received record.
    pub type Received = zlink_driver::socket::Received<Tokio>;
    /// The right to answer a request.
    pub type ReplyToken = zlink_driver::socket::ReplyToken<Tokio>;
}

/// The tokio runtime that was current when a socket or host was made.
#[derive(Clone, Debug)]
pub struct Tokio {
    handle: tokio::runtime::Handle,
}

/// Time zero of the process.
fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    *ORIGIN.get_or_init(Instant::now)
}

fn instant(at: Timestamp) -> Instant {
    origin() + Duration::from_nanos(at.as_nanos())
}

impl Runtime for Tokio {
    type Stream = Stream;
    type Listener = Listener;
    type Timer = Timer;

    fn current() -> io::Result<Self> {
        tokio::runtime::Handle::try_current().map(|handle| Self { handle }).map_err(io::Error::other)
    }

    #[inline]
    fn now(&self) -> Timestamp {
        let since = origin().elapsed();
        Timestamp::from_nanos(since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos()))
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(self.handle.spawn(task));
    }

    fn timer(&self, at: Timestamp) -> Timer {
        let _guard = self.handle.enter();
        Timer(Box::pin(tokio::time::sleep_until(instant(at))))
    }

    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((host, port)).await?.collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<Stream> {
        TcpStream::connect(address).await.map(Stream)
    }

    fn listener(&self, listener: std::net::TcpListener) -> io::Result<Listener> {
        let _guard = self.handle.enter();
        TcpListener::from_std(listener).map(Listener)
    }
}

/// A tokio TCP stream.
#[derive(Debug)]
pub struct Stream(TcpStream);

impl runtime::Stream for Stream {
    #[inline]
    fn poll_read_ready(&mut self, context: &mut TaskContext<'_>) -> Poll<()> {
        // An error shows again when reading.
        self.0.poll_read_ready(context).map(|_| ())
    }

    #[inline]
    fn poll_read(&mut self, context: &mut TaskContext<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        Pin::new(&mut self.0).poll_read(context, &mut buffer).map_ok(|()| buffer.filled().len())
    }

    #[inline]
    fn poll_write_vectored(
        &mut self,
        context: &mut TaskContext<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match slices {
            // One plain write: tokio then knows from a short one that the system's buffer is full.
            [one] => Pin::new(&mut self.0).poll_write(context, one),
            more => Pin::new(&mut self.0).poll_write_vectored(context, more),
        }
    }

    fn poll_shutdown(&mut self, context: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }

    fn socket(&self) -> SockRef<'_> {
        SockRef::from(&self.0)
    }
}

/// A tokio listener.
#[derive(Debug)]
pub struct Listener(TcpListener);

impl runtime::Listener for Listener {
    type Stream = Stream;

    fn poll_accept(&mut self, context: &mut TaskContext<'_>) -> Poll<io::Result<Stream>> {
        self.0.poll_accept(context).map_ok(|(stream, _)| Stream(stream))
    }
}

/// A tokio timer.
#[derive(Debug)]
pub struct Timer(Pin<Box<Sleep>>);

impl runtime::Timer for Timer {
    fn reset(&mut self, at: Timestamp) {
        self.0.as_mut().reset(instant(at));
    }

    fn poll(&mut self, context: &mut TaskContext<'_>) -> Poll<()> {
        self.0.as_mut().poll(context)
    }
}
