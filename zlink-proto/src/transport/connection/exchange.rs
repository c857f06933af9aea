//! The one step in which a connection and its socket meet.

use super::side::SocketSide;
use super::{Connection, End, Phase, Rest};
use crate::time::Timestamp;
use crate::transport::Socket;
use crate::transport::exchange::{News, Order};
use crate::wire::control::encode_ready;
use crate::wire::{Fault, FaultCode};
use alloc::vec::Vec;

/// Bytes of records that are taken from the socket at once.
const BATCH_BYTES_MAX: usize = 262_144;

impl Connection {
    /// Moves everything between this connection and its socket: transmitted bytes, handshake results and received records
    /// one way; orders, the next output and a new allowance the other. In drivers this is the section under the socket's
    /// lock. After it `io`, `transmit` and `receive_space` tell what to do.
    pub fn exchange(&mut self, socket: &mut Socket, now: Timestamp) {
        self.exchange_with(socket, now);
    }

    pub(super) fn exchange_with<S: SocketSide>(&mut self, socket: &mut S, now: Timestamp) {
        if self.is_forgotten() {
            return;
        }
        let untold = self.output.take_untold();
        if untold > 0 {
            socket.handle_transmitted(self.number, untold, now);
        }
        self.tell(socket, now);
        self.obey(socket, now);
        if self.was_opened && !self.is_forgotten() {
            self.exchange_records(socket, now);
        }
        self.conclude();
        if let Some(ending) = self.ending.take() {
            socket.handle_news(self.number, ending, now);
        }
        if self.phase == Phase::Open && self.output.is_empty() {
            socket.take_batch(self.number, BATCH_BYTES_MAX, self.output.batch());
        }
        if self.is_forgotten() {
            self.input.clear();
        }
        self.input.end_turn();
    }

    /// The end was told, or the socket itself decided it.
    fn is_forgotten(&self) -> bool {
        self.phase == Phase::Closed && self.ending.is_none()
    }

    fn tell<S: SocketSide>(&mut self, socket: &mut S, now: Timestamp) {
        for news in self.input.news.drain(..) {
            socket.handle_news(self.number, news, now);
        }
    }

    fn obey<S: SocketSide>(&mut self, socket: &mut S, now: Timestamp) {
        while let Some(order) = socket.poll_order(self.number) {
            match order {
                Order::SendReady { count, lane } => self.send_ready(count, lane),
                Order::Open => self.open(now),
                Order::Close { fault } => {
                    self.replace_fault(fault);
                    self.close(fault);
                    // The socket knows already, and its reason counts.
                    self.ending = None;
                    self.input.discard(self.socket_type);
                    self.input.clear();
                }
                Order::Finish => self.finish(now),
            }
        }
    }

    fn send_ready(&mut self, count: u8, lane: u8) {
        if self.phase != Phase::Handshake || self.output.has_ready() {
            return;
        }
        if self.is_connector {
            self.input.announced_lane = Some(lane);
        }
        let mut ready = Vec::new();
        let lanes = Some((count, lane));
        encode_ready(self.socket_type, &self.routing_id, self.max_message_bytes, lanes, &mut ready);
        self.output.push_ready(&ready);
    }

    fn open(&mut self, now: Timestamp) {
        if self.phase == Phase::Handshake {
            self.phase = Phase::Open;
            self.was_opened = true;
            self.timers.end_handshake();
            self.timers.restart_progress(now);
            self.input.open();
        }
    }

    fn finish(&mut self, now: Timestamp) {
        match self.phase {
            Phase::Handshake | Phase::Open => {
                self.phase = Phase::Finishing;
                self.finish_if_written(now);
            }
            Phase::Finishing | Phase::Finished | Phase::Closed => {}
        }
    }

    /// Delivers, and decodes on as long as new allowances and the turn let it.
    fn exchange_records<S: SocketSide>(&mut self, socket: &mut S, now: Timestamp) {
        let was_blocked = matches!(self.input.rest, Rest::Blocked(_));
        // The first time in any case: a changed limit reaches us so (B-14).
        let mut is_due = true;
        loop {
            if is_due || self.input.has_delivery() || matches!(self.input.rest, Rest::Blocked(_)) {
                let refused = match self.input.rest {
                    Rest::Blocked(refusal) => Some(refusal),
                    Rest::Drained | Rest::Undecoded | Rest::Held => None,
                };
                let (provisional, heard) = (self.input.provisional(), self.input.is_heard);
                let inbox = &mut self.input.inbox;
                let allowance = socket.deliver(self.number, inbox, provisional, refused, heard, now);
                self.input.allow(allowance);
                self.input.note_told();
                is_due = false;
                // What was delivered may be a fault for the socket: nothing behind it counts.
                self.obey(socket, now);
            }
            if self.is_forgotten() {
                return;
            }
            self.tell(socket, now);
            let has_more = match self.input.rest {
                Rest::Undecoded | Rest::Blocked(_) => true,
                Rest::Drained | Rest::Held => false,
            };
            if !has_more || !self.decodes() || !self.decode() {
                break;
            }
        }
        if was_blocked {
            self.timers.restart_progress(now);
        }
    }

    /// Turns a pending end of input, or a handshake limit that passed, into the end of this connection once everything
    /// that came before it was told.
    fn conclude(&mut self) {
        if self.phase == Phase::Handshake && self.timers.is_handshake_judged_late {
            self.fail(Fault::standard(FaultCode::HandshakeTimeout));
        }
        let Some(end) = self.ended else { return };
        let waits = match self.input.rest {
            Rest::Undecoded => self.was_opened,
            Rest::Blocked(_) => end == End::Plain,
            Rest::Drained | Rest::Held => false,
        };
        if waits {
            return;
        }
        match end {
            End::Reset => self.close_with(News::End { is_reset: true }),
            End::Plain => match self.input.end() {
                Ok(()) => self.close_with(News::End { is_reset: false }),
                Err(fault) => self.fail(fault),
            },
        }
    }
}
