//! Bytes of a connection: each frame with its place, and what it meant.

use super::guess;
use super::show::{Finding, What};
use zlink_proto::wire::frame::{CONTROL, HEADER_BYTES, SPECIAL};
use zlink_proto::wire::{Allowance, Decoded, Decoder, Event, Fault, Kind, SocketType};

/// Everything that the bytes say, in order; a fault or an incomplete end is the last finding.
pub(super) fn findings(bytes: &[u8], local: Option<SocketType>, max_message_bytes: u64) -> Vec<Finding> {
    let (decoder, local) = guess::decoder(bytes, local, max_message_bytes);
    let mut walk = Walk { decoder, local, headers: Headers { bytes, next: 0 }, found: Vec::new() };
    // Byte by byte, so that each event is known to end at this byte.
    for (place, byte) in bytes.iter().enumerate() {
        let space = walk.decoder.space();
        match space.first_mut() {
            Some(first) => *first = *byte,
            None => break,
        }
        walk.decoder.filled(1);
        if let Err(fault) = walk.drain(place + 1) {
            walk.headers_until(place + 1);
            walk.found.push(Finding { offset: Some(place), what: What::Fault(fault) });
            return walk.found;
        }
    }
    if walk.decoder.is_inside() {
        walk.headers_until(bytes.len());
        walk.found.push(Finding { offset: Some(bytes.len()), what: What::Incomplete });
    }
    walk.found
}

struct Walk<'a> {
    decoder: Decoder,
    local: SocketType,
    headers: Headers<'a>,
    found: Vec<Finding>,
}

impl Walk<'_> {
    /// Takes what is complete when the first `end` bytes are there.
    fn drain(&mut self, end: usize) -> Result<(), Fault> {
        loop {
            match self.decoder.decode(&mut Allowance::UNLIMITED.clone())? {
                Decoded::Event(event) => {
                    self.headers_until(end);
                    let offset = self.found.last().and_then(|finding| finding.offset);
                    match event {
                        Event::Record(record) => {
                            self.found.push(Finding { offset, what: What::Record(record.clone()) });
                            // Service records travel between DEALER and ROUTER.
                            if self.local.has_lanes()
                                && record.part(0).is_some_and(|p| p.starts_with(&[0x5a, 0x4d]))
                            {
                                let parts: Vec<_> = record.parts().map(<[u8]>::to_vec).collect();
                                self.found.push(Finding::service(offset, &parts));
                            }
                        }
                        event => self.found.push(Finding { offset, what: What::Event(event) }),
                    }
                }
                Decoded::Held => self.decoder.open(),
                Decoded::NeedMore | Decoded::Blocked { .. } => return Ok(()),
            }
        }
    }

    /// Shows the frames whose header lies before `end`.
    fn headers_until(&mut self, end: usize) {
        while let Some(header) = self.headers.take(end) {
            self.found.push(header);
        }
    }
}

/// Frame after frame, by their headers alone.
struct Headers<'a> {
    bytes: &'a [u8],
    next: usize,
}

impl Headers<'_> {
    fn take(&mut self, end: usize) -> Option<Finding> {
        let start = self.next;
        let header = self
            .bytes
            .get(start..start.checked_add(HEADER_BYTES)?)
            .filter(|_| start + HEADER_BYTES <= end)?;
        let (flags, kind) = (header[2], header[3]);
        let size = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        let has_sequence =
            flags & SPECIAL == 0 && Kind::from_byte(kind).is_some_and(|kind| kind != Kind::Data);
        let sequence_bytes = if has_sequence { 8 } else { 0 };
        let sequence = self.bytes.get(start + HEADER_BYTES..).and_then(|rest| rest.first_chunk::<8>());
        let sequence = sequence.filter(|_| has_sequence).map(|bytes| u64::from_be_bytes(*bytes));
        self.next = start.saturating_add(HEADER_BYTES + sequence_bytes).saturating_add(size as usize);
        let is_control = flags & CONTROL != 0;
        Some(Finding { offset: Some(start), what: What::Frame { flags, kind, size, sequence, is_control } })
    }
}
