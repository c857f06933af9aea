//! Runs one step of a machine COUNT times: `steps STEP COUNT`. Callgrind counts inside `measured` only.

mod host;
mod wire;

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
