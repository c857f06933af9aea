//! The payload envelope (S-11) and the reserved multipart payload (S-13).

use super::fault::{FaultClass, ServiceFault};
use super::reader::{Read, Reader};
use super::writer::Write;
use alloc::vec::Vec;

/// Largest payload, in bytes.
pub const PAYLOAD_BYTES_MAX: u32 = 4_294_966_774;
/// Version of the envelope.
pub(super) const VERSION: u8 = 1;
/// Content type of JSON text (S-12).
pub const CONTENT_JSON: &str = "application/json";
/// Content type of plain bytes (S-12).
pub const CONTENT_OCTETS: &str = "application/octet-stream";
/// Packet name of S-13: an ordinary name to hosts.
pub const MULTIPART_PACKET: &str = "ZLinkFrameworkMultipart";
/// Content type of S-13.
pub const MULTIPART_CONTENT: &str = "application/x-zlink-multipart";

/// The last part of a record that carries a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Envelope<'a> {
    pub packet: &'a str,
    pub content_type: &'a str,
    pub payload: &'a [u8],
}

impl<'a> Envelope<'a> {
    /// Reads a part that is nothing but an envelope.
    ///
    /// # Errors
    /// The first fault in the order of S-06.
    #[inline]
    pub fn decode(part: &'a [u8]) -> Result<Self, ServiceFault> {
        let mut reader = Reader::new(part);
        if reader.u8("payload.version")? != VERSION {
            return Err(ServiceFault::invalid("payload.version"));
        }
        let length = reader.u32("payload.body")?;
        let mut body = reader.case(length as usize, "payload.body")?;
        let packet = body.text8("packetName")?;
        let content_type = body.text8("contentType")?;
        let length = body.u32("payload")?;
        if length > PAYLOAD_BYTES_MAX {
            return Err(ServiceFault::invalid("payload"));
        }
        let payload = body.bytes(length as usize, "payload")?;
        body.finish("payload")?;
        reader.finish("payload")?;
        Ok(Self { packet, content_type, payload })
    }

    /// Writes it.
    pub fn encode(&self, into: &mut Vec<u8>) {
        into.u8(VERSION);
        into.sized32(|into| {
            into.short(self.packet.as_bytes());
            into.short(self.content_type.as_bytes());
            into.sized32(|into| into.extend_from_slice(self.payload));
        });
    }
}

/// Inner parts of the reserved payload, checked and still encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Multipart<'a> {
    count: u32,
    parts: &'a [u8],
}

impl<'a> Multipart<'a> {
    /// Reads the payload of an envelope with the two reserved names.
    ///
    /// # Errors
    /// `invalid-field` for other names or no inner part; else the first fault in the order of S-06.
    pub fn decode(envelope: &Envelope<'a>) -> Result<Self, ServiceFault> {
        if envelope.packet != MULTIPART_PACKET || envelope.content_type != MULTIPART_CONTENT {
            return Err(ServiceFault::invalid("multipart names"));
        }
        let mut reader = Reader::new(envelope.payload);
        let count = reader.u32("partCount")?;
        if count == 0 {
            return Err(ServiceFault::invalid("partCount"));
        }
        // Each inner part has its length at least.
        if u64::from(count) * 4 > reader.len() as u64 {
            return Err(ServiceFault::new(FaultClass::TruncatedField, "partCount"));
        }
        let parts = reader.rest();
        for _ in 0..count {
            read_part(&mut reader)?;
        }
        reader.finish("parts")?;
        Ok(Self { count, parts })
    }

    /// Inner parts in order; at least one.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut reader = Reader::new(self.parts);
        (0..self.count).map_while(move |_| read_part(&mut reader).ok())
    }

    /// Writes the payload of `parts`, of which there must be at least one.
    pub fn encode_payload(parts: &[&[u8]], into: &mut Vec<u8>) {
        debug_assert!(!parts.is_empty(), "a multipart payload has at least one part");
        into.u32(parts.len() as u32);
        for part in parts {
            into.sized32(|into| into.extend_from_slice(part));
        }
    }
}

fn read_part<'a>(reader: &mut Reader<'a>) -> Read<&'a [u8]> {
    let length = reader.u32("part")?;
    reader.bytes(length as usize, "part")
}
