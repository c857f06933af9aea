//! `zlink send`: messages one way.

use crate::args::{Load, Send};
use crate::load::{self, Failures, Work};
use crate::report::{self, Progress};
use crate::{Failed, status, units};
use serde_json::json;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, Instant};
use zlink::{Client, ErrorKind, Host, Message, ShutdownReport};

/// Name of the packets.
pub(crate) const PACKET: &str = "Send";

/// What became of the messages of one task, or of all.
#[derive(Clone, Default, Debug)]
struct Sent {
    attempted: u64,
    accepted: u64,
    failures: Failures,
    longest_wait: Duration,
}

/// Runs the command.
pub(crate) async fn run(arguments: &Send) -> Result<ExitCode, Failed> {
    let load = &arguments.load;
    let mut progress = Progress::new();
    let done = load::run(load, Host::builder().start()?, task, |work, elapsed| {
        show_progress(load, &mut progress, work, elapsed);
    })
    .await?;
    let mut all = Sent::default();
    for sent in &done.results {
        all.attempted += sent.attempted;
        all.accepted += sent.accepted;
        all.longest_wait = all.longest_wait.max(sent.longest_wait);
        all.failures.add(&sent.failures);
    }
    summary(load, &all, done.elapsed, &done.report);
    Ok(ExitCode::SUCCESS)
}

async fn task(work: Arc<Work>, client: Client, number: u64) -> Sent {
    let mut sent = Sent::default();
    let mut payload = work.payload();
    while work.next().await {
        work.stamp(&mut payload, number, sent.attempted);
        let message = Message::new(PACKET, &payload[..]);
        sent.attempted += 1;
        let (result, waited) = timed(client.send(message)).await;
        sent.longest_wait = sent.longest_wait.max(waited);
        match result {
            Ok(()) => {
                sent.accepted += 1;
                work.good.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                sent.failures.record(error.kind(), error.submission());
                work.bad.fetch_add(1, Ordering::Relaxed);
                // One that ended at once must not keep the others from running.
                tokio::task::yield_now().await;
            }
        }
    }
    sent
}

/// The result and how long it took; one that is there at once reads no clock.
async fn timed<F: Future>(future: F) -> (F::Output, Duration) {
    let mut future = pin!(future);
    let mut begin = None;
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => {
            Poll::Ready((output, begin.map_or(Duration::ZERO, |begin: Instant| begin.elapsed())))
        }
        Poll::Pending => {
            begin.get_or_insert_with(Instant::now);
            Poll::Pending
        }
    })
    .await
}

fn show_progress(load: &Load, progress: &mut Progress, work: &Work, elapsed: Duration) {
    let (good, bad) = (work.good.load(Ordering::Relaxed), work.bad.load(Ordering::Relaxed));
    if load.json {
        let elapsed_s = elapsed.as_secs_f64();
        report::json(&json!({"event": "progress", "accepted": good, "failed": bad, "elapsed_s": elapsed_s}));
    } else {
        let (good, bad) = (units::show_count(good), units::show_count(bad));
        progress.show(&format!("{:>5.0} s  {good} accepted, {bad} failed", elapsed.as_secs_f64()));
    }
}

fn summary(load: &Load, sent: &Sent, elapsed: Duration, ended: &ShutdownReport) {
    let mut failures = sent.failures.clone();
    let deadline_exceeded = failures.by_kind.remove(ErrorKind::DeadlineExceeded.name()).unwrap_or_default();
    let elapsed_s = elapsed.as_secs_f64();
    let rate = if elapsed_s > 0.0 { sent.accepted as f64 / elapsed_s } else { 0.0 };
    let longest_wait_ms = sent.longest_wait.as_secs_f64() * 1e3;
    if load.json {
        report::json(&json!({
            "event": "summary",
            "attempted": sent.attempted,
            "accepted": sent.accepted,
            "deadline_exceeded": deadline_exceeded,
            "errors": failures.by_kind,
            "not_submitted": failures.not_submitted,
            "unknown": failures.unknown,
            "elapsed_s": elapsed_s,
            "messages_per_s": rate,
            "longest_wait_ms": longest_wait_ms,
            "shutdown": status::shutdown(ended),
        }));
        return;
    }
    report::table(
        "sent",
        &[
            ("attempted", units::show_count(sent.attempted)),
            ("accepted", units::show_count(sent.accepted)),
            ("deadline exceeded", units::show_count(deadline_exceeded)),
            ("other errors", failures.text()),
            ("not submitted", units::show_count(failures.not_submitted)),
            ("unknown", units::show_count(failures.unknown)),
            ("elapsed", format!("{elapsed_s:.3} s")),
            ("messages a second", units::show_count(rate as u64)),
            ("longest wait", format!("{longest_wait_ms:.1} ms")),
            ("shutdown", ended.to_string()),
        ],
    );
}
