//! System calls a message and side: the benchmark peer under strace, two lengths of a run, difference by difference.

use crate::{Count, Programs, Selection};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Shorter and longer run, seconds.
const SECONDS: [&str; 2] = ["0.1", "0.5"];

/// What is measured: level, peer, workload and the key under which the client tells its messages.
const RUNS: &[(&str, &str, &str, &str)] = &[
    ("socket", "zlink", "w1", "tx"),
    ("socket", "zlink", "w2", "n"),
    ("socket", "zlink", "w3", "n"),
    ("host", "zlinkhost", "w1", "tx"),
    ("host", "zlinkhost", "w2", "n"),
    ("host", "zlinkhost", "w3", "n"),
];

pub(crate) fn measure(
    programs: &Programs,
    selection: &Selection,
    into: &mut Vec<Count>,
) -> Result<(), String> {
    for (level, peer, workload, key) in RUNS {
        let names = ["sender", "receiver"].map(|side| format!("system_calls.{level}.{workload}.{side}"));
        if !names.iter().any(|name| selection.has(name)) {
            continue;
        }
        let [short, long] = SECONDS;
        let (less, more) =
            (run(programs, peer, workload, short, key)?, run(programs, peer, workload, long, key)?);
        let messages = more.messages - less.messages;
        if messages < 100.0 {
            return Err(format!("{level} {workload}: only {messages} messages more in the longer run"));
        }
        let [sender, receiver] = names;
        into.push(Count { name: sender, value: (more.client - less.client) / messages });
        into.push(Count { name: receiver, value: (more.server - less.server) / messages });
    }
    Ok(())
}

/// Counts of one run.
struct Run {
    messages: f64,
    client: f64,
    server: f64,
}

fn run(programs: &Programs, peer: &str, workload: &str, seconds: &str, key: &str) -> Result<Run, String> {
    let port = free_port()?;
    let start = |side: &str| {
        Traced::start(&programs.path("zlink-peer"), &[peer, side, workload, &port, "64", seconds])
    };
    let mut server = start("srv")?;
    server.wait_ready()?;
    let mut client = start("cli")?;
    let figures = client.figures()?;
    server.figures()?;
    let messages =
        *figures.get(key).ok_or_else(|| format!("{peer} {workload}: the client tells no {key}"))?;
    Ok(Run { messages, client: client.end()?, server: server.end()? })
}

/// A port that was free a moment ago.
fn free_port() -> Result<String, String> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    Ok(address.port().to_string())
}

/// A program under strace.
struct Traced {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    summary: PathBuf,
    what: String,
}

impl Traced {
    fn start(program: &Path, arguments: &[&str]) -> Result<Self, String> {
        let what = arguments.join(" ");
        let summary = std::env::temp_dir().join(format!("gates-{}-{}", std::process::id(), arguments[1]));
        let mut child = Command::new("strace")
            // Interruptible although it writes to a file.
            .args(["-I", "2", "-f", "-c", "-o"])
            .arg(&summary)
            .arg(program)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("strace: {error} (Debian package strace)"))?;
        let stdout = child.stdout.take().ok_or("no output of strace")?;
        Ok(Self { child, lines: BufReader::new(stdout).lines(), summary, what })
    }

    fn next_line(&mut self) -> Result<String, String> {
        match self.lines.next() {
            Some(Ok(line)) => Ok(line),
            Some(Err(error)) => Err(format!("{}: {error}", self.what)),
            None => Err(format!("{}: ended early", self.what)),
        }
    }

    fn wait_ready(&mut self) -> Result<(), String> {
        while self.next_line()? != "READY" {}
        Ok(())
    }

    /// The line `R key=value …`.
    fn figures(&mut self) -> Result<BTreeMap<String, f64>, String> {
        loop {
            let line = self.next_line()?;
            if let Some(rest) = line.strip_prefix("R ") {
                let pairs = rest.split_whitespace().filter_map(|word| word.split_once('='));
                return Ok(pairs
                    .filter_map(|(key, value)| Some((key.into(), value.parse().ok()?)))
                    .collect());
            }
        }
    }

    /// Ends the program and reads its calls.
    fn end(mut self) -> Result<f64, String> {
        // On this signal strace ends its program and writes the summary.
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        self.child.wait().map_err(|error| error.to_string())?;
        let text =
            std::fs::read_to_string(&self.summary).map_err(|error| format!("{}: {error}", self.what))?;
        let total = text.lines().rev().find(|line| line.trim_end().ends_with(" total"));
        total
            .and_then(|line| line.split_whitespace().nth(3)?.parse().ok())
            .ok_or_else(|| format!("{}: strace told no total\n{text}", self.what))
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        let _ = std::fs::remove_file(&self.summary);
    }
}
