//! What is measured and how it is printed: the formulas of the reference peers.

use crate::harness::{END, IDLE, cpu_ns, sequence, vm_kib};
use std::time::{Duration, Instant};

/// Receiving side of a throughput run.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    pub(crate) first: Option<Instant>,
    pub(crate) last: Instant,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) cpu_at_first: u64,
}

impl Default for Meter {
    fn default() -> Self {
        Self { first: None, last: Instant::now(), messages: 0, bytes: 0, cpu_at_first: 0 }
    }
}

impl Meter {
    /// Counts one message; true at the end marker.
    #[inline]
    pub(crate) fn hit(&mut self, message: &[u8]) -> bool {
        if is_end(message) {
            self.last = Instant::now();
            return true;
        }
        if self.first.is_none() {
            self.first = Some(Instant::now());
            self.cpu_at_first = cpu_ns();
        }
        self.messages += 1;
        self.bytes += message.len() as u64;
        false
    }

    pub(crate) fn report(&self, extra: &str) {
        let seconds = self.first.map_or(0.0, |first| (self.last - first).as_secs_f64()).max(1e-9);
        println!(
            "R rx={} dt={:.4} rate={:.0} mbs={:.1} rxcpu={:.0} rxhwm={} {extra}",
            self.messages,
            seconds,
            self.messages as f64 / seconds,
            self.bytes as f64 / seconds / 1e6,
            per(cpu_ns() - self.cpu_at_first, self.messages),
            vm_kib("VmHWM"),
        );
    }

    /// As `report`, with the fairness over the senders.
    pub(crate) fn report_fan_in(&self, per_sender: &[u64]) {
        let least = per_sender.iter().min().copied().unwrap_or(0);
        let most = per_sender.iter().max().copied().unwrap_or(0);
        self.report(&format!("min={least} max={most} fair={:.3}", least as f64 / most.max(1) as f64));
    }
}

/// True for the message that ends a throughput run.
#[inline]
pub(crate) fn is_end(message: &[u8]) -> bool {
    message.len() == 16 && sequence(message) == END
}

/// Sending side of a throughput run.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) messages: u64,
    start: Instant,
    secs: f64,
    clock_mask: u64,
    cpu_at_start: u64,
}

impl Source {
    pub(crate) fn new(size: usize, secs: f64) -> Self {
        let clock_mask = if size > 8192 { 0 } else { 63 };
        Self { messages: 0, start: Instant::now(), secs, clock_mask, cpu_at_start: cpu_ns() }
    }

    /// False once the time is over; the clock is read every 64 messages, for large ones at each.
    #[inline]
    pub(crate) fn more(&mut self) -> bool {
        if self.messages & self.clock_mask == 0 && self.start.elapsed().as_secs_f64() >= self.secs {
            return false;
        }
        self.messages += 1;
        true
    }

    pub(crate) fn report(&self) {
        report_sent(self.messages, self.cpu_at_start);
    }
}

/// The sending side's line.
pub(crate) fn report_sent(messages: u64, cpu_at_start: u64) {
    println!("R tx={messages} txcpu={:.0} txhwm={}", per(cpu_ns() - cpu_at_start, messages), vm_kib("VmHWM"));
}

/// Latencies of W2.
#[derive(Debug)]
pub(crate) struct Latencies {
    nanoseconds: Vec<u32>,
    start: Instant,
    cpu_at_start: u64,
}

impl Latencies {
    pub(crate) fn new() -> Self {
        Self { nanoseconds: Vec::with_capacity(1 << 20), start: Instant::now(), cpu_at_start: cpu_ns() }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    pub(crate) fn add(&mut self, since: Instant) {
        self.nanoseconds.push(since.elapsed().as_nanos().min(u128::from(u32::MAX)) as u32);
    }

    pub(crate) fn report(mut self) {
        let count = self.nanoseconds.len().max(1) as u64;
        let cpu = per(cpu_ns() - self.cpu_at_start, count);
        let rate = count as f64 / self.start.elapsed().as_secs_f64();
        self.nanoseconds.sort_unstable();
        let quantile = |q: f64| {
            let index = (count as f64 * q) as usize;
            f64::from(self.nanoseconds.get(index).copied().unwrap_or(0)) / 1000.0
        };
        println!(
            "R n={count} rate={rate:.0} p50={:.2} p99={:.2} txcpu={cpu:.0}",
            quantile(0.50),
            quantile(0.99)
        );
    }
}

/// The line of W3's client.
pub(crate) fn report_rate(replies: u64, start: Instant, cpu_at_start: u64) {
    let cpu = per(cpu_ns() - cpu_at_start, replies);
    println!("R n={replies} rate={:.0} txcpu={cpu:.0}", replies as f64 / start.elapsed().as_secs_f64());
}

/// The line of the server of W2 and W3.
pub(crate) fn report_served(requests: u64, cpu_at_start: u64) {
    println!("R rxcpu={:.0}", per(cpu_ns() - cpu_at_start, requests));
}

/// Receiving side of W6: checks the order, counts what is missing.
#[derive(Debug)]
pub(crate) struct Slow {
    next: u64,
    lost: u64,
    messages: u64,
    base_kib: u64,
    start: Option<Instant>,
}

impl Slow {
    pub(crate) fn new() -> Self {
        Self { next: 0, lost: 0, messages: 0, base_kib: vm_kib("VmRSS"), start: None }
    }

    /// None at the end marker; otherwise whether to pause 1 ms.
    pub(crate) fn hit(&mut self, message: &[u8]) -> Option<bool> {
        let sequence = sequence(message);
        if sequence == END {
            return None;
        }
        let start = *self.start.get_or_insert_with(Instant::now);
        self.lost += sequence.saturating_sub(self.next);
        self.next = sequence + 1;
        self.messages += 1;
        Some(start.elapsed().as_secs_f64() < 3.5)
    }

    pub(crate) fn report(&self) {
        println!(
            "R rx={} lost={} rxbase={} rxpeak={}",
            self.messages,
            self.lost,
            self.base_kib,
            vm_kib("VmHWM")
        );
    }
}

/// The line of W6's sender.
pub(crate) fn report_slow_sender(sent: u64, base_kib: u64) {
    println!("R tx={sent} accepted3s={sent} txbase={base_kib} txpeak={}", vm_kib("VmHWM"));
}

/// Memory of one idle connection, KiB.
pub(crate) fn report_idle(side: &str, base_kib: u64) {
    println!("R {side}kib={:.2}", (vm_kib("VmRSS") as f64 - base_kib as f64) / IDLE as f64);
}

fn per(nanoseconds: u64, count: u64) -> f64 {
    nanoseconds as f64 / count.max(1) as f64
}
