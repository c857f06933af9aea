//! Output: JSON lines and tables on standard output, progress on standard error.

use serde_json::Value;
use std::io::{IsTerminal, Write};

/// One line on standard output. A reader that went away is no reason to stop: the run goes on to its graceful end.
pub(crate) fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}");
}

/// One object on a line of its own.
pub(crate) fn json(value: &Value) {
    line(&value.to_string());
}

/// Names and values, aligned.
pub(crate) fn table(title: &str, rows: &[(&str, String)]) {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    line(title);
    for (name, value) in rows {
        line(&format!("  {name:<width$}  {value}"));
    }
}

/// A block of lines that is written over by the next one on a terminal, and follows it elsewhere.
pub(crate) struct Progress {
    is_terminal: bool,
    lines: usize,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), lines: 0 }
    }

    /// True if blocks are written over, so that they may come often.
    pub(crate) fn is_live(&self) -> bool {
        self.is_terminal
    }

    /// Shows this block in place of the latest.
    pub(crate) fn show(&mut self, block: &str) {
        let mut error = std::io::stderr().lock();
        if self.is_terminal {
            if self.lines > 0 {
                // Up to the first line of the block, then clear everything below.
                let _ = write!(error, "\x1b[{}F\x1b[J", self.lines);
            }
            self.lines = block.lines().count();
        }
        let _ = writeln!(error, "{block}");
        let _ = error.flush();
    }
}
