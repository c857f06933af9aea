//! Input that is mostly right: each byte of a program writes a frame or spoils something.

use zlink_proto::id::RoutingId;
use zlink_proto::wire::frame::{CANCEL, IDENTITY, MORE, SUBSCRIBE, encode_header};
use zlink_proto::wire::{Fault, FaultCode, Flow, FlowState, Hello, Kind, SocketType, control};

/// Most bytes that a program writes, about.
const BYTES_MAX: usize = 600_000;
const SIZES: [usize; 16] =
    [0, 1, 2, 4, 30, 64, 64, 64, 100, 1_000, 4_000, 9_000, 20_000, 32_769, 40_000, 140_000];

/// Runs the program.
pub(super) fn write(program: &[u8], is_open: bool) -> Vec<u8> {
    let mut out = Vec::new();
    if !is_open {
        greet(program, &mut out);
    }
    let mut is_inside = false;
    for pair in program.chunks(2) {
        if out.len() > BYTES_MAX {
            break;
        }
        let (operation, operand) = (pair[0], pair.get(1).copied().unwrap_or_default());
        if is_inside && operation > 8 {
            // Inside a record other things than parts are a fault, which ends everything: rare.
            is_inside = operation % 3 != 0;
            let size = SIZES[usize::from(operand) % SIZES.len()];
            part(u8::from(is_inside), Kind::Data, size, operation, &mut out);
        } else {
            is_inside = step(operation, operand, &mut out);
        }
    }
    out
}

/// HELLO and READY of a DEALER, sometimes of another type.
fn greet(program: &[u8], out: &mut Vec<u8>) {
    let types = [SocketType::Dealer, SocketType::Router, SocketType::Dealer, SocketType::Sub];
    let socket_type = types[usize::from(program.first().copied().unwrap_or_default()) % types.len()];
    let routing_id = RoutingId::new(b"peer".to_vec()).unwrap_or_default();
    control::encode_ready(socket_type, &routing_id, 1_000, Some((1, 0)), out);
    let ready = out.split_off(0);
    control::encode_hello(&Hello { socket_type, routing_id }, out);
    out.extend_from_slice(&ready);
}

/// Writes one thing; true if it leaves a record open.
fn step(operation: u8, operand: u8, out: &mut Vec<u8>) -> bool {
    let size = SIZES[usize::from(operand) % SIZES.len()];
    let more = operand >> 4 & MORE;
    match operation % 64 {
        0..=29 => part(more, Kind::Data, size, operand, out),
        30..=37 => part(more, Kind::Request, size, operand, out),
        38..=40 => (0..operand).for_each(|seed| part(0, Kind::Data, usize::from(seed) % 90, seed, out)),
        41 | 42 => {
            (0..u16::from(operand) * 5).for_each(|seed| part(MORE, Kind::Data, 3, seed as u8, out));
            part(0, Kind::Data, 1, 0, out);
        }
        43 => (0..operand % 64).for_each(|seed| part(MORE, Kind::Data, 3_000, seed, out)),
        44..=47 => control::encode_weight(u32::from(operand) * 50, out),
        48..=50 => control::encode_flow(FlowState { state: Flow::Paused, epoch: operand.into() }, out),
        51..=53 => {
            let body = vec![operand; size.min(4_096)];
            control::encode_special(IDENTITY | operand & MORE, &[&body], out);
        }
        54..=56 => control::encode_control(&[&[operand], b"unknown"], out),
        operation if operand > 220 => spoil(operation, operand, out),
        _ => part(0, Kind::Data, size, operand, out),
    }
    more != 0 && operation % 64 <= 37 || operation % 64 == 43
}

/// Writes what is a fault for some receivers, or damages what is there.
fn spoil(operation: u8, operand: u8, out: &mut Vec<u8>) {
    match operation {
        57 => part(operand & MORE, Kind::Reply, 5, operand, out),
        58 => part(operand & MORE, Kind::ErrorReply, 4, operand, out),
        59 => control::encode_special(SUBSCRIBE, &[b"topic"], out),
        60 => control::encode_special(CANCEL, &[b"topic"], out),
        61 => control::encode_error(&Fault::standard(FaultCode::FrameIncomplete), out),
        62 => out.truncate(out.len().saturating_sub(usize::from(operand))),
        _ => {
            let place = out.len().saturating_sub(usize::from(operand) * 3);
            if let Some(byte) = out.get_mut(place) {
                *byte ^= 1 << (operand % 8);
            }
        }
    }
}

fn part(flags: u8, kind: Kind, size: usize, seed: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&encode_header(flags, kind, size as u32));
    if kind != Kind::Data {
        out.extend_from_slice(&u64::from(seed).to_be_bytes());
    }
    out.extend((0..size).map(|index| (index as u8).wrapping_mul(13).wrapping_add(seed)));
}
