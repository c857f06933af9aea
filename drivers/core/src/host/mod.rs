//! The host: channels with servers and clients, on the same sockets that [`crate::socket`] offers raw.

mod builder;
mod client;
mod context;
mod futures;
mod handler;
mod message;
mod prefix;
mod server;
mod shared;
mod status;
mod task;
mod worker;

pub use builder::HostBuilder;
pub use client::{Client, ClientBuilder, ClientReservation};
pub use context::Context;
pub use futures::{ClientRequest, ClientReserve, ClientSend};
pub use message::{HandlerError, Incoming, Message, Payload, Reply};
pub use server::{Server, ServerBuilder};
pub use status::{SocketName, Status};
pub use zlink_proto::host::{
    DiagnosticsLevel, HostOptions, HostState, HostStatus, JobQueueProfile, OwnerOverflow, ShutdownCounts,
    ShutdownOutcome, ShutdownReason, ShutdownReport,
};

use crate::error::Error;
use crate::net::NetOptions;
use crate::runtime::Runtime;
use crate::socket::shared::{Observer, Shared};
use crate::socket::{SocketOptions, start_socket};
use crate::sync::Wakes;
use shared::{HostShared, HostWaiter, Link};
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;
use zlink_proto::error::ErrorKind;
use zlink_proto::host::SocketKey;
use zlink_proto::node::SocketSide;
use zlink_proto::transport::Socket;
use zlink_proto::wire::SocketType;

/// One host: a bounded number of accepted jobs, channels that it serves, channels that it calls. Clones share it. It goes on as long
/// as a clone, a server or a client of it lives, and shuts down in the background after that.
pub struct Host<R: Runtime> {
    handle: Arc<Handle<R>>,
}

/// Keeps the host going.
struct Handle<R: Runtime> {
    shared: Arc<HostShared<R>>,
    options: HostOptions,
    security_identity: String,
}

impl<R: Runtime> Drop for Handle<R> {
    fn drop(&mut self) {
        self.begin_shutdown(self.options.shutdown_deadline);
    }
}

impl<R: Runtime> Host<R> {
    /// Begins to describe a host.
    pub fn builder() -> HostBuilder<R> {
        HostBuilder::new()
    }

    /// Begins to describe the server of a channel. One host serves a channel once.
    pub fn server(&self, channel: &str) -> ServerBuilder<R> {
        ServerBuilder::new(Arc::clone(&self.handle), channel)
    }

    /// Begins to describe a client of a channel.
    pub fn client(&self, channel: &str) -> ClientBuilder<R> {
        ClientBuilder::new(Arc::clone(&self.handle), channel)
    }

    /// What waits where, for whom and since when, and everything else. Without effect on anything; its cost grows with the number
    /// of sockets and their peers.
    pub fn status(&self) -> Status {
        status::status(&self.handle.shared)
    }

    /// Begins a new epoch of peaks and counters (M-40 to M-44); gauges and states stay.
    pub fn reset_metrics(&self) {
        let shared = &self.handle.shared;
        let now = shared.runtime.now();
        shared.section(|locked| locked.side.host_mut().reset_metrics(now));
        shared
            .sockets()
            .iter()
            .for_each(|(_, socket)| socket.section(|locked| locked.socket.reset_statistics()));
    }

    /// Changes what is recorded, at run time (M-30, M-31).
    ///
    /// # Errors
    /// `InvalidOperation`: the rate is not within 0.0 to 1.0; nothing changed.
    pub fn set_diagnostics(&self, level: DiagnosticsLevel, sample_rate: f64) -> Result<(), Error> {
        let set =
            self.handle.shared.section(|locked| locked.side.host_mut().set_diagnostics(level, sample_rate));
        set.map_err(|error| Error::setup(ErrorKind::InvalidOperation, "host", error))
    }

    /// Ends the host without losing what it accepted (M-60 to M-67): new calls are refused, peers are told, what was accepted is
    /// handled, answered and transmitted; at `within` what is left is cut and counted. Always returns by then. A second call shares
    /// the run and may shorten it. Dropping the future only ends the wait.
    pub async fn shutdown(&self, within: Duration) -> ShutdownReport {
        self.handle.begin_shutdown(within);
        let mut waiter = HostWaiter::new(&self.handle.shared, |locked| &mut locked.stop_waiters);
        poll_fn(|context| waiter.poll(context, |locked| locked.report)).await
    }
}

impl<R: Runtime> Handle<R> {
    /// Seals the host (M-61); the host task does the rest.
    fn begin_shutdown(&self, within: Duration) {
        let shared = &self.shared;
        let now = shared.runtime.now();
        for (_, socket) in shared.sockets() {
            socket.section(|locked| locked.tells_progress = true);
        }
        let mut wakes = Wakes::new();
        shared.section(|locked| {
            locked.side.shutdown(within.max(Duration::from_millis(1)), now);
            locked.is_draining = true;
            locked.task.is_called = true;
            locked.peer_waiters.wake_into(&mut wakes);
        });
        wakes.wake_all();
    }

    /// Limits that the host gives to each of its sockets (H-08); what was set for the socket itself goes before.
    fn complete(&self, options: &mut SocketOptions, has_send_timeout: bool) {
        let host = &self.options;
        let machine = &mut options.machine;
        if !has_send_timeout {
            machine.send_timeout = host.send_timeout;
            machine.reply_timeout = host.send_timeout;
        }
        machine.request_timeout = host.request_timeout;
        machine.waiters_max = u32::try_from(host.waiters_max).unwrap_or(u32::MAX);
        machine.waiting_bytes_max = host.waiter_bytes_max;
        machine.pending_requests_max = u32::try_from(host.completion_slots_max).unwrap_or(u32::MAX);
        machine.request_waiting_bytes_max = host.request_waiting_bytes_max;
    }

    /// Gives a socket of the host its tasks and its ties to the host.
    fn attach(
        &self,
        key: SocketKey,
        name: SocketName,
        socket: Socket,
        side: SocketSide,
        net: NetOptions,
    ) -> Arc<Shared<R>> {
        let host = Arc::downgrade(&self.shared);
        let observer: Arc<dyn Observer> = Arc::new(Link { key, host });
        let shared = Shared::new(self.shared.runtime.clone(), socket, net, Some((side, observer)));
        self.shared.put_socket(key, name, Arc::clone(&shared));
        start_socket(&shared);
        shared
    }

    /// Takes a role off the host; the host task answers what it leaves and closes its socket.
    fn detach(&self, key: SocketKey) {
        let now = self.shared.runtime.now();
        let linger =
            self.shared.socket(key).map(|socket| socket.section(|locked| locked.socket.options().linger));
        let mut wakes = Wakes::new();
        self.shared.section(|locked| {
            locked.side.remove_role(key, linger.unwrap_or_default(), now);
            locked.end_channel(key, &mut wakes);
            locked.retired.push(key);
            locked.task.is_called = true;
        });
        wakes.wake_all();
    }
}

fn new_socket(socket_type: SocketType, options: &SocketOptions, channel: &str) -> Result<Socket, Error> {
    options.check()?;
    Socket::new(socket_type, options.machine.clone(), crate::socket::shared::seed())
        .map_err(|error| Error::setup(ErrorKind::InvalidOperation, channel, error))
}

impl<R: Runtime> Clone for Host<R> {
    fn clone(&self) -> Self {
        Self { handle: Arc::clone(&self.handle) }
    }
}

impl<R: Runtime> fmt::Debug for Host<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").finish_non_exhaustive()
    }
}
