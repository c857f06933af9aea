//! Drives a socket through its contract with connections, playing the peers' side by hand.

use super::super::*;
use crate::error::Failure;
use crate::id::{ConnectionNumber, ListenerId, OperationId, RoutingId, SetId};
use crate::time::Timestamp;
use crate::transport::exchange::{News, Order, Refusal};
use crate::transport::{ReplyToken, SocketOptions, SocketOutput};
use crate::wire::{
    Allowance, ErrorFrame, Fault, Flow, FlowState, Hello, Kind, Outbox, Ready, Record, SocketType,
};
use alloc::vec::Vec;
use alloc::{format, vec};
use bytes::Bytes;
use core::time::Duration;

pub(super) const DEALER: SocketType = SocketType::Dealer;
pub(super) const ROUTER: SocketType = SocketType::Router;

pub(super) fn ms(milliseconds: u64) -> Timestamp {
    Timestamp::from_millis(milliseconds)
}

pub(super) fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(super) fn id(name: &str) -> RoutingId {
    RoutingId::new(name.as_bytes().to_vec()).expect("short name")
}

/// A peer whose set is joining or ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Peer {
    pub(super) number: ConnectionNumber,
    pub(super) set: SetId,
}

/// One frame that the socket wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Frame {
    pub(super) flags: u8,
    pub(super) kind: u8,
    pub(super) sequence: u64,
    pub(super) body: Vec<u8>,
}

impl Frame {
    pub(super) fn is_control(&self) -> bool {
        self.flags & 2 != 0
    }
}

pub(super) struct Rig {
    pub(super) socket: Socket,
    pub(super) now: Timestamp,
    pub(super) listener: ListenerId,
    pub(super) outputs: Vec<SocketOutput>,
    pub(super) settled: Vec<Settled>,
}

/// Options with `send_hwm` and `receive_hwm`.
pub(super) fn hwms(send: u64, receive: u64) -> SocketOptions {
    SocketOptions { send_hwm: Some(send), receive_hwm: Some(receive), ..SocketOptions::default() }
}

impl Rig {
    pub(super) fn new(socket_type: SocketType, options: SocketOptions) -> Self {
        let options = SocketOptions { routing_id: options.routing_id.clone().or(Some(id("me"))), ..options };
        let mut socket = Socket::new(socket_type, options, 7).expect("legal options");
        let listener = socket.add_listener();
        Self { socket, now: Timestamp::ZERO, listener, outputs: Vec::new(), settled: Vec::new() }
    }

    pub(super) fn dealer(options: SocketOptions) -> Self {
        Self::new(DEALER, options)
    }

    pub(super) fn router(options: SocketOptions) -> Self {
        Self::new(ROUTER, options)
    }

    /// Accepts a connection; nothing was said on it.
    pub(super) fn accept(&mut self) -> ConnectionNumber {
        self.socket.accept(self.listener, self.now).expect("accepted")
    }

    pub(super) fn hello(&mut self, number: ConnectionNumber, name: &str, socket_type: SocketType) {
        self.news(number, News::Hello(Hello { socket_type, routing_id: id(name) }));
    }

    /// The rest of a handshake whose HELLO was said.
    pub(super) fn ready(&mut self, number: ConnectionNumber, max: u64) -> Option<Peer> {
        while let Some(order) = self.socket.poll_order(number) {
            match order {
                Order::SendReady { count, lane } => {
                    assert_eq!((count, lane), (1, 0));
                    self.news(number, News::ReadyTransmitted);
                    self.news(number, News::Ready(Ready { max_message_bytes: max, lanes: Some((1, 0)) }));
                }
                Order::Open => {
                    let slot = self.socket.connections[&number];
                    return Some(Peer { number, set: self.socket.sets.at(slot).id });
                }
                Order::Close { .. } | Order::Finish => return None,
            }
        }
        None
    }

    /// A ready peer of this name, accepted.
    pub(super) fn join(&mut self, name: &str, socket_type: SocketType) -> Peer {
        self.join_max(name, socket_type, 0)
    }

    pub(super) fn join_max(&mut self, name: &str, socket_type: SocketType, max: u64) -> Peer {
        let number = self.accept();
        self.hello(number, name, socket_type);
        self.ready(number, max).expect("becomes ready")
    }

    /// A ready peer at an endpoint of ours.
    pub(super) fn attempt(&mut self) -> ConnectionNumber {
        let outputs = self.outputs();
        outputs
            .iter()
            .find_map(|output| match output {
                SocketOutput::Connect { number, .. } => Some(*number),
                _ => None,
            })
            .unwrap_or_else(|| panic!("no attempt in {outputs:?}"))
    }

    pub(super) fn connect_to(&mut self, name: &str, socket_type: SocketType) -> Peer {
        let number = self.attempt();
        self.socket.attach(number, self.now).expect("wanted");
        self.hello(number, name, socket_type);
        self.ready(number, 0).expect("becomes ready")
    }

    pub(super) fn news(&mut self, number: ConnectionNumber, news: News) {
        self.socket.handle_news(number, news, self.now);
        self.check();
    }

    pub(super) fn flow(&mut self, peer: Peer, state: Flow, epoch: u64) {
        self.news(peer.number, News::Flow(FlowState { state, epoch }));
    }

    pub(super) fn lose(&mut self, peer: Peer) {
        self.news(peer.number, News::End { is_reset: true });
    }

    pub(super) fn peer_error(&mut self, number: ConnectionNumber, fault: Fault) {
        let reason = Bytes::from_static(fault.reason.as_bytes());
        self.news(number, News::PeerError(ErrorFrame { code: fault.code as u8, reason }));
    }

    pub(super) fn check(&mut self) {
        self.socket.check_invariants();
    }

    pub(super) fn at(&mut self, milliseconds: u64) {
        self.now = ms(milliseconds);
    }

    /// Lets everything act that is due until then, at its time.
    pub(super) fn run_to(&mut self, milliseconds: u64) {
        let end = ms(milliseconds);
        while let Some(due) = self.socket.poll_timeout().filter(|&due| due <= end) {
            self.now = self.now.max(due);
            self.socket.handle_timeout(due);
            self.check();
            assert!(self.socket.poll_timeout().is_none_or(|next| next > due), "O-16");
        }
        self.now = end;
        self.socket.handle_timeout(end);
        self.check();
    }

    // ---- submissions

    pub(super) fn send(&mut self, target: Target<'_>, bytes: usize) -> Result<Submitted, Refused> {
        let body = vec![0; bytes];
        let now = self.now;
        let result = self.socket.send(target, &mut body.as_slice(), None, || now);
        self.check();
        result
    }

    /// A send whose first byte is `tag`.
    pub(super) fn send_tag(
        &mut self,
        target: Target<'_>,
        tag: u8,
        bytes: usize,
    ) -> Result<Submitted, Refused> {
        let body = vec![tag; bytes];
        let now = self.now;
        let result = self.socket.send(target, &mut body.as_slice(), None, || now);
        self.check();
        result
    }

    pub(super) fn waiting(result: Result<Submitted, Refused>) -> OperationId {
        match result {
            Ok(Submitted::Waiting(operation)) => operation,
            other => panic!("waits, but {other:?}"),
        }
    }

    pub(super) fn request(&mut self, target: Target<'_>, bytes: usize) -> Result<OperationId, Failure> {
        self.request_for(target, bytes, None)
    }

    pub(super) fn request_for(
        &mut self,
        target: Target<'_>,
        bytes: usize,
        timeout: Option<Duration>,
    ) -> Result<OperationId, Failure> {
        let body = vec![0; bytes];
        let result = self.socket.request(target, &mut body.as_slice(), timeout, self.now);
        self.check();
        result
    }

    pub(super) fn reply(&mut self, token: ReplyToken, bytes: usize) -> Result<Submitted, Failure> {
        let body = vec![0; bytes];
        let now = self.now;
        let result = self.socket.reply(token, &mut body.as_slice(), || now);
        self.check();
        result
    }

    pub(super) fn cancel(&mut self, operation: OperationId) -> bool {
        let result = self.socket.cancel(operation, self.now);
        self.check();
        result
    }

    // ---- the wire

    /// Takes a batch as the connection would and parses it. Nothing is transmitted yet.
    pub(super) fn take_batch(&mut self, peer: Peer) -> Vec<Frame> {
        let mut batch = Outbox::default();
        self.socket.take_batch(peer.number, usize::MAX, &mut batch);
        self.check();
        let mut bytes = Vec::new();
        while !batch.is_empty() {
            let taken = {
                let mut slices: [&[u8]; 8] = [&[]; 8];
                let count = batch.slices(&mut slices);
                slices[..count].iter().for_each(|slice| bytes.extend_from_slice(slice));
                slices[..count].iter().map(|slice| slice.len()).sum()
            };
            batch.advance(taken);
        }
        parse(&bytes)
    }

    pub(super) fn transmitted(&mut self, peer: Peer, bytes: usize) {
        self.socket.handle_transmitted(peer.number, bytes, self.now);
        self.check();
    }

    /// Takes everything and transmits it; a further batch that this admits is left.
    pub(super) fn write(&mut self, peer: Peer) -> Vec<Frame> {
        let frames = self.take_batch(peer);
        let bytes = frames.iter().map(wire_len).sum();
        self.transmitted(peer, bytes);
        frames
    }

    /// Transmits until nothing more is there.
    pub(super) fn write_all(&mut self, peer: Peer) -> Vec<Frame> {
        let mut all = Vec::new();
        loop {
            let frames = self.write(peer);
            if frames.is_empty() {
                return all;
            }
            all.extend(frames);
        }
    }

    /// Records come in, decoded against the allowance like a connection does it. Returns those that were not read.
    pub(super) fn arrive(&mut self, peer: Peer, records: Vec<Record>) -> Vec<Record> {
        let mut left: Vec<Record> = records;
        let mut refused = None;
        let mut inbox = Vec::new();
        loop {
            let mut allowance =
                self.socket.deliver(peer.number, &mut inbox, 0, refused.take(), true, self.now);
            self.check();
            let fits = left.iter().take_while(|record| admit(&mut allowance, record.charge())).count();
            if fits == 0 {
                let Some(next) = left.first() else { return left };
                let charge = next.charge();
                if self.socket.connections.get(&peer.number).is_none() {
                    return left;
                }
                let refusal = Some(Refusal { charge, is_first: true });
                let again = self.socket.deliver(peer.number, &mut inbox, 0, refusal, false, self.now);
                if !admit(&mut { again }, charge) {
                    return left;
                }
                inbox.push(left.remove(0));
                continue;
            }
            inbox.extend(left.drain(..fits));
        }
    }

    /// Every connection that should exchange does so, without anything to tell or to write.
    pub(super) fn exchange_woken(&mut self) {
        while let Some(number) = self.socket.poll_wake() {
            assert_eq!(self.socket.poll_order(number), None);
        }
    }

    pub(super) fn outputs(&mut self) -> Vec<SocketOutput> {
        while let Some(output) = self.socket.poll_output() {
            self.outputs.push(output);
        }
        self.check();
        core::mem::take(&mut self.outputs)
    }

    /// Results in order, collected.
    pub(super) fn results(&mut self) -> Vec<(OperationId, alloc::string::String)> {
        self.socket.take_settled(&mut self.settled);
        let results = self.settled.drain(..).map(|settled| {
            let text = match settled.outcome {
                Outcome::Sent => "sent".into(),
                Outcome::Reply(record) => format!("reply {}", record.payload_len()),
                Outcome::Failed(failure) => format!("{} {:?}", failure.kind, failure.submission),
            };
            (settled.operation, text)
        });
        let results: Vec<_> = results.collect();
        for (operation, _) in &results {
            self.socket.collected(*operation);
        }
        self.check();
        results
    }

    pub(super) fn take(&mut self, set: SetId, count: usize) -> (Vec<Received>, bool) {
        let mut into = Vec::new();
        let has_more = self.socket.take(set, count, &mut into, self.now);
        self.check();
        (into, has_more)
    }

    pub(super) fn receive(&mut self, max: usize) -> Vec<Received> {
        let mut into = Vec::new();
        let count = self.socket.receive(max, &mut into, self.now);
        assert_eq!(count, into.len());
        self.check();
        into
    }

    pub(super) fn used(&self, peer: Peer) -> (u64, u64) {
        let info = self.socket.peer(peer.set).expect("set is there");
        (info.send.used, info.receive.used)
    }
}

fn admit(allowance: &mut Allowance, charge: u64) -> bool {
    if allowance.room == u64::MAX {
        return true;
    }
    if !allowance.is_open || (charge > allowance.room && allowance.holds_other) {
        return false;
    }
    allowance.room = allowance.room.saturating_sub(charge);
    allowance.is_open = allowance.room > 0;
    allowance.holds_other = true;
    true
}

pub(super) fn wire_len(frame: &Frame) -> usize {
    frame.body.len() + if frame.kind == 0 { 8 } else { 16 }
}

pub(super) fn parse(mut bytes: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        assert_eq!(&bytes[..2], [0x5a, 1]);
        let (flags, kind) = (bytes[2], bytes[3]);
        let size = u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]) as usize;
        let head = if kind == 0 { 8 } else { 16 };
        let sequence = if kind == 0 { 0 } else { u64::from_be_bytes(bytes[8..16].try_into().unwrap()) };
        frames.push(Frame { flags, kind, sequence, body: bytes[head..head + size].to_vec() });
        bytes = &bytes[head + size..];
    }
    frames
}

pub(super) fn data(bytes: usize) -> Record {
    Record::from_parts(Kind::Data, 0, vec![Bytes::from(vec![0; bytes])])
}

pub(super) fn tagged(tag: u8, bytes: usize) -> Record {
    Record::from_parts(Kind::Data, 0, vec![Bytes::from(vec![tag; bytes])])
}

pub(super) fn request(sequence: u64, bytes: usize) -> Record {
    Record::from_parts(Kind::Request, sequence, vec![Bytes::from(vec![0; bytes])])
}

pub(super) fn reply(sequence: u64, bytes: usize) -> Record {
    Record::from_parts(Kind::Reply, sequence, vec![Bytes::from(vec![0; bytes])])
}

pub(super) fn error_reply(sequence: u64, number: u32) -> Record {
    Record::from_parts(Kind::ErrorReply, sequence, vec![Bytes::copy_from_slice(&number.to_be_bytes())])
}

pub(super) fn tags(received: &[Received]) -> Vec<u8> {
    received
        .iter()
        .map(|one| one.record.part(0).and_then(|part| part.first().copied()).unwrap_or(0))
        .collect()
}
