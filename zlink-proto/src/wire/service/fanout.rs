//! Records of classic fanout: events and the beacon (S-60 to S-62).

use super::envelope::Envelope;
use super::fault::{FaultClass, ServiceFault};
use super::metadata::Metadata;
use super::reader::text;
use crate::wire::Record;
use alloc::vec::Vec;
use bytes::Bytes;

/// Topic of the beacon, reserved (S-61).
pub const BEACON_TOPIC: [u8; 5] = [0x01, 0x5a, 0x4c, 0x46, 0x31];
/// The beacon's second part.
pub const BEACON_BODY: [u8; 4] = [0x5a, 0x46, 0x01, 0x01];
const TOPIC_BYTES_MAX: usize = 255;

/// What a publisher sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fanout<'a> {
    /// The publisher lives.
    Beacon,
    /// Something was published.
    Event(Event<'a>),
}

/// One published event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Event<'a> {
    pub topic: &'a str,
    pub metadata: Option<Metadata<'a>>,
    pub envelope: Envelope<'a>,
}

impl<'a> Fanout<'a> {
    /// Reads a record of a publisher.
    ///
    /// # Errors
    /// The first fault; [`is_reserved_topic`] says whether it was in a beacon, which closes the connection (S-63).
    pub fn decode(record: &'a Record) -> Result<Self, ServiceFault> {
        let (topic, part_count) = (record.part(0).unwrap_or_default(), record.part_count());
        if is_reserved_topic(topic) {
            return if part_count != 2 {
                Err(ServiceFault::new(FaultClass::PartCount, "beacon"))
            } else if record.part(1) != Some(&BEACON_BODY[..]) {
                Err(ServiceFault::invalid("beacon"))
            } else {
                Ok(Self::Beacon)
            };
        }
        if !(2..=3).contains(&part_count) {
            return Err(ServiceFault::new(FaultClass::PartCount, "event"));
        }
        if topic.is_empty() || topic.len() > TOPIC_BYTES_MAX {
            return Err(ServiceFault::invalid("topic"));
        }
        let topic = text(topic, "topic")?;
        let metadata = match part_count {
            3 => Some(Metadata::decode(record.part(1).unwrap_or_default())?),
            _ => None,
        };
        let envelope = Envelope::decode(record.part(part_count - 1).unwrap_or_default())?;
        Ok(Self::Event(Event { topic, metadata, envelope }))
    }

    /// Its parts.
    pub fn to_parts(&self) -> Vec<Bytes> {
        match self {
            Self::Beacon => [&BEACON_TOPIC[..], &BEACON_BODY[..]].map(Bytes::copy_from_slice).to_vec(),
            Self::Event(event) => {
                let mut parts = Vec::with_capacity(3);
                parts.push(Bytes::copy_from_slice(event.topic.as_bytes()));
                if let Some(metadata) = &event.metadata {
                    let mut part = Vec::new();
                    metadata.encode(&mut part);
                    parts.push(Bytes::from(part));
                }
                let mut part = Vec::new();
                event.envelope.encode(&mut part);
                parts.push(Bytes::from(part));
                parts
            }
        }
    }
}

/// True for the topic that publishers must not use (S-61).
pub fn is_reserved_topic(topic: &[u8]) -> bool {
    topic == BEACON_TOPIC
}
