//! Runs the `zlink` command as a real process: its JSON lines, its signals, its memory.
#![allow(dead_code)] // each test file uses its part

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long anything may take before a test gives up: a bound against hanging, not a claim about speed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A running `zlink` command with `--json`.
pub(crate) struct Zlink {
    child: Child,
    lines: Receiver<Value>,
    seen: Vec<Value>,
}

impl Zlink {
    /// Starts `zlink ARGS… --json`.
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_zlink"))
            .args(args)
            .arg("--json")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the command starts");
        let stdout = child.stdout.take().expect("stdout is piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("not JSON: {line}: {e}"));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Self { child, lines, seen: Vec::new() }
    }

    /// Starts a server and waits until it listens: the server and its endpoint.
    pub(crate) fn serve(args: &[&str]) -> (Self, String) {
        let mut all = vec!["serve"];
        all.extend_from_slice(args);
        let mut server = Self::start(&all);
        let listening = server.wait_event("listening");
        let endpoint = listening["endpoint"].as_str().expect("the endpoint is text").to_owned();
        (server, endpoint)
    }

    /// The next line of this event that was not waited for before.
    pub(crate) fn wait_event(&mut self, event: &str) -> Value {
        self.wait_line(event, |line| line["event"] == event)
    }

    /// The next line for which `is_it` holds.
    pub(crate) fn wait_line(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if is_it(&line) {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!("no {what} in {PATIENCE:?}; last: {:?}", self.seen.last())
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("ended without {what}; last: {:?}", self.seen.last())
                }
            }
        }
    }

    /// Sends a signal by name, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([&format!("-{name}"), &pid]).status().expect("kill runs");
        assert!(status.success(), "kill -{name} {pid}");
    }

    /// Resident memory, KiB.
    pub(crate) fn resident_kib(&self) -> u64 {
        let mut text = String::new();
        std::fs::File::open(format!("/proc/{}/status", self.child.id()))
            .and_then(|mut file| file.read_to_string(&mut text))
            .expect("the process lives");
        let line = text.lines().find(|line| line.starts_with("VmRSS:")).expect("VmRSS");
        line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number")
    }

    /// Waits for the end: the summary line and the exit status.
    pub(crate) fn finish(mut self) -> (Value, ExitStatus) {
        let summary = self.wait_line("summary", |line| {
            line["event"] == "summary" || line.get("attempted").is_some() || line.get("ok").is_some()
        });
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("the child can be waited for") {
                return (summary, status);
            }
            assert!(Instant::now() < end, "printed its summary but does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Zlink {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Field `name` of a summary as a number.
pub(crate) fn number(summary: &Value, name: &str) -> u64 {
    summary[name].as_u64().unwrap_or_else(|| panic!("no number {name} in {summary}"))
}

/// True if the long versions are wanted (`ZLINK_LONG=1`).
pub(crate) fn is_long() -> bool {
    std::env::var_os("ZLINK_LONG").is_some()
}
