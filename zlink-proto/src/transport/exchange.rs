//! What a connection and its socket tell each other: the only meeting point is `Connection::exchange`.

use super::Socket;
use crate::id::ConnectionNumber;
use crate::time::Timestamp;
use crate::wire::{Allowance, ErrorFrame, Fault, FlowState, Hello, Outbox, Ready, Record};
use alloc::vec::Vec;

/// What a connection found out.
#[derive(Debug)]
pub(crate) enum News {
    /// The peer's HELLO.
    Hello(Hello),
    /// The peer's READY, checked against its HELLO.
    Ready(Ready),
    /// Our READY is transmitted completely.
    ReadyTransmitted,
    /// A received weight.
    Weight(u32),
    /// A received flow state; its epoch is judged by the socket (N-44).
    Flow(FlowState),
    /// A frame was consumed and dropped (W-25).
    Ignored,
    /// The peer's ERROR.
    PeerError(ErrorFrame),
    /// We found a fault; the connection already writes ERROR and closes.
    Fault(Fault),
    /// The transport ended or was reset.
    End {
        /// True for a reset.
        is_reset: bool,
    },
    /// The orderly end of N-89 is done.
    Finished,
}

/// What a connection has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// Write READY with these lane properties.
    SendReady {
        /// Lane count.
        count: u8,
        /// Lane.
        lane: u8,
    },
    /// The set is ready: records and control may flow both ways.
    Open,
    /// Close at once; with a fault after one attempt to write ERROR (W-20).
    Close {
        /// What to tell the peer.
        fault: Option<Fault>,
    },
    /// After everything taken is written: end the sending side, discard input until the peer ends (N-89).
    Finish,
}

/// A part that the allowance refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    /// Charge of the part.
    pub(crate) charge: u64,
    /// It begins a record.
    pub(crate) is_first: bool,
}

impl Socket {
    /// Applies what connection `c` found out.
    pub(crate) fn handle_news(&mut self, _c: ConnectionNumber, _news: News, _now: Timestamp) {
        todo!()
    }

    /// Takes complete records in order (drained from the vector), the absolute provisional charge of the open record, and the
    /// charge of a part that the allowance refused, which asks the queue itself (B-14). `heard`: bytes came since the last
    /// exchange. Returns the new allowance. May fault the connection: then `poll_order` gives `Close`.
    pub(crate) fn deliver(
        &mut self,
        _c: ConnectionNumber,
        _records: &mut Vec<Record>,
        _provisional: u64,
        _refused: Option<Refusal>,
        _heard: bool,
        _now: Timestamp,
    ) -> Allowance {
        todo!()
    }

    /// `bytes` of what `take_batch` gave were taken by the transport: charges of whole records end (B-15).
    pub(crate) fn handle_transmitted(&mut self, _c: ConnectionNumber, _bytes: usize, _now: Timestamp) {
        todo!()
    }

    /// The next order for connection `c`.
    pub(crate) fn poll_order(&mut self, _c: ConnectionNumber) -> Option<Order> {
        todo!()
    }

    /// Moves output to the end of `batch`: control slots first (W-44), then whole records up to about `limit` bytes.
    pub(crate) fn take_batch(&mut self, _c: ConnectionNumber, _limit: usize, _batch: &mut Outbox) {
        todo!()
    }
}
