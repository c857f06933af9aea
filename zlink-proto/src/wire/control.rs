//! Control frames: HELLO, READY, ERROR, WEIGHT, FLOWSTATE (W-26 to W-44).

use super::frame::{CONTROL, encode_header};
use super::{Fault, FaultCode, Kind, SPECIAL_BYTES_MAX, SocketType};
use crate::id::RoutingId;
use alloc::vec::Vec;
use bytes::Bytes;

/// Weight that a receiver assumes until told otherwise (W-39).
pub const WEIGHT_DEFAULT: u32 = 100;
/// Largest weight (W-39).
pub const WEIGHT_MAX: u32 = 10_000;
/// Largest body of a frame until HELLO was received (§4).
pub(super) const HELLO_BYTES_MAX: u32 = 258;

/// First byte of the body of HELLO.
pub(super) const TYPE_HELLO: u8 = 0x01;
/// First byte of the body of READY.
pub(super) const TYPE_READY: u8 = 0x04;
/// First byte of the body of ERROR.
pub(super) const TYPE_ERROR: u8 = 0x05;

const WEIGHT_NAME: &[u8] = b"WEIGHT";
const FLOW_NAME: &[u8] = b"FLOWSTATE";
const FLOW_VERSION: u8 = 1;

const PROPERTY_TYPE: &[u8] = b"Socket-Type";
const PROPERTY_ID: &[u8] = b"Routing-Id";
const PROPERTY_MAX: &[u8] = b"Zlink-Max-Message-Size";
const PROPERTY_COUNT: &[u8] = b"Zlink-Lane-Count";
const PROPERTY_LANE: &[u8] = b"Zlink-Lane";

/// First frame in each direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hello {
    /// Type of the sender.
    pub socket_type: SocketType,
    /// Name of the sender.
    pub routing_id: RoutingId,
}

/// Second frame in each direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ready {
    /// The sender's MaxMessageSize; 0 = none.
    pub max_message_bytes: u64,
    /// Lane count and lane, on types that have lanes.
    pub lanes: Option<(u8, u8)>,
}

/// Whether the writer wants application records (W-41).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Flow {
    /// It does.
    #[default]
    Running = 0,
    /// It does not.
    Paused = 1,
}

/// FLOWSTATE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowState {
    /// The absolute state.
    pub state: Flow,
    /// Counts the FLOWSTATE frames of this connection, from 1.
    pub epoch: u64,
}

/// ERROR: the peer's reason to close. The text is untrusted (W-22).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorFrame {
    /// Code byte as received.
    pub code: u8,
    /// Reason bytes as received, at most 255.
    pub reason: Bytes,
}

impl ErrorFrame {
    /// True if it names this code.
    pub fn is(&self, code: FaultCode) -> bool {
        self.code == code as u8
    }
}

/// Appends HELLO.
pub fn encode_hello(hello: &Hello, into: &mut Vec<u8>) {
    let id = hello.routing_id.as_bytes();
    // RoutingId has at most 255 bytes (W-27).
    encode_control(&[&[TYPE_HELLO, hello.socket_type as u8, id.len() as u8], id], into);
}

/// Appends READY of a socket of `own` type: all properties on types with lanes, metadata on the others if a maximum is
/// set, else the bare frame (W-29, W-30). `lanes` is (count, lane) and is ignored on types without lanes.
pub fn encode_ready(
    own: SocketType,
    routing_id: &RoutingId,
    max_message_bytes: u64,
    lanes: Option<(u8, u8)>,
    into: &mut Vec<u8>,
) {
    let mut properties: Vec<(&[u8], &[u8])> = Vec::new();
    let maximum = max_message_bytes.to_be_bytes();
    let (count, lane) = lanes.unwrap_or((1, 0));
    let (count, lane) = ([count], [lane]);
    if own.has_lanes() || max_message_bytes != 0 {
        properties.push((PROPERTY_TYPE, own.name().as_bytes()));
        if own.has_lanes() {
            properties.push((PROPERTY_ID, routing_id.as_bytes()));
        }
        properties.push((PROPERTY_MAX, &maximum));
        if own.has_lanes() {
            properties.push((PROPERTY_COUNT, &count));
            properties.push((PROPERTY_LANE, &lane));
        }
    }
    encode_ready_properties(&properties, into);
}

/// Appends READY with these (name, value) pairs in this order. Names have at most 255 bytes, the body 4,096.
pub fn encode_ready_properties(properties: &[(&[u8], &[u8])], into: &mut Vec<u8>) {
    let mut body = Vec::from([TYPE_READY]);
    for (name, value) in properties {
        debug_assert!(name.len() <= 255, "property names have a length byte");
        body.push(name.len() as u8);
        body.extend_from_slice(name);
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value);
    }
    encode_control(&[&body], into);
}

/// Appends ERROR.
pub fn encode_error(fault: &Fault, into: &mut Vec<u8>) {
    encode_error_parts(fault.code as u8, fault.reason.as_bytes(), into);
}

/// Appends ERROR with any code and a reason, which is cut at 255 bytes.
pub fn encode_error_parts(code: u8, reason: &[u8], into: &mut Vec<u8>) {
    let reason = reason.get(..255).unwrap_or(reason);
    encode_control(&[&[TYPE_ERROR, code, reason.len() as u8], reason], into);
}

/// Appends WEIGHT.
pub fn encode_weight(weight: u32, into: &mut Vec<u8>) {
    encode_control(&[WEIGHT_NAME, &weight.to_be_bytes()], into);
}

/// Appends FLOWSTATE.
pub fn encode_flow(flow: FlowState, into: &mut Vec<u8>) {
    encode_control(&[FLOW_NAME, &[FLOW_VERSION, flow.state as u8], &flow.epoch.to_be_bytes()], into);
}

/// Appends a CONTROL frame whose body is `pieces`, 1 to 4,096 bytes together.
pub fn encode_control(pieces: &[&[u8]], into: &mut Vec<u8>) {
    encode_special(CONTROL, pieces, into);
}

/// Appends a frame with special `flags` whose body is `pieces`, at most 4,096 bytes together.
pub fn encode_special(flags: u8, pieces: &[&[u8]], into: &mut Vec<u8>) {
    let size: usize = pieces.iter().map(|piece| piece.len()).sum();
    debug_assert!(size <= SPECIAL_BYTES_MAX, "special bodies have at most 4,096 bytes");
    into.reserve(size + 8);
    into.extend_from_slice(&encode_header(flags, Kind::Data, size as u32));
    for piece in pieces {
        into.extend_from_slice(piece);
    }
}

/// Reads the body of HELLO for a socket of type `local`, in the order of rows 14 to 18 of W-25.
pub(super) fn decode_hello(local: SocketType, body: &[u8]) -> Result<Hello, Fault> {
    let [_, type_byte, id_len, id @ ..] = body else { return Err(Fault::other("hello too short")) };
    if id.len() != usize::from(*id_len) {
        return Err(Fault::other("hello identity mismatch"));
    }
    let mismatch = Fault::standard(FaultCode::SocketTypeMismatch);
    let socket_type = SocketType::from_byte(*type_byte).ok_or(mismatch)?;
    if !local.is_compatible(socket_type) {
        return Err(mismatch);
    }
    if id.is_empty() && local == SocketType::Router && socket_type == SocketType::Router {
        return Err(Fault::other("routing id missing"));
    }
    let routing_id = RoutingId::new(Bytes::copy_from_slice(id));
    Ok(Hello { socket_type, routing_id: routing_id.unwrap_or_default() })
}

/// Reads the body of ERROR. A malformed one counts as 7F without reason (W-22).
pub(super) fn decode_error(body: &[u8]) -> ErrorFrame {
    match body {
        [TYPE_ERROR, code, length, reason @ ..] if reason.len() == usize::from(*length) => {
            ErrorFrame { code: *code, reason: Bytes::copy_from_slice(reason) }
        }
        _ => ErrorFrame { code: FaultCode::Other as u8, reason: Bytes::new() },
    }
}

/// True if the body is WEIGHT, well formed or not.
pub(super) fn is_weight(body: &[u8]) -> bool {
    body.starts_with(WEIGHT_NAME)
}

/// Reads the body of WEIGHT (row 33).
pub(super) fn decode_weight(body: &[u8]) -> Option<u32> {
    let value = body.strip_prefix(WEIGHT_NAME)?.try_into().ok().map(u32::from_be_bytes)?;
    (value <= WEIGHT_MAX).then_some(value)
}

/// True if the body is FLOWSTATE, well formed or not.
pub(super) fn is_flow(body: &[u8]) -> bool {
    body.starts_with(FLOW_NAME)
}

/// Reads the body of FLOWSTATE (row 34).
pub(super) fn decode_flow(body: &[u8]) -> Option<FlowState> {
    let [FLOW_VERSION, state, epoch @ ..] = body.strip_prefix(FLOW_NAME)? else { return None };
    let state = match state {
        0 => Flow::Running,
        1 => Flow::Paused,
        _ => return None,
    };
    let epoch = epoch.try_into().ok().map(u64::from_be_bytes)?;
    (epoch != 0).then_some(FlowState { state, epoch })
}

/// Reads the body of READY that follows `hello` on a socket of type `local`, in the order of rows 23 to 27 of W-25.
pub(super) fn decode_ready(local: SocketType, hello: &Hello, body: &[u8]) -> Result<Ready, Fault> {
    let Properties { socket_type, routing_id, maximum, count, lane } = Properties::read(body)?;
    let max_message_bytes = match maximum.map(<[u8; 8]>::try_from) {
        None => 0,
        Some(Ok(bytes)) => u64::from_be_bytes(bytes),
        Some(Err(_)) => return Err(Fault::other("maximum message size metadata invalid")),
    };
    let has_lanes = hello.socket_type.has_lanes();
    let agrees = |value: Option<&[u8]>, said: &[u8]| value.map_or(!has_lanes, |value| value == said);
    if !agrees(socket_type, hello.socket_type.name().as_bytes())
        || !agrees(routing_id, hello.routing_id.as_bytes())
    {
        return Err(Fault::other("ready identity mismatch"));
    }
    let lanes = match (has_lanes, count, lane) {
        (true, Some(&[count]), Some(&[lane]))
            if count == local.lane_count(hello.socket_type) && lane < count =>
        {
            Some((count, lane))
        }
        (false, None, None) => None,
        _ => return Err(Fault::other("lane metadata invalid")),
    };
    Ok(Ready { max_message_bytes, lanes })
}

/// The known properties of a READY; of a repeated name the last value counts (W-29).
#[derive(Default)]
struct Properties<'a> {
    socket_type: Option<&'a [u8]>,
    routing_id: Option<&'a [u8]>,
    maximum: Option<&'a [u8]>,
    count: Option<&'a [u8]>,
    lane: Option<&'a [u8]>,
}

impl<'a> Properties<'a> {
    /// `body` starts with the type byte.
    fn read(body: &'a [u8]) -> Result<Self, Fault> {
        let mut properties = Self::default();
        let mut rest = body.get(1..).unwrap_or_default();
        while let [name_len, tail @ ..] = rest {
            let (name, value, tail) =
                split_property(usize::from(*name_len), tail).ok_or(Fault::other("ready metadata invalid"))?;
            match name {
                PROPERTY_TYPE => properties.socket_type = Some(value),
                PROPERTY_ID => properties.routing_id = Some(value),
                PROPERTY_MAX => properties.maximum = Some(value),
                PROPERTY_COUNT => properties.count = Some(value),
                PROPERTY_LANE => properties.lane = Some(value),
                _ => {}
            }
            rest = tail;
        }
        Ok(properties)
    }
}

/// Name, value and what follows them.
fn split_property(name_len: usize, bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (name, bytes) = bytes.split_at_checked(name_len)?;
    let (size, bytes) = bytes.split_first_chunk::<4>()?;
    let (value, bytes) = bytes.split_at_checked(u32::from_be_bytes(*size) as usize)?;
    Some((name, value, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(bytes: &'static [u8]) -> RoutingId {
        RoutingId::new(bytes).unwrap_or_default()
    }

    #[test]
    fn w29_ready_of_a_dealer_has_all_properties_in_the_order_of_the_table() {
        let mut frame = Vec::new();
        encode_ready(SocketType::Dealer, &id(b"CLI"), 0, Some((1, 0)), &mut frame);
        let expected: [&[u8]; 6] = [
            &[0x5a, 1, 2, 0, 0, 0, 0, 114, 4],
            b"\x0bSocket-Type\0\0\0\x06DEALER",
            b"\x0aRouting-Id\0\0\0\x03CLI",
            b"\x16Zlink-Max-Message-Size\0\0\0\x08\0\0\0\0\0\0\0\0",
            b"\x10Zlink-Lane-Count\0\0\0\x01\x01",
            b"\x0aZlink-Lane\0\0\0\x01\0",
        ];
        assert_eq!(frame, expected.concat());
    }

    #[test]
    fn w30_ready_of_other_types_has_metadata_only_with_a_maximum() {
        let mut frame = Vec::new();
        encode_ready(SocketType::Pub, &id(b"P"), 0, None, &mut frame);
        assert_eq!(frame, [0x5a, 1, 2, 0, 0, 0, 0, 1, 4]);
        frame.clear();
        encode_ready(SocketType::Pub, &id(b"P"), 9, None, &mut frame);
        let expected: [&[u8]; 3] = [
            &[0x5a, 1, 2, 0, 0, 0, 0, 55, 4],
            b"\x0bSocket-Type\0\0\0\x03PUB",
            b"\x16Zlink-Max-Message-Size\0\0\0\x08\0\0\0\0\0\0\0\x09",
        ];
        assert_eq!(frame, expected.concat());
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let hello = Hello { socket_type: SocketType::Router, routing_id: id(b"R") };
        let mut frame = Vec::new();
        encode_hello(&hello, &mut frame);
        assert_eq!(decode_hello(SocketType::Dealer, &frame[8..]), Ok(hello.clone()));
        frame.clear();
        encode_ready(SocketType::Router, &id(b"R"), 77, Some((2, 1)), &mut frame);
        let ready = Ready { max_message_bytes: 77, lanes: Some((2, 1)) };
        assert_eq!(decode_ready(SocketType::Router, &hello, &frame[8..]), Ok(ready));
        for state in [Flow::Running, Flow::Paused] {
            let flow = FlowState { state, epoch: 3 };
            frame.clear();
            encode_flow(flow, &mut frame);
            assert_eq!((decode_flow(&frame[8..]), frame.len()), (Some(flow), 27));
        }
        for (weight, read) in [(0, Some(0)), (10_000, Some(10_000)), (10_001, None)] {
            frame.clear();
            encode_weight(weight, &mut frame);
            assert_eq!(decode_weight(&frame[8..]), read);
        }
    }

    #[test]
    fn w22_a_malformed_error_is_7f_without_a_reason() {
        let mut frame = Vec::new();
        encode_error(&Fault::other("subscription limit"), &mut frame);
        let error = decode_error(&frame[8..]);
        assert!(error.is(FaultCode::Other) && error.reason == "subscription limit");
        for body in [&[5_u8][..], &[5, 4], &[5, 4, 1], &[5, 4, 1, b'a', b'b']] {
            assert_eq!(decode_error(body), ErrorFrame { code: 0x7f, reason: Bytes::new() });
        }
    }
}
