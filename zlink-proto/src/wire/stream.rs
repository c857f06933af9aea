//! STREAM packets: header and payload behind a 6-byte prefix, no frames, no handshake (W-53 to W-55). Codec only.

use alloc::vec::Vec;
use bytes::Bytes;

/// Bytes in front of a packet: header length (2) and payload length (4).
pub const PREFIX_BYTES: usize = 6;
/// Memory that may be obtained ahead of arrival, in bytes (W-15).
const AHEAD_BYTES: usize = 65_536;

/// One packet: a record of two parts, each of which may be empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// The typed header.
    pub header: Bytes,
    /// The payload.
    pub payload: Bytes,
}

/// The prefix announces more than the limit: the connection is closed without a word (W-55).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("packet too large")]
pub struct PacketTooLarge;

/// Appends a packet.
///
/// # Errors
/// If the header has more than 65,535 bytes or the payload more than 2^32 - 1; nothing is appended.
pub fn encode_packet(header: &[u8], payload: &[u8], into: &mut Vec<u8>) -> Result<(), PacketTooLarge> {
    let header_len = u16::try_from(header.len()).map_err(|_| PacketTooLarge)?;
    let payload_len = u32::try_from(payload.len()).map_err(|_| PacketTooLarge)?;
    into.extend_from_slice(&header_len.to_be_bytes());
    into.extend_from_slice(&payload_len.to_be_bytes());
    into.extend_from_slice(header);
    into.extend_from_slice(payload);
    Ok(())
}

/// Bytes to packets, however the bytes are cut (W-54).
#[derive(Debug)]
pub struct PacketDecoder {
    packet_bytes_max: u64,
    prefix: [u8; PREFIX_BYTES],
    prefix_len: usize,
    /// Header and payload as far as they arrived.
    body: Vec<u8>,
    is_too_large: bool,
}

impl PacketDecoder {
    /// A decoder that accepts packets whose header and payload have up to `packet_bytes_max` bytes together; 0 = no limit.
    pub const fn new(packet_bytes_max: u64) -> Self {
        Self {
            packet_bytes_max,
            prefix: [0; PREFIX_BYTES],
            prefix_len: 0,
            body: Vec::new(),
            is_too_large: false,
        }
    }

    /// Takes bytes from the front of `input` up to the end of a packet and returns it; `None` if all of `input` was taken
    /// and no packet is complete. A packet that is incomplete when the connection ends is dropped with the decoder.
    ///
    /// # Errors
    /// At the sixth byte of a packet above the limit, and at every call after that.
    pub fn decode(&mut self, input: &mut &[u8]) -> Result<Option<Packet>, PacketTooLarge> {
        if self.is_too_large {
            return Err(PacketTooLarge);
        }
        if self.prefix_len < PREFIX_BYTES && !self.take_prefix(input)? {
            return Ok(None);
        }
        let (header_len, payload_len) = self.sizes();
        let size = usize::try_from(header_len + payload_len).unwrap_or(usize::MAX);
        let taken = take(input, size - self.body.len());
        let room = size.min(self.body.len().saturating_add(self.body.len().max(AHEAD_BYTES)));
        if self.body.capacity() < self.body.len() + taken.len() {
            self.body.reserve_exact(room.max(self.body.len() + taken.len()) - self.body.len());
        }
        self.body.extend_from_slice(taken);
        if self.body.len() < size {
            return Ok(None);
        }
        self.prefix_len = 0;
        let header_len = usize::try_from(header_len).unwrap_or(usize::MAX);
        let mut header = Bytes::from(core::mem::take(&mut self.body));
        let payload = header.split_off(header_len.min(header.len()));
        Ok(Some(Packet { header, payload }))
    }

    /// True while a packet is begun.
    pub const fn is_inside(&self) -> bool {
        self.prefix_len > 0
    }

    /// True when the prefix is complete, and the packet it announces is allowed.
    fn take_prefix(&mut self, input: &mut &[u8]) -> Result<bool, PacketTooLarge> {
        let taken = take(input, PREFIX_BYTES - self.prefix_len);
        for byte in taken {
            if let Some(place) = self.prefix.get_mut(self.prefix_len) {
                *place = *byte;
                self.prefix_len += 1;
            }
        }
        if self.prefix_len < PREFIX_BYTES {
            return Ok(false);
        }
        let (header_len, payload_len) = self.sizes();
        self.is_too_large = self.packet_bytes_max != 0 && header_len + payload_len > self.packet_bytes_max;
        if self.is_too_large { Err(PacketTooLarge) } else { Ok(true) }
    }

    fn sizes(&self) -> (u64, u64) {
        let [a, b, c, d, e, f] = self.prefix;
        (u64::from(u16::from_be_bytes([a, b])), u64::from(u32::from_be_bytes([c, d, e, f])))
    }
}

/// Up to `count` bytes from the front of `input`.
fn take<'a>(input: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (front, rest) = input.split_at(count.min(input.len()));
    *input = rest;
    front
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w54_packets_are_cut_and_joined_in_any_way() {
        let mut bytes = Vec::new();
        for (header, payload) in [(0, 0), (3, 0), (0, 5), (70, 200_000), (1, 1)] {
            encode_packet(&[1; 65_535][..header], &[2; 200_000][..payload], &mut bytes)
                .expect("small enough");
        }
        let whole = decode_in_steps(&bytes, bytes.len());
        assert_eq!(whole.len(), 5);
        assert_eq!((whole[3].header.len(), whole[3].payload.len()), (70, 200_000));
        for step in [1, 2, 7, 1_000, 65_537] {
            assert_eq!(decode_in_steps(&bytes, step), whole, "{step}");
        }
    }

    fn decode_in_steps(bytes: &[u8], step: usize) -> Vec<Packet> {
        let mut decoder = PacketDecoder::new(0);
        let mut packets = Vec::new();
        for mut input in bytes.chunks(step) {
            while let Some(packet) = decoder.decode(&mut input).expect("no limit") {
                packets.push(packet);
            }
            assert!(input.is_empty());
        }
        assert!(!decoder.is_inside());
        packets
    }

    #[test]
    fn w55_above_the_limit_nothing_is_obtained() {
        let mut decoder = PacketDecoder::new(100);
        let mut input: &[u8] = &[0, 1, 0, 0, 0];
        assert_eq!(decoder.decode(&mut input), Ok(None));
        let mut input: &[u8] = &[100, 9, 9];
        assert_eq!(decoder.decode(&mut input), Err(PacketTooLarge));
        assert_eq!(decoder.body.capacity(), 0);
        assert_eq!(decoder.decode(&mut input), Err(PacketTooLarge));
    }

    #[test]
    fn w15_memory_grows_with_arrival() {
        let mut decoder = PacketDecoder::new(0);
        let mut prefix: &[u8] = &[0, 0, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(decoder.decode(&mut prefix), Ok(None));
        for step in [1, 50_000, 100_000, 3] {
            let mut input = &alloc::vec![0; step][..];
            assert_eq!(decoder.decode(&mut input), Ok(None));
            assert!(decoder.body.capacity() <= decoder.body.len() + decoder.body.len().max(AHEAD_BYTES));
        }
    }
}
