//! Hosts joined by byte pipes in memory, in virtual time: everything that a driver does with a composition, without a driver.

use bytes::Bytes;
use std::collections::VecDeque;
use std::time::Duration;
use zlink_proto::error::Failure;
use zlink_proto::host::{HostOptions, HostStatus, ReplyResult, ShutdownReport, SocketKey};
use zlink_proto::id::{ConnectionNumber, ListenerId, OperationId, RoutingId};
use zlink_proto::message::Body;
use zlink_proto::node::{
    Answer, Claimed, ClientConfig, HandlerConfig, Node, NodeOutput, Observed, ReplyId, ServerConfig, Started,
};
use zlink_proto::time::Timestamp;
use zlink_proto::transport::{
    Connection, ConnectionIo, Outcome, Refused, Settled, SocketOptions, SocketOutput, SocketStatus,
    Submitted, Target,
};
use zlink_proto::wire::service::{Admission, CONTENT_JSON, Content, Prefix, ServerDescriptor, ServiceRecord};

/// Place of a host in its network.
pub type HostId = usize;

/// A network of hosts.
#[derive(Debug, Default)]
pub struct World {
    /// Virtual time.
    pub now: Timestamp,
    /// The hosts.
    pub hosts: Vec<HostEntry>,
    links: Vec<Link>,
}

/// One host and what it said.
#[derive(Debug)]
pub struct HostEntry {
    /// The machine.
    pub node: Node,
    /// Results of operations that were not looked at.
    pub settled: Vec<(OperationId, Outcome)>,
    /// What it saw.
    pub observed: Vec<Observed>,
    /// Handlers that were told that their requester left.
    pub gone: Vec<ReplyId>,
    /// The end of its shutdown.
    pub report: Option<ShutdownReport>,
    /// Its connections neither read nor write.
    pub is_frozen: bool,
    listeners: Vec<(String, SocketKey, ListenerId)>,
}

#[derive(Debug)]
struct Link {
    ends: [End; 2],
}

#[derive(Debug)]
struct End {
    host: HostId,
    key: SocketKey,
    number: ConnectionNumber,
    connection: Option<Connection>,
    incoming: VecDeque<u8>,
    has_end: bool,
    told_end: bool,
    has_ended: bool,
    is_woken: bool,
}

/// Bytes that a pipe holds in each direction.
const PIPE_BYTES: usize = 65_536;

/// The channel of most tests.
pub const CHANNEL: &str = "orders";
/// The packet name of most tests.
pub const PACKET: &str = "Place";

/// A server of [`CHANNEL`] at `endpoint` that takes sends (handler 0) and requests (handler 1) of every name.
pub fn server_config(endpoint: &str) -> ServerConfig {
    let handler = |is_request, number| HandlerConfig { packet: None, is_request, number };
    ServerConfig {
        channel: CHANNEL.into(),
        security_identity: "cluster-a".into(),
        endpoint: endpoint.into(),
        lifecycle_generation: 7,
        weight: 100,
        concurrency: 1,
        handlers: vec![handler(false, 0), handler(true, 1)],
        content_types: Vec::new(),
    }
}

/// A client of [`CHANNEL`].
pub fn client_config() -> ClientConfig {
    ClientConfig { channel: CHANNEL.into(), security_identity: "cluster-a".into() }
}

/// The prefix of most records.
pub fn prefix() -> Prefix {
    Prefix::new(CHANNEL, PACKET, CONTENT_JSON).expect("legal names")
}

/// Options of a host with `max_queued_jobs`.
pub fn jobs(max: u32) -> HostOptions {
    HostOptions { max_queued_jobs: Some(max.into()), ..HostOptions::default() }
}

/// Options of a socket with this name.
pub fn named(name: &str) -> SocketOptions {
    let routing_id = RoutingId::new(Bytes::copy_from_slice(name.as_bytes())).expect("a short name");
    SocketOptions { routing_id: Some(routing_id), ..SocketOptions::default() }
}

impl World {
    /// A network without hosts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a host.
    pub fn host(&mut self, options: HostOptions) -> HostId {
        let node = Node::new(options, self.hosts.len() as u64 + 1, self.now).expect("legal options");
        self.hosts.push(HostEntry {
            node,
            settled: Vec::new(),
            observed: Vec::new(),
            gone: Vec::new(),
            report: None,
            is_frozen: false,
            listeners: Vec::new(),
        });
        self.hosts.len() - 1
    }

    /// Adds a server that listens at its endpoint.
    pub fn server(&mut self, host: HostId, config: ServerConfig, options: SocketOptions) -> SocketKey {
        let endpoint = config.endpoint.clone();
        let entry = &mut self.hosts[host];
        let key = entry.node.add_server(config, options).expect("a legal server");
        let listener = entry.node.listen(key).expect("the socket is there");
        entry.listeners.push((endpoint, key, listener));
        key
    }

    /// Adds a client and connects it.
    pub fn client(&mut self, host: HostId, endpoints: &[&str], options: SocketOptions) -> SocketKey {
        let key = self.hosts[host].node.add_client(client_config(), options).expect("a legal client");
        for endpoint in endpoints {
            self.hosts[host].node.connect(key, endpoint).expect("a legal endpoint");
        }
        self.run();
        key
    }

    /// One server with `M` = `jobs` and one client, admitted.
    pub fn pair(max_jobs: u32) -> (Self, Pair) {
        Self::pair_with(jobs(max_jobs), server_config("tcp://server:1"), named("server"), named("client"))
    }

    /// As `pair`, with options.
    pub fn pair_with(
        server_host: HostOptions,
        config: ServerConfig,
        server_options: SocketOptions,
        client_options: SocketOptions,
    ) -> (Self, Pair) {
        let mut world = Self::new();
        let server_host = world.host(server_host);
        let client_host = world.host(HostOptions::default());
        let endpoint = config.endpoint.clone();
        let server = world.server(server_host, config, server_options);
        let client = world.client(client_host, &[&endpoint], client_options);
        (world, Pair { server_host, client_host, server, client })
    }

    /// A host's machine.
    pub fn node(&mut self, host: HostId) -> &mut Node {
        &mut self.hosts[host].node
    }

    /// Status of a host.
    pub fn status(&mut self, host: HostId) -> HostStatus {
        let now = self.now;
        self.node(host).host().host().status(now)
    }

    /// What one socket of a host holds.
    pub fn socket_status(&mut self, host: HostId, key: SocketKey) -> SocketStatus {
        self.node(host).with_socket(key, |socket, _| socket.snapshot()).expect("the socket is there")
    }

    /// Any parts as a one-way record of a client, which a peer that keeps to the rules would not send.
    pub fn send_parts(&mut self, host: HostId, key: SocketKey, parts: &[&[u8]]) {
        let mut parts: Vec<Bytes> = parts.iter().map(|part| Bytes::copy_from_slice(part)).collect();
        let sent = self
            .node(host)
            .with_socket(key, |socket, now| socket.send(Target::Any, &mut parts, None, || now));
        assert_eq!(sent, Some(Ok(Submitted::Admitted)));
        self.run();
    }

    /// Any parts as a request of a client.
    pub fn request_parts(&mut self, host: HostId, key: SocketKey, parts: &[&[u8]]) -> OperationId {
        let mut parts: Vec<Bytes> = parts.iter().map(|part| Bytes::copy_from_slice(part)).collect();
        let sent = self
            .node(host)
            .with_socket(key, |socket, now| socket.request(Target::Any, &mut parts, None, now));
        self.run();
        sent.expect("the socket is there").expect("accepted")
    }

    /// Ready peers of a role.
    pub fn peers(&mut self, host: HostId, key: SocketKey) -> u32 {
        self.node(host).host().ready_peers(key)
    }

    /// Sends from a client and lets everything happen.
    pub fn send(&mut self, host: HostId, key: SocketKey, payload: &[u8]) -> Result<Submitted, Refused> {
        let result = self.node(host).send(key, &prefix(), Body::Borrowed(payload), None);
        self.run();
        result
    }

    /// Sends what must be accepted at once.
    pub fn post(&mut self, host: HostId, key: SocketKey, payload: &[u8]) {
        assert_eq!(self.send(host, key, payload), Ok(Submitted::Admitted));
    }

    /// Requests and lets everything happen.
    pub fn request(&mut self, host: HostId, key: SocketKey, payload: &[u8], seconds: u64) -> OperationId {
        self.try_request(host, key, payload, seconds).expect("accepted")
    }

    /// As `request`, if it is accepted.
    pub fn try_request(
        &mut self,
        host: HostId,
        key: SocketKey,
        payload: &[u8],
        seconds: u64,
    ) -> Result<OperationId, Failure> {
        let timeout = Some(Duration::from_secs(seconds));
        let result = self.node(host).request(key, &prefix(), Body::Borrowed(payload), timeout);
        self.run();
        result
    }

    /// The end of an operation, in words: `sent`, the payload of the answer, or kind and submission.
    pub fn result(&mut self, host: HostId, operation: OperationId) -> Option<String> {
        let settled = &mut self.hosts[host].settled;
        let place = settled.iter().position(|(other, _)| *other == operation)?;
        let (_, outcome) = settled.remove(place);
        Some(describe(outcome))
    }

    /// Starts the next job of a host.
    pub fn start(&mut self, host: HostId) -> Option<Started> {
        let started = self.node(host).start_job();
        self.run();
        started
    }

    /// Starts the next job, which must be there.
    pub fn must_start(&mut self, host: HostId) -> Started {
        self.start(host).expect("a job is ready")
    }

    /// Ends a job, without an answer if there was none. Gives the next one of its owner.
    pub fn end(&mut self, host: HostId, started: Started) -> Option<Started> {
        let next = self.node(host).end_job(started, ReplyResult::REQUEST_FAILED);
        self.run();
        next
    }

    /// Answers and ends.
    pub fn answer(&mut self, host: HostId, started: Started, payload: &[u8]) -> Option<Started> {
        self.node(host).reply(&started, Body::Borrowed(payload)).expect("the requester is there");
        self.end(host, started)
    }

    /// Ends a job without an answer; the next one of its owner must be there.
    pub fn end_and_keep(&mut self, host: HostId, started: Started) -> Started {
        self.end(host, started).expect("the next job is ready")
    }

    /// Answers a request with parts made from its sequence, and ends the job.
    pub fn reply_parts(&mut self, host: HostId, started: Started, make: impl FnOnce(u64) -> Vec<Bytes>) {
        let id = started.reply.expect("a request");
        let Claimed { socket, token } = self.node(host).host().claim_reply(id, 0).expect("open");
        let mut parts = make(token.sequence());
        let sent = self.node(host).with_socket(socket, |socket, now| socket.reply(token, &mut parts, || now));
        assert_eq!(sent, Some(Ok(Submitted::Admitted)));
        self.run();
        self.end(host, started);
    }

    /// Any parts as a one-way record from the server of a pair to its first client.
    pub fn send_as_server(&mut self, pair: Pair, mut parts: Vec<Bytes>) {
        let sent = self.node(pair.server_host).with_socket(pair.server, |socket, now| {
            let set = socket.snapshot().peers[0].set;
            socket.send(Target::Set(set), &mut parts, None, || now)
        });
        assert_eq!(sent, Some(Ok(Submitted::Admitted)));
        self.run();
    }

    /// An update from the server of a pair, whatever it says.
    pub fn send_update(&mut self, pair: Pair, update: ServerDescriptor<'_>) {
        let record = ServiceRecord::of(Content::Update(Admission::Server(update)));
        self.send_as_server(pair, record.to_parts());
    }

    /// Nothing waits for a handler of this host.
    pub fn start_is_idle(&mut self, host: HostId) -> bool {
        !self.node(host).host().host().has_ready()
    }

    /// Ends a running job and then everything that comes after it. Gives the payloads of what came after.
    pub fn end_all(&mut self, host: HostId, started: Started) -> Vec<Bytes> {
        let mut seen = Vec::new();
        let mut next = self.end(host, started);
        while let Some(job) = next {
            let payload = job.job.payload();
            next = if job.reply.is_some() { self.answer(host, job, &payload) } else { self.end(host, job) };
            seen.push(payload);
        }
        seen.extend(self.run_jobs(host));
        seen
    }

    /// Runs every job that there is, in order; requests are answered with their payload. Gives the payloads.
    pub fn run_jobs(&mut self, host: HostId) -> Vec<Bytes> {
        let mut seen = Vec::new();
        loop {
            let mut next = self.start(host);
            if next.is_none() {
                return seen;
            }
            while let Some(job) = next {
                let payload = job.job.payload();
                next =
                    if job.reply.is_some() { self.answer(host, job, &payload) } else { self.end(host, job) };
                seen.push(payload);
            }
        }
    }

    /// Begins a shutdown and lets everything happen.
    pub fn shutdown(&mut self, host: HostId, within: Duration) -> Timestamp {
        let end = self.node(host).shutdown(within);
        self.run();
        end
    }

    /// Lets everything happen that can happen now.
    pub fn run(&mut self) {
        loop {
            let mut is_busy = self.drain();
            for link in 0..self.links.len() {
                for side in 0..2 {
                    is_busy |= self.step(link, side);
                }
            }
            self.links.retain(|link| link.ends.iter().any(|end| end.connection.is_some()));
            if !is_busy {
                break;
            }
        }
        self.hosts.iter().for_each(|entry| entry.node.check_invariants());
    }

    /// Goes on by some time, stopping at each timeout on the way.
    pub fn run_for(&mut self, duration: Duration) {
        self.run_to(self.now.saturating_add(duration));
    }

    /// Goes to a time.
    pub fn run_to(&mut self, end: Timestamp) {
        self.run();
        while let Some(due) = self.next_timeout().filter(|&due| due <= end) {
            self.now = self.now.max(due);
            self.time();
        }
        self.now = end;
        self.time();
    }

    fn time(&mut self) {
        for entry in &mut self.hosts {
            entry.node.handle_timeout(self.now);
        }
        for end in self.links.iter_mut().flat_map(|link| &mut link.ends) {
            if let Some(connection) = &mut end.connection {
                connection.handle_timeout(self.now);
            }
        }
        self.run();
    }

    /// The earliest timeout of all machines.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        let hosts = self.hosts.iter().filter_map(|entry| entry.node.poll_timeout());
        let ends = self.links.iter().flat_map(|link| &link.ends);
        hosts.chain(ends.filter_map(|end| end.connection.as_ref()?.poll_timeout())).min()
    }

    /// Connections that exist.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// Resets every connection of a host.
    pub fn cut(&mut self, host: HostId) {
        for link in &mut self.links {
            if link.ends.iter().any(|end| end.host == host) {
                for end in &mut link.ends {
                    end.incoming.clear();
                    end.told_end = true;
                    if let Some(connection) = &mut end.connection {
                        connection.handle_end(true, self.now);
                    }
                }
            }
        }
        self.run();
    }

    /// Nobody can connect to this host any more.
    pub fn unlisten(&mut self, host: HostId) {
        self.hosts[host].listeners.clear();
    }

    /// Somebody can again.
    pub fn relisten(&mut self, host: HostId, endpoint: &str, key: SocketKey) {
        let listener = self.node(host).listen(key).expect("the socket is there");
        self.hosts[host].listeners.push((endpoint.into(), key, listener));
    }

    fn drain(&mut self) -> bool {
        let mut is_busy = false;
        for host in 0..self.hosts.len() {
            while let Some(output) = self.hosts[host].node.poll_output() {
                is_busy = true;
                self.note(host, output);
            }
            while let Some(observation) = self.hosts[host].node.host().poll_observation() {
                self.hosts[host].observed.push(observation.what);
            }
            while let Some((key, number)) = self.hosts[host].node.poll_wake() {
                is_busy = true;
                let ends = self.links.iter_mut().flat_map(|link| &mut link.ends);
                for end in ends.filter(|end| end.host == host && end.key == key && end.number == number) {
                    end.is_woken = true;
                }
            }
        }
        is_busy
    }

    fn note(&mut self, host: HostId, output: NodeOutput) {
        let entry = &mut self.hosts[host];
        match output {
            NodeOutput::Socket(key, SocketOutput::Connect { number, address, .. }) => {
                self.open(host, key, number, &address);
            }
            NodeOutput::Socket(_, SocketOutput::StopListening(listener)) => {
                entry.listeners.retain(|(_, _, other)| *other != listener);
            }
            NodeOutput::Socket(..) | NodeOutput::Changed(_) | NodeOutput::Host(_) => {}
            NodeOutput::Settled(_, Settled { operation, outcome }) => {
                entry.settled.push((operation, outcome))
            }
            NodeOutput::RequesterGone(id) => entry.gone.push(id),
            NodeOutput::Stopped(report) => entry.report = Some(report),
        }
    }

    fn open(&mut self, host: HostId, key: SocketKey, number: ConnectionNumber, address: &str) {
        let found = (0..self.hosts.len()).find_map(|other| {
            let listeners = &self.hosts[other].listeners;
            let (_, key, listener) = listeners.iter().find(|(bound, _, _)| bound == address)?;
            Some((other, *key, *listener))
        });
        let Some((other, other_key, listener)) = found else {
            let node = self.node(host);
            node.with_socket(key, |socket, now| socket.handle_connect_failed(number, now));
            return;
        };
        let out = self.node(host).with_socket(key, |socket, now| socket.handle_connected(number, now));
        let Some(out) = out.flatten() else { return };
        let accepted = self.node(other).accept(other_key, listener);
        let mut out = End::new(host, key, number, Some(out));
        out.has_end = accepted.is_none();
        let number = accepted.as_ref().map_or(ConnectionNumber(0), Connection::number);
        self.links.push(Link { ends: [out, End::new(other, other_key, number, accepted)] });
    }

    /// One turn of one side of a connection. True if something happened.
    fn step(&mut self, link: usize, side: usize) -> bool {
        let (first, second) = self.links[link].ends.split_at_mut(1);
        let (end, other) =
            if side == 0 { (&mut first[0], &mut second[0]) } else { (&mut second[0], &mut first[0]) };
        let entry = &mut self.hosts[end.host];
        let Some(connection) = end.connection.as_mut().filter(|_| !entry.is_frozen) else { return false };
        let mut is_busy = false;
        if connection.needs_exchange() || std::mem::take(&mut end.is_woken) {
            is_busy = true;
            entry.node.exchange(end.key, connection);
        }
        is_busy |= write(connection, other, self.now);
        match connection.io() {
            ConnectionIo::Open => {}
            ConnectionIo::Finish => {
                is_busy |= !std::mem::replace(&mut end.has_ended, true);
                other.has_end = true;
            }
            ConnectionIo::Close => {
                if !connection.needs_exchange() {
                    other.has_end = true;
                    end.connection = None;
                    end.incoming.clear();
                }
                return true;
            }
        }
        let space = connection.receive_space();
        let count = space.len().min(end.incoming.len());
        if count > 0 {
            for (place, byte) in space.iter_mut().zip(end.incoming.drain(..count)) {
                *place = byte;
            }
            connection.received(count, self.now);
            is_busy = true;
        } else if end.incoming.is_empty() && end.has_end && !end.told_end {
            end.told_end = true;
            connection.handle_end(false, self.now);
            is_busy = true;
        }
        is_busy
    }
}

/// Keys of [`World::pair`].
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The host with the server.
    pub server_host: HostId,
    /// The host with the client.
    pub client_host: HostId,
    /// The server.
    pub server: SocketKey,
    /// The client.
    pub client: SocketKey,
}

impl End {
    fn new(host: HostId, key: SocketKey, number: ConnectionNumber, connection: Option<Connection>) -> Self {
        Self {
            host,
            key,
            number,
            connection,
            incoming: VecDeque::new(),
            has_end: false,
            told_end: false,
            has_ended: false,
            is_woken: true,
        }
    }
}

fn write(connection: &mut Connection, other: &mut End, now: Timestamp) -> bool {
    let room = PIPE_BYTES.saturating_sub(other.incoming.len());
    let mut written = 0;
    {
        let mut slices: [&[u8]; 16] = [&[]; 16];
        let count = connection.transmit(&mut slices);
        for slice in &slices[..count] {
            let part = slice.len().min(room - written);
            if other.connection.is_some() {
                other.incoming.extend(&slice[..part]);
            }
            written += part;
        }
    }
    if written > 0 {
        connection.transmitted(written, now);
    }
    written > 0
}

fn describe(outcome: Outcome) -> String {
    match outcome {
        Outcome::Sent => "sent".into(),
        Outcome::Reply(record) => match Answer::read(record) {
            Ok(answer) => String::from_utf8_lossy(answer.payload()).into_owned(),
            Err(error) => match error.result {
                Some(result) => format!("{} {}/{}", error.failure.kind, result.result, result.code),
                None => format!("{} malformed", error.failure.kind),
            },
        },
        Outcome::Failed(failure) => format!("{} {:?}", failure.kind, failure.submission),
    }
}
