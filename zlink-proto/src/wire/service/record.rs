//! Whole records: every command, checked in the order of S-06.

use super::address::{ActorAddress, SpotAddress};
use super::admission::{Admission, RejectReason};
use super::command::{Command, FLAG_BOUND_SESSION, FLAG_METADATA, FLAG_SOURCE_SPOT, Head, Sender};
use super::command::{head_bytes, scope_of};
use super::envelope::Envelope;
use super::fault::{FaultClass, Scope, ServiceFault};
use super::metadata::Metadata;
use super::reader::{Read, Reader};
use super::reply::ReplyHead;
use super::writer::Write;
use crate::wire::Record;
use alloc::vec::Vec;
use bytes::Bytes;

/// A record, decoded in place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServiceRecord<'a> {
    /// What it says.
    pub content: Content<'a>,
    /// Its metadata frame, if it has one.
    pub metadata: Option<Metadata<'a>>,
    /// Its envelope: always there on 16 to 19 and 21 to 25, perhaps on a reply with result 0.
    pub envelope: Option<Envelope<'a>>,
}

/// Body of a record (S-20).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // The names are those of S-20.
pub enum Content<'a> {
    Hello(Admission<'a>),
    Admit(Admission<'a>),
    Reject(RejectReason),
    Update(Admission<'a>),
    LivenessProbe { id: u64 },
    LivenessAck { id: u64 },
    NodeSend,
    NodeRequest { correlation: u64 },
    ChannelSend { channel: &'a str },
    ChannelRequest { correlation: u64, channel: &'a str },
    Reply(ReplyHead),
    SpotSend(SpotAddress<'a>),
    SpotRequest { correlation: u64, address: SpotAddress<'a> },
    LogicalMulticast { channel: &'a str, topic: &'a str, source_spot: &'a str },
    ActorSend(ActorAddress<'a>),
    ActorRequest { correlation: u64, address: ActorAddress<'a> },
}

impl Content<'_> {
    /// Its command.
    pub const fn command(&self) -> Command {
        match self {
            Self::Hello(_) => Command::Hello,
            Self::Admit(_) => Command::Admit,
            Self::Reject(_) => Command::Reject,
            Self::Update(_) => Command::Update,
            Self::LivenessProbe { .. } => Command::LivenessProbe,
            Self::LivenessAck { .. } => Command::LivenessAck,
            Self::NodeSend => Command::NodeSend,
            Self::NodeRequest { .. } => Command::NodeRequest,
            Self::ChannelSend { .. } => Command::ChannelSend,
            Self::ChannelRequest { .. } => Command::ChannelRequest,
            Self::Reply(_) => Command::Reply,
            Self::SpotSend(_) => Command::SpotSend,
            Self::SpotRequest { .. } => Command::SpotRequest,
            Self::LogicalMulticast { .. } => Command::LogicalMulticast,
            Self::ActorSend(_) => Command::ActorSend,
            Self::ActorRequest { .. } => Command::ActorRequest,
        }
    }

    /// The correlation that must equal the sequence of the frame (S-22).
    const fn correlation(&self) -> Option<u64> {
        match self {
            Self::NodeRequest { correlation }
            | Self::ChannelRequest { correlation, .. }
            | Self::SpotRequest { correlation, .. }
            | Self::ActorRequest { correlation, .. }
            | Self::Reply(ReplyHead { correlation, .. }) => Some(*correlation),
            Self::Hello(_) | Self::Admit(_) | Self::Reject(_) | Self::Update(_) => None,
            Self::LivenessProbe { .. } | Self::LivenessAck { .. } => None,
            Self::NodeSend | Self::ChannelSend { .. } | Self::SpotSend(_) => None,
            Self::LogicalMulticast { .. } | Self::ActorSend(_) => None,
        }
    }
}

/// Reads `record`, which came from `sender`. Without a sender direction, frame kind and correlation are not checked.
///
/// # Errors
/// The first fault in the order of S-06.
pub fn decode(record: &Record, sender: Option<Sender>) -> Result<ServiceRecord<'_>, ServiceFault> {
    let mut body = Reader::new(record.part(0).unwrap_or_default());
    let head = Head::decode(&mut body)?;
    if let Some(sender) = sender {
        head.check_origin(sender, record.kind())?;
    }
    let scope = scope_of(head.command);
    decode_checked(record, head, body, sender.is_some()).map_err(|fault| match fault.scope {
        // Faults of the body start out as those of a record.
        Scope::Record => fault.scoped(scope),
        Scope::Connection | Scope::Envelope => fault,
    })
}

fn decode_checked<'a>(
    record: &'a Record,
    head: Head,
    mut body: Reader<'a>,
    checks_correlation: bool,
) -> Read<ServiceRecord<'a>> {
    let part_count = record.part_count();
    check_parts(head, part_count)?;
    let content = decode_content(&mut body, head)?;
    if matches!(content, Content::Reply(reply) if !reply.is_ok()) && part_count > 1 {
        return Err(ServiceFault::new(FaultClass::PartCount, "payload on a failed reply"));
    }
    body.finish("body")?;
    if checks_correlation && content.correlation().is_some_and(|number| number != record.sequence()) {
        let fault = ServiceFault::new(FaultClass::CorrelationMismatch, "correlation");
        return Err(fault.scoped(Scope::Connection));
    }
    let metadata = match head.has_metadata() {
        true => Some(Metadata::decode(record.part(1).unwrap_or_default())?),
        false => None,
    };
    let envelope = match part_count > 1 {
        true => Some(decode_envelope(record.part(part_count - 1).unwrap_or_default())?),
        false => None,
    };
    Ok(ServiceRecord { content, metadata, envelope })
}

pub(super) fn decode_envelope(part: &[u8]) -> Read<Envelope<'_>> {
    Envelope::decode(part).map_err(|fault| fault.scoped(Scope::Envelope))
}

/// Part 0, a metadata frame exactly with its flag, an envelope as the command wants it.
pub(super) fn check_parts(head: Head, part_count: usize) -> Read<()> {
    let is_legal = match head.command {
        Command::Hello | Command::Admit | Command::Reject | Command::Update => part_count == 1,
        Command::LivenessProbe | Command::LivenessAck => part_count == 1,
        Command::Reply => part_count <= 2,
        Command::NodeSend
        | Command::NodeRequest
        | Command::ChannelSend
        | Command::ChannelRequest
        | Command::SpotSend
        | Command::SpotRequest
        | Command::LogicalMulticast
        | Command::ActorSend
        | Command::ActorRequest => part_count == 2 + usize::from(head.has_metadata()),
    };
    if is_legal { Ok(()) } else { Err(ServiceFault::new(FaultClass::PartCount, "parts")) }
}

fn decode_content<'a>(body: &mut Reader<'a>, head: Head) -> Read<Content<'a>> {
    Ok(match head.command {
        Command::Hello => Content::Hello(Admission::decode(body)?),
        Command::Admit => Content::Admit(Admission::decode(body)?),
        Command::Reject => Content::Reject(RejectReason::decode(body)?),
        Command::Update => Content::Update(Admission::decode(body)?),
        Command::LivenessProbe => Content::LivenessProbe { id: body.nonzero_u64("probe")? },
        Command::LivenessAck => Content::LivenessAck { id: body.nonzero_u64("probe")? },
        Command::NodeSend => Content::NodeSend,
        Command::NodeRequest => Content::NodeRequest { correlation: body.nonzero_u64("correlation")? },
        Command::ChannelSend => Content::ChannelSend { channel: body.text8("channel")? },
        Command::ChannelRequest => Content::ChannelRequest {
            correlation: body.nonzero_u64("correlation")?,
            channel: body.text8("channel")?,
        },
        Command::Reply => Content::Reply(ReplyHead::decode(body)?),
        Command::SpotSend => Content::SpotSend(SpotAddress::decode(body, false)?),
        Command::SpotRequest => Content::SpotRequest {
            correlation: body.nonzero_u64("correlation")?,
            address: SpotAddress::decode(body, true)?,
        },
        Command::LogicalMulticast => Content::LogicalMulticast {
            channel: body.text8("channel")?,
            topic: body.text8("topic")?,
            source_spot: body.text8("sourceSpot")?,
        },
        Command::ActorSend => Content::ActorSend(ActorAddress::decode(body, false, head.is_bound())?),
        Command::ActorRequest => Content::ActorRequest {
            correlation: body.nonzero_u64("correlation")?,
            address: ActorAddress::decode(body, true, head.is_bound())?,
        },
    })
}

impl ServiceRecord<'_> {
    /// A record of part 0 alone.
    pub const fn of(content: Content<'_>) -> ServiceRecord<'_> {
        ServiceRecord { content, metadata: None, envelope: None }
    }

    /// Its parts. For rare records; those of a hot path are in `outgoing`.
    pub fn to_parts(&self) -> Vec<Bytes> {
        let mut parts = Vec::with_capacity(3);
        parts.push(Bytes::from(self.encode_first()));
        if let Some(metadata) = &self.metadata {
            let mut part = Vec::new();
            metadata.encode(&mut part);
            parts.push(Bytes::from(part));
        }
        if let Some(envelope) = &self.envelope {
            let mut part = Vec::new();
            envelope.encode(&mut part);
            parts.push(Bytes::from(part));
        }
        parts
    }

    /// Part 0.
    pub fn encode_first(&self) -> Vec<u8> {
        let mut part = Vec::new();
        part.extend_from_slice(&head_bytes(self.content.command(), self.flags()));
        self.encode_body(&mut part);
        part
    }

    fn flags(&self) -> u8 {
        let is_bound = match &self.content {
            Content::ActorSend(address) | Content::ActorRequest { address, .. } => address.session.is_some(),
            _ => false,
        };
        let metadata = if self.metadata.is_some() { FLAG_METADATA } else { 0 };
        metadata | if is_bound { FLAG_BOUND_SESSION | FLAG_SOURCE_SPOT } else { 0 }
    }

    fn encode_body(&self, into: &mut Vec<u8>) {
        match &self.content {
            Content::Hello(admission) | Content::Admit(admission) | Content::Update(admission) => {
                admission.encode(into);
            }
            Content::Reject(reason) => into.u32(*reason as u32),
            Content::LivenessProbe { id } | Content::LivenessAck { id } => into.u64(*id),
            Content::NodeSend => {}
            Content::NodeRequest { correlation } => into.u64(*correlation),
            Content::ChannelSend { channel } => into.short(channel.as_bytes()),
            Content::ChannelRequest { correlation, channel } => {
                into.u64(*correlation);
                into.short(channel.as_bytes());
            }
            Content::Reply(reply) => {
                into.u64(reply.correlation);
                into.u32(reply.result);
                into.u32(reply.code);
            }
            Content::SpotSend(address) => address.encode(into),
            Content::SpotRequest { correlation, address } => {
                into.u64(*correlation);
                address.encode(into);
            }
            Content::LogicalMulticast { channel, topic, source_spot } => {
                for text in [channel, topic, source_spot] {
                    into.short(text.as_bytes());
                }
            }
            Content::ActorSend(address) => address.encode(into),
            Content::ActorRequest { correlation, address } => {
                into.u64(*correlation);
                address.encode(into);
            }
        }
    }
}
