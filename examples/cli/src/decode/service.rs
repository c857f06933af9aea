//! The fields of a service record.

use super::show::hex;
use serde_json::{Value, json};

/// Command and fields, or the class of the first fault.
pub(super) fn describe(parts: &[Vec<u8>]) -> Value {
    let head = parts.first().and_then(|part| part.first_chunk::<5>());
    match head {
        Some([0x5a, 0x4d, 1, command, flags]) => json!({"command": command, "flags": flags}),
        Some(_) | None => json!({"bytes": parts.first().map(|part| hex(part))}),
    }
}
