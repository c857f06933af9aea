//! Faults of a peer (W-20 to W-25).

use core::fmt;

/// The code of an ERROR frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum FaultCode {
    /// First byte not 5A.
    InvalidMagic = 0x01,
    /// Second byte not 01.
    VersionMismatch = 0x02,
    /// Illegal flags, or flags that are not allowed now.
    FlagsInvalid = 0x03,
    /// A body or record above its limit.
    BodyTooLarge = 0x04,
    /// Unknown or incompatible type.
    SocketTypeMismatch = 0x05,
    /// Not ready within the handshake limit.
    HandshakeTimeout = 0x06,
    /// A kind that is unknown or not allowed here.
    MessageKindInvalid = 0x07,
    /// Zero, or still unanswered.
    RequestSequenceInvalid = 0x08,
    /// Too many parts, or a foreign frame inside a record.
    MultipartFrameInvalid = 0x09,
    /// The input ended inside a frame or record.
    FrameIncomplete = 0x0a,
    /// Anything else: the reason tells.
    Other = 0x7f,
}

/// What a peer did wrong: the connection ends with this.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub struct Fault {
    /// Code of the ERROR frame.
    pub code: FaultCode,
    /// Reason of the ERROR frame, ASCII, at most 255 bytes.
    pub reason: &'static str,
}

impl Fault {
    /// A fault with its standard reason (§6); for `Other` use `other`.
    pub const fn standard(code: FaultCode) -> Self {
        let reason = match code {
            FaultCode::InvalidMagic => "invalid magic",
            FaultCode::VersionMismatch => "version mismatch",
            FaultCode::FlagsInvalid => "flags invalid",
            FaultCode::BodyTooLarge => "body too large",
            FaultCode::SocketTypeMismatch => "socket type mismatch",
            FaultCode::HandshakeTimeout => "handshake timeout",
            FaultCode::MessageKindInvalid => "message kind invalid",
            FaultCode::RequestSequenceInvalid => "request sequence invalid",
            FaultCode::MultipartFrameInvalid => "multipart frame invalid",
            FaultCode::FrameIncomplete => "frame incomplete",
            FaultCode::Other => "",
        };
        Self { code, reason }
    }

    /// A fault 7F with its reason (§7).
    pub const fn other(reason: &'static str) -> Self {
        Self { code: FaultCode::Other, reason }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:02x})", self.reason, self.code as u8)
    }
}
