//! What a handler gets.

use super::ReplyId;
use crate::host::{Running, SourceId};
use crate::id::RoutingId;
use crate::transport::ReplyToken;
use crate::wire::Record;
use crate::wire::service::{ChannelLayout, Metadata};
use alloc::boxed::Box;
use bytes::Bytes;

/// A channel send or request on its way to its handler. It is moved from queue to queue, so it lies in a box that is used again
/// ([`HostSide::recycle`](super::HostSide::recycle)).
#[derive(Debug)]
pub struct Job {
    pub(super) source: SourceId,
    pub(super) handler: u32,
    pub(super) token: Option<ReplyToken>,
    pub(super) content: Content,
}

/// What was sent. Its bytes are slices of the read buffer.
#[derive(Debug)]
pub struct Content {
    pub(super) from: RoutingId,
    pub(super) record: Record,
    pub(super) layout: ChannelLayout,
}

/// A job whose permit is back: the handler's first instruction comes next (H-74).
#[derive(Debug)]
pub struct Started {
    /// What the handler gets.
    pub job: Box<Job>,
    /// Accepted number at its owner, from 1.
    pub number: u64,
    /// Ends the handler's reservation: `HostSide::next`.
    pub running: Running,
    /// The right to answer, for a request: `HostSide::claim_reply`.
    pub reply: Option<ReplyId>,
}

impl Job {
    /// The connection on which it came.
    pub fn source(&self) -> SourceId {
        self.source
    }

    /// Number of its handler, as it was configured.
    pub fn handler(&self) -> u32 {
        self.handler
    }

    /// Moves the content out; an empty one stays.
    #[inline]
    pub fn take_content(&mut self) -> Content {
        let layout = self.content.layout;
        let vacant = Content { from: RoutingId::default(), record: Record::vacant(), layout };
        core::mem::replace(&mut self.content, vacant)
    }
}

impl core::ops::Deref for Job {
    type Target = Content;

    fn deref(&self) -> &Content {
        &self.content
    }
}

impl Content {
    /// Routing id of the client.
    pub fn from(&self) -> &RoutingId {
        &self.from
    }

    /// True if somebody waits for an answer.
    pub fn is_request(&self) -> bool {
        self.layout.is_request
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
