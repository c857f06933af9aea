//! Messages of channels: what callers give, what handlers and callers get.

use bytes::Bytes;
use std::fmt;
use std::sync::Arc;
use zlink_proto::id::RoutingId;
use zlink_proto::message::Body;
use zlink_proto::node::Content;
use zlink_proto::wire::service::{CONTENT_OCTETS, Metadata, encode_metadata};

/// Bytes of a message: borrowed, or shared without a copy.
#[derive(Clone, Debug)]
pub enum Payload<'a> {
    /// Copied when the message is accepted.
    Borrowed(&'a [u8]),
    /// Referenced if it is large.
    Shared(Bytes),
}

impl Payload<'_> {
    pub(crate) fn body(&self) -> Body<'_> {
        match self {
            Self::Borrowed(bytes) => Body::Borrowed(bytes),
            Self::Shared(bytes) => Body::Shared(bytes),
        }
    }
}

impl<'a> From<&'a [u8]> for Payload<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Borrowed(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Payload<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Borrowed(bytes)
    }
}

impl<'a> From<&'a str> for Payload<'a> {
    fn from(text: &'a str) -> Self {
        Self::Borrowed(text.as_bytes())
    }
}

impl From<Bytes> for Payload<'_> {
    fn from(bytes: Bytes) -> Self {
        Self::Shared(bytes)
    }
}

impl From<Vec<u8>> for Payload<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Shared(bytes.into())
    }
}

impl From<String> for Payload<'_> {
    fn from(text: String) -> Self {
        Self::Shared(text.into())
    }
}

/// A message to a channel.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    pub(crate) packet: &'a str,
    pub(crate) content_type: &'a str,
    pub(crate) payload: Payload<'a>,
    /// As it goes on the wire; shared by the copies of one message.
    pub(crate) metadata: Option<Arc<[u8]>>,
}

impl<'a> Message<'a> {
    /// A message of this packet name, which chooses its handler: 1 to 255 bytes of text without NUL. Its content type is
    /// `application/octet-stream`.
    pub fn new(packet: &'a str, payload: impl Into<Payload<'a>>) -> Self {
        Self { packet, content_type: CONTENT_OCTETS, payload: payload.into(), metadata: None }
    }

    /// Another content type (S-12).
    #[must_use]
    pub const fn content_type(mut self, content_type: &'a str) -> Self {
        self.content_type = content_type;
        self
    }

    /// Adds metadata: unique keys of 1 to 255 bytes, at most 1,024 bytes together (S-10). Metadata that is not legal makes the call
    /// end `InvalidOperation`.
    #[must_use]
    pub fn metadata(mut self, pairs: &[(&str, &str)]) -> Self {
        let mut frame = Vec::new();
        let is_legal = encode_metadata(pairs.iter().copied(), &mut frame).is_ok();
        self.metadata = Some(if is_legal { frame.into() } else { ILLEGAL.into() });
        self
    }

    pub(crate) fn has_illegal_metadata(&self) -> bool {
        self.metadata.as_deref() == Some(ILLEGAL)
    }
}

/// Never a frame: the call ends before submission.
const ILLEGAL: &[u8] = &[0];

/// A message that came to a handler. Its payload is a slice of what was received; keep a copy of what is to be kept for long (B-53).
#[derive(Debug)]
pub struct Incoming {
    content: Content,
    payload: Bytes,
}

impl Incoming {
    #[inline]
    pub(crate) fn new(content: Content) -> Self {
        Self { payload: content.payload(), content }
    }

    /// The payload.
    #[inline]
    pub const fn payload(&self) -> &Bytes {
        &self.payload
    }

    /// The packet name.
    pub fn packet(&self) -> &str {
        self.content.packet()
    }

    /// The content type.
    pub fn content_type(&self) -> &str {
        self.content.content_type()
    }

    /// The channel.
    pub fn channel(&self) -> &str {
        self.content.channel()
    }

    /// Routing id of the sender.
    pub fn from(&self) -> &RoutingId {
        self.content.from()
    }

    /// The metadata; empty without.
    pub fn metadata(&self) -> Metadata<'_> {
        self.content.metadata()
    }
}

/// The answer to a request: made by its handler, read by its caller.
#[derive(Clone, Debug)]
pub struct Reply {
    payload: Bytes,
}

impl Reply {
    /// An answer with this payload. It repeats packet name and content type of the request.
    pub fn new(payload: impl Into<Payload<'static>>) -> Self {
        match payload.into() {
            Payload::Borrowed(bytes) => Self { payload: Bytes::from_static(bytes) },
            Payload::Shared(payload) => Self { payload },
        }
    }

    /// The payload.
    pub const fn payload(&self) -> &Bytes {
        &self.payload
    }

    /// The payload.
    pub fn into_payload(self) -> Bytes {
        self.payload
    }
}

/// Why a handler failed. The text stays in this process: the requester gets `InternalFailure` (O-85, O-92).
pub struct HandlerError(Box<dyn std::error::Error + Send + Sync>);

impl HandlerError {
    /// A failure with this text or error.
    pub fn new(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(reason.into())
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for HandlerError {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Debug for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
