//! The reading side: bytes to news and records, as far as the allowance goes.

use crate::transport::exchange::{News, Refusal};
use crate::wire::{Allowance, Decoded, Decoder, Event, Fault, Ready, Record, SocketType};
use alloc::vec::Vec;

/// Bytes that one connection may read in one turn (B-57). All records in them are decoded and delivered together: the
/// socket's lock is taken once for them.
pub(super) const TURN_BYTES_MAX: usize = 65_536;
/// Control frames that one connection may bring in one turn (B-55: nothing is stored). What is behind them stays in the read
/// buffer until the next turn.
pub(super) const TURN_CONTROLS_MAX: usize = 64;

/// What stopped the decoder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rest {
    /// Nothing: all bytes at hand are decoded, and more may be read.
    Drained,
    /// The budget of the turn, or nobody decoded yet.
    Undecoded,
    /// The allowance: reading is stopped.
    Blocked(Refusal),
    /// The set is not ready: the buffer fills without being decoded (W-36).
    Held,
}

/// What decoding led to, apart from records and news.
#[derive(Debug)]
pub(super) enum Decoding {
    /// It goes on when more bytes, room or turns are there. `progressed`: there is something new for the socket.
    Stopped { progressed: bool },
    /// The peer's reason to close, or its fault: nothing behind it counts.
    Ended(News),
}

#[derive(Debug)]
pub(super) struct Input {
    decoder: Decoder,
    allowance: Allowance,
    pub(super) rest: Rest,
    /// Complete records, not yet given to the socket.
    pub(super) inbox: Vec<Record>,
    /// Other news, in order.
    pub(super) news: Vec<News>,
    /// Control frames since the last exchange.
    turn_controls: usize,
    /// On the connector's side: the lane in our READY.
    pub(super) announced_lane: Option<u8>,
    told_provisional: u64,
    /// The allowance refused a part, and the queue itself was not asked yet (B-14).
    is_refusal_new: bool,
    /// READY was accepted.
    pub(super) is_ready_received: bool,
    /// Bytes came since the last exchange (S-41).
    pub(super) is_heard: bool,
}

impl Input {
    pub(super) fn new(local: SocketType, max_message_bytes: u64) -> Self {
        Self {
            decoder: Decoder::new(local, 0, max_message_bytes),
            allowance: Allowance { room: 0, is_open: false, holds_other: true },
            rest: Rest::Drained,
            inbox: Vec::new(),
            news: Vec::new(),
            turn_controls: 0,
            announced_lane: None,
            told_provisional: 0,
            is_refusal_new: false,
            is_ready_received: false,
            is_heard: false,
        }
    }

    /// Where to read to; at most what one turn may bring.
    pub(super) fn space(&mut self) -> &mut [u8] {
        let space = self.decoder.space();
        let length = space.len().min(TURN_BYTES_MAX);
        space.get_mut(..length).unwrap_or_default()
    }

    pub(super) fn filled(&mut self, count: usize) {
        self.decoder.filled(count);
        self.is_heard = true;
        if self.rest == Rest::Drained {
            self.rest = Rest::Undecoded;
        }
    }

    /// The set is ready: records may come.
    pub(super) fn open(&mut self) {
        self.decoder.open();
        self.rest = Rest::Undecoded;
        // The first exchange asks for an allowance in any case.
        self.is_heard = true;
    }

    /// Nothing that comes is decoded any more; an open record is dropped.
    pub(super) fn discard(&mut self, local: SocketType) {
        self.decoder = Decoder::new(local, 0, 0);
        self.rest = Rest::Drained;
        self.is_refusal_new = false;
    }

    /// Drops what was decoded and not told.
    pub(super) fn clear(&mut self) {
        self.inbox = Vec::new();
        self.news = Vec::new();
        self.is_heard = false;
        self.told_provisional = self.provisional();
    }

    /// The socket answered; the refused part is tried again with the new allowance.
    pub(super) fn allow(&mut self, allowance: Allowance) {
        self.allowance = allowance;
    }

    pub(super) fn end_turn(&mut self) {
        self.turn_controls = 0;
        // The queue was asked in this turn.
        self.is_refusal_new = false;
    }

    pub(super) fn provisional(&self) -> u64 {
        self.decoder.provisional()
    }

    /// True if the socket has to learn something about records, or to be asked for the first time.
    pub(super) fn has_delivery(&self) -> bool {
        !self.inbox.is_empty()
            || self.is_heard
            || self.is_refusal_new
            || self.provisional() != self.told_provisional
    }

    pub(super) fn note_told(&mut self) {
        self.told_provisional = self.provisional();
        self.is_heard = false;
    }

    /// True while a frame or record is begun and more bytes are wanted for it.
    pub(super) fn waits_for_progress(&self) -> bool {
        self.rest == Rest::Drained && self.decoder.is_inside()
    }

    /// The input ended (W-18).
    pub(super) fn end(&mut self) -> Result<(), Fault> {
        self.decoder.end()
    }

    pub(super) fn memory(&self) -> usize {
        self.decoder.memory()
            + self.inbox.capacity() * size_of::<Record>()
            + self.news.capacity() * size_of::<News>()
    }

    /// Gives back the memory that only running input needs.
    pub(super) fn release_buffers(&mut self) {
        self.decoder.release_buffer();
        if self.inbox.is_empty() {
            self.inbox = Vec::new();
        }
        if self.news.is_empty() {
            self.news = Vec::new();
        }
    }

    /// Decodes what is at hand, as far as allowance and turn allow.
    pub(super) fn decode(&mut self) -> Decoding {
        let before = (self.inbox.len(), self.turn_controls, self.provisional());
        let was_blocked = matches!(self.rest, Rest::Blocked(_));
        while self.turn_controls < TURN_CONTROLS_MAX {
            self.rest = match self.decoder.decode_records(&mut self.allowance, &mut self.inbox) {
                Err(fault) => return Decoding::Ended(News::Fault(fault)),
                Ok(Decoded::Event(event)) => match self.note(event) {
                    None => Rest::Undecoded,
                    Some(ending) => return Decoding::Ended(ending),
                },
                Ok(Decoded::NeedMore) => Rest::Drained,
                Ok(Decoded::Held) => Rest::Held,
                Ok(Decoded::Blocked { charge, is_first }) => {
                    self.is_refusal_new = true;
                    Rest::Blocked(Refusal { charge, is_first })
                }
            };
            if self.rest != Rest::Undecoded {
                break;
            }
        }
        // A refusal that nobody knew of has to be told, and then tried again.
        let is_refused = matches!(self.rest, Rest::Blocked(_)) && !was_blocked;
        let after = (self.inbox.len(), self.turn_controls, self.provisional());
        Decoding::Stopped { progressed: is_refused || after != before }
    }

    /// Notes what is no record. `Some`: the connection ends with it.
    fn note(&mut self, event: Event) -> Option<News> {
        self.turn_controls += 1;
        let news = match event {
            Event::Hello(hello) => News::Hello(hello),
            Event::Ready(ready) if !self.is_expected(ready) => {
                return Some(News::Fault(Fault::other("lane metadata invalid")));
            }
            Event::Ready(ready) => {
                self.is_ready_received = true;
                News::Ready(ready)
            }
            Event::Weight(weight) => News::Weight(weight),
            Event::Flow(flow) => News::Flow(flow),
            Event::Error(error) => return Some(News::PeerError(error)),
            // Subscriptions are faults for sockets without topics (row 36), records are pushed by the decoder.
            Event::Dropped(_) | Event::Subscribe(_) | Event::Cancel(_) | Event::Record(_) => News::Ignored,
        };
        self.news.push(news);
        None
    }

    /// Row 28: the acceptor repeats the lane that the connector announced.
    fn is_expected(&self, ready: Ready) -> bool {
        match (self.announced_lane, ready.lanes) {
            (Some(announced), Some((_, lane))) => announced == lane,
            (Some(_), None) => false,
            (None, _) => true,
        }
    }
}
