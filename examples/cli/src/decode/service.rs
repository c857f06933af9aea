//! The fields of a service record, as vector files write them.

use serde_json::{Value, json};
use zlink_proto::wire::Kind;
use zlink_proto::wire::service::Command;
use zlink_testkit::vectors::service::{Vector, run};

/// Command and fields, or the class of the first fault. Direction and frame kind are not judged: nobody said who sent it.
pub(super) fn describe(parts: &[Vec<u8>]) -> Value {
    let vector = Vector {
        id: String::new(),
        codec: "record".into(),
        parts: parts.iter().map(|part| part.clone().into()).collect(),
        sender: None,
        frame: (Kind::Data, 0),
        max: 0,
        expect: String::new(),
        fields: Value::Null,
    };
    let name = parts.first().and_then(|part| part.get(3).copied()).and_then(Command::from_byte);
    let name = name.map(|command| format!("{command:?}"));
    match run(&vector) {
        Some(Ok((fields, _))) => {
            let mut value = json!({"name": name});
            if let (Some(into), Value::Object(fields)) = (value.as_object_mut(), fields) {
                into.extend(fields);
            }
            value
        }
        Some(Err(fault)) => json!({"name": name, "fault": fault.class.name(), "place": fault.place}),
        None => json!({"name": name}),
    }
}
