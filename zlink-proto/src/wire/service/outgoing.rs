//! Records of the hot send path, built without an allocation from a prepared prefix.

use super::command::{Command, FLAG_METADATA, HEAD_BYTES, head_bytes};
use super::envelope::{PAYLOAD_BYTES_MAX, VERSION};
use super::fault::ServiceFault;
use super::reader::text;
use super::writer::Write;
use crate::message::{Body, Outgoing, Part};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Head and correlation.
const CALL_BYTES: usize = HEAD_BYTES + 8;
/// Head, correlation, result, code.
const REPLY_BYTES: usize = CALL_BYTES + 8;

/// The bytes that all records of one channel, packet name and content type share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prefix {
    /// text8 of the channel.
    channel: Box<[u8]>,
    /// text8 of the packet name, text8 of the content type.
    names: Box<[u8]>,
}

impl Prefix {
    /// Checks and prepares.
    ///
    /// # Errors
    /// A text that is empty, longer than 255 bytes or contains NUL.
    pub fn new(channel: &str, packet: &str, content_type: &str) -> Result<Self, ServiceFault> {
        Ok(Self { channel: text8(&[channel])?, names: text8(&[packet, content_type])? })
    }

    /// text8 of the packet name and text8 of the content type: what a reply may repeat.
    pub fn names(&self) -> &[u8] {
        &self.names
    }

    /// True for this packet name and content type.
    #[inline]
    pub fn is_for(&self, packet: &str, content_type: &str) -> bool {
        let (own_packet, own_content) = super::channel::split_names(&self.names);
        own_packet == packet && own_content == content_type
    }
}

/// The texts one after the other as text8.
fn text8(texts: &[&str]) -> Result<Box<[u8]>, ServiceFault> {
    let mut bytes = Vec::new();
    for value in texts {
        if value.is_empty() || value.len() > 255 {
            return Err(ServiceFault::invalid("text8"));
        }
        text(value.as_bytes(), "text8")?;
        bytes.short(value.as_bytes());
    }
    Ok(bytes.into_boxed_slice())
}

/// The numbers around the names of an envelope.
#[derive(Clone, Copy, Debug)]
struct EnvelopeFrame {
    lead: [u8; 5],
    length: [u8; 4],
}

impl EnvelopeFrame {
    /// A payload above the bound keeps a length that the transport refuses with it: its part is longer than a part may be.
    #[inline]
    fn new(names: &[u8], payload: &[u8]) -> Self {
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).min(PAYLOAD_BYTES_MAX);
        let body = (names.len() as u32 + 4).saturating_add(length).to_be_bytes();
        Self { lead: [VERSION, body[0], body[1], body[2], body[3]], length: length.to_be_bytes() }
    }

    #[inline]
    fn part<'a>(&'a self, names: &'a [u8], payload: Body<'a>) -> Part<'a> {
        Part { heads: [&self.lead, names, &self.length], body: payload }
    }
}

/// A record of command 18, or 19 in [`ChannelRequest`].
#[derive(Clone, Copy, Debug)]
pub struct ChannelSend<'a> {
    prefix: &'a Prefix,
    /// Head; behind it the correlation of a request.
    call: [u8; CALL_BYTES],
    call_bytes: usize,
    frame: EnvelopeFrame,
    metadata: Option<&'a [u8]>,
    payload: Body<'a>,
}

impl<'a> ChannelSend<'a> {
    /// A one-way record.
    #[inline]
    pub fn new(prefix: &'a Prefix, payload: Body<'a>) -> Self {
        Self::of(Command::ChannelSend, HEAD_BYTES, prefix, payload)
    }

    #[inline]
    fn of(command: Command, call_bytes: usize, prefix: &'a Prefix, payload: Body<'a>) -> Self {
        let mut call = [0; CALL_BYTES];
        for (to, from) in call.iter_mut().zip(head_bytes(command, 0)) {
            *to = from;
        }
        let frame = EnvelopeFrame::new(&prefix.names, payload.as_slice());
        Self { prefix, call, call_bytes, frame, metadata: None, payload }
    }

    /// Adds a metadata frame, as `encode_metadata` writes it. An empty slice adds none.
    pub fn with_metadata(mut self, frame: &'a [u8]) -> Self {
        if !frame.is_empty() {
            self.metadata = Some(frame);
            if let Some(flags) = self.call.get_mut(HEAD_BYTES - 1) {
                *flags = FLAG_METADATA;
            }
        }
        self
    }
}

impl Outgoing for ChannelSend<'_> {
    #[inline]
    fn part_count(&self) -> usize {
        2 + usize::from(self.metadata.is_some())
    }

    #[inline]
    fn part(&self, index: usize) -> Part<'_> {
        match (index, self.metadata) {
            (0, _) => {
                let call = self.call.get(..self.call_bytes).unwrap_or_default();
                Part { heads: [call, &self.prefix.channel, &[]], body: Body::Borrowed(&[]) }
            }
            (1, Some(metadata)) => Part::borrowed(metadata),
            _ => self.frame.part(&self.prefix.names, self.payload),
        }
    }
}

/// A record of command 19. Its correlation is assigned when it is submitted (S-22).
#[derive(Clone, Copy, Debug)]
pub struct ChannelRequest<'a>(ChannelSend<'a>);

impl<'a> ChannelRequest<'a> {
    /// A request.
    #[inline]
    pub fn new(prefix: &'a Prefix, payload: Body<'a>) -> Self {
        Self(ChannelSend::of(Command::ChannelRequest, CALL_BYTES, prefix, payload))
    }

    /// Adds a metadata frame, as `encode_metadata` writes it. An empty slice adds none.
    pub fn with_metadata(self, frame: &'a [u8]) -> Self {
        Self(self.0.with_metadata(frame))
    }
}

impl Outgoing for ChannelRequest<'_> {
    #[inline]
    fn part_count(&self) -> usize {
        self.0.part_count()
    }

    #[inline]
    fn part(&self, index: usize) -> Part<'_> {
        self.0.part(index)
    }

    #[inline]
    fn assign_sequence(&mut self, sequence: u64) {
        if let Some((_, correlation)) = self.0.call.split_last_chunk_mut::<8>() {
            *correlation = sequence.to_be_bytes();
        }
    }
}

/// Part 0 of a probe or an ack.
pub fn encode_liveness(command: Command, id: u64) -> [u8; CALL_BYTES] {
    debug_assert!(matches!(command, Command::LivenessProbe | Command::LivenessAck), "commands 5 and 6");
    let mut bytes = [0; CALL_BYTES];
    for (to, from) in bytes.iter_mut().zip(head_bytes(command, 0).into_iter().chain(id.to_be_bytes())) {
        *to = from;
    }
    bytes
}

/// A record of command 20.
#[derive(Clone, Copy, Debug)]
pub struct ReplyRecord<'a> {
    head: [u8; REPLY_BYTES],
    answer: Option<Answer<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Answer<'a> {
    names: &'a [u8],
    frame: EnvelopeFrame,
    payload: Body<'a>,
}

impl<'a> ReplyRecord<'a> {
    /// The answer to the request of this sequence. `names`: those of the request, or of a prefix.
    #[inline]
    pub fn ok(correlation: u64, names: &'a [u8], payload: Body<'a>) -> Self {
        let frame = EnvelopeFrame::new(names, payload.as_slice());
        Self { head: reply_head(correlation, 0, 0), answer: Some(Answer { names, frame, payload }) }
    }

    /// A failed reply, which carries no payload (O-85). The pair must be one of O-83, and not 0/0.
    pub fn failed(correlation: u64, result: u32, code: u32) -> ReplyRecord<'static> {
        debug_assert!(result != 0 && super::reply::is_legal_pair(result, code), "a pair of O-83");
        ReplyRecord { head: reply_head(correlation, result, code), answer: None }
    }
}

fn reply_head(correlation: u64, result: u32, code: u32) -> [u8; REPLY_BYTES] {
    let mut bytes = [0; REPLY_BYTES];
    let fields = head_bytes(Command::Reply, 0)
        .into_iter()
        .chain(correlation.to_be_bytes())
        .chain(result.to_be_bytes())
        .chain(code.to_be_bytes());
    for (to, from) in bytes.iter_mut().zip(fields) {
        *to = from;
    }
    bytes
}

impl Outgoing for ReplyRecord<'_> {
    #[inline]
    fn part_count(&self) -> usize {
        1 + usize::from(self.answer.is_some())
    }

    #[inline]
    fn part(&self, index: usize) -> Part<'_> {
        match (index, &self.answer) {
            (0, _) | (_, None) => Part::borrowed(&self.head),
            (_, Some(answer)) => answer.frame.part(answer.names, answer.payload),
        }
    }
}
