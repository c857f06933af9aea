//! The socket as a connection sees it.

use crate::id::ConnectionNumber;
use crate::time::Timestamp;
use crate::transport::Socket;
use crate::transport::exchange::{News, Order, Refusal};
use crate::wire::{Allowance, Outbox, Record};
use alloc::vec::Vec;

/// What `exchange` needs of the other end. One implementation is the socket; tests script another.
pub(super) trait SocketSide {
    fn handle_news(&mut self, c: ConnectionNumber, news: News, now: Timestamp);
    fn deliver(
        &mut self,
        c: ConnectionNumber,
        records: &mut Vec<Record>,
        provisional: u64,
        refused: Option<Refusal>,
        heard: bool,
        now: Timestamp,
    ) -> Allowance;
    fn handle_transmitted(&mut self, c: ConnectionNumber, bytes: usize, now: Timestamp);
    fn poll_order(&mut self, c: ConnectionNumber) -> Option<Order>;
    fn take_batch(&mut self, c: ConnectionNumber, limit: usize, batch: &mut Outbox);
}

impl SocketSide for Socket {
    fn handle_news(&mut self, c: ConnectionNumber, news: News, now: Timestamp) {
        Self::handle_news(self, c, news, now);
    }

    fn deliver(
        &mut self,
        c: ConnectionNumber,
        records: &mut Vec<Record>,
        provisional: u64,
        refused: Option<Refusal>,
        heard: bool,
        now: Timestamp,
    ) -> Allowance {
        Self::deliver(self, c, records, provisional, refused, heard, now)
    }

    fn handle_transmitted(&mut self, c: ConnectionNumber, bytes: usize, now: Timestamp) {
        Self::handle_transmitted(self, c, bytes, now);
    }

    fn poll_order(&mut self, c: ConnectionNumber) -> Option<Order> {
        Self::poll_order(self, c)
    }

    fn take_batch(&mut self, c: ConnectionNumber, limit: usize, batch: &mut Outbox) {
        Self::take_batch(self, c, limit, batch);
    }
}
