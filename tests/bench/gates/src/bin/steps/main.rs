//! Runs one step of a machine COUNT times: `steps STEP COUNT`. Callgrind counts inside `measured` only.

mod host;
mod pair;
mod service;
mod wire;

use pair::Step;
use std::process::ExitCode;

/// Repetitions between two pieces of work that are not measured.
const BATCH: usize = 500;

/// What callgrind counts; found by its name (`--toggle-collect`).
#[inline(never)]
fn measured<R>(step: impl FnOnce() -> R) -> R {
    step()
}

/// Splits `count` repetitions into batches.
fn batches(count: usize) -> impl Iterator<Item = usize> {
    (0..count).step_by(BATCH).map(move |done| BATCH.min(count - done))
}

fn run(step: &str, count: usize) -> bool {
    match step {
        "wire.encode_64" => wire::encode(count),
        "wire.encode_request_64" => wire::encode_request(count),
        "wire.decode_64" => wire::decode(count),
        "service.encode_64" => service::encode(count),
        "service.decode_64" => service::decode(count),
        "socket.send" => pair::one_way(Step::Send, count),
        "socket.write" => pair::one_way(Step::Write, count),
        "socket.decode" => pair::one_way(Step::Receive, count),
        "socket.deliver" => pair::one_way(Step::Deliver, count),
        "socket.take" => pair::one_way(Step::Take, count),
        "request.submit" => pair::request(Step::Request, count),
        "request.write_both" => pair::request(Step::Write, count),
        "request.decode_both" => pair::request(Step::Receive, count),
        "request.deliver_both" => pair::request(Step::Deliver, count),
        "request.take" => pair::request(Step::Take, count),
        "request.reply" => pair::request(Step::Reply, count),
        "request.settle" => pair::request(Step::Settle, count),
        "host.turn" => host::turn(count),
        "host.drain" => host::drain(count),
        _ => return false,
    }
    true
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_known = match &arguments[..] {
        [step, count] => count.parse().is_ok_and(|count| run(step, count)),
        _ => false,
    };
    if is_known {
        return ExitCode::SUCCESS;
    }
    eprintln!("usage: steps STEP COUNT; known steps are listed in instructions.rs");
    ExitCode::from(2)
}
