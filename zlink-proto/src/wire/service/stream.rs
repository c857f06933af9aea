//! Packets of STREAM sessions (S-70 to S-74). Codec only.

use super::fault::{FaultClass, ServiceFault};
use super::metadata::{METADATA_BYTES_MAX, Metadata};
use super::reader::{Read, Reader, text};
use super::writer::Write;
use alloc::vec::Vec;

/// Bytes in front of the header: its length and that of the payload.
pub const PREFIX_BYTES: usize = 6;
/// Names that begin so are for Control.
const RESERVED_NAMES: &str = "$zlink.";
const PING: &str = "$zlink.heartbeat.ping";
const PONG: &str = "$zlink.heartbeat.pong";
const CLOSING: &str = "session-closing";
const CLOSING_TEXT_MAX: u16 = 512;
const MARKER: u8 = 0xf2;
const FLAG_SEQUENCE: u8 = 0x01;
const FLAG_METADATA: u8 = 0x02;
const FLAG_CORRELATION: u8 = 0x08;
const FLAG_FLOW: u8 = 0x10;
const FLOW_ID_BYTES: usize = 36;

/// What a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs)] // The names are those of S-70.
pub enum StreamKind {
    Send = 1,
    Request = 2,
    Response = 3,
    Error = 4,
    Control = 5,
}

/// How the payload is written; opaque to the host.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs)] // The names are those of S-70.
pub enum StreamCodec {
    Raw = 0,
    Json = 1,
    MessagePack = 2,
    Protobuf = 3,
}

/// The flow that a packet belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow<'a> {
    /// UUID version 7, lower case.
    pub id: &'a str,
    /// 1 inbound, 2 timer, 3 application, 4 lifecycle.
    pub origin: u8,
}

/// One packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // The names are those of S-70.
pub struct StreamPacket<'a> {
    pub kind: StreamKind,
    pub codec: StreamCodec,
    pub sequence: Option<u64>,
    pub name: &'a str,
    pub metadata: Option<Metadata<'a>>,
    pub correlation: Option<&'a str>,
    pub flow: Option<Flow<'a>>,
    pub payload: &'a [u8],
}

/// Why a session closes (S-74).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs)] // The names are those of S-74.
pub enum ClosingReason {
    ClientClose = 1,
    IdleTimeout = 2,
    HeartbeatTimeout = 3,
    ServerDrain = 4,
    ProtocolError = 5,
    TransportError = 6,
}

/// Lengths of header and payload in the prefix of a packet, checked against `max` (0 = no limit) before anything is stored (S-71).
///
/// # Errors
/// `truncated-field` or `message-too-large`.
pub fn decode_prefix(bytes: &[u8], max: u64) -> Result<(usize, usize), ServiceFault> {
    let mut reader = Reader::new(bytes);
    let (header, payload) = (reader.u16("headerLength")?, reader.u32("payloadLength")?);
    if max != 0 && u64::from(header) + u64::from(payload) > max {
        return Err(ServiceFault::new(FaultClass::MessageTooLarge, "packet"));
    }
    Ok((usize::from(header), payload as usize))
}

impl<'a> StreamPacket<'a> {
    /// Reads exactly one packet with its prefix.
    ///
    /// # Errors
    /// The first fault in the order of the bytes.
    pub fn decode(bytes: &'a [u8], max: u64) -> Result<Self, ServiceFault> {
        let (header, payload) = decode_prefix(bytes, max)?;
        let mut reader = Reader::new(bytes);
        reader.bytes(PREFIX_BYTES, "prefix")?;
        let header = reader.bytes(header, "header")?;
        let payload = reader.bytes(payload, "payload")?;
        reader.finish("packet")?;
        Self::decode_parts(header, payload)
    }

    /// Reads header and payload, whose lengths were checked.
    ///
    /// # Errors
    /// The first fault in the order of the bytes.
    pub fn decode_parts(header: &'a [u8], payload: &'a [u8]) -> Result<Self, ServiceFault> {
        let mut reader = Reader::new(header);
        if reader.u8("marker")? != MARKER {
            return Err(ServiceFault::new(FaultClass::InvalidMagic, "marker"));
        }
        let kind = decode_kind(&mut reader)?;
        let codec = decode_codec(&mut reader, kind)?;
        let flags = reader.u8("flags")?;
        check_flags(kind, flags)?;
        let has = |flag: u8| flags & flag != 0;
        let sequence = if has(FLAG_SEQUENCE) { Some(decode_sequence(&mut reader)?) } else { None };
        let name = reader.optional_text8("name")?.unwrap_or_default();
        check_name(kind, name)?;
        let metadata = if has(FLAG_METADATA) { Some(decode_metadata(&mut reader)?) } else { None };
        let correlation = if has(FLAG_CORRELATION) { Some(reader.text8("correlation")?) } else { None };
        let flow = if has(FLAG_FLOW) { Some(decode_flow(&mut reader)?) } else { None };
        reader.finish("header")?;
        if kind == StreamKind::Control {
            check_control(name, payload)?;
        }
        Ok(Self { kind, codec, sequence, name, metadata, correlation, flow, payload })
    }

    /// Writes the packet with its prefix.
    pub fn encode(&self, into: &mut Vec<u8>) {
        let start = into.len();
        into.u16(0);
        into.u32(self.payload.len() as u32);
        self.encode_header(into);
        let header = (into.len() - start - PREFIX_BYTES) as u16;
        if let Some(place) = into.get_mut(start..start + 2) {
            place.copy_from_slice(&header.to_be_bytes());
        }
        into.extend_from_slice(self.payload);
    }

    fn encode_header(&self, into: &mut Vec<u8>) {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        into.u8(MARKER);
        into.u8(self.kind as u8);
        into.u8(self.codec as u8);
        into.u8(flag(self.sequence.is_some(), FLAG_SEQUENCE)
            | flag(self.metadata.is_some(), FLAG_METADATA)
            | flag(self.correlation.is_some(), FLAG_CORRELATION)
            | flag(self.flow.is_some(), FLAG_FLOW));
        if let Some(sequence) = self.sequence {
            into.u64(sequence);
        }
        into.short(self.name.as_bytes());
        if let Some(metadata) = &self.metadata {
            into.sized16(|into| metadata.encode_pairs(into));
        }
        if let Some(correlation) = self.correlation {
            into.short(correlation.as_bytes());
        }
        if let Some(flow) = &self.flow {
            into.extend_from_slice(flow.id.as_bytes());
            into.u8(flow.origin);
        }
    }
}

/// Payload of `session-closing`.
pub fn encode_closing(reason: ClosingReason, text: &str, into: &mut Vec<u8>) {
    debug_assert!(text.len() <= usize::from(CLOSING_TEXT_MAX), "a closing text has at most 512 bytes");
    into.u8(1);
    into.u8(reason as u8);
    into.sized16(|into| into.extend_from_slice(text.as_bytes()));
}

fn decode_kind(reader: &mut Reader<'_>) -> Read<StreamKind> {
    Ok(match reader.u8("kind")? {
        1 => StreamKind::Send,
        2 => StreamKind::Request,
        3 => StreamKind::Response,
        4 => StreamKind::Error,
        5 => StreamKind::Control,
        _ => return Err(ServiceFault::invalid("kind")),
    })
}

/// Error packets are JSON, controls are raw (S-72).
fn decode_codec(reader: &mut Reader<'_>, kind: StreamKind) -> Read<StreamCodec> {
    let codec = match reader.u8("codec")? {
        0 => StreamCodec::Raw,
        1 => StreamCodec::Json,
        2 => StreamCodec::MessagePack,
        3 => StreamCodec::Protobuf,
        _ => return Err(ServiceFault::invalid("codec")),
    };
    let is_legal = match kind {
        StreamKind::Send | StreamKind::Request | StreamKind::Response => true,
        StreamKind::Error => codec == StreamCodec::Json,
        StreamKind::Control => codec == StreamCodec::Raw,
    };
    if is_legal { Ok(codec) } else { Err(ServiceFault::invalid("codec")) }
}

/// S-70 and S-72.
fn check_flags(kind: StreamKind, flags: u8) -> Read<()> {
    let has_sequence = flags & FLAG_SEQUENCE != 0;
    let is_known = flags & !(FLAG_SEQUENCE | FLAG_METADATA | FLAG_CORRELATION | FLAG_FLOW) == 0;
    let fits = match kind {
        StreamKind::Send => !has_sequence,
        StreamKind::Request | StreamKind::Response => has_sequence,
        StreamKind::Error => true,
        StreamKind::Control => flags == 0,
    };
    if is_known && fits { Ok(()) } else { Err(ServiceFault::new(FaultClass::ForbiddenFlag, "flags")) }
}

fn decode_sequence(reader: &mut Reader<'_>) -> Read<u64> {
    match reader.u64("sequence")? {
        0 => Err(ServiceFault::invalid("sequence")),
        sequence => Ok(sequence),
    }
}

fn check_name(kind: StreamKind, name: &str) -> Read<()> {
    match kind {
        StreamKind::Response | StreamKind::Error if !name.is_empty() => Err(ServiceFault::invalid("name")),
        StreamKind::Response | StreamKind::Error => Ok(()),
        StreamKind::Send | StreamKind::Request | StreamKind::Control if name.is_empty() => {
            Err(ServiceFault::invalid("name"))
        }
        StreamKind::Send | StreamKind::Request if name.starts_with(RESERVED_NAMES) => {
            Err(ServiceFault::invalid("reserved name"))
        }
        StreamKind::Send | StreamKind::Request => Ok(()),
        StreamKind::Control if [PING, PONG, CLOSING].contains(&name) => Ok(()),
        StreamKind::Control => Err(ServiceFault::new(FaultClass::UnknownCommand, "control")),
    }
}

/// S-73: pairs without a version byte.
fn decode_metadata<'a>(reader: &mut Reader<'a>) -> Read<Metadata<'a>> {
    let length = usize::from(reader.u16("metadata")?);
    if length > METADATA_BYTES_MAX {
        return Err(ServiceFault::invalid("metadata"));
    }
    Metadata::decode_pairs(reader.case(length, "metadata")?)
}

fn decode_flow<'a>(reader: &mut Reader<'a>) -> Read<Flow<'a>> {
    let id = reader.bytes(FLOW_ID_BYTES, "flow")?;
    if !is_uuid_7(id) {
        return Err(ServiceFault::invalid("flow"));
    }
    Ok(Flow { id: text(id, "flow")?, origin: reader.u8_in(1..=4, "flow origin")? })
}

fn is_uuid_7(id: &[u8]) -> bool {
    id.iter().enumerate().all(|(index, byte)| match index {
        8 | 13 | 18 | 23 => *byte == b'-',
        14 => *byte == b'7',
        19 => matches!(byte, b'8' | b'9' | b'a' | b'b'),
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    })
}

fn check_control(name: &str, payload: &[u8]) -> Read<()> {
    if name != CLOSING {
        return if payload.is_empty() { Ok(()) } else { Err(ServiceFault::invalid("heartbeat payload")) };
    }
    let mut reader = Reader::new(payload);
    reader.u8_in(1..=1, "closing.version")?;
    reader.u8_in(1..=6, "closing.reason")?;
    let length = reader.u16("closing.text")?;
    if length > CLOSING_TEXT_MAX {
        return Err(ServiceFault::invalid("closing.text"));
    }
    text(reader.bytes(usize::from(length), "closing.text")?, "closing.text")?;
    reader.finish("closing")
}
