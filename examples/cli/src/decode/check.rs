//! `zlink decode --check`: vector files against the codec.

use crate::Failed;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use zlink_testkit::vectors::Mismatch;
use zlink_testkit::vectors::service::check_service;
use zlink_testkit::vectors::wire::check_wire;

/// Runs all files; the exit code says whether every vector gave what its file states.
pub(super) fn run(files: &[PathBuf], as_json: bool) -> Result<ExitCode, Failed> {
    let mut is_good = true;
    for file in files {
        let (count, mismatches) = check(file).map_err(|error| format!("{}: {error}", file.display()))?;
        is_good &= mismatches.is_empty();
        for Mismatch { id, expected, got } in &mismatches {
            if as_json {
                println!(
                    "{}",
                    json!({"event": "mismatch", "file": file, "id": id, "expected": expected, "got": got})
                );
            } else {
                println!("{}: {id}\n  expected {expected}\n  got      {got}", file.display());
            }
        }
        let differing = mismatches.len();
        if as_json {
            let line = json!({"event": "file", "file": file, "vectors": count, "mismatches": differing});
            println!("{line}");
        } else {
            println!("{}: {count} vectors, {differing} differ", file.display());
        }
    }
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check(file: &Path) -> Result<(usize, Vec<Mismatch>), Failed> {
    let text = std::fs::read_to_string(file)?;
    let value: Value = serde_json::from_str(&text)?;
    let vectors = value.as_array().ok_or("not a list of vectors")?;
    // Service vectors name the codec of each entry; frames need none.
    let is_service = vectors.iter().any(|vector| vector.get("codec").is_some());
    let mismatches = if is_service { check_service(&text) } else { check_wire(&text) };
    Ok((vectors.len(), mismatches))
}
