//! The ClientServer case of an admission (S-30).

use super::{Admission, RuntimeState, WEIGHT_MAX};
use crate::wire::service::fault::ServiceFault;
use crate::wire::service::reader::{Read, Reader};
use crate::wire::service::writer::Write;
use alloc::vec::Vec;

const ROLE_CLIENT: u8 = 1;
const ROLE_SERVER: u8 = 2;
/// The only direction: client to server.
const DIRECTION: u8 = 1;

/// What a client says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientHello<'a> {
    /// The channel that it wants to use.
    pub channel: &'a str,
    /// Must equal the server's.
    pub security_identity: &'a str,
    /// Largest record that it takes, at least 1; 4,294,967,295 = no cap (S-37).
    pub max_message: u32,
}

/// What a server says of itself: admit and update.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServerDescriptor<'a> {
    /// The channel that it serves.
    pub channel: &'a str,
    /// Its routing id.
    pub server: &'a [u8],
    /// Changes with each start; compared for equality only (S-36).
    pub lifecycle_generation: u64,
    /// Grows with each change (S-35).
    pub descriptor_revision: u64,
    /// 0 to 10,000.
    pub weight: u32,
    /// Only serving ones are candidates.
    pub runtime_state: RuntimeState,
    /// Must equal the client's.
    pub security_identity: &'a str,
    /// Largest record that it takes, at least 1; 4,294,967,295 = no cap (S-37).
    pub max_message: u32,
    /// Where it listens.
    pub endpoint: &'a str,
}

pub(super) fn decode<'a>(case: &mut Reader<'a>) -> Read<Admission<'a>> {
    let role = case.u8_in(ROLE_CLIENT..=ROLE_SERVER, "role")?;
    let length = usize::from(case.u16("role fields")?);
    let mut fields = case.case(length, "role fields")?;
    let admission = if role == ROLE_CLIENT {
        Admission::Client(ClientHello::decode(&mut fields)?)
    } else {
        Admission::Server(ServerDescriptor::decode(&mut fields)?)
    };
    fields.finish("role fields")?;
    Ok(admission)
}

fn decode_direction(reader: &mut Reader<'_>) -> Read<()> {
    reader.u8_in(DIRECTION..=DIRECTION, "direction").map(|_| ())
}

fn decode_max_message(reader: &mut Reader<'_>) -> Read<u32> {
    reader.u32_in(1..=u32::MAX, "maxMessage")
}

impl<'a> ClientHello<'a> {
    fn decode(reader: &mut Reader<'a>) -> Read<Self> {
        let channel = reader.text8("channel")?;
        decode_direction(reader)?;
        let security_identity = reader.text8("securityIdentity")?;
        Ok(Self { channel, security_identity, max_message: decode_max_message(reader)? })
    }

    pub(super) fn encode(&self, into: &mut Vec<u8>) {
        into.u8(ROLE_CLIENT);
        into.sized16(|into| {
            into.short(self.channel.as_bytes());
            into.u8(DIRECTION);
            into.short(self.security_identity.as_bytes());
            into.u32(self.max_message);
        });
    }
}

impl<'a> ServerDescriptor<'a> {
    fn decode(reader: &mut Reader<'a>) -> Read<Self> {
        let channel = reader.text8("channel")?;
        decode_direction(reader)?;
        Ok(Self {
            channel,
            server: reader.rid("server")?,
            lifecycle_generation: reader.nonzero_u64("generation")?,
            descriptor_revision: reader.nonzero_u64("revision")?,
            weight: reader.u32_in(0..=WEIGHT_MAX, "weight")?,
            runtime_state: RuntimeState::decode(reader)?,
            security_identity: reader.text8("securityIdentity")?,
            max_message: decode_max_message(reader)?,
            endpoint: reader.endpoint("endpoint")?,
        })
    }

    pub(super) fn encode(&self, into: &mut Vec<u8>) {
        into.u8(ROLE_SERVER);
        into.sized16(|into| {
            into.short(self.channel.as_bytes());
            into.u8(DIRECTION);
            into.short(self.server);
            into.u64(self.lifecycle_generation);
            into.u64(self.descriptor_revision);
            into.u32(self.weight);
            into.u8(self.runtime_state as u8);
            into.short(self.security_identity.as_bytes());
            into.u32(self.max_message);
            into.sized16(|into| into.extend_from_slice(self.endpoint.as_bytes()));
        });
    }

    /// What S-35 lets an update change is equal or not; everything else must be equal.
    ///
    /// # Errors
    /// `invalid-field`: another field changed, or the server is another one.
    pub fn check_update(&self, update: &Self) -> Result<(), ServiceFault> {
        let same = Self {
            descriptor_revision: self.descriptor_revision,
            weight: self.weight,
            runtime_state: self.runtime_state,
            ..*update
        };
        if same == *self { Ok(()) } else { Err(ServiceFault::invalid("update")) }
    }
}
