//! One physical connection: handshake, timers, faults, reading and writing.

use super::Socket;
use crate::id::{ConnectionNumber, RoutingId};
use crate::time::Timestamp;
use crate::wire::SocketType;
use core::time::Duration;

/// What a connection needs to know of its socket when it begins.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionConfig {
    /// Its number.
    pub(crate) number: ConnectionNumber,
    /// True on the side that connected.
    pub(crate) is_connector: bool,
    /// Our type, for HELLO and READY.
    pub(crate) socket_type: SocketType,
    /// Our name, for HELLO and READY.
    pub(crate) routing_id: RoutingId,
    /// Our MaxMessageSize; 0 = none.
    pub(crate) max_message_bytes: u64,
    /// Total time from `new` until the set is ready (W-37).
    pub(crate) handshake_limit: Duration,
    /// Longest silence inside a frame or record while we read.
    pub(crate) frame_progress_limit: Duration,
}

/// One connection. Whoever owns the OS socket owns this; it shares nothing but what `exchange` moves.
///
/// ```text
/// loop {
///     exchange(socket) when needs_exchange()            // the one step that needs the socket (in drivers: its lock)
///     write what transmit() shows, then transmitted(n)
///     read into receive_space(), then received(n)       // empty slice: do not read now
///     handle_timeout(now) if due
/// }
/// ```
#[derive(Debug)]
pub struct Connection {}

impl Connection {
    /// A connection whose transport is up: its HELLO is ready to be written (W-26).
    pub(crate) fn new(_config: ConnectionConfig, _now: Timestamp) -> Self {
        todo!()
    }
    /// The number under which the socket knows it.
    pub fn number(&self) -> ConnectionNumber {
        todo!()
    }
    /// Where to read to; empty while reading is stopped.
    pub fn receive_space(&mut self) -> &mut [u8] {
        todo!()
    }
    /// `count` bytes were read: decodes them as far as the allowance goes.
    pub fn received(&mut self, _count: usize, _now: Timestamp) {
        todo!()
    }
    /// The peer ended its sending side, or the transport failed.
    pub fn handle_end(&mut self, _is_reset: bool, _now: Timestamp) {
        todo!()
    }
    /// Fills `slices` with what to write next; returns how many were set. 0: nothing to write.
    pub fn transmit<'a>(&'a self, _slices: &mut [&'a [u8]]) -> usize {
        todo!()
    }
    /// `count` bytes were taken by the transport.
    pub fn transmitted(&mut self, _count: usize, _now: Timestamp) {
        todo!()
    }
    /// True if there is something to tell the socket or to ask from it.
    pub fn needs_exchange(&self) -> bool {
        todo!()
    }
    /// Moves everything between this connection and its socket: handshake results, received records, transmitted bytes one
    /// way; orders, output and a new allowance the other.
    pub fn exchange(&mut self, _socket: &mut Socket, _now: Timestamp) {
        todo!()
    }
    /// Earliest time at which `handle_timeout` has something to do.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        todo!()
    }
    /// Lets timers act.
    pub fn handle_timeout(&mut self, _now: Timestamp) {
        todo!()
    }
    /// What the owner of the OS socket has to do beside reading and writing.
    pub fn io(&self) -> ConnectionIo {
        todo!()
    }
}

/// State of the OS socket that a connection wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionIo {
    /// Read and write.
    Open,
    /// Everything was written: end the sending side, read and discard until the peer ends or the timeout closes (N-89).
    Finish,
    /// Write what `transmit` shows in one attempt without waiting, then close (W-20).
    Close,
}
