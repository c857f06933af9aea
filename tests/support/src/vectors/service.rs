//! Runs `vectors/service.json` (S-06): every entry decodes to its fields or its class, and what is valid encodes to the same bytes.

use super::Mismatch;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use zlink_proto::wire::service::stream::{StreamPacket, decode_prefix};
use zlink_proto::wire::service::{
    ActorAddress, Admission, Content, Envelope, Fanout, Fence, MeshDescriptor, Metadata, Multipart,
    SendReady, Sender, ServiceFault, SpotAddress, decode,
};
use zlink_proto::wire::{Kind, Record};

/// One entry of the file.
#[derive(Clone, Debug)]
pub struct Vector {
    /// Its id.
    pub id: String,
    /// Which decoder.
    pub codec: String,
    /// The bytes, in parts.
    pub parts: Vec<Bytes>,
    /// Who sent them, if the entry says so.
    pub sender: Option<Sender>,
    /// Frame kind and sequence.
    pub frame: (Kind, u64),
    /// Limit of a STREAM packet; 0 = none.
    pub max: u64,
    /// `ok` or a class.
    pub expect: String,
    /// Decoded values.
    pub fields: Value,
}

/// Decoded values as the file writes them, and the parts that they encode to.
pub type Outcome = Result<(Value, Vec<Bytes>), ServiceFault>;

/// Everything in which the codec differs from the file. A file that cannot be read is one mismatch.
pub fn check_service(json: &str) -> Vec<Mismatch> {
    match read_vectors(json) {
        Ok(vectors) => vectors.iter().flat_map(check).collect(),
        Err(reason) => {
            vec![Mismatch { id: "file".into(), expected: "a list of vectors".into(), got: reason }]
        }
    }
}

/// The entries of a file.
///
/// # Errors
/// Says what is not as it should be.
pub fn read_vectors(json: &str) -> Result<Vec<Vector>, String> {
    let file: Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let entries = file.as_array().ok_or("not a list")?;
    entries.iter().map(|entry| read_vector(entry).ok_or(format!("bad entry: {entry}"))).collect()
}

fn read_vector(entry: &Value) -> Option<Vector> {
    let context = &entry["context"];
    let sender = match (context["topology"].as_str(), context["sender"].as_str()) {
        (Some("routeMesh"), Some("node")) => Some(Sender::Node),
        (Some("clientServer"), Some("client")) => Some(Sender::Client),
        (Some("clientServer"), Some("server")) => Some(Sender::Server),
        (None, None) => None,
        _ => return None,
    };
    let kind = u8::try_from(context["kind"].as_u64().unwrap_or(0)).ok()?;
    Some(Vector {
        id: entry["id"].as_str()?.into(),
        codec: entry["codec"].as_str()?.into(),
        parts: entry["hex"].as_str()?.split('|').map(from_hex).collect::<Option<_>>()?,
        sender,
        frame: (Kind::from_byte(kind)?, context["sequence"].as_u64().unwrap_or(0)),
        max: context["maxMessage"].as_u64().unwrap_or(0),
        expect: entry["expect"].as_str()?.into(),
        fields: entry["fields"].clone(),
    })
}

fn check(vector: &Vector) -> Option<Mismatch> {
    let mismatch = |expected: String, got: String| Some(Mismatch { id: vector.id.clone(), expected, got });
    match run(vector) {
        None => mismatch("a known codec".into(), vector.codec.clone()),
        Some(Err(fault)) if vector.expect != "ok" => (fault.class.name() != vector.expect)
            .then(|| mismatch(vector.expect.clone(), fault.to_string()))?,
        Some(Err(fault)) => mismatch("ok".into(), fault.to_string()),
        Some(Ok((fields, _))) if vector.expect != "ok" => mismatch(vector.expect.clone(), fields.to_string()),
        Some(Ok((fields, _))) if !is_same(&fields, &vector.fields) => {
            mismatch(vector.fields.to_string(), fields.to_string())
        }
        Some(Ok((_, parts))) if parts != vector.parts => {
            mismatch(format!("{:02x?}", vector.parts), format!("{parts:02x?}"))
        }
        Some(Ok(_)) => None,
    }
}

/// Decodes the bytes of an entry with its codec; `None`: there is no such codec.
pub fn run(vector: &Vector) -> Option<Outcome> {
    let (kind, sequence) = vector.frame;
    let record = Record::from_parts(kind, sequence, vector.parts.clone());
    let first = vector.parts.first().cloned().unwrap_or_default();
    Some(match vector.codec.as_str() {
        "record" => run_record(&record, vector.sender),
        "metadata" => Metadata::decode(&first)
            .map(|metadata| (metadata_value(&metadata), vec![written(|into| metadata.encode(into))])),
        "payload" => Envelope::decode(&first)
            .map(|envelope| (envelope_value(&envelope), vec![written(|into| envelope.encode(into))])),
        "multipart" => run_multipart(&first),
        "sendready" => SendReady::decode(&first)
            .map(|ready| (ready_value(&ready), vec![written(|into| ready.encode(into))])),
        "fanout" => Fanout::decode(&record).map(|fanout| (fanout_value(&fanout), fanout.to_parts())),
        "stream" => run_stream(&first, vector.max),
        _ => return None,
    })
}

fn run_record(record: &Record, sender: Option<Sender>) -> Outcome {
    let decoded = decode(record, sender)?;
    let mut fields = Map::new();
    fields.insert("command".into(), json!(decoded.content.command() as u8));
    fields.insert("body".into(), content_value(&decoded.content));
    if let Some(metadata) = &decoded.metadata {
        fields.insert("metadata".into(), metadata_value(metadata));
    }
    if let Some(envelope) = &decoded.envelope {
        fields.insert("payload".into(), envelope_value(envelope));
    }
    Ok((Value::Object(fields), decoded.to_parts()))
}

fn run_multipart(part: &[u8]) -> Outcome {
    let envelope = Envelope::decode(part)?;
    let multipart = Multipart::decode(&envelope)?;
    let inner: Vec<_> = multipart.iter().collect();
    let payload = written(|into| Multipart::encode_payload(&inner, into));
    let again = Envelope { payload: &payload, ..envelope };
    let fields = inner.iter().map(|part| json!(to_hex(part))).collect();
    Ok((fields, vec![written(|into| again.encode(into))]))
}

fn run_stream(bytes: &[u8], max: u64) -> Outcome {
    decode_prefix(bytes, max)?;
    let packet = StreamPacket::decode(bytes, max)?;
    let mut fields = json!({
        "kind": packet.kind as u8, "codec": packet.codec as u8, "name": packet.name, "payload": to_hex(packet.payload),
    });
    if let Some(sequence) = packet.sequence {
        fields["seq"] = json!(sequence);
    }
    if let Some(metadata) = &packet.metadata {
        fields["metadata"] = metadata_value(metadata);
    }
    if let Some(correlation) = packet.correlation {
        fields["correlation"] = json!(correlation);
    }
    if let Some(flow) = packet.flow {
        fields["flow"] = json!([flow.id, flow.origin]);
    }
    Ok((fields, vec![written(|into| packet.encode(into))]))
}

fn content_value(content: &Content<'_>) -> Value {
    match content {
        Content::Hello(admission) | Content::Admit(admission) | Content::Update(admission) => {
            admission_value(admission)
        }
        Content::Reject(reason) => json!({ "reason": *reason as u32 }),
        Content::LivenessProbe { id } | Content::LivenessAck { id } => json!({ "probe": id }),
        Content::NodeSend => json!({}),
        Content::NodeRequest { correlation } => json!({ "correlation": correlation }),
        Content::ChannelSend { channel } => json!({ "channel": channel }),
        Content::ChannelRequest { correlation, channel } => {
            json!({ "correlation": correlation, "channel": channel })
        }
        Content::Reply(reply) => {
            json!({ "correlation": reply.correlation, "result": reply.result, "code": reply.code })
        }
        Content::SpotSend(address) => spot_value(address),
        Content::SpotRequest { correlation, address } => correlated(spot_value(address), *correlation),
        Content::LogicalMulticast { channel, topic, source_spot } => {
            json!({ "channel": channel, "topic": topic, "sourceSpot": source_spot })
        }
        Content::ActorSend(address) => actor_value(address),
        Content::ActorRequest { correlation, address } => correlated(actor_value(address), *correlation),
    }
}

fn correlated(mut value: Value, correlation: u64) -> Value {
    value["correlation"] = json!(correlation);
    value
}

fn fence_value(fence: &Fence<'_>) -> Value {
    json!({
        "id": fence.id, "generation": fence.object_generation, "node": to_hex(fence.node),
        "nodeGeneration": fence.node_generation, "ownerGeneration": fence.owner_generation,
        "leaseGeneration": fence.lease_generation,
    })
}

fn spot_value(address: &SpotAddress<'_>) -> Value {
    json!({
        "operation": { "high": address.operation.high, "low": address.operation.low },
        "hop": address.hop, "sourceSpot": address.source_spot, "target": fence_value(&address.target),
    })
}

fn actor_value(address: &ActorAddress<'_>) -> Value {
    let mut value = json!({
        "operation": { "high": address.operation.high, "low": address.operation.low },
        "hop": address.hop, "target": fence_value(&address.target),
    });
    if let Some(source) = &address.source {
        value["source"] = json!({ "id": source.id, "generation": source.generation });
    }
    if let Some(session) = &address.session {
        value["session"] = json!({
            "rid": to_hex(session.session), "generation": session.binding_generation, "sequence": session.sequence,
        });
    }
    value
}

fn admission_value(admission: &Admission<'_>) -> Value {
    match admission {
        Admission::Mesh(mesh) => mesh_value(mesh),
        Admission::Client(client) => json!({
            "topology": "clientServer", "role": "client", "channel": client.channel,
            "identity": client.security_identity, "maxMessage": client.max_message,
        }),
        Admission::Server(server) => json!({
            "topology": "clientServer", "role": "server", "channel": server.channel, "server": to_hex(server.server),
            "generation": server.lifecycle_generation, "revision": server.descriptor_revision,
            "weight": server.weight, "runtimeState": server.runtime_state as u8,
            "identity": server.security_identity, "maxMessage": server.max_message, "endpoint": server.endpoint,
        }),
    }
}

fn mesh_value(mesh: &MeshDescriptor<'_>) -> Value {
    let extension = &mesh.extension;
    let channels: Vec<_> = mesh.channels.iter().map(|(name, weight)| json!([name, weight])).collect();
    let mut fields = json!({
        "runtimeState": extension.runtime_state as u8, "applicationVersion": extension.application_version,
        "capabilities": extension.capabilities.iter().collect::<Vec<_>>(), "objectRole": extension.object_role,
        "placementWeight": extension.placement_weight, "activeLimit": extension.active_limit,
        "pendingLimit": extension.pending_limit, "activeUsed": extension.active_used,
        "pendingUsed": extension.pending_used,
    });
    if let Some(wave) = extension.maintenance_wave {
        fields["maintenanceWave"] = json!(wave.unwrap_or_default());
    }
    json!({
        "topology": "routeMesh", "mesh": mesh.mesh, "identity": mesh.security_identity,
        "generation": mesh.lifecycle_generation, "revision": mesh.descriptor_revision, "endpoint": mesh.endpoint,
        "channels": channels, "extension": fields,
    })
}

fn ready_value(ready: &SendReady<'_>) -> Value {
    match ready {
        SendReady::Node { node } => json!({ "destination": "node", "node": to_hex(node) }),
        SendReady::Channel { channel } => json!({ "destination": "channel", "channel": channel }),
        SendReady::Spot { target } => json!({ "destination": "spot", "target": fence_value(target) }),
        SendReady::Actor { target } => json!({ "destination": "actor", "target": fence_value(target) }),
        SendReady::BoundSession { target, binding_generation } => json!({
            "destination": "boundSession", "target": fence_value(target), "bindingGeneration": binding_generation,
        }),
    }
}

fn fanout_value(fanout: &Fanout<'_>) -> Value {
    let Fanout::Event(event) = fanout else { return json!({ "beacon": true }) };
    let mut value = json!({ "topic": event.topic, "payload": envelope_value(&event.envelope) });
    if let Some(metadata) = &event.metadata {
        value["metadata"] = metadata_value(metadata);
    }
    value
}

fn metadata_value(metadata: &Metadata<'_>) -> Value {
    Value::Object(metadata.iter().map(|(key, value)| (key.to_owned(), json!(value))).collect())
}

fn envelope_value(envelope: &Envelope<'_>) -> Value {
    json!({
        "packet": envelope.packet, "content_type": envelope.content_type, "data": to_hex(envelope.payload),
    })
}

/// The file writes numbers that do not fit a double as text.
fn is_same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(number), Value::String(text)) => number.to_string() == *text,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_same(a, b)))
        }
        (ours, theirs) => ours == theirs,
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut bytes = Vec::new();
    write(&mut bytes);
    Bytes::from(bytes)
}

fn from_hex(text: &str) -> Option<Bytes> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
