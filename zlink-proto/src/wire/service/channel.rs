//! The hot receive path: commands 18 and 19 of a client (S-20), looked at with the least work.

use super::command::{FLAG_METADATA, HEAD_BYTES, MAGIC, MAJOR};
use super::envelope::VERSION;
use super::metadata::Metadata;
use super::reader::text;
use crate::wire::{Kind, Record};
use bytes::Buf;

const SEND: u8 = 18;
const REQUEST: u8 = 19;
/// Bytes of a correlation.
const CORRELATION_BYTES: usize = 8;
/// Version and length in front of the names of an envelope.
const ENVELOPE_LEAD: usize = 5;

/// Where things lie in a record that was found well formed. All that dispatching needs, without borrowing the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChannelLayout {
    /// Command 19.
    pub is_request: bool,
    /// Part 1 is a metadata frame of this length; 0 = there is none.
    pub metadata_bytes: u16,
    /// Where the channel's text8 begins in part 0; it ends with the part.
    channel_at: u8,
    /// Where the payload begins in the last part; it ends with the part.
    pub payload_at: u16,
    /// Payload bytes.
    pub payload_bytes: u32,
}

/// A well-formed record of command 18 or 19.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChannelRecord<'a> {
    /// text8 of the channel.
    pub channel: &'a [u8],
    /// text8 of the packet name, then text8 of the content type.
    pub names: &'a [u8],
    /// Where everything lies.
    pub layout: ChannelLayout,
}

/// Texts that were found well formed before: equal bytes need no second look.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KnownTexts<'a> {
    /// text8 of a channel.
    pub channel: &'a [u8],
    /// text8 of a packet name, then text8 of a content type.
    pub names: &'a [u8],
}

impl<'a> ChannelRecord<'a> {
    /// Looks at a record that a client sent. `None`: it is another command or it is at fault; `decode` says what.
    #[inline]
    pub fn decode(record: &'a Record, known: KnownTexts<'_>) -> Option<Self> {
        let first = record.part(0)?;
        let &[a, b, major, command, flags] = first.first_chunk::<HEAD_BYTES>()?;
        if [a, b] != MAGIC || major != MAJOR || flags & !FLAG_METADATA != 0 {
            return None;
        }
        let channel_at = match (command, record.kind()) {
            (SEND, Kind::Data) => HEAD_BYTES,
            (REQUEST, Kind::Request) => {
                let correlation = first.get(HEAD_BYTES..)?.first_chunk::<CORRELATION_BYTES>()?;
                let correlation = u64::from_be_bytes(*correlation);
                if correlation != record.sequence() || correlation == 0 || correlation > i64::MAX as u64 {
                    return None;
                }
                HEAD_BYTES + CORRELATION_BYTES
            }
            _ => return None,
        };
        let channel = first.get(channel_at..)?;
        if channel.is_empty() || *channel != *known.channel {
            check_text8(channel)?;
        }
        let has_metadata = flags != 0;
        let part_count = record.part_count();
        if part_count != 2 + usize::from(has_metadata) {
            return None;
        }
        let metadata_bytes = if has_metadata { check_metadata(record)? } else { 0 };
        let (names, payload_at, payload_bytes) = split_envelope(record.part(part_count - 1)?, known)?;
        let layout = ChannelLayout {
            is_request: command == REQUEST,
            metadata_bytes,
            channel_at: channel_at as u8,
            payload_at,
            payload_bytes,
        };
        Some(Self { channel, names, layout })
    }
}

impl ChannelLayout {
    /// Bytes that an owner is charged for: payload and metadata (H-61).
    #[inline]
    pub fn cost(&self) -> u64 {
        u64::from(self.payload_bytes) + u64::from(self.metadata_bytes)
    }

    /// The channel's name.
    pub fn channel<'a>(&self, record: &'a Record) -> &'a str {
        record.part(0).and_then(|part| part.get(usize::from(self.channel_at) + 1..)).map_or("", as_text)
    }

    /// text8 of the packet name and text8 of the content type, as an answer repeats them.
    pub fn names<'a>(&self, record: &'a Record) -> &'a [u8] {
        let end = usize::from(self.payload_at).saturating_sub(4);
        let last = record.part_count().saturating_sub(1);
        record.part(last).and_then(|part| part.get(ENVELOPE_LEAD..end)).unwrap_or_default()
    }

    /// The packet name.
    pub fn packet<'a>(&self, record: &'a Record) -> &'a str {
        split_names(self.names(record)).0
    }

    /// The content type.
    pub fn content_type<'a>(&self, record: &'a Record) -> &'a str {
        split_names(self.names(record)).1
    }

    /// The metadata; empty without.
    pub fn metadata<'a>(&self, record: &'a Record) -> Metadata<'a> {
        if self.metadata_bytes == 0 {
            return Metadata::default();
        }
        record.part(1).and_then(|part| Metadata::decode(part).ok()).unwrap_or_default()
    }

    /// The payload, shared with the record.
    pub fn payload(&self, record: &Record) -> bytes::Bytes {
        let mut part = record.part_bytes(record.part_count().saturating_sub(1)).unwrap_or_default();
        part.advance(usize::from(self.payload_at).min(part.len()));
        part
    }
}

/// Packet name and content type of what `names` holds.
pub fn split_names(names: &[u8]) -> (&str, &str) {
    let Some((&length, rest)) = names.split_first() else { return ("", "") };
    let Some((packet, content)) = rest.split_at_checked(usize::from(length)) else { return ("", "") };
    (as_text(packet), content.get(1..).map_or("", as_text))
}

fn as_text(bytes: &[u8]) -> &str {
    core::str::from_utf8(bytes).unwrap_or_default()
}

/// Names, begin of the payload, bytes of the payload.
#[inline]
fn split_envelope<'a>(part: &'a [u8], known: KnownTexts<'_>) -> Option<(&'a [u8], u16, u32)> {
    let &[version, a, b, c, d] = part.first_chunk::<ENVELOPE_LEAD>()?;
    let inside = part.get(ENVELOPE_LEAD..)?;
    if version != VERSION || u32::from_be_bytes([a, b, c, d]) as usize != inside.len() {
        return None;
    }
    let packet = usize::from(*inside.first()?);
    let content = usize::from(*inside.get(packet + 1)?);
    let (names, rest) = inside.split_at_checked(packet + content + 2)?;
    if *names != *known.names {
        check_text8(names.get(..=packet)?)?;
        check_text8(names.get(packet + 1..)?)?;
    }
    let payload_bytes = u32::from_be_bytes(*rest.first_chunk::<4>()?);
    if rest.len() - 4 != payload_bytes as usize {
        return None;
    }
    // Two short texts, two lengths, nine fixed bytes: far below the limit of the type.
    Some((names, (ENVELOPE_LEAD + names.len() + 4) as u16, payload_bytes))
}

/// Exactly one text8.
fn check_text8(bytes: &[u8]) -> Option<()> {
    let (&length, rest) = bytes.split_first()?;
    (length != 0 && usize::from(length) == rest.len() && text(rest, "text").is_ok()).then_some(())
}

fn check_metadata(record: &Record) -> Option<u16> {
    let part = record.part(1)?;
    Metadata::decode(part).ok()?;
    u16::try_from(part.len()).ok()
}
