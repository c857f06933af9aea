//! A scripted socket on one side of a connection, a scripted peer on the other.

use super::super::side::SocketSide;
use super::super::{Connection, ConnectionConfig, ConnectionIo};
use crate::id::{ConnectionNumber, RoutingId};
use crate::time::Timestamp;
use crate::transport::exchange::{News, Order, Refusal};
use crate::wire::{Allowance, Fault, Kind, Outbox, Record, SocketType};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

pub(super) const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);
pub(super) const PROGRESS_LIMIT: Duration = Duration::from_secs(30);

pub(super) fn ms(milliseconds: u64) -> Timestamp {
    Timestamp::from_millis(milliseconds)
}

/// A frame, encoded by hand.
pub(super) fn frame(flags: u8, kind: u8, sequence: u64, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x5a, 1, flags, kind];
    bytes.extend(u32::try_from(body.len()).expect("small").to_be_bytes());
    if kind != 0 {
        bytes.extend(sequence.to_be_bytes());
    }
    bytes.extend(body);
    bytes
}

pub(super) fn control(body: &[u8]) -> Vec<u8> {
    frame(2, 0, 0, body)
}

pub(super) fn data(body: &[u8]) -> Vec<u8> {
    frame(0, 0, 0, body)
}

pub(super) fn hello(socket_type: u8, id: &[u8]) -> Vec<u8> {
    let mut body = vec![1, socket_type, u8::try_from(id.len()).expect("short")];
    body.extend(id);
    control(&body)
}

pub(super) fn property(name: &str, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(name.len()).expect("short")];
    bytes.extend(name.as_bytes());
    bytes.extend(u32::try_from(value.len()).expect("short").to_be_bytes());
    bytes.extend(value);
    bytes
}

pub(super) fn ready_of(properties: &[Vec<u8>]) -> Vec<u8> {
    let mut body = vec![4];
    properties.iter().for_each(|property| body.extend(property));
    control(&body)
}

pub(super) fn ready(socket_type: &str, id: &[u8], max: u64, count: u8, lane: u8) -> Vec<u8> {
    ready_of(&[
        property("Socket-Type", socket_type.as_bytes()),
        property("Routing-Id", id),
        property("Zlink-Max-Message-Size", &max.to_be_bytes()),
        property("Zlink-Lane-Count", &[count]),
        property("Zlink-Lane", &[lane]),
    ])
}

pub(super) fn error(code: u8, reason: &str) -> Vec<u8> {
    let mut body = vec![5, code, u8::try_from(reason.len()).expect("short")];
    body.extend(reason.as_bytes());
    control(&body)
}

/// The peer of most tests: a DEALER.
pub(super) const PEER: &[u8] = b"CLI";

pub(super) fn peer_hello() -> Vec<u8> {
    hello(5, PEER)
}

pub(super) fn peer_ready() -> Vec<u8> {
    ready("DEALER", PEER, 0, 1, 0)
}

/// Our greeting: a ROUTER.
pub(super) fn our_hello() -> Vec<u8> {
    hello(6, b"SRV")
}

pub(super) fn our_ready() -> Vec<u8> {
    ready("ROUTER", b"SRV", 1_000, 1, 0)
}

/// What the socket was told, in words.
pub(super) fn describe(news: &News) -> String {
    match news {
        News::Hello(hello) => format!("hello {}", hello.routing_id),
        News::Ready(ready) => format!("ready max {}", ready.max_message_bytes),
        News::ReadyTransmitted => "ready transmitted".into(),
        News::Weight(weight) => format!("weight {weight}"),
        News::Flow(flow) => format!("flow {:?} {}", flow.state, flow.epoch),
        News::Ignored => "ignored".into(),
        News::PeerError(error) => format!("error {:02x}", error.code),
        News::Fault(fault) => format!("fault {fault}"),
        News::End { is_reset: false } => "end".into(),
        News::End { is_reset: true } => "reset".into(),
        News::Finished => "finished".into(),
    }
}

/// A socket that does what a test says.
pub(super) struct Script {
    /// Everything it was told, in order.
    pub(super) log: Vec<String>,
    pub(super) orders: VecDeque<Order>,
    pub(super) outbox: Outbox,
    pub(super) room: u64,
    pub(super) queued: u64,
    pub(super) refusals: Vec<Refusal>,
    pub(super) provisional: u64,
    pub(super) exchanges: usize,
    pub(super) transmitted: usize,
    pub(super) largest_delivery: usize,
    /// A record with this text is a fault for the socket.
    pub(super) fault_at: Option<&'static str>,
    /// Sends READY and opens by itself, as a socket does.
    pub(super) is_friendly: bool,
    is_peer_ready: bool,
    is_ready_transmitted: bool,
    /// The socket ended the connection or was told of its end: it knows the number no more.
    is_over: bool,
}

impl Script {
    pub(super) fn new() -> Self {
        Self {
            log: Vec::new(),
            orders: VecDeque::new(),
            outbox: Outbox::default(),
            room: u64::MAX,
            queued: 0,
            refusals: Vec::new(),
            provisional: 0,
            exchanges: 0,
            transmitted: 0,
            largest_delivery: 0,
            fault_at: None,
            is_friendly: true,
            is_peer_ready: false,
            is_ready_transmitted: false,
            is_over: false,
        }
    }

    fn react(&mut self, news: &News) {
        match news {
            News::Hello(_) => self.orders.push_back(Order::SendReady { count: 1, lane: 0 }),
            News::Ready(_) => self.is_peer_ready = true,
            News::ReadyTransmitted => self.is_ready_transmitted = true,
            _ => return,
        }
        if self.is_peer_ready && self.is_ready_transmitted {
            self.orders.push_back(Order::Open);
        }
    }
}

impl SocketSide for Script {
    fn handle_news(&mut self, _: ConnectionNumber, news: News, _: Timestamp) {
        assert!(!self.is_over, "told twice: {news:?}");
        self.is_over = match news {
            News::PeerError(_) | News::Fault(_) | News::End { .. } | News::Finished => true,
            News::Hello(_)
            | News::Ready(_)
            | News::ReadyTransmitted
            | News::Weight(_)
            | News::Flow(_)
            | News::Ignored => false,
        };
        self.log.push(describe(&news));
        if self.is_friendly {
            self.react(&news);
        }
    }

    fn deliver(
        &mut self,
        _: ConnectionNumber,
        records: &mut Vec<Record>,
        provisional: u64,
        refused: Option<Refusal>,
        _heard: bool,
        _: Timestamp,
    ) -> Allowance {
        assert!(!self.is_over, "nobody asks behind the end");
        self.largest_delivery = self.largest_delivery.max(records.len());
        for record in records.iter() {
            self.queued += record.charge();
            let text = show(record);
            if self.fault_at == Some(&*text) {
                self.orders.push_back(Order::Close { fault: Some(Fault::other("said by the socket")) });
                break;
            }
            self.log.push(text);
        }
        records.clear();
        self.provisional = provisional;
        self.refusals.extend(refused);
        let used = self.queued.saturating_add(provisional);
        Allowance { room: self.room.saturating_sub(used), is_open: true, holds_other: self.queued > 0 }
    }

    fn handle_transmitted(&mut self, _: ConnectionNumber, bytes: usize, _: Timestamp) {
        assert!(!self.is_over, "written bytes are told before the end");
        self.transmitted += bytes;
    }

    fn poll_order(&mut self, _: ConnectionNumber) -> Option<Order> {
        let order = self.orders.pop_front();
        self.is_over |= matches!(order, Some(Order::Close { .. }));
        order
    }

    fn take_batch(&mut self, _: ConnectionNumber, limit: usize, batch: &mut Outbox) {
        assert!(!self.is_over, "a closed connection takes nothing");
        self.exchanges += 1;
        self.outbox.take_batch(limit, batch);
    }
}

fn show(record: &Record) -> String {
    let parts: Vec<String> = record
        .parts()
        .map(|part| match core::str::from_utf8(part) {
            Ok(text) if text.len() < 20 => text.into(),
            _ => format!("{} bytes", part.len()),
        })
        .collect();
    match record.kind() {
        Kind::Data => format!("data {}", parts.join("+")),
        kind => format!("{kind:?} {} {}", record.sequence(), parts.join("+")),
    }
}

/// Connection, socket and what the peer received.
pub(super) struct Rig {
    pub(super) connection: Connection,
    pub(super) socket: Script,
    pub(super) now: Timestamp,
    /// Everything that was written to the peer.
    pub(super) written: Vec<u8>,
}

impl Rig {
    pub(super) fn with(socket_type: SocketType, id: &'static [u8], is_connector: bool) -> Self {
        let config = ConnectionConfig {
            number: ConnectionNumber(7),
            is_connector,
            socket_type,
            routing_id: RoutingId::new(id).expect("short"),
            max_message_bytes: 1_000,
            handshake_limit: HANDSHAKE_LIMIT,
            frame_progress_limit: PROGRESS_LIMIT,
        };
        Self {
            connection: Connection::new(config, ms(0)),
            socket: Script::new(),
            now: ms(0),
            written: Vec::new(),
        }
    }

    /// A ROUTER that accepted.
    pub(super) fn new() -> Self {
        Self::with(SocketType::Router, b"SRV", false)
    }

    /// The same, with the handshake done.
    pub(super) fn open() -> Self {
        let mut rig = Self::new();
        rig.greet();
        rig
    }

    /// The same; the receive queue has room for this much charge.
    pub(super) fn open_with_room(room: u64) -> Self {
        let mut rig = Self::new();
        rig.socket.room = room;
        rig.greet();
        rig
    }

    pub(super) fn greet(&mut self) {
        self.feed(&[peer_hello(), peer_ready()].concat());
        assert_eq!(self.written, [our_hello(), our_ready()].concat());
        assert_eq!(self.take_log(), ["hello CLI", "ready max 0", "ready transmitted"]);
        self.written.clear();
    }

    /// Exchanges and writes until there is nothing to do.
    pub(super) fn settle(&mut self) {
        for _ in 0..10_000 {
            if self.connection.needs_exchange() {
                self.exchange();
            } else if self.write(usize::MAX) == 0 {
                return;
            }
        }
        panic!("the connection never comes to rest");
    }

    pub(super) fn exchange(&mut self) {
        self.connection.exchange_with(&mut self.socket, self.now);
    }

    /// The transport takes at most `limit` bytes.
    pub(super) fn write(&mut self, limit: usize) -> usize {
        let mut slices: [&[u8]; 4] = [&[]; 4];
        let count = self.connection.transmit(&mut slices);
        let bytes: Vec<u8> = slices[..count].concat().into_iter().take(limit).collect();
        self.connection.transmitted(bytes.len(), self.now);
        self.written.extend(&bytes);
        bytes.len()
    }

    /// Reads once; returns how many bytes were taken.
    pub(super) fn read(&mut self, bytes: &[u8]) -> usize {
        let space = self.connection.receive_space();
        let count = space.len().min(bytes.len());
        space[..count].copy_from_slice(&bytes[..count]);
        self.connection.received(count, self.now);
        count
    }

    /// The peer's bytes arrive, in one piece where there is room; returns what could not be read.
    pub(super) fn feed<'a>(&mut self, mut bytes: &'a [u8]) -> &'a [u8] {
        self.settle();
        while !bytes.is_empty() {
            let count = self.read(bytes);
            bytes = &bytes[count..];
            let had_work = self.connection.needs_exchange();
            self.settle();
            if count == 0 && !had_work {
                break;
            }
        }
        bytes
    }

    pub(super) fn end(&mut self) {
        self.connection.handle_end(false, self.now);
        self.settle();
    }

    pub(super) fn take_log(&mut self) -> Vec<String> {
        core::mem::take(&mut self.socket.log)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.connection.io() == ConnectionIo::Close
    }
}
