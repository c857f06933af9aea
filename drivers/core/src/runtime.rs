//! What an executor has to give: streams, listeners, timers, tasks and a clock. Nothing of it knows messages.

use socket2::SockRef;
use std::future::Future;
use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpListener};
use std::task::{Context, Poll};
use zlink_proto::time::Timestamp;

/// An executor with its sockets and timers. A value of it starts tasks from any thread.
pub trait Runtime: Clone + Send + Sync + Unpin + 'static {
    /// A connected TCP stream.
    type Stream: Stream;
    /// A listener.
    type Listener: Listener<Stream = Self::Stream>;
    /// A timer.
    type Timer: Timer;

    /// The runtime on which the caller runs.
    ///
    /// # Errors
    /// The caller does not run on one.
    fn current() -> io::Result<Self>;

    /// Now, on the one monotonic clock of the process (O-14).
    fn now(&self) -> Timestamp;

    /// Starts a task that nobody waits for.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);

    /// A timer that fires once at `at`.
    fn timer(&self, at: Timestamp) -> Self::Timer;

    /// The addresses of a host name, in the order in which to try them.
    fn resolve(&self, host: &str, port: u16) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send;

    /// Connects to one address.
    fn connect(&self, address: SocketAddr) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Takes over a listener that listens already and does not block.
    ///
    /// # Errors
    /// The runtime cannot watch it.
    fn listener(&self, listener: TcpListener) -> io::Result<Self::Listener>;
}

/// A byte stream. Each direction has one waiting task at most: the one that polled it last.
pub trait Stream: Send + Unpin + 'static {
    /// Ready when reading is worth a try; may be ready too early. Needs no buffer, so that an idle connection has none.
    fn poll_read_ready(&mut self, context: &mut Context<'_>) -> Poll<()>;

    /// Reads into `buffer`, which is not empty. 0: the peer ended its sending side.
    fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>>;

    /// Writes as much of `slices` as the system takes.
    fn poll_write_vectored(
        &mut self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>>;

    /// Ends the sending side.
    fn poll_shutdown(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// The OS socket, for its options.
    fn socket(&self) -> SockRef<'_>;
}

/// Accepts streams.
pub trait Listener: Send + Unpin + 'static {
    /// What it accepts.
    type Stream;

    /// The next stream.
    fn poll_accept(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Self::Stream>>;
}

/// Fires once at its time. Early wake-ups are harmless.
pub trait Timer: Send + Unpin + 'static {
    /// Sets another time.
    fn reset(&mut self, at: Timestamp);

    /// Ready from its time on.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()>;
}
