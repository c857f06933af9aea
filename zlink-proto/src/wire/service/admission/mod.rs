//! Admission: hello, admit, update and reject (S-30, S-34).

mod client_server;
mod mesh;

pub use client_server::{ClientHello, ServerDescriptor};
pub use mesh::{Channels, MeshDescriptor, MeshExtension, Names};

use super::fault::ServiceFault;
use super::reader::{Read, Reader};
use super::writer::Write;
use alloc::vec::Vec;

/// Largest case of an admission, in bytes.
const CASE_BYTES_MAX: usize = 1_048_576;
/// Largest weight (S-45).
pub const WEIGHT_MAX: u32 = 10_000;
const ROUTE_MESH: u8 = 1;
const CLIENT_SERVER: u8 = 2;

/// Body of commands 1, 2 and 4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission<'a> {
    /// RouteMesh, from either side.
    Mesh(MeshDescriptor<'a>),
    /// ClientServer, role 1.
    Client(ClientHello<'a>),
    /// ClientServer, role 2.
    Server(ServerDescriptor<'a>),
}

impl<'a> Admission<'a> {
    pub(super) fn decode(reader: &mut Reader<'a>) -> Read<Self> {
        let topology = reader.u8_in(ROUTE_MESH..=CLIENT_SERVER, "topology")?;
        let length = reader.u32("admission")? as usize;
        if length > CASE_BYTES_MAX {
            return Err(ServiceFault::invalid("admission"));
        }
        let mut case = reader.case(length, "admission")?;
        let admission = if topology == ROUTE_MESH {
            Self::Mesh(MeshDescriptor::decode(&mut case)?)
        } else {
            client_server::decode(&mut case)?
        };
        case.finish("admission")?;
        Ok(admission)
    }

    pub(super) fn encode(&self, into: &mut Vec<u8>) {
        into.u8(match self {
            Self::Mesh(_) => ROUTE_MESH,
            Self::Client(_) | Self::Server(_) => CLIENT_SERVER,
        });
        into.sized32(|into| match self {
            Self::Mesh(mesh) => mesh.encode(into),
            Self::Client(client) => client.encode(into),
            Self::Server(server) => server.encode(into),
        });
    }
}

/// State of a host as its peers see it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs)] // The names are those of S-30.
pub enum RuntimeState {
    Preparing = 0,
    Serving = 1,
    Draining = 2,
    Stopped = 3,
    Error = 4,
}

impl RuntimeState {
    fn decode(reader: &mut Reader<'_>) -> Read<Self> {
        Ok(match reader.u8("runtimeState")? {
            0 => Self::Preparing,
            1 => Self::Serving,
            2 => Self::Draining,
            3 => Self::Stopped,
            4 => Self::Error,
            _ => return Err(ServiceFault::invalid("runtimeState")),
        })
    }
}

/// Why a hello was rejected (S-34).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u32)]
#[allow(missing_docs)] // The names are those of S-34.
pub enum RejectReason {
    ProtocolVersionUnsupported = 1,
    TopologyMismatch = 2,
    IdentityMismatch = 3,
    SecurityIdentityMismatch = 4,
    ChannelMismatch = 5,
    LifecycleGenerationStale = 6,
    DescriptorRevisionStale = 7,
    CapabilityMismatch = 8,
    RuntimeNotServing = 9,
    DuplicateConnection = 10,
    InvalidDescriptor = 11,
    ResourceLimit = 12,
}

impl RejectReason {
    /// All reasons, by number from 1.
    pub const ALL: [Self; 12] = [
        Self::ProtocolVersionUnsupported,
        Self::TopologyMismatch,
        Self::IdentityMismatch,
        Self::SecurityIdentityMismatch,
        Self::ChannelMismatch,
        Self::LifecycleGenerationStale,
        Self::DescriptorRevisionStale,
        Self::CapabilityMismatch,
        Self::RuntimeNotServing,
        Self::DuplicateConnection,
        Self::InvalidDescriptor,
        Self::ResourceLimit,
    ];

    /// True if the connector gives up for its present configuration; false if it reconnects by the normal delays (S-33).
    pub const fn is_final(self) -> bool {
        match self {
            Self::ProtocolVersionUnsupported | Self::TopologyMismatch | Self::IdentityMismatch => true,
            Self::SecurityIdentityMismatch | Self::ChannelMismatch => true,
            Self::CapabilityMismatch | Self::InvalidDescriptor => true,
            Self::LifecycleGenerationStale | Self::DescriptorRevisionStale => false,
            Self::RuntimeNotServing | Self::DuplicateConnection | Self::ResourceLimit => false,
        }
    }

    /// The name as the spec writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ProtocolVersionUnsupported => "protocolVersionUnsupported",
            Self::TopologyMismatch => "topologyMismatch",
            Self::IdentityMismatch => "identityMismatch",
            Self::SecurityIdentityMismatch => "securityIdentityMismatch",
            Self::ChannelMismatch => "channelMismatch",
            Self::LifecycleGenerationStale => "lifecycleGenerationStale",
            Self::DescriptorRevisionStale => "descriptorRevisionStale",
            Self::CapabilityMismatch => "capabilityMismatch",
            Self::RuntimeNotServing => "runtimeNotServing",
            Self::DuplicateConnection => "duplicateConnection",
            Self::InvalidDescriptor => "invalidDescriptor",
            Self::ResourceLimit => "resourceLimit",
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Read<Self> {
        let number = reader.u32("reason")?;
        let index = number.checked_sub(1).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| Self::ALL.get(index)).copied().ok_or(ServiceFault::invalid("reason"))
    }
}
