//! Prepared heads of a client's records: found without a lock, made once for each packet name and content type.

use super::message::{Message, Payload};
use crate::socket::call::Submit;
use std::borrow::Cow;
use std::sync::OnceLock;
use zlink_proto::wire::service::{ChannelRequest, ChannelSend, Prefix};

/// Kept ones; further names are prepared for each call.
const PREFIXES_MAX: usize = 64;

/// The prepared heads of one channel. It only grows, so that references stay good.
#[derive(Default)]
pub(crate) struct Prefixes {
    first: OnceLock<Box<Node>>,
}

struct Node {
    prefix: Prefix,
    next: OnceLock<Box<Node>>,
}

impl Prefixes {
    /// The head for a message; none if a name is not legal.
    #[inline]
    pub(crate) fn get<'a>(&'a self, channel: &str, message: &Message<'_>) -> Option<Cow<'a, Prefix>> {
        let (packet, content_type) = (message.packet, message.content_type);
        let mut place = &self.first;
        for _ in 0..PREFIXES_MAX {
            let Some(node) = place.get() else { return Self::add(place, channel, packet, content_type) };
            if node.prefix.is_for(packet, content_type) {
                return Some(Cow::Borrowed(&node.prefix));
            }
            place = &node.next;
        }
        Prefix::new(channel, packet, content_type).ok().map(Cow::Owned)
    }

    #[cold]
    fn add<'a>(
        place: &'a OnceLock<Box<Node>>,
        channel: &str,
        packet: &str,
        content_type: &str,
    ) -> Option<Cow<'a, Prefix>> {
        let prefix = Prefix::new(channel, packet, content_type).ok()?;
        let node = place.get_or_init(|| Box::new(Node { prefix: prefix.clone(), next: OnceLock::new() }));
        // Another call may have added another name at the same moment.
        Some(if node.prefix == prefix { Cow::Borrowed(&node.prefix) } else { Cow::Owned(prefix) })
    }
}

/// A channel message on its way into the transport.
pub(crate) struct ChannelMessage<'a> {
    prefix: Cow<'a, Prefix>,
    message: Message<'a>,
}

impl<'a> ChannelMessage<'a> {
    pub(crate) const fn new(prefix: Cow<'a, Prefix>, message: Message<'a>) -> Self {
        Self { prefix, message }
    }

    pub(crate) fn into_message(self) -> Message<'a> {
        self.message
    }

    fn metadata(&self) -> &[u8] {
        self.message.metadata.as_deref().unwrap_or_default()
    }

    fn payload(&self) -> &Payload<'a> {
        &self.message.payload
    }
}

/// One-way.
pub(crate) struct SendMessage<'a>(pub(crate) ChannelMessage<'a>);

impl Submit for SendMessage<'_> {
    type Record<'r>
        = ChannelSend<'r>
    where
        Self: 'r;

    #[inline]
    fn record(&mut self) -> ChannelSend<'_> {
        ChannelSend::new(&self.0.prefix, self.0.payload().body()).with_metadata(self.0.metadata())
    }
}

/// Wants an answer.
pub(crate) struct RequestMessage<'a>(pub(crate) ChannelMessage<'a>);

impl Submit for RequestMessage<'_> {
    type Record<'r>
        = ChannelRequest<'r>
    where
        Self: 'r;

    #[inline]
    fn record(&mut self) -> ChannelRequest<'_> {
        ChannelRequest::new(&self.0.prefix, self.0.payload().body()).with_metadata(self.0.metadata())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_prepared_once_and_found_again() {
        let prefixes = Prefixes::default();
        for _ in 0..2 {
            for index in 0..PREFIXES_MAX + 3 {
                let packet = format!("packet {index}");
                let message = Message::new(&packet, &b""[..]);
                let prefix = prefixes.get("orders", &message).expect("a legal name");
                assert!(prefix.is_for(&packet, message.content_type), "{packet}");
                assert_eq!(matches!(prefix, Cow::Borrowed(_)), index < PREFIXES_MAX, "{packet}");
            }
        }
        assert!(prefixes.get("orders", &Message::new("", &b""[..])).is_none());
        assert!(prefixes.get("orders", &Message::new("a\0b", &b""[..])).is_none());
    }
}
