//! Bytes to frames and records, in the order of checks of W-16.

use super::{Allowance, ErrorFrame, Fault, FlowState, Hello, Ready, Record, SocketType};
use bytes::Bytes;

/// What one connection says, decoded.
#[derive(Clone, Debug)]
pub enum Event {
    /// First frame.
    Hello(Hello),
    /// Second frame.
    Ready(Ready),
    /// A complete record.
    Record(Record),
    /// WEIGHT, 0 to 10,000.
    Weight(u32),
    /// FLOWSTATE, well formed; its epoch is not judged here.
    Flow(FlowState),
    /// SUBSCRIBE with its prefix.
    Subscribe(Bytes),
    /// CANCEL with its prefix.
    Cancel(Bytes),
    /// The peer's reason to close.
    Error(ErrorFrame),
    /// A frame that is consumed, counted and ignored (W-25).
    Dropped(Dropped),
}

/// Frames that are consumed and ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// IDENTITY.
    Identity,
    /// Unknown non-empty control.
    Control,
    /// Malformed or misplaced WEIGHT.
    Weight,
    /// Malformed or misplaced FLOWSTATE.
    Flow,
}

/// Result of one decoding step.
#[derive(Clone, Debug)]
pub enum Decoded {
    /// The next event.
    Event(Event),
    /// Everything at hand was decoded.
    NeedMore,
    /// A part of this charge is not allowed now; the same part is tried again at the next call. `is_first`: it begins a record.
    Blocked {
        /// Charge of the part.
        charge: u64,
        /// Parts of the same record that entered before: their charge is held as provisional.
        is_first: bool,
    },
    /// Handshake progress: bytes behind READY stay undecoded until `open` (W-36).
    Held,
}

/// The decoder of one connection. It owns the read buffer: payloads are slices of it.
#[derive(Debug)]
pub struct Decoder {}

impl Decoder {
    /// A decoder that expects HELLO. `max_message_bytes` 0 = none.
    pub fn new(_local: SocketType, _lane: u8, _max_message_bytes: u64) -> Self {
        todo!()
    }
    /// Where the next bytes go; never empty. At most 16 KiB until `open` (W-36).
    pub fn space(&mut self) -> &mut [u8] {
        todo!()
    }
    /// `count` bytes were put into `space`.
    pub fn filled(&mut self, _count: usize) {
        todo!()
    }
    /// The lane set is ready: records may be decoded.
    pub fn open(&mut self) {
        todo!()
    }
    /// The next event. The allowance is charged for each part of a record before memory for its body is obtained.
    pub fn decode(&mut self, _allowance: &mut Allowance) -> Result<Decoded, Fault> {
        todo!()
    }
    /// The input ended: fault 0A inside a frame or record (W-18).
    pub fn end(&mut self) -> Result<(), Fault> {
        todo!()
    }
    /// True while a frame or record is begun (frame progress timer).
    pub fn is_inside(&self) -> bool {
        todo!()
    }
    /// Gives the read buffer back if nothing is in it (idle connections hold none).
    pub fn release_buffer(&mut self) {
        todo!()
    }
}
