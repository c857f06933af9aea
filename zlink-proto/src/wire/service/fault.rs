//! What is wrong with a service record, and how far it reaches (S-06, S-07).

use core::fmt;

/// Class of a fault (S-06). The names are those of the vectors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FaultClass {
    /// First or second byte wrong; also the marker of a STREAM header.
    InvalidMagic,
    /// Major not 1.
    UnsupportedMajor,
    /// The command is not in S-20; also an unknown STREAM control.
    UnknownCommand,
    /// A flag is undefined or not allowed here.
    ForbiddenFlag,
    /// A value is outside its range, set, order or encoding.
    InvalidField,
    /// The bytes end inside a field or a declared length.
    TruncatedField,
    /// Bytes are left after the last field of a part, a case or an envelope.
    TrailingByte,
    /// The parts do not fit command, flags or result.
    PartCount,
    /// The command is not for this topology or sender.
    WrongDirection,
    /// The frame kind does not fit the command.
    KindMismatch,
    /// The correlation differs from the sequence of the frame.
    CorrelationMismatch,
    /// A STREAM packet is above the limit.
    MessageTooLarge,
}

impl FaultClass {
    /// The name in the vectors and in observations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidMagic => "invalid-magic",
            Self::UnsupportedMajor => "unsupported-major",
            Self::UnknownCommand => "unknown-command",
            Self::ForbiddenFlag => "forbidden-flag",
            Self::InvalidField => "invalid-field",
            Self::TruncatedField => "truncated-field",
            Self::TrailingByte => "trailing-byte",
            Self::PartCount => "part-count",
            Self::WrongDirection => "wrong-direction",
            Self::KindMismatch => "kind-mismatch",
            Self::CorrelationMismatch => "correlation-mismatch",
            Self::MessageTooLarge => "message-too-large",
        }
    }
}

/// How far a fault reaches (S-07).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    /// The peer does not keep to the protocol: the connection closes with reason `service protocol error`.
    Connection,
    /// One application record or reply: a request is answered 104/16, the connection stays.
    Record,
    /// Only its envelope: a request is answered 104/12, the connection stays.
    Envelope,
}

/// A fault in the bytes of a service record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ServiceFault {
    /// What kind of fault.
    pub class: FaultClass,
    /// The field, for people.
    pub place: &'static str,
    /// How far it reaches.
    pub scope: Scope,
}

impl ServiceFault {
    pub(super) const fn new(class: FaultClass, place: &'static str) -> Self {
        Self { class, place, scope: Scope::Record }
    }

    pub(super) const fn invalid(place: &'static str) -> Self {
        Self::new(FaultClass::InvalidField, place)
    }

    pub(super) const fn truncated(place: &'static str) -> Self {
        Self::new(FaultClass::TruncatedField, place)
    }

    pub(super) const fn scoped(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }
}

impl fmt::Display for ServiceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.class.name(), self.place)
    }
}

impl core::error::Error for ServiceFault {}
