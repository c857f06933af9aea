//! Where in a connection a byte string begins, and who could receive it.

use zlink_proto::id::RoutingId;
use zlink_proto::wire::frame::{CANCEL, CONTROL, HEADER_BYTES, SUBSCRIBE};
use zlink_proto::wire::{Decoder, Hello, Kind, SocketType};

/// First bytes of the bodies of HELLO and READY.
const TYPE_HELLO: u8 = 0x01;
const TYPE_READY: u8 = 0x04;

/// The type that most likely talks with this one.
const fn partner(peer: SocketType) -> SocketType {
    match peer {
        SocketType::Pair => SocketType::Pair,
        SocketType::Pub => SocketType::Sub,
        SocketType::Sub => SocketType::Pub,
        SocketType::Dealer => SocketType::Router,
        SocketType::Router => SocketType::Dealer,
        SocketType::XPub => SocketType::XSub,
        SocketType::XSub => SocketType::XPub,
    }
}

/// A decoder that stands where the bytes begin: before HELLO, before READY, or in the open connection.
pub(super) fn decoder(
    bytes: &[u8],
    local: Option<SocketType>,
    max_message_bytes: u64,
) -> (Decoder, SocketType) {
    let flags = bytes.get(2).copied().unwrap_or_default();
    let kind = bytes.get(3).copied().and_then(Kind::from_byte);
    let body = bytes.get(HEADER_BYTES..).unwrap_or_default();
    let is_control = flags == CONTROL;
    match body.first() {
        Some(&TYPE_HELLO) if is_control => {
            let peer = body.get(1).copied().and_then(SocketType::from_byte);
            let local = local.unwrap_or_else(|| partner(peer.unwrap_or(SocketType::Dealer)));
            return (Decoder::new(local, 0, max_message_bytes), local);
        }
        Some(&TYPE_READY) if is_control => {
            let peer = property(body, b"Socket-Type").and_then(type_named);
            let local = local.unwrap_or_else(|| partner(peer.unwrap_or(SocketType::Dealer)));
            let hello = hello(peer.unwrap_or_else(|| partner(local)), property(body, b"Routing-Id"));
            let lane =
                property(body, b"Zlink-Lane").and_then(|lane| lane.first().copied()).unwrap_or_default();
            return (Decoder::after_hello(local, lane, max_message_bytes, hello), local);
        }
        Some(_) | None => {}
    }
    let local = local.unwrap_or(match kind {
        _ if flags & (SUBSCRIBE | CANCEL) != 0 => SocketType::XPub,
        Some(Kind::Reply | Kind::ErrorReply) => SocketType::Dealer,
        Some(Kind::Data | Kind::Request) | None => SocketType::Router,
    });
    (Decoder::after_ready(local, 0, max_message_bytes, hello(partner(local), None)), local)
}

fn hello(socket_type: SocketType, routing_id: Option<&[u8]>) -> Hello {
    let routing_id = RoutingId::new(routing_id.unwrap_or_default().to_vec()).unwrap_or_default();
    Hello { socket_type, routing_id }
}

fn type_named(name: &[u8]) -> Option<SocketType> {
    super::socket_type(std::str::from_utf8(name).ok()?).ok()
}

/// The value of a property of a READY body.
fn property<'a>(body: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let mut rest = body.get(1..)?;
    while let Some((&name_bytes, behind)) = rest.split_first() {
        let (name, behind) = behind.split_at_checked(name_bytes.into())?;
        let (size, behind) = behind.split_first_chunk::<4>()?;
        let (value, behind) = behind.split_at_checked(usize::try_from(u32::from_be_bytes(*size)).ok()?)?;
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = behind;
    }
    None
}
