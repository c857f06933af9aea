//! Reads the primitive types of 6-service §2. Every length is checked against the bytes at hand (S-04).

use super::fault::{FaultClass, ServiceFault};

/// A result of the codec.
pub(super) type Read<T> = Result<T, ServiceFault>;

/// Longest endpoint, in bytes.
const ENDPOINT_BYTES_MAX: usize = 4_096;

/// What is left of a part, a case or a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) const fn len(&self) -> usize {
        self.rest.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Exactly `count` bytes.
    #[inline]
    pub(super) fn bytes(&mut self, count: usize, place: &'static str) -> Read<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(ServiceFault::truncated(place))?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self, place: &'static str) -> Read<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(ServiceFault::truncated(place))?;
        self.rest = rest;
        Ok(*taken)
    }

    #[inline]
    pub(super) fn u8(&mut self, place: &'static str) -> Read<u8> {
        self.array::<1>(place).map(|[byte]| byte)
    }

    #[inline]
    pub(super) fn u16(&mut self, place: &'static str) -> Read<u16> {
        self.array(place).map(u16::from_be_bytes)
    }

    #[inline]
    pub(super) fn u32(&mut self, place: &'static str) -> Read<u32> {
        self.array(place).map(u32::from_be_bytes)
    }

    #[inline]
    pub(super) fn u64(&mut self, place: &'static str) -> Read<u64> {
        self.array(place).map(u64::from_be_bytes)
    }

    /// 1..2^63-1.
    #[inline]
    pub(super) fn nonzero_u64(&mut self, place: &'static str) -> Read<u64> {
        let value = self.u64(place)?;
        if value == 0 || value > i64::MAX as u64 { Err(ServiceFault::invalid(place)) } else { Ok(value) }
    }

    /// A number of one byte within `range`.
    pub(super) fn u8_in(&mut self, range: core::ops::RangeInclusive<u8>, place: &'static str) -> Read<u8> {
        let value = self.u8(place)?;
        if range.contains(&value) { Ok(value) } else { Err(ServiceFault::invalid(place)) }
    }

    /// A number of four bytes within `range`.
    pub(super) fn u32_in(&mut self, range: core::ops::RangeInclusive<u32>, place: &'static str) -> Read<u32> {
        let value = self.u32(place)?;
        if range.contains(&value) { Ok(value) } else { Err(ServiceFault::invalid(place)) }
    }

    /// 1 to 255 bytes behind their length.
    #[inline]
    fn short(&mut self, place: &'static str) -> Read<&'a [u8]> {
        match self.u8(place)? {
            0 => Err(ServiceFault::invalid(place)),
            length => self.bytes(usize::from(length), place),
        }
    }

    /// A routing id.
    pub(super) fn rid(&mut self, place: &'static str) -> Read<&'a [u8]> {
        self.short(place)
    }

    /// 1 to 255 bytes of text.
    #[inline]
    pub(super) fn text8(&mut self, place: &'static str) -> Read<&'a str> {
        text(self.short(place)?, place)
    }

    /// Text of at most 255 bytes; none if it has none.
    pub(super) fn optional_text8(&mut self, place: &'static str) -> Read<Option<&'a str>> {
        match self.u8(place)? {
            0 => Ok(None),
            length => text(self.bytes(usize::from(length), place)?, place).map(Some),
        }
    }

    /// 1 to 4,096 bytes of text.
    pub(super) fn endpoint(&mut self, place: &'static str) -> Read<&'a str> {
        let length = usize::from(self.u16(place)?);
        if length == 0 || length > ENDPOINT_BYTES_MAX {
            return Err(ServiceFault::invalid(place));
        }
        text(self.bytes(length, place)?, place)
    }

    /// A reader of exactly the next `length` bytes.
    pub(super) fn case(&mut self, length: usize, place: &'static str) -> Read<Reader<'a>> {
        self.bytes(length, place).map(Reader::new)
    }

    /// Nothing may be left.
    #[inline]
    pub(super) fn finish(self, place: &'static str) -> Read<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(ServiceFault::new(FaultClass::TrailingByte, place)) }
    }
}

/// UTF-8 without NUL.
#[inline]
pub(super) fn text<'a>(bytes: &'a [u8], place: &'static str) -> Read<&'a str> {
    match core::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => Ok(text),
        Ok(_) | Err(_) => Err(ServiceFault::invalid(place)),
    }
}
