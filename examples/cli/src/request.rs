//! `zlink request`: messages that want an answer.

use crate::args::{Load, Request};
use crate::histogram::Histogram;
use crate::load::{self, Failures, Work};
use crate::report::{self, Progress};
use crate::{Failed, status, units};
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use zlink::{Client, Host, Message, ShutdownReport};

/// Name of the packets.
pub(crate) const PACKET: &str = "Request";

/// What became of the requests of one task, or of all.
struct Answered {
    attempted: u64,
    ok: u64,
    failures: Failures,
    latency: Histogram,
}

impl Answered {
    fn new() -> Self {
        Self { attempted: 0, ok: 0, failures: Failures::default(), latency: Histogram::new() }
    }
}

/// Runs the command.
pub(crate) async fn run(arguments: &Request) -> Result<ExitCode, Failed> {
    let load = &arguments.load;
    let mut progress = Progress::new();
    let timeout = load.timeout;
    let task = move |work, client, number| task(work, client, number, timeout);
    let done = load::run(load, Host::builder().start()?, task, |work, elapsed| {
        show_progress(load, &mut progress, work, elapsed);
    })
    .await?;
    let mut all = Answered::new();
    for answered in &done.results {
        all.attempted += answered.attempted;
        all.ok += answered.ok;
        all.failures.add(&answered.failures);
        all.latency.add(&answered.latency);
    }
    summary(load, &all, done.elapsed, &done.report);
    Ok(ExitCode::SUCCESS)
}

async fn task(work: Arc<Work>, client: Client, number: u64, timeout: Option<Duration>) -> Answered {
    let mut answered = Answered::new();
    let mut payload = work.payload();
    while work.next().await {
        work.stamp(&mut payload, number, answered.attempted);
        let message = Message::new(PACKET, &payload[..]);
        answered.attempted += 1;
        let begin = Instant::now();
        let request = client.request(message);
        let result = match timeout {
            Some(timeout) => request.timeout(timeout).await,
            None => request.await,
        };
        match result {
            Ok(_) => {
                answered.latency.record(begin.elapsed());
                answered.ok += 1;
                work.good.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                answered.failures.record(error.kind(), error.submission());
                work.bad.fetch_add(1, Ordering::Relaxed);
                // One that ended at once must not keep the others from running.
                tokio::task::yield_now().await;
            }
        }
    }
    answered
}

fn show_progress(load: &Load, progress: &mut Progress, work: &Work, elapsed: Duration) {
    let (good, bad) = (work.good.load(Ordering::Relaxed), work.bad.load(Ordering::Relaxed));
    if load.json {
        let elapsed_s = elapsed.as_secs_f64();
        report::json(&json!({"event": "progress", "answered": good, "failed": bad, "elapsed_s": elapsed_s}));
    } else {
        let (good, bad) = (units::show_count(good), units::show_count(bad));
        progress.show(&format!("{:>5.0} s  {good} answered, {bad} failed", elapsed.as_secs_f64()));
    }
}

fn summary(load: &Load, all: &Answered, elapsed: Duration, ended: &ShutdownReport) {
    let elapsed_s = elapsed.as_secs_f64();
    let rate = if elapsed_s > 0.0 { all.ok as f64 / elapsed_s } else { 0.0 };
    let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|share| all.latency.percentile_us(share));
    if load.json {
        report::json(&json!({
            "event": "summary",
            "attempted": all.attempted,
            "ok": all.ok,
            "errors": all.failures.by_kind,
            "not_submitted": all.failures.not_submitted,
            "unknown": all.failures.unknown,
            "elapsed_s": elapsed_s,
            "requests_per_s": rate,
            "p50_us": p50,
            "p99_us": p99,
            "p999_us": p999,
            "shutdown": status::shutdown(ended),
        }));
        return;
    }
    let micros = |value: Option<f64>| value.map_or_else(|| "–".to_string(), |value| format!("{value:.1} µs"));
    report::table(
        "requests",
        &[
            ("attempted", units::show_count(all.attempted)),
            ("answered", units::show_count(all.ok)),
            ("errors", all.failures.text()),
            ("not submitted", units::show_count(all.failures.not_submitted)),
            ("unknown", units::show_count(all.failures.unknown)),
            ("elapsed", format!("{elapsed_s:.3} s")),
            ("answers a second", units::show_count(rate as u64)),
            ("half of them within", micros(p50)),
            ("99 of 100 within", micros(p99)),
            ("999 of 1000 within", micros(p999)),
        ],
    );
}
