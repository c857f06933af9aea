//! Where Spot and Actor records go (6-service §2 and §3).

use super::fault::ServiceFault;
use super::reader::{Read, Reader};
use super::writer::Write;
use alloc::vec::Vec;

/// Most times a record is forwarded (S-27).
pub const HOPS_MAX: u8 = 8;

/// Id of an operation (O-37).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct OperationKey {
    pub high: u64,
    pub low: u64,
}

/// One placement of an object: every number must match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // The names are those of 6-service §2.
pub struct Fence<'a> {
    pub id: &'a str,
    pub object_generation: u64,
    pub node: &'a [u8],
    pub node_generation: u64,
    pub owner_generation: u64,
    pub lease_generation: u64,
}

/// An object without its placement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Reference<'a> {
    pub id: &'a str,
    pub generation: u64,
}

/// Body of commands 21 and 22 behind the correlation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct SpotAddress<'a> {
    pub operation: OperationKey,
    pub hop: u8,
    pub source_spot: &'a str,
    pub target: Fence<'a>,
}

/// The session that an Actor record comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct BoundSession<'a> {
    pub session: &'a [u8],
    pub binding_generation: u64,
    pub sequence: u64,
}

/// Body of commands 24 and 25 behind the correlation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct ActorAddress<'a> {
    pub operation: OperationKey,
    pub hop: u8,
    pub source: Option<Reference<'a>>,
    pub target: Fence<'a>,
    pub session: Option<BoundSession<'a>>,
}

fn operation(reader: &mut Reader<'_>, is_request: bool) -> Read<OperationKey> {
    let key = OperationKey { high: reader.u64("operation")?, low: reader.u64("operation")? };
    if is_request && key.high == 0 && key.low == 0 {
        Err(ServiceFault::invalid("operation"))
    } else {
        Ok(key)
    }
}

fn hop(reader: &mut Reader<'_>) -> Read<u8> {
    reader.u8_in(0..=HOPS_MAX, "hop")
}

fn write_operation(into: &mut Vec<u8>, key: OperationKey, hop: u8) {
    into.u64(key.high);
    into.u64(key.low);
    into.u8(hop);
}

impl<'a> Fence<'a> {
    pub(super) fn decode(reader: &mut Reader<'a>) -> Read<Self> {
        Ok(Self {
            id: reader.text8("target.id")?,
            object_generation: reader.nonzero_u64("target.generation")?,
            node: reader.rid("target.node")?,
            node_generation: reader.nonzero_u64("target.nodeGeneration")?,
            owner_generation: reader.nonzero_u64("target.ownerGeneration")?,
            lease_generation: reader.nonzero_u64("target.leaseGeneration")?,
        })
    }

    pub(super) fn encode(&self, into: &mut Vec<u8>) {
        into.short(self.id.as_bytes());
        into.u64(self.object_generation);
        into.short(self.node);
        into.u64(self.node_generation);
        into.u64(self.owner_generation);
        into.u64(self.lease_generation);
    }
}

impl<'a> SpotAddress<'a> {
    pub(super) fn decode(reader: &mut Reader<'a>, is_request: bool) -> Read<Self> {
        Ok(Self {
            operation: operation(reader, is_request)?,
            hop: hop(reader)?,
            source_spot: reader.text8("sourceSpot")?,
            target: Fence::decode(reader)?,
        })
    }

    pub(super) fn encode(&self, into: &mut Vec<u8>) {
        write_operation(into, self.operation, self.hop);
        into.short(self.source_spot.as_bytes());
        self.target.encode(into);
    }
}

impl<'a> ActorAddress<'a> {
    pub(super) fn decode(reader: &mut Reader<'a>, is_request: bool, is_bound: bool) -> Read<Self> {
        let (operation, hop) = (operation(reader, is_request)?, hop(reader)?);
        let source = match reader.optional_text8("source.id")? {
            Some(id) => Some(Reference { id, generation: reader.nonzero_u64("source.generation")? }),
            None => None,
        };
        let target = Fence::decode(reader)?;
        let session = if is_bound {
            Some(BoundSession {
                session: reader.rid("session")?,
                binding_generation: reader.nonzero_u64("bindingGeneration")?,
                sequence: reader.nonzero_u64("sessionSequence")?,
            })
        } else {
            None
        };
        Ok(Self { operation, hop, source, target, session })
    }

    pub(super) fn encode(&self, into: &mut Vec<u8>) {
        write_operation(into, self.operation, self.hop);
        match &self.source {
            Some(source) => {
                into.short(source.id.as_bytes());
                into.u64(source.generation);
            }
            None => into.u8(0),
        }
        self.target.encode(into);
        if let Some(session) = &self.session {
            into.short(session.session);
            into.u64(session.binding_generation);
            into.u64(session.sequence);
        }
    }
}
