//! `vectors/wire.json`: frames in every phase, decoded however they are cut, and encoded again (W-58).

mod encode;

use super::Mismatch;
use serde_json::{Map, Value, json};
use zlink_proto::id::RoutingId;
use zlink_proto::wire::stream::PacketDecoder;
use zlink_proto::wire::{Allowance, Decoded, Decoder, Event, Fault, Hello, Record, SocketType};

/// Sizes of the pieces in which each vector is fed.
const PIECES: [usize; 9] = [usize::MAX, 1, 2, 3, 5, 7, 8, 61, 4_000];

/// Checks every vector of a file; what is returned does not agree. An unreadable file is a mismatch.
pub fn check_wire(json: &str) -> Vec<Mismatch> {
    let vectors = match serde_json::from_str::<Value>(json) {
        Ok(Value::Array(vectors)) if !vectors.is_empty() => vectors,
        Ok(_) => return vec![mismatch("file", "a list of vectors", "something else")],
        Err(error) => return vec![mismatch("file", "JSON", &error.to_string())],
    };
    vectors.iter().flat_map(check_vector).collect()
}

fn mismatch(id: &str, expected: &str, got: &str) -> Mismatch {
    Mismatch { id: id.into(), expected: expected.into(), got: got.into() }
}

fn check_vector(vector: &Value) -> Vec<Mismatch> {
    let id = vector["id"].as_str().unwrap_or("without id");
    let Some(bytes) = vector["hex"].as_str().and_then(from_hex) else {
        return vec![mismatch(id, "hex digits", &vector["hex"].to_string())];
    };
    let expected = without(&vector["expect"], "given").to_string();
    let mut found = Vec::new();
    for piece in PIECES {
        for is_batch in [false, true] {
            let got = match Given::read(&vector["expect"]["given"]) {
                Some(given) => without(&given.run(&bytes, piece, is_batch), "given").to_string(),
                None => "a given state that is not understood".into(),
            };
            if got != expected {
                let how = if is_batch { "records in batches" } else { "event by event" };
                found.push(mismatch(&format!("{id} (pieces of {piece}, {how})"), &expected, &got));
            }
        }
    }
    let encoded = encode::fields(&vector["fields"]).map(|bytes| to_hex(&bytes));
    let got = encoded.as_deref().unwrap_or("fields that are not understood");
    if got != to_hex(&bytes) {
        found.push(mismatch(&format!("{id} (encoded again)"), &to_hex(&bytes), got));
    }
    found
}

/// The object with its keys in a fixed order and without one of them.
fn without(object: &Value, key: &str) -> Value {
    let entries = object.as_object().into_iter().flatten();
    let mut entries: Vec<_> = entries.filter(|(name, _)| *name != key).collect();
    entries.sort_by_key(|(name, _)| name.as_str());
    let events = |value: &Value| match value {
        Value::Array(events) => events.iter().map(|event| without(event, "")).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            value.clone()
        }
    };
    let is_list_of_objects = |value: &Value| value.get(0).is_some_and(Value::is_object);
    let sorted = entries.into_iter().map(|(name, value)| {
        (name.clone(), if is_list_of_objects(value) { events(value) } else { value.clone() })
    });
    Value::Object(sorted.collect::<Map<_, _>>())
}

/// The receiver before the first byte.
enum Given {
    Stream { bytes_max: u64 },
    Frames { local: SocketType, lane: u8, max: u64, is_eof: bool, hello: Option<Hello>, is_ready: bool },
}

impl Given {
    fn read(given: &Value) -> Option<Self> {
        let max = given["max"].as_u64()?;
        if given["framing"] == "stream" {
            return Some(Self::Stream { bytes_max: max });
        }
        let routing_id = from_hex(given["rid"].as_str().unwrap_or_default())?;
        let hello = match given["peer"].as_str() {
            Some(peer) => {
                Some(Hello { socket_type: type_named(peer)?, routing_id: RoutingId::new(routing_id).ok()? })
            }
            None => None,
        };
        let is_ready = match given["phase"].as_str()? {
            "hello" | "ready" => false,
            "open" => true,
            _ => return None,
        };
        Some(Self::Frames {
            local: type_named(given["local"].as_str()?)?,
            lane: u8::try_from(given["lane"].as_u64()?).ok()?,
            max,
            is_eof: given["eof"] == true,
            hello,
            is_ready,
        })
    }

    /// Outcome and events, as the file states them.
    fn run(self, bytes: &[u8], piece: usize, is_batch: bool) -> Value {
        match self {
            Self::Stream { bytes_max } => run_stream(bytes, piece, bytes_max),
            Self::Frames { local, lane, max, is_eof, hello, is_ready } => {
                let decoder = match hello {
                    None => Decoder::new(local, lane, max),
                    Some(hello) if is_ready => Decoder::after_ready(local, lane, max, hello),
                    Some(hello) => Decoder::after_hello(local, lane, max, hello),
                };
                let mut run = Run { decoder, is_batch, events: Vec::new() };
                let result = run.feed(bytes, piece, is_eof);
                let outcome = match result {
                    Err(fault) => {
                        json!({"outcome": "fault", "code": fault.code as u8, "reason": fault.reason})
                    }
                    Ok(()) if run.decoder.is_inside() => json!({"outcome": "need_more"}),
                    Ok(()) => json!({"outcome": "ok"}),
                };
                with_events(outcome, run.events)
            }
        }
    }
}

fn with_events(mut outcome: Value, events: Vec<Value>) -> Value {
    outcome["events"] = Value::Array(events);
    outcome
}

struct Run {
    decoder: Decoder,
    is_batch: bool,
    events: Vec<Value>,
}

impl Run {
    fn feed(&mut self, bytes: &[u8], piece: usize, is_eof: bool) -> Result<(), Fault> {
        self.drain()?;
        for mut input in bytes.chunks(piece.min(bytes.len().max(1))) {
            while !input.is_empty() {
                let space = self.decoder.space();
                let count = space.len().min(input.len());
                space[..count].copy_from_slice(&input[..count]);
                self.decoder.filled(count);
                input = &input[count..];
                self.drain()?;
            }
        }
        if is_eof { self.decoder.end() } else { Ok(()) }
    }

    /// Decodes everything at hand. The set counts as ready as soon as READY is there.
    fn drain(&mut self) -> Result<(), Fault> {
        loop {
            let mut allowance = Allowance::UNLIMITED;
            let decoded = if self.is_batch {
                let mut records = Vec::new();
                let decoded = self.decoder.decode_records(&mut allowance, &mut records);
                self.events.extend(records.iter().map(record_json));
                decoded?
            } else {
                self.decoder.decode(&mut allowance)?
            };
            self.decoder.check_invariants();
            match decoded {
                Decoded::Event(event) => self.events.push(event_json(&event)),
                Decoded::Held => self.decoder.open(),
                Decoded::NeedMore | Decoded::Blocked { .. } => return Ok(()),
            }
        }
    }
}

fn run_stream(bytes: &[u8], piece: usize, bytes_max: u64) -> Value {
    let mut decoder = PacketDecoder::new(bytes_max);
    let mut events = Vec::new();
    for mut input in bytes.chunks(piece.min(bytes.len().max(1))) {
        loop {
            match decoder.decode(&mut input) {
                Ok(Some(packet)) => events.push(json!({
                    "event": "packet", "header": to_hex(&packet.header), "payload": to_hex(&packet.payload),
                })),
                Ok(None) => break,
                Err(error) => {
                    let fault = json!({"outcome": "fault", "code": 4, "reason": error.to_string()});
                    return with_events(fault, events);
                }
            }
        }
    }
    with_events(json!({"outcome": if decoder.is_inside() { "need_more" } else { "ok" }}), events)
}

fn event_json(event: &Event) -> Value {
    match event {
        Event::Hello(hello) => json!({
            "event": "hello", "type": hello.socket_type.name(), "rid": to_hex(hello.routing_id.as_bytes()),
        }),
        Event::Ready(ready) => match ready.lanes {
            None => json!({"event": "ready", "max": ready.max_message_bytes}),
            Some((count, lane)) => {
                json!({"event": "ready", "max": ready.max_message_bytes, "count": count, "lane": lane})
            }
        },
        Event::Record(record) => record_json(record),
        Event::Weight(weight) => json!({"event": "weight", "value": weight}),
        Event::Flow(flow) => {
            json!({"event": "flowstate", "state": flow.state as u8, "epoch": flow.epoch})
        }
        Event::Subscribe(topic) => json!({"event": "subscribe", "topic": to_hex(topic)}),
        Event::Cancel(topic) => json!({"event": "cancel", "topic": to_hex(topic)}),
        Event::Error(error) => json!({
            "event": "error", "code": error.code, "reason": String::from_utf8_lossy(&error.reason),
        }),
        Event::Dropped(dropped) => json!({
            "event": "dropped",
            "what": match dropped {
                zlink_proto::wire::Dropped::Identity => "identity",
                zlink_proto::wire::Dropped::Control
                | zlink_proto::wire::Dropped::Weight
                | zlink_proto::wire::Dropped::Flow => "control",
            },
        }),
    }
}

fn record_json(record: &Record) -> Value {
    let parts: Vec<String> = record.parts().map(to_hex).collect();
    let mut value = json!({"event": "record", "kind": record.kind() as u8, "parts": parts});
    if record.sequence() != 0 {
        value["seq"] = record.sequence().into();
    }
    value
}

/// The type with this name in capitals.
fn type_named(name: &str) -> Option<SocketType> {
    (0..=u8::MAX).filter_map(SocketType::from_byte).find(|socket_type| socket_type.name() == name)
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits?;
    (digits.len() % 2 == 0).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
