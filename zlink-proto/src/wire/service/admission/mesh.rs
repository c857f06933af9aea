//! The RouteMesh case of an admission (S-30).

use super::{RuntimeState, WEIGHT_MAX};
use crate::wire::service::fault::ServiceFault;
use crate::wire::service::reader::{Read, Reader};
use crate::wire::service::writer::Write;
use alloc::vec::Vec;

/// Most capabilities of a node.
const CAPABILITIES_MAX: u16 = 1_024;
const LIMIT_MAX: u32 = i32::MAX as u32;

/// What a node says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // The names are those of S-30.
pub struct MeshDescriptor<'a> {
    pub mesh: &'a str,
    pub security_identity: &'a str,
    pub lifecycle_generation: u64,
    pub descriptor_revision: u64,
    pub endpoint: &'a str,
    pub channels: Channels<'a>,
    pub extension: MeshExtension<'a>,
}

/// The extensible fields of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // The names are those of S-30.
pub struct MeshExtension<'a> {
    pub runtime_state: RuntimeState,
    /// 0 to 2^63-1.
    pub application_version: u64,
    /// Fields 3 and 4 belong to a later profile.
    pub later: [Option<&'a [u8]>; 2],
    /// `Some(None)`: the field is there, without text.
    pub maintenance_wave: Option<Option<&'a str>>,
    pub capabilities: Names<'a>,
    /// 0 none, 1 client, 2 server.
    pub object_role: u8,
    /// 0 to 10,000.
    pub placement_weight: u32,
    pub active_limit: u32,
    pub pending_limit: u32,
    pub active_used: u32,
    pub pending_used: u32,
}

/// Channels with their weights, sorted, unique, still encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Channels<'a> {
    count: u16,
    bytes: &'a [u8],
}

/// Names, sorted, unique, still encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Names<'a> {
    count: u16,
    bytes: &'a [u8],
}

impl<'a> Channels<'a> {
    fn decode(reader: &mut Reader<'a>) -> Read<Self> {
        let count = reader.u16("channels")?;
        let start = reader.rest();
        let mut last = "";
        for _ in 0..count {
            let (name, _) = read_channel(reader)?;
            if name <= last {
                return Err(ServiceFault::invalid("channels order"));
            }
            last = name;
        }
        Ok(Self { count, bytes: consumed(start, reader) })
    }

    /// Channels in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, u32)> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        (0..self.count).map_while(move |_| read_channel(&mut reader).ok())
    }
}

impl<'a> Names<'a> {
    fn decode(mut reader: Reader<'a>) -> Read<Self> {
        let count = reader.u16("capabilities")?;
        if count > CAPABILITIES_MAX {
            return Err(ServiceFault::invalid("capabilities"));
        }
        let bytes = reader.rest();
        let mut last = "";
        for _ in 0..count {
            let name = reader.text8("capabilities")?;
            if name <= last {
                return Err(ServiceFault::invalid("capabilities order"));
            }
            last = name;
        }
        reader.finish("capabilities")?;
        Ok(Self { count, bytes })
    }

    /// Names in their order.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        (0..self.count).map_while(move |_| reader.text8("capabilities").ok())
    }
}

fn read_channel<'a>(reader: &mut Reader<'a>) -> Read<(&'a str, u32)> {
    Ok((reader.text8("channel")?, reader.u32_in(0..=WEIGHT_MAX, "weight")?))
}

/// What was read since the rest was `start`.
fn consumed<'a>(start: &'a [u8], reader: &Reader<'a>) -> &'a [u8] {
    start.get(..start.len() - reader.len()).unwrap_or_default()
}

impl<'a> MeshDescriptor<'a> {
    pub(super) fn decode(case: &mut Reader<'a>) -> Read<Self> {
        Ok(Self {
            mesh: case.text8("mesh")?,
            security_identity: case.text8("securityIdentity")?,
            lifecycle_generation: case.nonzero_u64("generation")?,
            descriptor_revision: case.nonzero_u64("revision")?,
            endpoint: case.endpoint("endpoint")?,
            channels: Channels::decode(case)?,
            extension: MeshExtension::decode(case)?,
        })
    }

    pub(super) fn encode(&self, into: &mut Vec<u8>) {
        into.short(self.mesh.as_bytes());
        into.short(self.security_identity.as_bytes());
        into.u64(self.lifecycle_generation);
        into.u64(self.descriptor_revision);
        into.sized16(|into| into.extend_from_slice(self.endpoint.as_bytes()));
        into.u16(self.channels.count);
        into.extend_from_slice(self.channels.bytes);
        into.sized32(|into| self.extension.encode(into));
    }
}

/// Values of the extension while it is read.
#[derive(Default)]
struct Fields<'a> {
    runtime_state: Option<RuntimeState>,
    application_version: Option<u64>,
    later: [Option<&'a [u8]>; 2],
    maintenance_wave: Option<Option<&'a str>>,
    capabilities: Option<Names<'a>>,
    object_role: Option<u8>,
    placement_weight: Option<u32>,
    active_limit: Option<u32>,
    pending_limit: Option<u32>,
    active_used: Option<u32>,
    pending_used: Option<u32>,
}

impl<'a> Fields<'a> {
    /// One value, which must be all that is in `value`.
    fn decode(&mut self, id: u8, mut value: Reader<'a>) -> Read<()> {
        match id {
            1 => self.runtime_state = Some(RuntimeState::decode(&mut value)?),
            2 => self.application_version = Some(decode_version(&mut value)?),
            3 | 4 => {
                let place = if id == 3 { self.later.first_mut() } else { self.later.last_mut() };
                if let Some(place) = place {
                    *place = Some(value.rest());
                }
                return Ok(());
            }
            5 => self.maintenance_wave = Some(value.optional_text8("maintenanceWave")?),
            6 => {
                self.capabilities = Some(Names::decode(value)?);
                return Ok(());
            }
            7 => self.object_role = Some(value.u8_in(0..=2, "objectRole")?),
            8 => self.placement_weight = Some(value.u32_in(0..=WEIGHT_MAX, "placementWeight")?),
            9 => self.active_limit = Some(value.u32_in(1..=LIMIT_MAX, "activeLimit")?),
            10 => self.pending_limit = Some(value.u32_in(0..=LIMIT_MAX, "pendingLimit")?),
            11 => self.active_used = Some(value.u32("activeUsed")?),
            12 => self.pending_used = Some(value.u32("pendingUsed")?),
            _ => return Ok(()),
        }
        value.finish("extension field")
    }

    fn complete(self) -> Read<MeshExtension<'a>> {
        let missing = ServiceFault::invalid("extension required field");
        Ok(MeshExtension {
            runtime_state: self.runtime_state.ok_or(missing)?,
            application_version: self.application_version.ok_or(missing)?,
            later: self.later,
            maintenance_wave: self.maintenance_wave,
            capabilities: self.capabilities.ok_or(missing)?,
            object_role: self.object_role.ok_or(missing)?,
            placement_weight: self.placement_weight.ok_or(missing)?,
            active_limit: self.active_limit.ok_or(missing)?,
            pending_limit: self.pending_limit.ok_or(missing)?,
            active_used: self.active_used.ok_or(missing)?,
            pending_used: self.pending_used.ok_or(missing)?,
        })
    }
}

fn decode_version(reader: &mut Reader<'_>) -> Read<u64> {
    let version = reader.u64("applicationVersion")?;
    if version > i64::MAX as u64 { Err(ServiceFault::invalid("applicationVersion")) } else { Ok(version) }
}

impl<'a> MeshExtension<'a> {
    fn decode(reader: &mut Reader<'a>) -> Read<Self> {
        let length = reader.u32("extension")? as usize;
        let mut reader = reader.case(length, "extension")?;
        let mut fields = Fields::default();
        let mut last = None;
        while !reader.is_empty() {
            let id = reader.u8("extension id")?;
            if last.is_some_and(|last| id <= last) {
                return Err(ServiceFault::invalid("extension order"));
            }
            last = Some(id);
            let length = reader.u32("extension field")? as usize;
            fields.decode(id, reader.case(length, "extension field")?)?;
        }
        fields.complete()
    }

    fn encode(&self, into: &mut Vec<u8>) {
        let mut field = |id: u8, write: &dyn Fn(&mut Vec<u8>)| {
            into.u8(id);
            into.sized32(|into| write(into));
        };
        field(1, &|into| into.u8(self.runtime_state as u8));
        field(2, &|into| into.u64(self.application_version));
        for (id, value) in (3..).zip(self.later) {
            if let Some(value) = value {
                field(id, &|into| into.extend_from_slice(value));
            }
        }
        if let Some(wave) = self.maintenance_wave {
            field(5, &|into| into.short(wave.unwrap_or_default().as_bytes()));
        }
        field(6, &|into| {
            into.u16(self.capabilities.count);
            into.extend_from_slice(self.capabilities.bytes);
        });
        field(7, &|into| into.u8(self.object_role));
        field(8, &|into| into.u32(self.placement_weight));
        field(9, &|into| into.u32(self.active_limit));
        field(10, &|into| into.u32(self.pending_limit));
        field(11, &|into| into.u32(self.active_used));
        field(12, &|into| into.u32(self.pending_used));
    }
}
