//! Frame header (W-01 to W-07).

/// Most parts of a record (§4).
pub const PARTS_MAX: usize = 1_024;
/// Largest body of CONTROL, IDENTITY, SUBSCRIBE and CANCEL frames, in bytes (§4).
pub const SPECIAL_BYTES_MAX: usize = 4_096;

/// First byte of every frame.
pub const MAGIC: u8 = 0x5a;
/// Second byte of every frame (W-04).
pub const VERSION: u8 = 1;
/// Bytes of a header of kind 0.
pub const HEADER_BYTES: usize = 8;
/// Bytes of the sequence behind the header of kinds 1 to 3.
pub const SEQUENCE_BYTES: usize = 8;

/// The next frame belongs to the same record.
pub const MORE: u8 = 0x01;
/// HELLO, READY, ERROR, WEIGHT, FLOWSTATE.
pub const CONTROL: u8 = 0x02;
/// Reserved for routing-id frames; dropped when received (W-07).
pub const IDENTITY: u8 = 0x04;
/// The body is a topic prefix to add.
pub const SUBSCRIBE: u8 = 0x08;
/// The body is a topic prefix to remove.
pub const CANCEL: u8 = 0x10;
/// Flags of frames that are no part of a record.
pub const SPECIAL: u8 = CONTROL | IDENTITY | SUBSCRIBE | CANCEL;

/// What a record is (§3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// One-way.
    Data = 0,
    /// Wants a reply.
    Request = 1,
    /// Answers a request.
    Reply = 2,
    /// Answers a request with an error number.
    ErrorReply = 3,
}

impl Kind {
    /// The kind with this byte in the header.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Data),
            1 => Some(Self::Request),
            2 => Some(Self::Reply),
            3 => Some(Self::ErrorReply),
            _ => None,
        }
    }

    /// Bytes of the header of a record's first frame: 8, or 16 with a sequence (W-01).
    pub const fn header_bytes(self) -> usize {
        match self {
            Self::Data => HEADER_BYTES,
            Self::Request | Self::Reply | Self::ErrorReply => HEADER_BYTES + SEQUENCE_BYTES,
        }
    }
}

/// The first 8 bytes of a frame.
pub const fn encode_header(flags: u8, kind: Kind, size: u32) -> [u8; HEADER_BYTES] {
    let lead = u32::from_be_bytes([MAGIC, VERSION, flags, kind as u8]);
    (((lead as u64) << 32) | size as u64).to_be_bytes()
}

/// True for the seven legal masks of W-06.
pub const fn are_flags_legal(flags: u8) -> bool {
    const IDENTITY_MORE: u8 = IDENTITY | MORE;
    matches!(flags, 0 | MORE | CONTROL | IDENTITY | IDENTITY_MORE | SUBSCRIBE | CANCEL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w01_header_layout() {
        assert_eq!(encode_header(0, Kind::Data, 2), [0x5a, 1, 0, 0, 0, 0, 0, 2]);
        assert_eq!(encode_header(MORE, Kind::Request, 0x0102_0304), [0x5a, 1, 1, 1, 1, 2, 3, 4]);
        assert_eq!(Kind::Data.header_bytes(), 8);
        for byte in 0..=255 {
            let expected = if byte < 4 { Some(byte) } else { None };
            assert_eq!(Kind::from_byte(byte).map(|kind| kind as u8), expected);
        }
    }

    #[test]
    fn w06_exactly_seven_masks_are_legal() {
        let legal: [u8; 7] = [0x00, 0x01, 0x02, 0x04, 0x05, 0x08, 0x10];
        for flags in 0..=255 {
            assert_eq!(are_flags_legal(flags), legal.contains(&flags), "{flags:02x}");
        }
    }
}
