//! What a connection and its socket tell each other: the only meeting point is `Connection::exchange`. The socket's side of it is
//! in `socket/exchange.rs` and `socket/handshake.rs`.

use crate::wire::{ErrorFrame, Fault, FlowState, Hello, Ready};

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
