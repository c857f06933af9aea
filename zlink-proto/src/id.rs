//! Names and handles.

use bytes::Bytes;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

/// The name of a socket on the wire: 0 to 255 arbitrary bytes (W-27). Ordered by unsigned bytes, a prefix is smaller.
///
/// Names of up to 23 bytes, random ones among them, lie in the value itself: every received record carries one.
#[derive(Clone)]
pub struct RoutingId(Repr);

#[derive(Clone)]
enum Repr {
    /// The name, zeros, and its length in the last byte: one field of whole words, because it is copied for every record.
    Short([u8; SHORT_MAX + 1]),
    Long(Bytes),
}

/// Longest name without memory of its own, in bytes.
const SHORT_MAX: usize = 23;

impl RoutingId {
    /// The longest routing id, in bytes.
    pub const BYTES_MAX: usize = 255;

    /// Wraps `bytes`.
    ///
    /// # Errors
    /// Gives the bytes back if there are more than 255.
    pub fn new(bytes: impl Into<Bytes>) -> Result<Self, Bytes> {
        let bytes = bytes.into();
        if bytes.len() > Self::BYTES_MAX {
            return Err(bytes);
        }
        Ok(Self::short(&bytes).unwrap_or(Self(Repr::Long(bytes))))
    }

    fn short(name: &[u8]) -> Option<Self> {
        let mut bytes = [0; SHORT_MAX + 1];
        let (place, len) = bytes.split_at_mut(SHORT_MAX);
        place.get_mut(..name.len())?.copy_from_slice(name);
        len.fill(name.len() as u8);
        Some(Self(Repr::Short(bytes)))
    }

    /// 16 bytes in UUID version 4 layout from `random` bits (W-27).
    pub fn random(random: [u8; 16]) -> Self {
        let mut id = random;
        id[6] = (id[6] & 0x0f) | 0x40;
        id[8] = (id[8] & 0x3f) | 0x80;
        Self::short(&id).unwrap_or_default()
    }

    /// The bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Short(bytes) => bytes.get(..usize::from(bytes[SHORT_MAX])).unwrap_or_default(),
            Repr::Long(bytes) => bytes,
        }
    }

    /// True for the id of no bytes, which only a DEALER may send.
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }
}

impl Default for RoutingId {
    fn default() -> Self {
        Self(Repr::Short([0; SHORT_MAX + 1]))
    }
}

impl PartialEq for RoutingId {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for RoutingId {}

impl PartialOrd for RoutingId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RoutingId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for RoutingId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Debug for RoutingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Printable ids as they are, others as `0x` and hex digits.
impl fmt::Display for RoutingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match core::str::from_utf8(self.as_bytes()) {
            Ok(text) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic()) => f.write_str(text),
            _ => {
                f.write_str("0x")?;
                self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

/// One physical connection of a socket, or one attempt to get it (N-35). Never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionNumber(pub u64);

/// One lane set of a socket: what N-14 calls a generation, with the place where its state lives.
/// Generations grow over the life of the socket; a handle of an ended set matches nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SetId {
    /// Larger than that of any set before on the same socket.
    pub generation: u64,
    /// Place in the socket's table.
    pub slot: u32,
}

/// A waiting send or a request of one socket. The place is reused, the serial never is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OperationId {
    /// Grows with each operation of the socket.
    pub serial: u64,
    /// Place in the socket's table: small and dense, so that a driver can keep its waker in a vector beside it.
    pub slot: u32,
}

/// An endpoint that a socket connects to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EndpointId(pub u32);

/// A listener of a socket.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ListenerId(pub u32);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::vec;

    #[test]
    fn w27_names_of_every_length_compare_as_bytes() {
        let name = |len: usize| RoutingId::new(vec![0x61; len]).expect("at most 255");
        for len in 0..=255 {
            assert_eq!(name(len).as_bytes(), &vec![0x61; len][..]);
            assert!(len == 0 || name(len - 1) < name(len), "a prefix is smaller: {len}");
        }
        assert_eq!(RoutingId::new(vec![0; 256]).expect_err("too long").len(), 256);
        assert_eq!(size_of::<RoutingId>(), size_of::<Bytes>());
        assert_eq!(format!("{} {}", name(3), RoutingId::new(vec![0, 1]).expect("short")), "aaa 0x0001");
    }
}
