//! The command line, messages and resource figures, equal to those of the reference peers.

use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use std::io::Write;
use std::time::Duration;

/// High-water mark of each queue, as the reference peer `swap` has it.
pub(crate) const HWM_BYTES: u64 = 256 * 1024;

/// Sequence of the message that ends a run.
pub(crate) const END: u64 = u64::MAX;
/// Connections of W4.
pub(crate) const FAN_IN: usize = 64;
/// Connections of W7.
pub(crate) const IDLE: usize = 1000;
/// Requests under way in W3.
pub(crate) const OUTSTANDING: usize = 100;
/// Most messages of W6.
pub(crate) const SLOW_MESSAGES_MAX: u64 = 300_000;
/// Payloads above this are one fixed buffer that is sent without a copy.
pub(crate) const FRESH_BYTES_MAX: usize = 8192;

/// `BIN PEER srv|cli WORKLOAD PORT SIZE SECS`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args {
    pub(crate) is_multi_thread: bool,
    pub(crate) is_host: bool,
    pub(crate) is_server: bool,
    pub(crate) workload: Workload,
    pub(crate) port: u16,
    pub(crate) size: usize,
    pub(crate) secs: f64,
}

/// The workloads in which we take part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Workload {
    /// One-way throughput.
    W1,
    /// Request and reply, one under way.
    W2,
    /// Request and reply, `OUTSTANDING` under way.
    W3,
    /// `FAN_IN` senders to one receiver.
    W4,
    /// A slow receiver.
    W6,
    /// `IDLE` connections.
    W7,
}

impl Args {
    /// Reads the command line; an error says what is wrong with it.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, String> {
        let [peer, side, workload, port, size, secs] = arguments else {
            return Err("usage: zlink-peer PEER srv|cli WORKLOAD PORT SIZE SECS".into());
        };
        let (is_host, is_multi_thread) = match peer.as_str() {
            "zlink" => (false, false),
            "zlinkmt" => (false, true),
            "zlinkhost" => (true, false),
            "zlinkhostmt" => (true, true),
            _ => return Err(format!("unknown peer {peer}: zlink, zlinkmt, zlinkhost or zlinkhostmt")),
        };
        let workload = match workload.as_str() {
            "w1" => Workload::W1,
            "w2" => Workload::W2,
            "w3" => Workload::W3,
            "w4" => Workload::W4,
            "w6" => Workload::W6,
            "w7" => Workload::W7,
            _ => return Err(format!("unknown workload {workload}: w1, w2, w3, w4, w6 or w7")),
        };
        let is_server = match side.as_str() {
            "srv" => true,
            "cli" => false,
            _ => return Err(format!("unknown side {side}: srv or cli")),
        };
        let size = size.parse().map_err(|error| format!("size: {error}"))?;
        if size < 16 {
            return Err("size: 16 or more, a message carries its sequence and its sender's number".into());
        }
        Ok(Self {
            is_multi_thread,
            is_host,
            is_server,
            workload,
            port: port.parse().map_err(|error| format!("port: {error}"))?,
            size,
            secs: secs.parse().map_err(|error| format!("secs: {error}"))?,
        })
    }

    /// Where the server listens.
    pub(crate) fn endpoint(&self) -> String {
        format!("tcp://127.0.0.1:{}", self.port)
    }

    /// Length of the run.
    pub(crate) fn duration(&self) -> Duration {
        Duration::from_secs_f64(self.secs)
    }
}

/// W7 needs more than a thousand files.
pub(crate) fn raise_file_limit() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // Where it is refused, W7 fails with "too many open files", which says the same.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// Tells the harness that the server listens.
pub(crate) fn ready() {
    println!("READY");
    let _ = std::io::stdout().flush();
}

/// Puts sequence and sender's number into a message.
#[inline]
pub(crate) fn stamp(message: &mut [u8], sequence: u64, id: u32) {
    message[..8].copy_from_slice(&sequence.to_le_bytes());
    message[8..12].copy_from_slice(&id.to_le_bytes());
}

/// The sequence of a message.
#[inline]
pub(crate) fn sequence(message: &[u8]) -> u64 {
    message.first_chunk().map_or(END, |bytes| u64::from_le_bytes(*bytes))
}

/// The sender's number.
#[inline]
pub(crate) fn sender(message: &[u8]) -> usize {
    message
        .get(8..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize)
}

/// The last message of a sender.
pub(crate) fn end_message(id: u32) -> [u8; 16] {
    let mut message = [0; 16];
    stamp(&mut message, END, id);
    message
}

/// User and system CPU time of this process, nanoseconds.
pub(crate) fn cpu_ns() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("getrusage of the own process");
    let (user, system) = (usage.user_time(), usage.system_time());
    ((user.tv_sec() + system.tv_sec()) * 1_000_000 + user.tv_usec() + system.tv_usec()) as u64 * 1000
}

/// A `Vm…` line of this process's status, KiB.
pub(crate) fn vm_kib(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find(|line| line.starts_with(key))
        .and_then(|line| line.split_whitespace().nth(1))
        .and_then(|value| value.parse().ok())
        .unwrap_or(0)
}

/// Sleeps on the runtime.
pub(crate) async fn nap(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
