//! What a requester gets: the reply of its request, or why there is none (O-83, S-24).

use crate::error::{ErrorKind, Failure, Submission};
use crate::host::ReplyResult;
use crate::wire::Record;
use crate::wire::service::{Content, Envelope, Sender, decode};
use bytes::{Buf, Bytes};

/// A successful answer. Its bytes are slices of the read buffer.
#[derive(Clone, Debug)]
pub struct Answer {
    record: Record,
    payload: Bytes,
}

/// An answer that is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnswerError {
    /// Kind, `Unknown`, and the name of the cause.
    pub failure: Failure,
    /// What the target said; `None` if its reply is malformed (O-32).
    pub result: Option<ReplyResult>,
}

const fn malformed(reason: &'static str) -> AnswerError {
    let failure = Failure { kind: ErrorKind::ProtocolError, submission: Submission::Unknown, reason };
    AnswerError { failure, result: None }
}

impl Answer {
    /// Reads the reply with which a request was settled.
    ///
    /// # Errors
    /// `ProtocolError` for a malformed one, or one without an envelope (S-24); else the kind of its result (O-83).
    pub fn read(record: Record) -> Result<Self, AnswerError> {
        let decoded = decode(&record, Some(Sender::Server)).map_err(|fault| malformed(fault.place))?;
        let Content::Reply(head) = decoded.content else { return Err(malformed("not a reply")) };
        let result = ReplyResult::new(head.result, head.code);
        match (result.kind(), decoded.envelope) {
            (Ok(None), Some(Envelope { payload, .. })) => {
                let length = payload.len();
                let mut payload = record.part_bytes(record.part_count() - 1).unwrap_or_default();
                // The payload is the end of the last part (S-03).
                payload.advance(payload.len() - length);
                Ok(Self { record, payload })
            }
            (Ok(None), None) => Err(malformed("an answer without an envelope")),
            (Ok(Some(kind)), _) => {
                let reason = result.name().unwrap_or("failed");
                let failure = Failure { kind, submission: Submission::Unknown, reason };
                Err(AnswerError { failure, result: Some(result) })
            }
            (Err(_), _) => Err(malformed("result and code")),
        }
    }

    /// The payload, shared with the read buffer.
    pub fn payload(&self) -> &Bytes {
        &self.payload
    }

    /// The payload alone.
    pub fn into_payload(self) -> Bytes {
        self.payload
    }

    /// Packet name and content type.
    pub fn names(&self) -> (&str, &str) {
        let last = self.record.part(self.record.part_count() - 1).unwrap_or_default();
        Envelope::decode(last).map_or(("", ""), |envelope| (envelope.packet, envelope.content_type))
    }
}
