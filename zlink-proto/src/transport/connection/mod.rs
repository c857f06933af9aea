//! One physical connection: handshake, timers, faults, reading and writing.

mod exchange;
mod input;
mod output;
mod side;
#[cfg(test)]
mod tests;
mod timers;

use super::exchange::News;
use crate::id::{ConnectionNumber, RoutingId};
use crate::time::Timestamp;
use crate::wire::control::{encode_error, encode_hello};
use crate::wire::{Fault, FaultCode, Hello, SocketType};
use alloc::vec::Vec;
use core::time::Duration;
use input::{Decoding, Input, Rest};
use output::Output;
use timers::Timers;

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
///     exchange(socket) when needs_exchange(), or when the socket's poll_wake() named this connection
///     write what transmit() shows, then transmitted(n)
///     read into receive_space(), then received(n)       // empty slice: do not read now
///     handle_timeout(now) if due
///     match io() { Open: go on; Finish: end the sending side, go on reading; Close: see there }
///     before going to sleep: release_buffers()
/// }
///
/// handshake ──Open──▶ open ──Finish──▶ finishing ──last byte written──▶ finished ──peer's end, 1 s──▶ closed
///     └──── fault, end, received ERROR, Close: from every state ────────────────────────────────────────▲
/// ```
///
/// Everything that `received`, `transmitted`, `handle_end` and `handle_timeout` find out waits here until the next
/// `exchange`, in order; it is bounded by one turn (B-57). One exchange moves everything both ways.
#[derive(Debug)]
pub struct Connection {
    number: ConnectionNumber,
    is_connector: bool,
    socket_type: SocketType,
    routing_id: RoutingId,
    max_message_bytes: u64,
    phase: Phase,
    /// The set was ready: records may be delivered.
    was_opened: bool,
    /// The input ended; what is at hand is decoded first.
    ended: Option<End>,
    /// Why it closed by itself; told to the socket behind everything else (W-19).
    ending: Option<News>,
    input: Input,
    output: Output,
    timers: Timers,
}

/// How the input ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// The peer ended its sending side.
    Plain,
    /// The transport failed.
    Reset,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// HELLO and READY are exchanged, until the set is ready.
    Handshake,
    /// Records may flow.
    Open,
    /// What was taken is still written, then the sending side ends (N-89).
    Finishing,
    /// The sending side ended; input is discarded.
    Finished,
    /// Nothing more but perhaps one ERROR.
    Closed,
}

/// State of the OS socket that a connection wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionIo {
    /// Read and write.
    Open,
    /// Everything was written: end the sending side, read and discard until the peer ends or the timeout closes (N-89).
    Finish,
    /// Exchange if `needs_exchange`, write what `transmit` shows in one attempt without waiting (W-20), then close and drop this.
    Close,
}

impl Connection {
    /// A connection whose transport is up: its HELLO is ready to be written (W-26).
    pub(crate) fn new(config: ConnectionConfig, now: Timestamp) -> Self {
        let mut hello = Vec::new();
        let own = Hello { socket_type: config.socket_type, routing_id: config.routing_id.clone() };
        encode_hello(&own, &mut hello);
        Self {
            number: config.number,
            is_connector: config.is_connector,
            socket_type: config.socket_type,
            routing_id: config.routing_id,
            max_message_bytes: config.max_message_bytes,
            phase: Phase::Handshake,
            was_opened: false,
            ended: None,
            ending: None,
            input: Input::new(config.socket_type, config.max_message_bytes),
            output: Output::new(&hello),
            timers: Timers::new(config.handshake_limit, config.frame_progress_limit, now),
        }
    }

    /// The number under which the socket knows it.
    pub fn number(&self) -> ConnectionNumber {
        self.number
    }

    /// Where to read to, at most 64 KiB; empty while reading is stopped. Decodes first what an earlier turn left, so
    /// that `needs_exchange` may have become true.
    pub fn receive_space(&mut self) -> &mut [u8] {
        if self.was_opened && self.has_undecoded() {
            self.decode();
        }
        if self.reads() { self.input.space() } else { &mut [] }
    }

    /// `count` bytes were read into `receive_space`: decodes them as far as allowance and turn go. `count` 0 is no end of
    /// input: that is `handle_end`.
    pub fn received(&mut self, count: usize, now: Timestamp) {
        if count == 0 || self.phase == Phase::Finished || !self.reads() {
            return;
        }
        self.timers.restart_progress(now);
        self.input.filled(count);
        self.decode();
    }

    /// The peer ended its sending side, or the transport failed.
    pub fn handle_end(&mut self, is_reset: bool, _now: Timestamp) {
        match self.phase {
            Phase::Handshake | Phase::Open | Phase::Finishing => {
                let end = if is_reset { End::Reset } else { End::Plain };
                // A reset after a plain end still says something new: what waits for room waits in vain.
                if self.ended != Some(End::Reset) {
                    self.ended = Some(end);
                }
            }
            Phase::Finished => self.close_with(News::Finished),
            Phase::Closed => {}
        }
    }

    /// Fills `slices` with what to write next; returns how many were set. 0: nothing to write.
    pub fn transmit<'a>(&'a self, slices: &mut [&'a [u8]]) -> usize {
        self.output.slices(slices)
    }

    /// `count` bytes were taken by the transport. The charge of whole records ends at the next exchange, which is due now.
    pub fn transmitted(&mut self, count: usize, now: Timestamp) {
        if self.output.advance(count) {
            self.input.news.push(News::ReadyTransmitted);
        }
        self.finish_if_written(now);
    }

    /// True if there is something to tell the socket or to ask from it.
    pub fn needs_exchange(&self) -> bool {
        self.output.untold() > 0
            || !self.input.news.is_empty()
            || (self.was_opened && (self.input.has_delivery() || self.has_undecoded()))
            || self.ending.is_some()
            || (self.ended.is_some() && self.decodes() && !self.end_waits_for_room())
    }

    /// Earliest time at which `handle_timeout` has something to do.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.timers.earliest(self.is_progress_running())
    }

    /// Lets timers act. Bytes that came are handed in before (W-37).
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if self.timers.is_handshake_over(now) {
            if self.is_handshake_done_here() && !self.input.news.is_empty() {
                self.timers.judge_handshake_late();
            } else {
                self.fail(Fault::standard(FaultCode::HandshakeTimeout));
            }
        }
        if self.is_progress_running() && self.timers.is_progress_over(now) {
            self.fail(Fault::other("frame stalled"));
        }
        if self.timers.is_finish_over(now) {
            self.close_with(News::Finished);
        }
    }

    /// What the owner of the OS socket has to do beside reading and writing.
    pub fn io(&self) -> ConnectionIo {
        match self.phase {
            Phase::Handshake | Phase::Open | Phase::Finishing => ConnectionIo::Open,
            Phase::Finished => ConnectionIo::Finish,
            Phase::Closed => ConnectionIo::Close,
        }
    }

    /// Gives back buffers in which nothing is. To be called when neither reading nor writing goes on, before sleeping: an
    /// idle connection holds none.
    pub fn release_buffers(&mut self) {
        self.input.release_buffers();
        self.output.release_buffers();
    }

    /// Memory that it holds beside itself, in bytes: read buffer, records and news that are not exchanged, and output with
    /// referenced bodies.
    pub fn memory(&self) -> usize {
        self.input.memory() + self.output.memory()
    }

    /// True while what comes is decoded.
    fn decodes(&self) -> bool {
        match self.phase {
            Phase::Handshake | Phase::Open | Phase::Finishing => true,
            Phase::Finished | Phase::Closed => false,
        }
    }

    /// An earlier turn left bytes that nobody looked at yet.
    fn has_undecoded(&self) -> bool {
        self.input.rest == Rest::Undecoded && self.decodes()
    }

    /// True while the transport is read.
    fn reads(&self) -> bool {
        match self.phase {
            Phase::Handshake | Phase::Open | Phase::Finishing => {
                self.ended.is_none()
                    && match self.input.rest {
                        // While held the decoder shows space up to its limit of W-36.
                        Rest::Drained | Rest::Held => true,
                        Rest::Undecoded | Rest::Blocked(_) => false,
                    }
            }
            Phase::Finished => true,
            Phase::Closed => false,
        }
    }

    fn is_progress_running(&self) -> bool {
        self.decodes() && self.reads() && self.input.waits_for_progress()
    }

    /// True if nothing of the handshake is missing on this connection.
    fn is_handshake_done_here(&self) -> bool {
        self.input.is_ready_received && self.output.is_ready_written()
    }

    /// Records that came before the end wait for room in the receive queue; the end is told behind them.
    fn end_waits_for_room(&self) -> bool {
        self.ended == Some(End::Plain) && matches!(self.input.rest, Rest::Blocked(_))
    }

    /// True if something was decoded.
    fn decode(&mut self) -> bool {
        match self.input.decode() {
            Decoding::Stopped { progressed } => progressed,
            Decoding::Ended(News::Fault(fault)) => {
                self.fail(fault);
                true
            }
            Decoding::Ended(news) => {
                self.close_with(news);
                true
            }
        }
    }

    /// Begins the wait for the peer's end when the last byte is written (N-89).
    fn finish_if_written(&mut self, now: Timestamp) {
        if self.phase == Phase::Finishing && self.output.is_empty() {
            self.phase = Phase::Finished;
            self.timers.end_handshake();
            self.timers.start_finish(now);
            self.input.discard(self.socket_type);
            if self.ended.is_some() {
                self.close_with(News::Finished);
            }
        }
    }

    /// Ends with a fault of the peer: one ERROR if possible (W-20).
    fn fail(&mut self, fault: Fault) {
        if self.phase != Phase::Closed {
            self.close(Some(fault));
            self.ending = Some(News::Fault(fault));
        }
    }

    /// Ends without a word.
    fn close_with(&mut self, news: News) {
        if self.phase != Phase::Closed {
            self.close(None);
            self.ending = Some(news);
        }
    }

    /// The socket found its fault in records that came before the one that was found here.
    fn replace_fault(&mut self, fault: Option<Fault>) {
        if let (Phase::Closed, Some(News::Fault(_)), Some(fault)) = (self.phase, &self.ending, fault) {
            let mut error = Vec::new();
            encode_error(&fault, &mut error);
            self.output.replace_error(&error);
        }
    }

    fn close(&mut self, fault: Option<Fault>) {
        if self.phase == Phase::Closed {
            return;
        }
        // Behind our own end nothing can be said.
        let fault = fault.filter(|_| self.phase != Phase::Finished);
        self.phase = Phase::Closed;
        self.timers.end_all();
        let mut error = Vec::new();
        if let Some(fault) = fault {
            encode_error(&fault, &mut error);
        }
        self.output.end_with(&error);
    }
}
