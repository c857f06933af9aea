//! The head of a record: commands, flags, directions and frame kinds (S-01, S-02, S-20, S-21).

use super::fault::{FaultClass, Scope, ServiceFault};
use super::reader::{Read, Reader};
use crate::wire::Kind;

/// First two bytes of a service record.
pub const MAGIC: [u8; 2] = [0x5a, 0x4d];
/// Third byte.
pub const MAJOR: u8 = 1;
/// What every host must be able to do (S-01).
pub const CAPABILITY: &str = "framework-service-v13";
/// Bytes of the head.
pub const HEAD_BYTES: usize = 5;

/// Part 1 is a metadata frame.
pub(super) const FLAG_METADATA: u8 = 0x01;
/// The record comes from a bound session; always together with `FLAG_SOURCE_SPOT`.
pub(super) const FLAG_BOUND_SESSION: u8 = 0x02;
/// See `FLAG_BOUND_SESSION`.
pub(super) const FLAG_SOURCE_SPOT: u8 = 0x04;

/// What a record is (S-20).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs)] // The names are those of S-20.
pub enum Command {
    Hello = 1,
    Admit = 2,
    Reject = 3,
    Update = 4,
    LivenessProbe = 5,
    LivenessAck = 6,
    NodeSend = 16,
    NodeRequest = 17,
    ChannelSend = 18,
    ChannelRequest = 19,
    Reply = 20,
    SpotSend = 21,
    SpotRequest = 22,
    LogicalMulticast = 23,
    ActorSend = 24,
    ActorRequest = 25,
}

/// Who sent a record, in which topology (S-21).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sender {
    /// Either side of a RouteMesh connection.
    Node,
    /// The client of a ClientServer connection.
    Client,
    /// The server of a ClientServer connection.
    Server,
}

impl Command {
    /// The command with this number; `None` for all that S-20 reserves.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Hello,
            2 => Self::Admit,
            3 => Self::Reject,
            4 => Self::Update,
            5 => Self::LivenessProbe,
            6 => Self::LivenessAck,
            16 => Self::NodeSend,
            17 => Self::NodeRequest,
            18 => Self::ChannelSend,
            19 => Self::ChannelRequest,
            20 => Self::Reply,
            21 => Self::SpotSend,
            22 => Self::SpotRequest,
            23 => Self::LogicalMulticast,
            24 => Self::ActorSend,
            25 => Self::ActorRequest,
            _ => return None,
        })
    }

    /// Commands 1 to 6: handled in the receive turn; any fault in them closes (S-07, S-26).
    pub const fn is_control(self) -> bool {
        (self as u8) <= Self::LivenessAck as u8
    }

    /// Its frame carries a sequence of ours that wants an answer: 17, 19, 22, 25.
    pub const fn is_request(self) -> bool {
        matches!(self, Self::NodeRequest | Self::ChannelRequest | Self::SpotRequest | Self::ActorRequest)
    }

    /// Flags that may be set.
    const fn flags(self) -> u8 {
        match self {
            Self::Hello | Self::Admit | Self::Reject | Self::Update => 0,
            Self::LivenessProbe | Self::LivenessAck | Self::Reply => 0,
            Self::NodeSend | Self::NodeRequest | Self::ChannelSend | Self::ChannelRequest => FLAG_METADATA,
            Self::SpotSend | Self::SpotRequest | Self::LogicalMulticast => FLAG_METADATA,
            Self::ActorSend | Self::ActorRequest => FLAG_METADATA | FLAG_BOUND_SESSION | FLAG_SOURCE_SPOT,
        }
    }

    /// The frame kind of this command from this sender; `None`: it never comes from there (S-21).
    pub const fn kind_from(self, sender: Sender) -> Option<Kind> {
        match (sender, self) {
            (Sender::Node, Self::Hello | Self::Admit | Self::Reject | Self::Update) => Some(Kind::Data),
            (Sender::Node, Self::NodeSend | Self::ChannelSend | Self::SpotSend) => Some(Kind::Data),
            (Sender::Node, Self::LogicalMulticast | Self::ActorSend) => Some(Kind::Data),
            (Sender::Node, Self::NodeRequest | Self::ChannelRequest) => Some(Kind::Request),
            (Sender::Node, Self::SpotRequest | Self::ActorRequest) => Some(Kind::Request),
            (Sender::Node | Sender::Server, Self::Reply) => Some(Kind::Reply),
            (Sender::Client, Self::Hello | Self::ChannelRequest) => Some(Kind::Request),
            (Sender::Client, Self::ChannelSend) => Some(Kind::Data),
            (Sender::Server, Self::Admit | Self::Reject) => Some(Kind::Reply),
            (Sender::Server, Self::Update) => Some(Kind::Data),
            (_, Self::LivenessProbe | Self::LivenessAck) => Some(Kind::Data),
            (Sender::Client | Sender::Server, _) => None,
        }
    }
}

/// The first five bytes of part 0, checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) command: Command,
    pub(super) flags: u8,
}

impl Head {
    /// Byte by byte, in the order of S-06.
    pub(super) fn decode(reader: &mut Reader<'_>) -> Read<Self> {
        let closing = |fault: ServiceFault| fault.scoped(Scope::Connection);
        for expected in MAGIC {
            if reader.u8("magic").map_err(closing)? != expected {
                return Err(closing(ServiceFault::new(FaultClass::InvalidMagic, "magic")));
            }
        }
        if reader.u8("major").map_err(closing)? != MAJOR {
            return Err(closing(ServiceFault::new(FaultClass::UnsupportedMajor, "major")));
        }
        let command = Command::from_byte(reader.u8("command").map_err(closing)?)
            .ok_or(closing(ServiceFault::new(FaultClass::UnknownCommand, "command")))?;
        let flags = reader.u8("flags").map_err(closing)?;
        let has_session = flags & FLAG_BOUND_SESSION != 0;
        let has_source = flags & FLAG_SOURCE_SPOT != 0;
        if flags & !command.flags() != 0 || has_session != has_source {
            return Err(ServiceFault::new(FaultClass::ForbiddenFlag, "flags").scoped(scope_of(command)));
        }
        Ok(Self { command, flags })
    }

    /// Direction, then frame kind (S-21). A fault in either closes.
    pub(super) fn check_origin(self, sender: Sender, kind: Kind) -> Read<()> {
        let class = match self.command.kind_from(sender) {
            Some(expected) if expected == kind => return Ok(()),
            Some(_) => FaultClass::KindMismatch,
            None => FaultClass::WrongDirection,
        };
        Err(ServiceFault::new(class, "command").scoped(Scope::Connection))
    }

    pub(super) const fn has_metadata(self) -> bool {
        self.flags & FLAG_METADATA != 0
    }

    pub(super) const fn is_bound(self) -> bool {
        self.flags & FLAG_BOUND_SESSION != 0
    }
}

/// How far a fault inside a record of `command` reaches (S-07).
pub(super) const fn scope_of(command: Command) -> Scope {
    if command.is_control() { Scope::Connection } else { Scope::Record }
}

/// The head of `command`.
pub(super) const fn head_bytes(command: Command, flags: u8) -> [u8; HEAD_BYTES] {
    [MAGIC[0], MAGIC[1], MAJOR, command as u8, flags]
}
