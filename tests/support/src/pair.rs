//! Sockets joined by connections over byte pipes in memory, in virtual time: small enough to reason about, complete enough to carry
//! everything that a driver does. Nothing sleeps; the same calls give the same bytes.

use std::collections::VecDeque;
use std::time::Duration;
use zlink_proto::id::{ConnectionNumber, ListenerId, SetId};
use zlink_proto::time::Timestamp;
use zlink_proto::transport::{
    Connection, ConnectionIo, Outcome, Received, Settled, Socket, SocketOptions, SocketOutput, Submitted,
    Target,
};
use zlink_proto::wire::SocketType;

/// Place of a socket in its network.
pub type NodeId = usize;

/// A network of sockets.
#[derive(Debug)]
pub struct Net {
    /// Virtual time.
    pub now: Timestamp,
    /// The sockets and what they said.
    pub nodes: Vec<Node>,
    /// Bytes that a pipe holds in each direction: the kernel's buffers.
    pub pipe_bytes: usize,
    /// Bytes of one read.
    pub read_bytes: usize,
    /// Invariants of both sockets are checked after each exchange.
    pub is_checked: bool,
    links: Vec<Link>,
}

/// One socket.
#[derive(Debug)]
pub struct Node {
    /// The machine.
    pub socket: Socket,
    /// All outputs so far, in order.
    pub outputs: Vec<SocketOutput>,
    /// All results so far, in order, collected.
    pub settled: Vec<Settled>,
    /// Its connections neither read nor write.
    pub is_frozen: bool,
    /// Its connections do not read.
    pub is_deaf: bool,
    listeners: Vec<(String, ListenerId)>,
}

#[derive(Debug)]
struct Link {
    ends: [End; 2],
}

#[derive(Debug)]
struct End {
    node: NodeId,
    connection: Option<Connection>,
    number: ConnectionNumber,
    /// Bytes that the other side wrote.
    incoming: VecDeque<u8>,
    /// The other side ended its sending side.
    has_end: bool,
    told_end: bool,
    has_ended: bool,
    is_woken: bool,
}

impl End {
    fn new(node: NodeId, number: ConnectionNumber, connection: Option<Connection>) -> Self {
        Self {
            node,
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

impl Default for Net {
    fn default() -> Self {
        Self {
            now: Timestamp::ZERO,
            nodes: Vec::new(),
            pipe_bytes: 65_536,
            read_bytes: 65_536,
            is_checked: true,
            links: Vec::new(),
        }
    }
}

impl Net {
    /// A network without sockets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a socket.
    pub fn node(&mut self, socket_type: SocketType, options: SocketOptions) -> NodeId {
        let seed = self.nodes.len() as u64 + 1;
        self.nodes.push(Node {
            socket: Socket::new(socket_type, options, seed).expect("legal options"),
            outputs: Vec::new(),
            settled: Vec::new(),
            is_frozen: false,
            is_deaf: false,
            listeners: Vec::new(),
        });
        self.nodes.len() - 1
    }

    /// Listens at an address.
    pub fn listen(&mut self, node: NodeId, address: &str) {
        let node = &mut self.nodes[node];
        let listener = node.socket.add_listener();
        node.listeners.push((address.into(), listener));
    }

    /// Connects a socket to an address and lets everything happen that can.
    pub fn connect(&mut self, node: NodeId, address: &str) {
        self.nodes[node].socket.connect(address, self.now).expect("legal address");
        self.run();
    }

    /// A DEALER connected to a ROUTER, both ready.
    pub fn dealer_router(dealer: SocketOptions, router: SocketOptions) -> (Self, NodeId, NodeId) {
        let mut net = Self::new();
        let router = net.node(SocketType::Router, router);
        let dealer = net.node(SocketType::Dealer, dealer);
        net.listen(router, "tcp://router:1");
        net.connect(dealer, "tcp://router:1");
        (net, dealer, router)
    }

    /// The socket of a node.
    pub fn socket(&mut self, node: NodeId) -> &mut Socket {
        &mut self.nodes[node].socket
    }

    /// The sets of a node that are ready.
    pub fn ready_sets(&self, node: NodeId) -> Vec<SetId> {
        let peers = self.nodes[node].socket.snapshot().peers;
        peers.into_iter().filter(|peer| peer.is_ready).map(|peer| peer.set).collect()
    }

    /// Sends to any peer.
    pub fn send(&mut self, node: NodeId, body: &[u8]) -> Submitted {
        let now = self.now;
        self.nodes[node].socket.send(Target::Any, &mut { body }, None, || now).expect("accepted")
    }

    /// Sends to any peer, which has room.
    pub fn post(&mut self, node: NodeId, body: &[u8]) {
        assert_eq!(self.send(node, body), Submitted::Admitted);
    }

    /// Takes what a socket received, in its own order.
    pub fn receive(&mut self, node: NodeId, max: usize) -> Vec<Received> {
        let mut into = Vec::new();
        let now = self.now;
        self.nodes[node].socket.receive(max, &mut into, now);
        into
    }

    /// Results of a node since the last call, as text.
    pub fn results(&mut self, node: NodeId) -> Vec<String> {
        self.collect(node);
        let settled = std::mem::take(&mut self.nodes[node].settled);
        settled.into_iter().map(|one| describe(&one.outcome)).collect()
    }

    /// Results of a node since the last call.
    pub fn settled(&mut self, node: NodeId) -> Vec<Settled> {
        self.collect(node);
        std::mem::take(&mut self.nodes[node].settled)
    }

    fn collect(&mut self, node: NodeId) {
        let node = &mut self.nodes[node];
        let first = node.settled.len();
        let mut fresh = Vec::new();
        node.socket.take_settled(&mut fresh);
        node.settled.extend(fresh);
        for place in first..node.settled.len() {
            let operation = node.settled[place].operation;
            node.socket.collected(operation);
        }
    }

    /// Lets everything happen that can happen now.
    pub fn run(&mut self) {
        loop {
            let mut is_busy = self.drain_outputs();
            for link in 0..self.links.len() {
                for side in 0..2 {
                    is_busy |= self.step(link, side);
                }
            }
            self.links.retain(|link| link.ends.iter().any(|end| end.connection.is_some()));
            if !is_busy {
                return;
            }
        }
    }

    /// Goes to a time, stopping at each timeout on the way.
    pub fn run_to(&mut self, milliseconds: u64) {
        let end = Timestamp::from_millis(milliseconds);
        self.run();
        while let Some(due) = self.next_timeout().filter(|&due| due <= end) {
            self.now = self.now.max(due);
            self.handle_timeouts();
            self.run();
        }
        self.now = end;
        self.handle_timeouts();
        self.run();
    }

    /// Goes on by some time.
    pub fn run_for(&mut self, duration: Duration) {
        let end = self.now.saturating_add(duration);
        self.run_to(end.as_nanos() / 1_000_000);
    }

    /// The earliest timeout of all machines.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        let sockets = self.nodes.iter().filter_map(|node| node.socket.poll_timeout());
        let ends = self.links.iter().flat_map(|link| &link.ends);
        let connections = ends.filter_map(|end| end.connection.as_ref()?.poll_timeout());
        sockets.chain(connections).min()
    }

    /// Resets every connection: both sides see a failed transport, bytes on the way are lost.
    pub fn cut(&mut self) {
        for link in 0..self.links.len() {
            self.cut_link(link);
        }
        self.run();
    }

    fn cut_link(&mut self, link: usize) {
        for end in &mut self.links[link].ends {
            end.incoming.clear();
            end.told_end = true;
            if let Some(connection) = &mut end.connection {
                connection.handle_end(true, self.now);
            }
        }
    }

    /// Connections that exist.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    fn handle_timeouts(&mut self) {
        for node in &mut self.nodes {
            node.socket.handle_timeout(self.now);
        }
        for end in self.links.iter_mut().flat_map(|link| &mut link.ends) {
            if let Some(connection) = &mut end.connection {
                connection.handle_timeout(self.now);
            }
        }
    }

    fn drain_outputs(&mut self) -> bool {
        let mut is_busy = false;
        for node in 0..self.nodes.len() {
            while let Some(output) = self.nodes[node].socket.poll_output() {
                is_busy = true;
                if let SocketOutput::Connect { number, address, .. } = &output {
                    self.open(node, *number, address);
                }
                if let SocketOutput::StopListening(listener) = &output {
                    self.nodes[node].listeners.retain(|(_, other)| other != listener);
                }
                self.nodes[node].outputs.push(output);
            }
            while let Some(number) = self.nodes[node].socket.poll_wake() {
                is_busy = true;
                let ends = self.links.iter_mut().flat_map(|link| &mut link.ends);
                for end in ends.filter(|end| end.node == node && end.number == number) {
                    end.is_woken = true;
                }
            }
        }
        is_busy
    }

    fn open(&mut self, node: NodeId, number: ConnectionNumber, address: &str) {
        let listener = (0..self.nodes.len()).find_map(|other| {
            let found = self.nodes[other].listeners.iter().find(|(bound, _)| bound == address)?;
            Some((other, found.1))
        });
        let now = self.now;
        let Some((other, listener)) = listener else {
            return self.nodes[node].socket.handle_connect_failed(number, now);
        };
        let Some(out) = self.nodes[node].socket.handle_connected(number, now) else { return };
        let accepted = self.nodes[other].socket.handle_accepted(listener, now);
        let mut out = End::new(node, number, Some(out));
        out.has_end = accepted.is_none();
        let number = accepted.as_ref().map_or(ConnectionNumber(0), Connection::number);
        self.links.push(Link { ends: [out, End::new(other, number, accepted)] });
    }

    /// One turn of one side of a connection. True if something happened.
    fn step(&mut self, link: usize, side: usize) -> bool {
        let (first, second) = self.links[link].ends.split_at_mut(1);
        let (end, other) =
            if side == 0 { (&mut first[0], &mut second[0]) } else { (&mut second[0], &mut first[0]) };
        let node = &mut self.nodes[end.node];
        if node.is_frozen {
            return false;
        }
        let Some(connection) = &mut end.connection else { return false };
        let mut is_busy = false;
        if connection.needs_exchange() || std::mem::take(&mut end.is_woken) {
            is_busy = true;
            connection.exchange(&mut node.socket, self.now);
            if self.is_checked {
                node.socket.check_invariants();
            }
        }
        is_busy |= write(connection, other, self.pipe_bytes, self.now);
        match connection.io() {
            ConnectionIo::Open => {}
            ConnectionIo::Finish => {
                if !end.has_ended {
                    end.has_ended = true;
                    other.has_end = true;
                    is_busy = true;
                }
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
        if node.is_deaf {
            return is_busy;
        }
        let space = connection.receive_space();
        let count = space.len().min(end.incoming.len()).min(self.read_bytes);
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
        if !is_busy {
            connection.release_buffers();
        }
        is_busy
    }
}

/// Writes what fits into the pipe.
fn write(connection: &mut Connection, other: &mut End, pipe_bytes: usize, now: Timestamp) -> bool {
    let room = pipe_bytes.saturating_sub(other.incoming.len());
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

/// Text of a result: `sent`, `reply` with its bytes, or kind and submission.
pub fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Sent => "sent".into(),
        Outcome::Reply(record) => format!("reply {}", record.payload_len()),
        Outcome::Failed(failure) => format!("{} {:?}", failure.kind, failure.submission),
    }
}
