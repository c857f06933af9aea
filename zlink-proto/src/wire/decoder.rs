//! Bytes to frames and records, in the order of checks of W-16.

mod body;
mod buffer;
mod emit;
mod scan;
mod special;

use self::buffer::{CHUNK_BYTES_MAX, ReadBuffer};
use self::emit::Incoming;
use self::scan::{Phase, Scanner, Stop};
use super::frame::HEADER_BYTES;
use super::record::frame_size;
use super::{
    Allowance, ErrorFrame, Fault, FaultCode, FlowState, Hello, Kind, Ready, Record, SocketType, charge,
};
use alloc::vec::Vec;
use bytes::Bytes;

/// Most bytes in the read buffer before the lane set is ready (W-36).
pub const HANDSHAKE_BYTES_MAX: usize = 16_384;
/// Larger bodies that do not arrive in one chunk are read straight into memory of their own.
const CHUNK_BODY_BYTES_MAX: usize = 32_768;
/// An open record of which more than this is held leaves the chunk part by part.
const OPEN_BYTES_MAX: usize = 40_960;

/// What one connection says, decoded.
#[derive(Clone, PartialEq, Eq, Debug)]
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decoded {
    /// The next event.
    Event(Event),
    /// Everything at hand was decoded.
    NeedMore,
    /// A part of this charge is not allowed now; the same part is tried again at the next call. `is_first`: it begins a record.
    Blocked {
        /// Charge of the part.
        charge: u64,
        /// False: parts of the same record entered before, their charge is held as provisional.
        is_first: bool,
    },
    /// Handshake progress: bytes behind READY stay undecoded until `open` (W-36).
    Held,
}

/// The decoder of one connection. It owns the read buffer: payloads are slices of it.
///
/// ```text
///        HELLO        READY        open()
/// Hello ──────▶ Ready ──────▶ Held ──────▶ Open      ERROR, in each of them: Closed; a fault: the same fault for ever
/// ```
///
/// Call `decode` or `decode_records` until one says `NeedMore`, `Blocked` or `Held`; then read into `space` and say
/// `filled`. The result is the same however the bytes are cut (W-03).
#[derive(Debug)]
pub struct Decoder {
    local: SocketType,
    lane: u8,
    hello: Option<Hello>,
    scanner: Scanner,
    buffer: ReadBuffer,
    /// Complete parts of the record under reception that left the buffer.
    parts: Vec<Bytes>,
    /// Kind and sequence of their record.
    apart: (Kind, u64),
    body: Option<Incoming>,
    /// True if `space` showed the body's memory last.
    is_filling_body: bool,
    fault: Option<Fault>,
    frames_seen: u64,
    /// Reused by `decode`.
    one: Vec<Record>,
}

impl Decoder {
    /// A decoder that expects HELLO. `lane` is what the connector knows; READY decides. `max_message_bytes` 0 = none.
    pub fn new(local: SocketType, lane: u8, max_message_bytes: u64) -> Self {
        Self {
            local,
            lane,
            hello: None,
            scanner: Scanner::new(local, max_message_bytes),
            buffer: ReadBuffer::new(),
            parts: Vec::new(),
            apart: (Kind::Data, 0),
            body: None,
            is_filling_body: false,
            fault: None,
            frames_seen: 0,
            one: Vec::new(),
        }
    }

    /// A decoder that has had this HELLO, for tools and tests that begin in the middle: it expects READY.
    pub fn after_hello(local: SocketType, lane: u8, max_message_bytes: u64, hello: Hello) -> Self {
        let mut decoder = Self::new(local, lane, max_message_bytes);
        decoder.accept_hello(hello);
        decoder
    }

    /// A decoder that has had HELLO and READY of this peer and may decode records, as `after_hello`.
    pub fn after_ready(local: SocketType, lane: u8, max_message_bytes: u64, hello: Hello) -> Self {
        let mut decoder = Self::after_hello(local, lane, max_message_bytes, hello);
        decoder.scanner.phase = Phase::Held;
        decoder.open();
        decoder
    }

    /// Where the next bytes go; at most 16 KiB are held until `open` (W-36), 64 KiB afterwards. Empty only while so many
    /// wait for `open` or for the allowance. `filled` comes before the next call of any other method.
    pub fn space(&mut self) -> &mut [u8] {
        self.is_filling_body = self.body.as_ref().is_some_and(|incoming| !incoming.body.is_complete());
        if !self.is_filling_body {
            let limit = if self.is_open() { CHUNK_BYTES_MAX } else { HANDSHAKE_BYTES_MAX };
            let wanted = self.wanted();
            return self.buffer.space(wanted, limit);
        }
        match &mut self.body {
            Some(incoming) => incoming.body.space(),
            None => &mut [],
        }
    }

    /// `count` bytes were put into `space`, no more than it has.
    pub fn filled(&mut self, count: usize) {
        match &mut self.body {
            Some(incoming) if self.is_filling_body => incoming.body.filled(count),
            Some(_) | None => self.buffer.filled(count),
        }
    }

    /// The lane set is ready: records may be decoded. Without effect before READY was decoded.
    pub fn open(&mut self) {
        if self.scanner.phase == Phase::Held {
            self.scanner.phase = Phase::Open;
        }
    }

    /// The next event. The allowance is charged for each part of a record before memory for its body is obtained.
    ///
    /// # Errors
    /// The peer's fault; the same one at every later call. What was decoded before stays valid (W-19); `provisional` is what
    /// the caller has to return.
    pub fn decode(&mut self, allowance: &mut Allowance) -> Result<Decoded, Fault> {
        let mut one = core::mem::take(&mut self.one);
        let decoded = self.step(allowance, &mut one, 1);
        let record = one.pop();
        self.one = one;
        record.map_or(decoded, |record| Ok(Decoded::Event(Event::Record(record))))
    }

    /// Pushes consecutive complete records and returns the first thing that is something else, which is never a record.
    ///
    /// # Errors
    /// As `decode`; the records that were decoded before are in the vector (W-19).
    pub fn decode_records(
        &mut self,
        allowance: &mut Allowance,
        records: &mut Vec<Record>,
    ) -> Result<Decoded, Fault> {
        self.step(allowance, records, usize::MAX)
    }

    /// The input ended, after everything at hand was decoded: fault 0A inside a frame or record (W-18). Bytes that wait for
    /// `open` are not judged.
    ///
    /// # Errors
    /// Fault 0A, or the fault that was found before.
    pub fn end(&mut self) -> Result<(), Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if self.is_inside() { Err(self.fail(Fault::standard(FaultCode::FrameIncomplete))) } else { Ok(()) }
    }

    /// True while a frame or record is begun (frame progress timer). Bytes that wait for `open` are not judged.
    pub fn is_inside(&self) -> bool {
        match self.scanner.phase {
            Phase::Held | Phase::Closed => false,
            Phase::Hello | Phase::Ready | Phase::Open => {
                self.buffer.len() > 0 || self.scanner.reception.parts > 0
            }
        }
    }

    /// Charge of the admitted parts of the record under reception (B-19); 0 between records.
    pub fn provisional(&self) -> u64 {
        charge(self.scanner.reception.bytes, u64::from(self.scanner.reception.parts))
    }

    /// Records and special frames that were decoded, each counted once.
    pub fn frames_seen(&self) -> u64 {
        self.frames_seen
    }

    /// The peer's HELLO.
    pub fn hello(&self) -> Option<&Hello> {
        self.hello.as_ref()
    }

    /// Memory that is held for reading, in bytes: chunks, and the body under reception.
    pub fn memory(&self) -> usize {
        let body = self.body.as_ref().map_or(0, |incoming| incoming.body.memory());
        self.buffer.memory() + body + self.parts.capacity() * size_of::<Bytes>()
    }

    /// Gives the read buffer back if nothing is in it (idle connections hold none).
    pub fn release_buffer(&mut self) {
        self.buffer.release();
    }

    /// Checks that counters and places match.
    ///
    /// # Panics
    /// If they do not.
    pub fn check_invariants(&self) {
        let reception = &self.scanner.reception;
        assert!(reception.at <= self.buffer.len(), "the next frame begins in the buffer or behind it");
        assert!(self.body.is_none() || reception.is_admitted, "a body belongs to an admitted part");
        assert!(self.body.is_none() || self.buffer.len() == 0, "nothing is read past a large body");
        assert!(self.parts.len() <= usize::from(reception.parts), "parts that left were admitted");
        assert!(reception.parts > 0 || reception.bytes == 0, "no bytes without parts");
        assert!(self.is_open() || self.buffer.len() <= HANDSHAKE_BYTES_MAX, "W-36");
    }

    fn is_open(&self) -> bool {
        self.scanner.phase == Phase::Open
    }

    /// Bytes that must be held together for the next step.
    fn wanted(&mut self) -> usize {
        // A body above 32 KiB that is not here is a `LargeBody`, special ones have 4 KiB.
        let reception = &self.scanner.reception;
        let size = frame_size(self.buffer.bytes(), reception.at).unwrap_or_default();
        let frame = HEADER_BYTES * 2 + size.min(CHUNK_BODY_BYTES_MAX);
        if reception.at + frame > OPEN_BYTES_MAX {
            self.take_parts();
        }
        self.scanner.reception.at + frame
    }

    fn fail(&mut self, fault: Fault) -> Fault {
        self.fault = Some(fault);
        fault
    }

    /// Pushes up to `limit` records.
    fn step(
        &mut self,
        allowance: &mut Allowance,
        records: &mut Vec<Record>,
        limit: usize,
    ) -> Result<Decoded, Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        match self.scanner.phase {
            Phase::Open => {}
            Phase::Held => return Ok(self.peek_error().map_or(Decoded::Held, Decoded::Event)),
            Phase::Closed => {
                self.buffer.skip(self.buffer.len());
                return Ok(Decoded::NeedMore);
            }
            Phase::Hello | Phase::Ready => {
                let frame = self.scanner.inspect(self.buffer.bytes()).map_err(|fault| self.fail(fault))?;
                return frame.map_or(Ok(Decoded::NeedMore), |frame| self.special(&frame));
            }
        }
        let mut left = limit;
        loop {
            if left == 0 {
                return Ok(Decoded::NeedMore);
            }
            if let Some(incoming) = self.body.take() {
                if !incoming.body.is_complete() {
                    self.body = Some(incoming);
                    return Ok(Decoded::NeedMore);
                }
                if let Some(record) = self.finish_body(incoming, allowance) {
                    records.push(record);
                    left -= 1;
                }
                continue;
            }
            // A record whose first parts have left the buffer is put together apart.
            let limit = if self.parts.is_empty() { left } else { 1 };
            let scanned = self.scanner.scan(self.buffer.bytes(), allowance, limit);
            if scanned.records > 0 {
                left -= scanned.records;
                self.emit(&scanned, records);
            }
            match scanned.stop {
                Stop::Enough => {}
                Stop::NeedMore => {
                    self.begin_body();
                    return Ok(Decoded::NeedMore);
                }
                Stop::Blocked { charge, is_first } => return Ok(Decoded::Blocked { charge, is_first }),
                Stop::Special(frame) => return self.special(&frame),
                Stop::Fault(fault) => return Err(self.fail(fault)),
            }
        }
    }
}
