//! Measures counts and compares them with `limits.txt`.
//!
//! `zlink-gates LIMITS [--only PREFIX]`: exit 0 if every limit holds, 1 if one does not or a count is missing.
//! Its sibling programs `steps`, `allocations` and `zlink-peer` are expected in its own directory.

mod allocations;
mod instructions;
mod limits;
mod system_calls;

use limits::Limit;
use std::path::PathBuf;
use std::process::ExitCode;

/// What one measurement gave.
#[derive(Debug)]
pub(crate) struct Count {
    pub(crate) name: String,
    pub(crate) value: f64,
}

/// Where the programs are that are measured.
#[derive(Debug)]
pub(crate) struct Programs {
    directory: PathBuf,
}

impl Programs {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// Which counts are wanted: those whose names begin with the prefix.
#[derive(Debug)]
pub(crate) struct Selection {
    prefix: String,
}

impl Selection {
    pub(crate) fn has(&self, name: &str) -> bool {
        name.starts_with(&self.prefix)
    }

    /// True if a name of this group could be wanted.
    pub(crate) fn has_some_of(&self, group: &str) -> bool {
        group.starts_with(&self.prefix) || self.prefix.starts_with(group)
    }
}

fn measure(programs: &Programs, selection: &Selection) -> Result<Vec<Count>, String> {
    let mut counts = Vec::new();
    instructions::measure(programs, selection, &mut counts)?;
    allocations::measure(programs, selection, &mut counts)?;
    system_calls::measure(programs, selection, &mut counts)?;
    Ok(counts)
}

/// Prints the table, in Markdown; false if a limit does not hold.
fn judge(limits: &[Limit], counts: &[Count]) -> bool {
    println!("| {:<42} | measured | limit | must | |", "count");
    println!("|{}|---|---|---|---|", "-".repeat(44));
    let mut all_hold = true;
    for limit in limits {
        let count = counts.iter().find(|count| count.name == limit.name);
        let (shown, verdict) = match count {
            Some(count) if rounded(count.value) <= limit.limit => (figure(count.value), ""),
            Some(count) => (figure(count.value), "too much"),
            None => ("-".into(), "missing"),
        };
        all_hold &= verdict.is_empty();
        println!("| {:<42} | {shown} | {} | {} | {verdict} |", limit.name, limit.limit, limit.must());
    }
    for count in counts {
        if !limits.iter().any(|limit| limit.name == count.name) {
            println!("| {:<42} | {} | - | - | no limit |", count.name, figure(count.value));
            all_hold = false;
        }
    }
    all_hold
}

/// What is judged is what is shown: a handful of calls or allocations beside a hundred thousand messages is nothing.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Three digits behind the point for fractions, none for instructions.
fn figure(value: f64) -> String {
    if value < 20.0 { format!("{value:.3}") } else { format!("{value:.0}") }
}

fn run() -> Result<bool, String> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: zlink-gates LIMITS [--only PREFIX]")?;
    let prefix = match (arguments.next().as_deref(), arguments.next()) {
        (None, None) => String::new(),
        (Some("--only"), Some(prefix)) => prefix,
        _ => return Err("usage: zlink-gates LIMITS [--only PREFIX]".into()),
    };
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let mut limits = limits::parse(&text)?;
    let selection = Selection { prefix };
    limits.retain(|limit| selection.has(&limit.name));
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let directory = own.parent().ok_or("no directory of programs")?.to_path_buf();
    let counts = measure(&Programs { directory }, &selection)?;
    Ok(judge(&limits, &counts))
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("gates: a count is above its limit, missing or unknown");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("gates: {error}");
            ExitCode::FAILURE
        }
    }
}
