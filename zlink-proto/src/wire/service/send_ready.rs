//! SendReady, record kind 12 of saved work (S-80, S-81): a codec without a live sender.

use super::address::Fence;
use super::fault::ServiceFault;
use super::reader::Reader;
use super::writer::Write;
use alloc::vec::Vec;

const RECORD_KIND: u8 = 12;

/// Where room became free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // The names are those of S-80.
pub enum SendReady<'a> {
    Node { node: &'a [u8] },
    Channel { channel: &'a str },
    Spot { target: Fence<'a> },
    Actor { target: Fence<'a> },
    BoundSession { target: Fence<'a>, binding_generation: u64 },
}

impl<'a> SendReady<'a> {
    /// Reads a saved record, its kind byte included.
    ///
    /// # Errors
    /// The first fault in the order of the bytes.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ServiceFault> {
        let mut reader = Reader::new(bytes);
        reader.u8_in(RECORD_KIND..=RECORD_KIND, "record kind")?;
        let destination = reader.u8_in(1..=5, "destination")?;
        let length = usize::from(reader.u16("destination body")?);
        let mut case = reader.case(length, "destination body")?;
        let ready = match destination {
            1 => Self::Node { node: case.rid("node")? },
            2 => Self::Channel { channel: case.text8("channel")? },
            3 => Self::Spot { target: Fence::decode(&mut case)? },
            4 => Self::Actor { target: Fence::decode(&mut case)? },
            _ => Self::BoundSession {
                target: Fence::decode(&mut case)?,
                binding_generation: case.nonzero_u64("bindingGeneration")?,
            },
        };
        case.finish("destination body")?;
        reader.finish("record")?;
        Ok(ready)
    }

    /// Writes it, kind byte included.
    pub fn encode(&self, into: &mut Vec<u8>) {
        into.u8(RECORD_KIND);
        into.u8(match self {
            Self::Node { .. } => 1,
            Self::Channel { .. } => 2,
            Self::Spot { .. } => 3,
            Self::Actor { .. } => 4,
            Self::BoundSession { .. } => 5,
        });
        into.sized16(|into| match self {
            Self::Node { node } => into.short(node),
            Self::Channel { channel } => into.short(channel.as_bytes()),
            Self::Spot { target } | Self::Actor { target } => target.encode(into),
            Self::BoundSession { target, binding_generation } => {
                target.encode(into);
                into.u64(*binding_generation);
            }
        });
    }
}
