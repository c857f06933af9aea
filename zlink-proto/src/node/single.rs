//! Everything of one host in one machine: for loops of one's own, simulation and fuzzing. No lock, no task; every input leads to all that
//! can happen without IO before it returns.
//!
//! ```text
//! loop {
//!     for each connection: write what transmit() shows, read into receive_space(), exchange(key, connection)
//!     handle_timeout(now) if poll_timeout() is due
//!     while let Some(output) = poll_output() { connect, tell results, … }
//!     while let Some(job) = start_job()  { run its handler, reply, end_job(job) }
//! }
//! ```

use super::{
    ClaimError, Claimed, ClientConfig, HostSide, Reach, ReplyId, Scratch, ServerConfig, SocketSide, Started,
};
use super::{run_actions, send_reply, shutdown_step, step, stop};
use crate::error::{ErrorKind, Failure, Submission};
use crate::host::{
    HostOptions, HostOutput, OptionsError, ReplyResult, ShutdownReport, ShutdownStep, SocketKey,
};
use crate::id::{EndpointId, ListenerId, OperationId};
use crate::message::Body;
use crate::time::Timestamp;
use crate::transport::{self, Connection, Refused, Settled, Socket, SocketOutput, Submitted, Target};
use crate::wire::SocketType;
use crate::wire::service::{ChannelRequest, ChannelSend, Prefix};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

/// What the outside has to do or to know.
#[derive(Debug)]
pub enum NodeOutput {
    /// Of a socket: connect, give up, stop listening; or about its peers.
    Socket(SocketKey, SocketOutput),
    /// The end of a send that waited, or of a request; it was collected.
    Settled(SocketKey, Settled),
    /// Peers of a role changed.
    Changed(SocketKey),
    /// The requester of a running handler left.
    RequesterGone(ReplyId),
    /// Of the host.
    Host(HostOutput),
    /// The host stopped.
    Stopped(ShutdownReport),
}

/// See the module.
#[derive(Debug)]
pub struct Node {
    world: World,
    scratch: Scratch,
    outputs: VecDeque<NodeOutput>,
    seed: u64,
    is_stop_told: bool,
}

#[derive(Debug)]
struct World {
    now: Timestamp,
    host: HostSide,
    /// By place of their key.
    sockets: Vec<Option<Desk>>,
    settled: Vec<(SocketKey, Settled)>,
    outputs: Vec<(SocketKey, SocketOutput)>,
    spare_settled: Vec<Settled>,
    spare_outputs: Vec<SocketOutput>,
}

#[derive(Debug)]
struct Desk {
    key: SocketKey,
    socket: Socket,
    side: SocketSide,
}

impl Reach for World {
    fn host<T>(&mut self, step: impl FnOnce(&mut HostSide) -> T) -> T {
        step(&mut self.host)
    }

    fn socket<T>(
        &mut self,
        key: SocketKey,
        step: impl FnOnce(&mut Socket, &mut SocketSide, &dyn Fn() -> Timestamp) -> T,
    ) -> Option<T> {
        let now = self.now;
        let desk = self.sockets.get_mut(key.index())?.as_mut().filter(|desk| desk.key == key)?;
        let result = step(&mut desk.socket, &mut desk.side, &|| now);
        desk.side.sift(&mut desk.socket, &mut self.spare_settled, &mut self.spare_outputs, || now);
        while let Some(set) = desk.socket.poll_readable() {
            self.host.readable(key, set, now);
        }
        if desk.side.has_news() {
            self.host.mark(key);
        }
        for settled in self.spare_settled.drain(..) {
            desk.socket.collected(settled.operation);
            self.settled.push((key, settled));
        }
        self.outputs.extend(self.spare_outputs.drain(..).map(|output| (key, output)));
        Some(result)
    }

    fn now(&self) -> Timestamp {
        self.now
    }
}

const NO_ROLE: Failure = Failure::not_submitted(ErrorKind::NotConfigured, "no such client");

impl Node {
    /// A serving host without roles. `seed` feeds everything random in its sockets.
    ///
    /// # Errors
    /// Lists every violated option (H-01).
    pub fn new(options: HostOptions, seed: u64, now: Timestamp) -> Result<Self, OptionsError> {
        let world = World {
            now,
            host: HostSide::new(options, now)?,
            sockets: Vec::new(),
            settled: Vec::new(),
            outputs: Vec::new(),
            spare_settled: Vec::new(),
            spare_outputs: Vec::new(),
        };
        let (scratch, outputs) = (Scratch::default(), VecDeque::new());
        Ok(Self { world, scratch, outputs, seed, is_stop_told: false })
    }

    /// The host's side: status, weights, owners.
    pub fn host(&mut self) -> &mut HostSide {
        &mut self.world.host
    }

    fn socket_for(
        &mut self,
        socket_type: SocketType,
        options: transport::SocketOptions,
    ) -> Result<Socket, Failure> {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        Socket::new(socket_type, options, self.seed)
            .map_err(|_| Failure::not_submitted(ErrorKind::InvalidOperation, "socket options out of range"))
    }

    fn put(&mut self, key: SocketKey, socket: Socket, side: SocketSide) {
        let sockets = &mut self.world.sockets;
        if sockets.len() <= key.index() {
            sockets.resize_with(key.index() + 1, || None);
        }
        if let Some(place) = sockets.get_mut(key.index()) {
            *place = Some(Desk { key, socket, side });
        }
        self.run();
    }

    /// Adds the server of a channel behind a ROUTER; then `listen`.
    ///
    /// # Errors
    /// As [`HostSide::add_server`]; `InvalidOperation` for socket options out of range.
    pub fn add_server(
        &mut self,
        config: ServerConfig,
        options: transport::SocketOptions,
    ) -> Result<SocketKey, Failure> {
        let mut socket = self.socket_for(SocketType::Router, options)?;
        let (key, _, side) = self.world.host.add_server(config, &mut socket, self.world.now)?;
        self.put(key, socket, side);
        Ok(key)
    }

    /// Adds a client of a channel behind a DEALER; then `connect`.
    ///
    /// # Errors
    /// As [`HostSide::add_client`]; `InvalidOperation` for socket options out of range.
    pub fn add_client(
        &mut self,
        config: ClientConfig,
        options: transport::SocketOptions,
    ) -> Result<SocketKey, Failure> {
        let options = transport::SocketOptions { service_selection: true, ..options };
        let mut socket = self.socket_for(SocketType::Dealer, options)?;
        let (key, side) = self.world.host.add_client(config, &mut socket, self.world.now)?;
        self.put(key, socket, side);
        Ok(key)
    }

    /// Runs one step on a socket, then everything that follows from it. `None`: no such socket.
    pub fn with_socket<T>(
        &mut self,
        key: SocketKey,
        act: impl FnOnce(&mut Socket, Timestamp) -> T,
    ) -> Option<T> {
        let now = self.world.now;
        let result = self.world.socket(key, |socket, _, _| act(socket, now));
        self.run();
        result
    }

    /// A listener of a server; accepted connections come by `accept`.
    pub fn listen(&mut self, key: SocketKey) -> Option<ListenerId> {
        self.with_socket(key, |socket, _| socket.add_listener())
    }

    /// A transport was accepted. `None`: close it.
    pub fn accept(&mut self, key: SocketKey, listener: ListenerId) -> Option<Connection> {
        self.with_socket(key, |socket, now| socket.handle_accepted(listener, now))?
    }

    /// Registers an endpoint of a client.
    ///
    /// # Errors
    /// `InvalidOperation` for a bad address; `NotConfigured` without such a role.
    pub fn connect(&mut self, key: SocketKey, address: &str) -> Result<EndpointId, Failure> {
        self.with_socket(key, |socket, now| socket.connect(address, now)).unwrap_or(Err(NO_ROLE))
    }

    /// Lets a connection and its socket meet.
    pub fn exchange(&mut self, key: SocketKey, connection: &mut Connection) {
        self.with_socket(key, |socket, now| connection.exchange(socket, now));
    }

    /// The next connection that must exchange soon.
    pub fn poll_wake(&mut self) -> Option<(SocketKey, crate::id::ConnectionNumber)> {
        self.world.sockets.iter_mut().flatten().find_map(|desk| Some((desk.key, desk.socket.poll_wake()?)))
    }

    /// Sends to one server of the client's channel (O-05, O-53).
    ///
    /// # Errors
    /// As [`Socket::send`]; `ShuttingDown` from the seal on (M-61).
    pub fn send(
        &mut self,
        key: SocketKey,
        prefix: &Prefix,
        payload: Body<'_>,
        timeout: Option<Duration>,
    ) -> Result<Submitted, Refused> {
        let mut record = ChannelSend::new(prefix, payload);
        self.submit(key, |socket, now| socket.send(Target::Any, &mut record, timeout, || now))
            .unwrap_or_else(|failure| Err(failure.into()))
    }

    /// Sends only if it goes at once.
    ///
    /// # Errors
    /// `Full` if it would have to wait; else as `send`.
    pub fn try_send(&mut self, key: SocketKey, prefix: &Prefix, payload: Body<'_>) -> Result<(), Refused> {
        let mut record = ChannelSend::new(prefix, payload);
        self.submit(key, |socket, _| socket.try_send(Target::Any, &mut record))
            .unwrap_or_else(|failure| Err(failure.into()))
    }

    /// Requests from one server of the client's channel; the answer comes as [`NodeOutput::Settled`], to be read with
    /// [`Answer`](super::Answer).
    ///
    /// # Errors
    /// As [`Socket::request`]; `ShuttingDown` from the seal on.
    pub fn request(
        &mut self,
        key: SocketKey,
        prefix: &Prefix,
        payload: Body<'_>,
        timeout: Option<Duration>,
    ) -> Result<OperationId, Failure> {
        let mut record = ChannelRequest::new(prefix, payload);
        self.submit(key, |socket, now| socket.request(Target::Any, &mut record, timeout, now))
            .and_then(|result| result)
    }

    fn submit<T>(
        &mut self,
        key: SocketKey,
        act: impl FnOnce(&mut Socket, Timestamp) -> T,
    ) -> Result<T, Failure> {
        let result = self.world.socket(key, |socket, side, clock| {
            side.check_sealed()?;
            Ok(act(socket, clock()))
        });
        self.run();
        result.unwrap_or(Err(NO_ROLE))
    }

    /// Withdraws a send that waits, or gives up a request. False: its result is there already.
    pub fn cancel(&mut self, key: SocketKey, operation: OperationId) -> bool {
        self.with_socket(key, |socket, now| socket.cancel(operation, now)).unwrap_or(false)
    }

    /// The next job of any owner whose gate is free: its handler's first instruction comes next.
    pub fn start_job(&mut self) -> Option<Started> {
        let now = self.world.now;
        while let Some(drain) = self.world.host.host_mut().poll_ready() {
            if let Some(started) = self.world.host.start(drain, || now) {
                self.run();
                return Some(started);
            }
        }
        None
    }

    /// A handler's terminal; a request that it did not answer fails with `unanswered` (O-61). The owner goes on.
    pub fn end_job(&mut self, started: Started, unanswered: ReplyResult) -> Option<Started> {
        let now = self.world.now;
        if let Some(id) = started.reply {
            self.world.host.fail_reply(id, unanswered);
        }
        let mut job = started.job;
        drop(job.take_content());
        self.world.host.recycle(job);
        let next = self.world.host.next(started.running, || now);
        self.run();
        next
    }

    /// Answers a request with the names of the request.
    ///
    /// # Errors
    /// `InvalidOperation` if it was answered before or the answer is too large; `Unavailable` if the requester is gone.
    pub fn reply(&mut self, started: &Started, payload: Body<'_>) -> Result<(), Failure> {
        let names = started.job.names();
        let refuse = |reason| Failure::not_submitted(ErrorKind::InvalidOperation, reason);
        let id = started.reply.ok_or(refuse("a send has no reply"))?;
        let bytes = (names.len() + payload.as_slice().len()) as u64 + REPLY_OVERHEAD;
        let claimed = self.world.host.claim_reply(id, bytes);
        let Claimed { socket: key, token } = claimed.map_err(|error| match error {
            ClaimError::Claimed => refuse("answered before"),
            ClaimError::TooLarge => refuse("the answer is above the message size limit"),
        })?;
        let sent = self
            .world
            .socket(key, |socket, side, clock| send_reply(socket, side, token, names, payload, clock));
        self.run();
        let gone =
            Failure { kind: ErrorKind::Unavailable, submission: Submission::NotSubmitted, reason: "gone" };
        sent.unwrap_or(Err(gone))
    }

    /// Seals the host and drains it (M-60). [`NodeOutput::Stopped`] comes by the returned time at the latest.
    pub fn shutdown(&mut self, within: Duration) -> Timestamp {
        let now = self.world.now;
        let end = self.world.host.shutdown(within, now);
        self.run();
        end
    }

    /// Earliest time at which `handle_timeout` has something to do.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let sockets = self.world.sockets.iter().flatten().filter_map(|desk| desk.socket.poll_timeout());
        sockets.chain(self.world.host.poll_timeout()).min()
    }

    /// Time goes on; lets timers act. Never back (O-14).
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.world.now = self.world.now.max(now);
        let now = self.world.now;
        self.world.host.handle_timeout(now);
        let keys: Vec<_> = self.world.sockets.iter().flatten().map(|desk| desk.key).collect();
        for key in keys {
            self.world.socket(key, |socket, _, _| socket.handle_timeout(now));
        }
        self.run();
    }

    /// Everything that can happen without IO.
    fn run(&mut self) {
        while step(&mut self.world, &mut self.scratch) {}
        if self.world.host.host().is_sealed() && !self.is_stop_told {
            self.drain_on();
        }
    }

    fn drain_on(&mut self) {
        if shutdown_step(&mut self.world) == ShutdownStep::Stop {
            self.is_stop_told = true;
            let report = stop(&mut self.world);
            self.outputs.push_back(NodeOutput::Stopped(report));
        }
        run_actions(&mut self.world);
        while step(&mut self.world, &mut self.scratch) {}
    }

    /// What the outside has to do or to know. Call until `None`.
    pub fn poll_output(&mut self) -> Option<NodeOutput> {
        let world = &mut self.world;
        self.outputs.extend(world.outputs.drain(..).map(|(key, output)| NodeOutput::Socket(key, output)));
        self.outputs.extend(world.settled.drain(..).map(|(key, settled)| NodeOutput::Settled(key, settled)));
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        if let Some(key) = world.host.poll_change() {
            return Some(NodeOutput::Changed(key));
        }
        if let Some(id) = world.host.poll_gone() {
            return Some(NodeOutput::RequesterGone(id));
        }
        world.host.host_mut().poll_output().map(NodeOutput::Host)
    }

    /// Panics if a sum or a set does not match. For tests.
    pub fn check_invariants(&self) {
        self.world.host.check_invariants();
        for desk in self.world.sockets.iter().flatten() {
            desk.socket.check_invariants();
            desk.side.check_invariants();
        }
    }
}

/// Bytes of a reply beside names and payload: its head, and the numbers of its envelope.
const REPLY_OVERHEAD: u64 = 21 + 9;
