//! Frame header (W-01 to W-07).

/// Most parts of a record (§4).
pub const PARTS_MAX: usize = 1_024;
/// Largest body of CONTROL, IDENTITY, SUBSCRIBE and CANCEL frames, in bytes (§4).
pub const SPECIAL_BYTES_MAX: usize = 4_096;

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
