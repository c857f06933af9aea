//! What was found, for people and as JSON.

use serde_json::{Value, json};
use zlink_proto::wire::frame::{CANCEL, CONTROL, IDENTITY, MORE, SUBSCRIBE};
use zlink_proto::wire::{Dropped, Event, Fault, Flow, Kind, Record};

/// Bytes of a payload that people are shown.
const SHOWN_BYTES_MAX: usize = 32;

/// One line of output.
pub(super) struct Finding {
    /// Byte at which its frame begins, or at which a fault was found.
    pub(super) offset: Option<usize>,
    pub(super) what: What,
}

/// What a line is about.
pub(super) enum What {
    /// A header.
    Frame { flags: u8, kind: u8, size: u32, sequence: Option<u64>, is_control: bool },
    /// What a frame that is no part of a record meant.
    Event(Event),
    /// A complete record.
    Record(Record),
    /// A service record: its fields, or the class of the first fault.
    Service(Value),
    /// The bytes are wrong here.
    Fault(Fault),
    /// The bytes end inside a frame or record.
    Incomplete,
}

impl Finding {
    /// The service record of these parts.
    pub(super) fn service(offset: Option<usize>, parts: &[Vec<u8>]) -> Self {
        Self { offset, what: What::Service(super::service::describe(parts)) }
    }

    /// One object.
    pub(super) fn json(&self) -> Value {
        let mut value = match &self.what {
            What::Frame { flags, kind, size, sequence, .. } => {
                json!({"event": "frame", "flags": flags, "kind": kind, "size": size, "sequence": sequence})
            }
            What::Event(event) => event_json(event),
            What::Record(record) => {
                let parts: Vec<_> = record.parts().map(hex).collect();
                json!({"event": "record", "kind": kind_name(record.kind()), "sequence": record.sequence(), "parts": parts})
            }
            What::Service(fields) => {
                let mut value = json!({"event": "service"});
                if let (Some(into), Some(fields)) = (value.as_object_mut(), fields.as_object()) {
                    into.extend(fields.clone());
                }
                value
            }
            What::Fault(fault) => json!({"event": "fault", "code": fault.code as u8, "reason": fault.reason}),
            What::Incomplete => json!({"event": "incomplete"}),
        };
        if let Some(offset) = self.offset {
            value["offset"] = offset.into();
        }
        value
    }

    /// One line for people; records and services take some more.
    pub(super) fn text(&self) -> String {
        let offset = self.offset.map_or(String::new(), |offset| offset.to_string());
        match &self.what {
            What::Frame { flags, kind, size, sequence, is_control } => {
                let kind = match Kind::from_byte(*kind) {
                    _ if *is_control => "control".to_string(),
                    Some(kind) => kind_name(kind).to_string(),
                    None => format!("kind {kind}"),
                };
                let sequence = sequence.map_or(String::new(), |sequence| format!(", sequence {sequence}"));
                format!("{offset:>8}  frame     {kind}, flags {}, {size} bytes{sequence}", flag_names(*flags))
            }
            What::Event(event) => format!("          {}", event_text(event)),
            What::Record(record) => {
                let mut text = format!("          record    {}", kind_name(record.kind()));
                if record.sequence() != 0 {
                    text += &format!(", sequence {}", record.sequence());
                }
                for (number, part) in record.parts().enumerate() {
                    text += &format!("\n            part {number}, {} bytes: {}", part.len(), preview(part));
                }
                text
            }
            What::Service(fields) => {
                let mut text = "          service".to_string();
                for (name, value) in fields.as_object().into_iter().flatten() {
                    text += &format!("\n            {name}: {value}");
                }
                text
            }
            What::Fault(fault) => format!("{offset:>8}  fault     {fault}"),
            What::Incomplete => format!("{offset:>8}  incomplete: the bytes end inside a frame or record"),
        }
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Data => "data",
        Kind::Request => "request",
        Kind::Reply => "reply",
        Kind::ErrorReply => "error-reply",
    }
}

fn flag_names(flags: u8) -> String {
    let names = [
        (MORE, "MORE"),
        (CONTROL, "CONTROL"),
        (IDENTITY, "IDENTITY"),
        (SUBSCRIBE, "SUBSCRIBE"),
        (CANCEL, "CANCEL"),
    ];
    let set: Vec<_> = names.iter().filter(|(flag, _)| flags & flag != 0).map(|(_, name)| *name).collect();
    if set.is_empty() { format!("{flags:02x}") } else { format!("{flags:02x} {}", set.join(" ")) }
}

fn dropped_name(dropped: Dropped) -> &'static str {
    match dropped {
        Dropped::Identity => "identity",
        Dropped::Control => "control",
        Dropped::Weight => "weight",
        Dropped::Flow => "flowstate",
    }
}

fn flow_name(flow: Flow) -> &'static str {
    match flow {
        Flow::Running => "RUNNING",
        Flow::Paused => "PAUSED",
    }
}

fn event_json(event: &Event) -> Value {
    match event {
        Event::Hello(hello) => json!({
            "event": "hello", "type": hello.socket_type.name(), "rid": hex(hello.routing_id.as_bytes()),
        }),
        Event::Ready(ready) => json!({
            "event": "ready", "max": ready.max_message_bytes,
            "count": ready.lanes.map(|(count, _)| count), "lane": ready.lanes.map(|(_, lane)| lane),
        }),
        Event::Record(record) => json!({"event": "record", "kind": kind_name(record.kind())}),
        Event::Weight(weight) => json!({"event": "weight", "value": weight}),
        Event::Flow(flow) => {
            json!({"event": "flowstate", "state": flow_name(flow.state), "epoch": flow.epoch})
        }
        Event::Subscribe(topic) => json!({"event": "subscribe", "topic": hex(topic)}),
        Event::Cancel(topic) => json!({"event": "cancel", "topic": hex(topic)}),
        Event::Error(error) => json!({
            "event": "error", "code": error.code, "reason": String::from_utf8_lossy(&error.reason),
        }),
        Event::Dropped(dropped) => json!({"event": "dropped", "what": dropped_name(*dropped)}),
    }
}

fn event_text(event: &Event) -> String {
    match event {
        Event::Hello(hello) => {
            format!(
                "HELLO     {}, routing id {}",
                hello.socket_type.name(),
                preview(hello.routing_id.as_bytes())
            )
        }
        Event::Ready(ready) => {
            let max = match ready.max_message_bytes {
                0 => "no largest message".to_string(),
                bytes => format!("messages up to {bytes} bytes"),
            };
            let lanes =
                ready.lanes.map_or(String::new(), |(count, lane)| format!(", lane {lane} of {count}"));
            format!("READY     {max}{lanes}")
        }
        Event::Record(record) => format!("record    {}", kind_name(record.kind())),
        Event::Weight(weight) => format!("WEIGHT    {weight}"),
        Event::Flow(flow) => format!("FLOWSTATE {}, epoch {}", flow_name(flow.state), flow.epoch),
        Event::Subscribe(topic) => format!("SUBSCRIBE {}", preview(topic)),
        Event::Cancel(topic) => format!("CANCEL    {}", preview(topic)),
        Event::Error(error) => format!("ERROR     {:02x} {}", error.code, preview(&error.reason)),
        Event::Dropped(dropped) => format!("ignored   {}", dropped_name(*dropped)),
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Digits, and the text where it is one; cut where it is long.
fn preview(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(SHOWN_BYTES_MAX)];
    let dots = if shown.len() < bytes.len() { "…" } else { "" };
    let text = std::str::from_utf8(shown)
        .ok()
        .filter(|text| !text.is_empty() && text.chars().all(|c| !c.is_control()));
    text.map_or_else(|| format!("{}{dots}", hex(shown)), |text| format!("{}{dots} {text:?}", hex(shown)))
}
