//! Instructions of one step: the same program at two counts under callgrind, difference by difference, so that setup and
//! what surrounds the step fall out.

use crate::{Count, Programs, Selection};
use std::process::Command;

/// Steps that the program `steps` knows; each takes `STEP COUNT`.
const STEPS: &[&str] = &[
    "wire.encode_64",
    "wire.encode_request_64",
    "wire.decode_64",
    "service.encode_64",
    "service.decode_64",
    "socket.send",
    "socket.write",
    "socket.decode",
    "socket.deliver",
    "socket.take",
    "request.submit",
    "request.write_both",
    "request.decode_both",
    "request.deliver_both",
    "request.take",
    "request.reply",
    "request.settle",
    "host.turn",
    "host.drain",
];
/// Fewer and more repetitions.
const COUNTS: [u64; 2] = [2_000, 12_000];

pub(crate) fn measure(
    programs: &Programs,
    selection: &Selection,
    into: &mut Vec<Count>,
) -> Result<(), String> {
    let wanted: Vec<&str> = STEPS.iter().copied().filter(|step| selection.has(&name_of(step))).collect();
    // Two at a time: callgrind counts, so that neighbours do not change the result.
    for pair in wanted.chunks(2) {
        let results: Vec<Result<Count, String>> = std::thread::scope(|scope| {
            let threads: Vec<_> = pair.iter().map(|step| scope.spawn(|| count(programs, step))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        for result in results {
            into.push(result?);
        }
    }
    Ok(())
}

fn name_of(step: &str) -> String {
    format!("instructions.{step}")
}

fn count(programs: &Programs, step: &str) -> Result<Count, String> {
    let [few, many] = COUNTS;
    let (less, more) = (collected(programs, step, few)?, collected(programs, step, many)?);
    let value = (more as f64 - less as f64) / (many - few) as f64;
    if value < 1.0 {
        return Err(format!(
            "{step}: {value} instructions cannot be; is the measured function still found by its name?"
        ));
    }
    Ok(Count { name: name_of(step), value })
}

/// Instructions inside the function `measured` of `steps`.
fn collected(programs: &Programs, step: &str, repetitions: u64) -> Result<u64, String> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*measured*"])
        .arg(programs.path("steps"))
        .args([step, &repetitions.to_string()])
        .output()
        .map_err(|error| format!("valgrind: {error} (Debian package valgrind)"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("steps {step} {repetitions}: {}\n{text}", output.status));
    }
    text.lines()
        .find_map(|line| line.split_once("Collected :"))
        .and_then(|(_, number)| number.split_whitespace().next()?.parse().ok())
        .ok_or_else(|| format!("steps {step}: callgrind told no number\n{text}"))
}
