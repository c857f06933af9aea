//! Checks of frame headers, and the walk over the frames of records (W-16 rows 1 to 11).

use crate::wire::frame::{
    CANCEL, CONTROL, HEADER_BYTES, MAGIC, MORE, PARTS_MAX, SEQUENCE_BYTES, SPECIAL, SUBSCRIBE, VERSION,
    are_flags_legal,
};
use crate::wire::{Allowance, Fault, FaultCode, Kind, PART_CHARGE, SocketType, charge};

/// First half of the header of a one-part data record.
pub(super) const LEAD_SINGLE: u64 = 0x5a01_0000;
/// Bits of the first half that differ between the frames of records: MORE and kinds 0 to 3.
const LEAD_RECORD_BITS: u64 = 0x0000_0103;
/// MORE in the first half of a header.
pub(super) const LEAD_MORE: u64 = 0x0000_0100;

/// What is allowed now (W-17).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Until HELLO.
    Hello,
    /// HELLO received, no READY.
    Ready,
    /// READY received, the lane set is not ready (W-36).
    Held,
    Open,
    /// ERROR received: nothing counts any more (W-22).
    Closed,
}

/// A checked header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) flags: u8,
    pub(super) kind: Kind,
    pub(super) sequence: u64,
    pub(super) size: u32,
}

impl Frame {
    pub(super) const fn is_special(&self) -> bool {
        self.flags & SPECIAL != 0
    }

    /// Bytes of the whole frame.
    pub(super) const fn len(&self) -> u64 {
        self.kind.header_bytes() as u64 + self.size as u64
    }
}

/// The record under reception.
#[derive(Debug)]
pub(super) struct Reception {
    pub(super) kind: Kind,
    pub(super) sequence: u64,
    /// Admitted parts; 0 between records.
    pub(super) parts: u16,
    /// Bytes of the bodies of admitted parts.
    pub(super) bytes: u64,
    /// Where the next frame begins, counted from the first held byte.
    pub(super) at: usize,
    /// True if the frame at `at` was checked and admitted and lacks bytes of its body.
    pub(super) is_admitted: bool,
}

impl Reception {
    const fn new() -> Self {
        Self { kind: Kind::Data, sequence: 0, parts: 0, bytes: 0, at: 0, is_admitted: false }
    }

    /// True if a part with MORE is complete, so that the next frame belongs to the same record.
    pub(super) const fn is_inside(&self) -> bool {
        self.parts > self.is_admitted as u16
    }

    /// The record is complete; it ends at `at`.
    pub(super) fn finish(&mut self) {
        *self = Self { at: self.at, ..Self::new() };
    }
}

/// Why a walk over frames ended.
#[derive(Debug)]
pub(super) enum Stop {
    /// Bytes are missing.
    NeedMore,
    /// A part is not admitted.
    Blocked { charge: u64, is_first: bool },
    /// A special frame is next.
    Special(Frame),
    /// As many records as were asked for.
    Enough,
    /// The peer is wrong.
    Fault(Fault),
}

/// Result of a walk: `records` complete records lie in the first `len` bytes.
#[derive(Debug)]
pub(super) struct Scanned {
    pub(super) records: usize,
    pub(super) len: usize,
    pub(super) stop: Stop,
}

/// What one connection may say, and how far it got.
#[derive(Debug)]
pub(super) struct Scanner {
    pub(super) phase: Phase,
    /// SUBSCRIBE and CANCEL are for publishers (row 36).
    is_publisher: bool,
    /// Bit k: kind k may arrive (W-11).
    kinds: u8,
    /// MaxMessageSize; `u64::MAX` = none.
    message_bytes_max: u64,
    pub(super) reception: Reception,
}

impl Scanner {
    /// `message_bytes_max` 0 = none.
    pub(super) const fn new(local: SocketType, message_bytes_max: u64) -> Self {
        Self {
            phase: Phase::Hello,
            is_publisher: matches!(local, SocketType::Pub | SocketType::XPub),
            kinds: 0,
            message_bytes_max: if message_bytes_max == 0 { u64::MAX } else { message_bytes_max },
            reception: Reception::new(),
        }
    }

    /// Sets which kinds may arrive from `peer` on `lane` (W-11).
    pub(super) const fn set_kinds(&mut self, local: SocketType, peer: SocketType, lane: u8) {
        self.kinds = match (local, peer, lane) {
            (SocketType::Dealer, SocketType::Router, _) => 0b1101,
            (SocketType::Router, SocketType::Router, 1) => 0b1100,
            (SocketType::Router, SocketType::Dealer | SocketType::Router, _) => 0b0011,
            _ => 0b0001,
        };
    }

    /// Walks over complete records at the start of `bytes`, at most `limit` of them, admitting part by part.
    pub(super) fn scan(&mut self, bytes: &[u8], allowance: &mut Allowance, limit: usize) -> Scanned {
        let (mut records, mut len, mut at) = (0, 0, self.reception.at);
        let stop = loop {
            if records == limit {
                break Stop::Enough;
            }
            if !self.reception.is_admitted {
                (records, len, at) = self.skim(bytes, allowance, (records, len, at), limit);
                if records == limit {
                    continue;
                }
            }
            match self.step(bytes, &mut at, allowance) {
                Ok(()) if self.reception.parts == 0 => (records, len) = (records + 1, at),
                Ok(()) => {}
                Err(stop) => break stop,
            }
        };
        self.reception.at = at - len;
        Scanned { records, len, stop }
    }

    /// The fast walk: over frames of records that are here as a whole, legal and within the room. It stops without a
    /// judgement at the first that is not, and `step` looks at that one.
    #[inline]
    fn skim(
        &mut self,
        bytes: &[u8],
        allowance: &mut Allowance,
        (mut records, mut len, mut at): (usize, usize, usize),
        limit: usize,
    ) -> (usize, usize, usize) {
        let (mut parts, mut sum) = (self.reception.parts, self.reception.bytes);
        let mut room = allowance.open_room();
        let before = records;
        while let Some(word) = header_word(bytes, at) {
            let (lead, size) = (word >> 32, word & u64::from(u32::MAX));
            let kind = (lead & 3) as u8;
            let (mut header, mut sequence) = (HEADER_BYTES, 0);
            if lead != LEAD_SINGLE {
                if lead & !LEAD_RECORD_BITS != LEAD_SINGLE {
                    break;
                }
                if kind != 0 {
                    header += SEQUENCE_BYTES;
                    sequence = header_word(bytes, at + HEADER_BYTES).unwrap_or_default();
                    if parts != 0 || sequence == 0 {
                        break;
                    }
                }
            }
            let is_allowed = parts != 0 || self.kinds & (1 << kind) != 0;
            // Sums of at most 1,024 sizes of 32 bits and an offset in a chunk.
            let end = at as u64 + header as u64 + size;
            let total = sum + size;
            let charge = size + PART_CHARGE;
            if !is_allowed
                || end > bytes.len() as u64
                || total > self.message_bytes_max
                || usize::from(parts) >= PARTS_MAX
                || charge > room
            {
                break;
            }
            room -= if room == u64::MAX { 0 } else { charge };
            at = end as usize;
            if lead & LEAD_MORE == 0 {
                (parts, sum) = (0, 0);
                (records, len) = (records + 1, at);
                if records == limit {
                    break;
                }
                continue;
            }
            if parts == 0 {
                self.reception.kind = Kind::from_byte(kind).unwrap_or(Kind::Data);
                self.reception.sequence = sequence;
            }
            (parts, sum) = (parts + 1, total);
        }
        (self.reception.parts, self.reception.bytes) = (parts, sum);
        allowance.use_room(room, records > before);
        (records, len, at)
    }

    /// Goes over one frame of a record at `at`, in the order of W-16.
    fn step(&mut self, bytes: &[u8], at: &mut usize, allowance: &mut Allowance) -> Result<(), Stop> {
        let rest = bytes.get(*at..).unwrap_or_default();
        let frame = match self.inspect(rest) {
            Ok(Some(frame)) => frame,
            Ok(None) => return Err(Stop::NeedMore),
            Err(fault) => return Err(Stop::Fault(fault)),
        };
        if frame.is_special() {
            return Err(Stop::Special(frame));
        }
        if !self.reception.is_admitted {
            self.admit(&frame, allowance)?;
        }
        if frame.len() > rest.len() as u64 {
            return Err(Stop::NeedMore);
        }
        *at += frame.len() as usize;
        self.reception.is_admitted = false;
        if frame.flags & MORE == 0 {
            self.reception.finish();
            allowance.complete();
        }
        Ok(())
    }

    /// Rows 9 and 10: size, number of parts, sum; then the byte authority.
    fn admit(&mut self, frame: &Frame, allowance: &mut Allowance) -> Result<(), Stop> {
        let size = u64::from(frame.size);
        let reception = &mut self.reception;
        let too_large = Stop::Fault(Fault::standard(FaultCode::BodyTooLarge));
        if size > self.message_bytes_max {
            return Err(too_large);
        }
        if usize::from(reception.parts) >= PARTS_MAX {
            return Err(Stop::Fault(Fault::standard(FaultCode::MultipartFrameInvalid)));
        }
        // At most 1,024 sizes of 32 bits.
        let sum = reception.bytes.saturating_add(size);
        if sum > self.message_bytes_max {
            return Err(too_large);
        }
        let (charge, is_first) = (charge(size, 1), reception.parts == 0);
        if !allowance.admit(charge, is_first) {
            return Err(Stop::Blocked { charge, is_first });
        }
        if is_first {
            (reception.kind, reception.sequence) = (frame.kind, frame.sequence);
        }
        reception.parts += 1;
        reception.bytes = sum;
        reception.is_admitted = true;
        Ok(())
    }

    /// Checks the header at the start of `bytes` as far as it is there (rows 1 to 8). `None`: not all of it is.
    pub(super) fn inspect(&self, bytes: &[u8]) -> Result<Option<Frame>, Fault> {
        let fault = |code| Err(Fault::standard(code));
        if bytes.first().is_some_and(|magic| *magic != MAGIC) {
            return fault(FaultCode::InvalidMagic);
        }
        if bytes.get(1).is_some_and(|version| *version != VERSION) {
            return fault(FaultCode::VersionMismatch);
        }
        let [_, _, flags, kind, ..] = *bytes else { return Ok(None) };
        let Some(kind) = Kind::from_byte(kind) else { return fault(FaultCode::MessageKindInvalid) };
        if !are_flags_legal(flags) {
            return fault(FaultCode::FlagsInvalid);
        }
        let sequence = match (kind, header_word(bytes, HEADER_BYTES)) {
            (Kind::Data, _) => 0,
            (Kind::Request | Kind::Reply | Kind::ErrorReply, None) => return Ok(None),
            (Kind::Request | Kind::Reply | Kind::ErrorReply, Some(0)) => {
                return fault(FaultCode::RequestSequenceInvalid);
            }
            (Kind::Request | Kind::Reply | Kind::ErrorReply, Some(sequence)) => sequence,
        };
        let is_special = flags & SPECIAL != 0;
        if kind != Kind::Data && is_special {
            return fault(FaultCode::MessageKindInvalid);
        }
        if self.reception.is_inside() && (kind != Kind::Data || is_special) {
            return fault(FaultCode::MultipartFrameInvalid);
        }
        self.check_place(flags, kind)?;
        let Some(&[_, _, _, _, a, b, c, d]) = bytes.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        Ok(Some(Frame { flags, kind, sequence, size: u32::from_be_bytes([a, b, c, d]) }))
    }

    /// Row 8: allowed now (W-17) and here (W-11).
    fn check_place(&self, flags: u8, kind: Kind) -> Result<(), Fault> {
        match self.phase {
            Phase::Hello if flags != CONTROL || kind != Kind::Data => {
                Err(Fault::standard(FaultCode::FlagsInvalid))
            }
            Phase::Ready if flags & CONTROL == 0 => Err(Fault::other("data before ready")),
            Phase::Open if flags & (SUBSCRIBE | CANCEL) != 0 && !self.is_publisher => {
                Err(Fault::standard(FaultCode::FlagsInvalid))
            }
            Phase::Open
                if flags & SPECIAL == 0
                    && !self.reception.is_inside()
                    && self.kinds & (1 << kind as u8) == 0 =>
            {
                Err(Fault::standard(FaultCode::MessageKindInvalid))
            }
            Phase::Hello | Phase::Ready | Phase::Held | Phase::Open | Phase::Closed => Ok(()),
        }
    }
}

/// The 8 bytes at `at` as a number.
#[inline]
pub(super) fn header_word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(*bytes.get(at..)?.first_chunk::<HEADER_BYTES>()?))
}
