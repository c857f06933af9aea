//! The metadata frame (S-10), and the pairs that STREAM headers share with it (S-73).

use super::fault::ServiceFault;
use super::reader::{Read, Reader, text};
use super::writer::Write;
use alloc::vec::Vec;

/// Largest metadata frame, in bytes.
pub const METADATA_BYTES_MAX: usize = 1_024;
const VERSION: u8 = 1;
/// A pair has at least this many bytes, so that a count says nothing about memory.
const COUNT_MAX: usize = u8::MAX as usize;

/// Pairs of text, checked and still encoded: reading them allocates nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Metadata<'a> {
    count: u8,
    /// `count` pairs, exactly.
    pairs: &'a [u8],
}

impl<'a> Metadata<'a> {
    /// Reads a frame.
    ///
    /// # Errors
    /// The first fault in the order of S-06.
    pub fn decode(frame: &'a [u8]) -> Result<Self, ServiceFault> {
        if frame.len() > METADATA_BYTES_MAX {
            return Err(ServiceFault::invalid("metadata"));
        }
        let mut reader = Reader::new(frame);
        if reader.u8("metadata.version")? != VERSION {
            return Err(ServiceFault::invalid("metadata.version"));
        }
        Self::decode_pairs(reader)
    }

    /// Reads `u8 count × pair`, which is all that is left in `reader`.
    pub(super) fn decode_pairs(mut reader: Reader<'a>) -> Read<Self> {
        let count = reader.u8("metadata.count")?;
        let pairs = reader.rest();
        let mut keys = [""; COUNT_MAX];
        let used = keys.get_mut(..usize::from(count)).unwrap_or_default();
        for key in used.iter_mut() {
            *key = read_pair(&mut reader)?.0;
        }
        reader.finish("metadata")?;
        used.sort_unstable();
        if used.windows(2).any(|pair| pair.first() == pair.last()) {
            return Err(ServiceFault::invalid("metadata.key repeated"));
        }
        Ok(Self { count, pairs })
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// True without pairs; writers omit such a frame.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The pairs in the order of the frame.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let mut reader = Reader::new(self.pairs);
        (0..self.count).map_while(move |_| read_pair(&mut reader).ok())
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.iter().find(|pair| pair.0 == key).map(|pair| pair.1)
    }

    /// Writes the frame.
    pub fn encode(&self, into: &mut Vec<u8>) {
        into.u8(VERSION);
        self.encode_pairs(into);
    }

    pub(super) fn encode_pairs(&self, into: &mut Vec<u8>) {
        into.u8(self.count);
        into.extend_from_slice(self.pairs);
    }
}

/// Writes the frame of `pairs`, for callers.
///
/// # Errors
/// A key that is empty, too long, repeated or contains NUL; a value with NUL; a frame above 1,024 bytes. `into` is as before then.
pub fn encode_metadata<'a>(
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    into: &mut Vec<u8>,
) -> Result<(), ServiceFault> {
    let start = into.len();
    let result = write_pairs(pairs, into)
        .and_then(|()| Metadata::decode(into.get(start..).unwrap_or_default()).map(|_| ()));
    if result.is_err() {
        into.truncate(start);
    }
    result
}

fn write_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>, into: &mut Vec<u8>) -> Read<()> {
    into.u8(VERSION);
    let at = into.len();
    into.u8(0);
    let mut count = 0_u8;
    for (key, value) in pairs {
        count = count.checked_add(1).ok_or(ServiceFault::invalid("metadata.count"))?;
        if key.len() > 255 || value.len() > METADATA_BYTES_MAX {
            return Err(ServiceFault::invalid("metadata"));
        }
        into.short(key.as_bytes());
        into.sized16(|into| into.extend_from_slice(value.as_bytes()));
    }
    if let Some(place) = into.get_mut(at) {
        *place = count;
    }
    Ok(())
}

fn read_pair<'a>(reader: &mut Reader<'a>) -> Read<(&'a str, &'a str)> {
    let key = reader.text8("metadata.key")?;
    let length = usize::from(reader.u16("metadata.value")?);
    Ok((key, text(reader.bytes(length, "metadata.value")?, "metadata.value")?))
}
