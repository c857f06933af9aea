//! What a handler gets.

use crate::host::SourceId;
use crate::id::RoutingId;
use crate::transport::ReplyToken;
use crate::wire::Record;
use crate::wire::service::{ChannelLayout, Metadata};
use bytes::Bytes;

/// A channel send or request on its way to its handler. Its bytes are slices of the read buffer.
#[derive(Debug)]
pub struct Job {
    pub(super) source: SourceId,
    pub(super) from: RoutingId,
    pub(super) record: Record,
    pub(super) layout: ChannelLayout,
    pub(super) token: Option<ReplyToken>,
}

impl Job {
    /// The connection on which it came.
    pub fn source(&self) -> SourceId {
        self.source
    }

    /// Routing id of the client.
    pub fn from(&self) -> &RoutingId {
        &self.from
    }

    /// True if somebody waits for an answer.
    pub fn is_request(&self) -> bool {
        self.layout.is_request
    }

    /// The right to answer, once (O-60). `None` for a send, or if it was taken.
    pub fn take_token(&mut self) -> Option<ReplyToken> {
        self.token.take()
    }

    /// Sequence of the request; 0 for a send.
    pub fn sequence(&self) -> u64 {
        self.record.sequence()
    }

    /// The channel's name.
    pub fn channel(&self) -> &str {
        self.layout.channel(&self.record)
    }

    /// The packet name.
    pub fn packet(&self) -> &str {
        self.layout.packet(&self.record)
    }

    /// The content type.
    pub fn content_type(&self) -> &str {
        self.layout.content_type(&self.record)
    }

    /// Packet name and content type as an answer repeats them.
    pub fn names(&self) -> &[u8] {
        self.layout.names(&self.record)
    }

    /// The metadata; empty without.
    pub fn metadata(&self) -> Metadata<'_> {
        self.layout.metadata(&self.record)
    }

    /// The payload, shared with the record.
    pub fn payload(&self) -> Bytes {
        self.layout.payload(&self.record)
    }

    /// Payload and metadata bytes (H-61).
    pub fn cost(&self) -> u64 {
        self.layout.cost()
    }
}
