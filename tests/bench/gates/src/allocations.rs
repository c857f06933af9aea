//! Allocations a message, as the program `allocations` counts them.

use crate::{Count, Programs, Selection};
use std::process::Command;

pub(crate) fn measure(
    programs: &Programs,
    selection: &Selection,
    into: &mut Vec<Count>,
) -> Result<(), String> {
    if !selection.has_some_of("allocations.") {
        return Ok(());
    }
    let output = Command::new(programs.path("allocations"))
        .output()
        .map_err(|error| format!("allocations: {error}"))?;
    if !output.status.success() {
        return Err(format!("allocations: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let (name, value) = line.split_once(' ').ok_or_else(|| format!("allocations: what is {line:?}?"))?;
        let value = value.parse().map_err(|_| format!("allocations: what is {line:?}?"))?;
        let name = format!("allocations.{name}");
        if selection.has(&name) {
            into.push(Count { name, value });
        }
    }
    Ok(())
}
