//! Frames from their fields, with the encoders of the product.

use super::{from_hex, type_named};
use serde_json::Value;
use zlink_proto::id::RoutingId;
use zlink_proto::message::{Outgoing, Part};
use zlink_proto::wire::frame::{CANCEL, SUBSCRIBE, encode_header};
use zlink_proto::wire::stream::encode_packet;
use zlink_proto::wire::{Flow, FlowState, Hello, Kind, Outbox, control};

/// The bytes of all frames; `None` if a field is missing or unknown.
pub(super) fn fields(fields: &Value) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut open: Option<(Kind, u64, Parts)> = None;
    for field in fields.as_array()? {
        for _ in 0..field["repeat"].as_u64().unwrap_or(1) {
            match Frame::read(field)? {
                Frame::Part { flags, kind, sequence, payload } if flags <= 1 && is_record(&open, kind) => {
                    let record = open.get_or_insert((kind, sequence, Parts(Vec::new())));
                    record.2.0.push(payload);
                    if flags == 0 {
                        push_record(open.take()?, &mut out);
                    }
                }
                frame => {
                    flush(&mut open, &mut out);
                    frame.encode(&mut out)?;
                }
            }
        }
    }
    flush(&mut open, &mut out);
    Some(out)
}

/// True if a frame of this kind can belong to what is open, and the outbox would write it so.
fn is_record(open: &Option<(Kind, u64, Parts)>, kind: Kind) -> bool {
    open.as_ref().is_none_or(|(_, _, parts)| kind == Kind::Data && parts.0.len() < 1_024)
}

/// Writes a record that has no end, frame by frame.
fn flush(open: &mut Option<(Kind, u64, Parts)>, out: &mut Vec<u8>) {
    let Some((kind, sequence, parts)) = open.take() else { return };
    for (index, payload) in parts.0.into_iter().enumerate() {
        let kind = if index == 0 { kind } else { Kind::Data };
        encode_part(1, kind, sequence, &payload, out);
    }
}

fn push_record((kind, sequence, parts): (Kind, u64, Parts), out: &mut Vec<u8>) {
    let mut outbox = Outbox::default();
    outbox.push_record(kind, sequence, &parts);
    while !outbox.is_empty() {
        let mut slices: [&[u8]; 1] = [&[]];
        outbox.slices(&mut slices);
        out.extend_from_slice(slices[0]);
        let count = slices[0].len();
        outbox.advance(count);
    }
}

struct Parts(Vec<Vec<u8>>);

impl Outgoing for Parts {
    fn part_count(&self) -> usize {
        self.0.len()
    }
    fn part(&self, index: usize) -> Part<'_> {
        Part::borrowed(&self.0[index])
    }
}

enum Frame {
    Hello { type_name: String, routing_id: Vec<u8> },
    Ready(Vec<(String, Vec<u8>)>),
    Error { code: u8, reason: String },
    Weight(u32),
    Flow(FlowState),
    Control(Vec<u8>),
    Special { flags: u8, body: Vec<u8> },
    Part { flags: u8, kind: Kind, sequence: u64, payload: Vec<u8> },
    Packet { header: Vec<u8>, payload: Vec<u8> },
    Raw(Vec<u8>),
}

impl Frame {
    fn read(field: &Value) -> Option<Self> {
        let hex = |key: &str| from_hex(field[key].as_str()?);
        let byte = |key: &str| u8::try_from(field[key].as_u64()?).ok();
        Some(match field["frame"].as_str()? {
            "hello" => Self::Hello { type_name: field["type"].as_str()?.into(), routing_id: hex("rid")? },
            "ready" => Self::Ready(properties(&field["properties"])?),
            "error" => Self::Error { code: byte("code")?, reason: field["reason"].as_str()?.into() },
            "weight" => Self::Weight(u32::try_from(field["value"].as_u64()?).ok()?),
            "flowstate" => {
                let epoch = field["epoch"].as_u64()?;
                match (byte("version")?, byte("state")?) {
                    (1, 0) => Self::Flow(FlowState { state: Flow::Running, epoch }),
                    (1, 1) => Self::Flow(FlowState { state: Flow::Paused, epoch }),
                    // What the product never writes.
                    (version, state) => {
                        let epoch = epoch.to_be_bytes();
                        Self::Control([b"FLOWSTATE", [version, state].as_slice(), &epoch].concat())
                    }
                }
            }
            "control" => Self::Control(hex("body")?),
            "subscribe" => Self::Special { flags: SUBSCRIBE, body: hex("topic")? },
            "cancel" => Self::Special { flags: CANCEL, body: hex("topic")? },
            "data" | "request" | "reply" | "error-reply" => Self::Part {
                flags: byte("flags")?,
                kind: Kind::from_byte(byte("kind")?)?,
                sequence: field["seq"].as_u64().unwrap_or_default(),
                payload: hex("payload")?,
            },
            "packet" => Self::Packet { header: hex("header")?, payload: hex("payload")? },
            "raw" => Self::Raw(hex("bytes")?),
            _ => return None,
        })
    }

    fn encode(self, out: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::Hello { type_name, routing_id } => match type_named(&type_name) {
                Some(socket_type) => {
                    let routing_id = RoutingId::new(routing_id).ok()?;
                    control::encode_hello(&Hello { socket_type, routing_id }, out);
                }
                // STREAM is no type for a HELLO, and has a number all the same (§8).
                None => control::encode_control(&[&[1, 11, routing_id.len() as u8], &routing_id], out),
            },
            Self::Ready(properties) => {
                let properties: Vec<(&[u8], &[u8])> =
                    properties.iter().map(|(name, value)| (name.as_bytes(), value.as_slice())).collect();
                control::encode_ready_properties(&properties, out);
            }
            Self::Error { code, reason } => control::encode_error_parts(code, reason.as_bytes(), out),
            Self::Weight(weight) => control::encode_weight(weight, out),
            Self::Flow(flow) => control::encode_flow(flow, out),
            Self::Control(body) => control::encode_control(&[&body], out),
            Self::Special { flags, body } => control::encode_special(flags, &[&body], out),
            Self::Part { flags, kind, sequence, payload } => {
                encode_part(flags, kind, sequence, &payload, out);
            }
            Self::Packet { header, payload } => encode_packet(&header, &payload, out).ok()?,
            Self::Raw(bytes) => out.extend_from_slice(&bytes),
        }
        Some(())
    }
}

fn encode_part(flags: u8, kind: Kind, sequence: u64, payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&encode_header(flags, kind, payload.len() as u32));
    if kind != Kind::Data {
        out.extend_from_slice(&sequence.to_be_bytes());
    }
    out.extend_from_slice(payload);
}

fn properties(properties: &Value) -> Option<Vec<(String, Vec<u8>)>> {
    let pair = |pair: &Value| Some((pair[0].as_str()?.to_owned(), from_hex(pair[1].as_str()?)?));
    properties.as_array()?.iter().map(pair).collect()
}
