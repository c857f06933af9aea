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
    for pair in program.chunks(2) {
        if out.len() > BYTES_MAX {
            break;
        }
        let (operation, operand) = (pair[0], pair.get(1).copied().unwrap_or_default());
        step(operation, operand, &mut out);
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

fn step(operation: u8, operand: u8, out: &mut Vec<u8>) {
    let size = SIZES[usize::from(operand) % SIZES.len()];
    match operation % 32 {
        0..=13 => part(0, Kind::Data, size, operand, out),
        14..=17 => part(MORE, Kind::Data, size, operand, out),
        18 => (0..operand).for_each(|seed| part(0, Kind::Data, usize::from(seed) % 90, seed, out)),
        19 => {
            (0..u16::from(operand) * 5).for_each(|seed| part(MORE, Kind::Data, 3, seed as u8, out));
            part(0, Kind::Data, 1, 0, out);
        }
        20 => part(operand & MORE, Kind::Request, size, operand, out),
        21 => part(operand & MORE, Kind::Reply, size, operand, out),
        22 => part(operand & MORE, Kind::ErrorReply, size, operand, out),
        23 => control::encode_weight(u32::from(operand) * 50, out),
        24 => control::encode_flow(FlowState { state: Flow::Paused, epoch: operand.into() }, out),
        25 => control::encode_special(IDENTITY | operand & MORE, &[&vec![operand; size.min(4_096)]], out),
        26 => control::encode_special(SUBSCRIBE, &[b"topic"], out),
        27 => control::encode_special(CANCEL, &[b"topic"], out),
        28 => control::encode_control(&[&[operand], b"unknown"], out),
        29 if operand > 200 => control::encode_error(&Fault::standard(FaultCode::FrameIncomplete), out),
        30 if operand > 150 => {
            // Spoils a byte of what was written.
            let place = out.len().saturating_sub(usize::from(operand) * 3);
            if let Some(byte) = out.get_mut(place) {
                *byte ^= 1 << (operand % 8);
            }
        }
        31 if operand > 150 => out.truncate(out.len().saturating_sub(usize::from(operand))),
        _ => {}
    }
}

fn part(flags: u8, kind: Kind, size: usize, seed: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&encode_header(flags, kind, size as u32));
    if kind != Kind::Data {
        out.extend_from_slice(&u64::from(seed).to_be_bytes());
    }
    out.extend((0..size).map(|index| (index as u8).wrapping_mul(13).wrapping_add(seed)));
}
