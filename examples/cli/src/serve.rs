//! `zlink serve`: a channel whose handlers count what comes.

use crate::args::Serve;
use crate::ledger::{Ledger, OrderCounts};
use crate::report::{self, Progress};
use crate::signals::Signals;
use crate::{Failed, status, units};
use bytes::Bytes;
use serde_json::json;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use zlink::{Host, Reply, Server};

/// What the handlers saw.
#[derive(Default)]
pub(crate) struct Tally {
    /// Handlers that began.
    received: AtomicU64,
    /// Handlers that ended.
    handled: AtomicU64,
    /// Which messages came, by the stamps in their payloads.
    ledger: Mutex<Ledger>,
    /// Told when `until` messages were handled.
    reached: Notify,
    until: Option<u64>,
}

impl Tally {
    pub(crate) fn new(until: Option<u64>) -> Self {
        Self { until, ..Self::default() }
    }

    /// A handler begins.
    pub(crate) fn begin(&self, payload: &[u8]) {
        self.received.fetch_add(1, Ordering::Relaxed);
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner).record(payload);
    }

    /// A handler ends.
    pub(crate) fn end(&self) {
        let handled = self.handled.fetch_add(1, Ordering::Relaxed) + 1;
        if self.until == Some(handled) {
            self.reached.notify_one();
        }
    }

    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    pub(crate) fn handled(&self) -> u64 {
        self.handled.load(Ordering::Relaxed)
    }

    pub(crate) fn order(&self) -> OrderCounts {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner).counts()
    }
}

/// Runs the command.
pub(crate) async fn run(arguments: &Serve) -> Result<ExitCode, Failed> {
    let mut signals = Signals::new()?;
    let tally = Arc::new(Tally::new(arguments.until_handled));
    let host = start_host(arguments)?;
    let server = bind(arguments, &host, &tally).await?;
    let endpoint = server.endpoint();
    if arguments.json {
        report::json(&json!({"event": "listening", "endpoint": endpoint, "channel": arguments.channel}));
    } else {
        report::line(&format!("{} listens on {endpoint}", arguments.channel));
    }

    let begin = Instant::now();
    let end = async {
        match arguments.duration {
            Some(duration) => tokio::time::sleep(duration).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(end);
    let mut progress = Progress::new();
    let mut second = tokio::time::interval_at(tokio::time::Instant::now() + SECOND, SECOND);
    loop {
        tokio::select! {
            () = signals.next() => break,
            () = &mut end => break,
            () = tally.reached.notified() => break,
            _ = second.tick() => show_status(arguments, &host, &tally, &mut progress, begin),
        }
    }

    let shutdown = host.shutdown(arguments.shutdown);
    tokio::pin!(shutdown);
    let mut is_cut = false;
    let report = loop {
        tokio::select! {
            report = &mut shutdown => break report,
            () = signals.next(), if !is_cut => {
                is_cut = true;
                let host = host.clone();
                tokio::spawn(async move { host.shutdown(Duration::from_millis(1)).await });
            }
        }
    };
    summary(arguments, &host, &tally, &report, begin.elapsed());
    Ok(ExitCode::SUCCESS)
}

const SECOND: Duration = Duration::from_secs(1);

fn start_host(arguments: &Serve) -> Result<Host, Failed> {
    let mut builder = Host::builder()
        .job_queue_pause_percent(arguments.pause_percent)
        .job_queue_resume_percent(arguments.resume_percent);
    if let Some(jobs) = arguments.max_jobs {
        builder = builder.max_queued_jobs(jobs);
    }
    Ok(builder.start()?)
}

async fn bind(arguments: &Serve, host: &Host, tally: &Arc<Tally>) -> Result<Server, Failed> {
    let delay = arguments.handler_delay;
    let answer =
        arguments.reply_size.map(usize::try_from).transpose()?.map(|size| Bytes::from(vec![0; size]));
    let (on_send, on_request) = (Arc::clone(tally), Arc::clone(tally));
    let mut builder = host
        .server(&arguments.channel)
        .fallback_send(move |_context, message| {
            let tally = Arc::clone(&on_send);
            async move {
                tally.begin(message.payload());
                pause(delay).await;
                tally.end();
                Ok(())
            }
        })
        .fallback_request(move |_context, message| {
            let (tally, answer) = (Arc::clone(&on_request), answer.clone());
            async move {
                tally.begin(message.payload());
                pause(delay).await;
                tally.end();
                Ok(Reply::new(answer.unwrap_or_else(|| message.payload().clone())))
            }
        })
        .concurrency(arguments.concurrency);
    if let Some(bytes) = arguments.send_hwm {
        builder = builder.send_hwm(bytes);
    }
    if let Some(bytes) = arguments.recv_hwm {
        builder = builder.receive_hwm(bytes);
    }
    if let Some(bytes) = arguments.max_message_size {
        builder = builder.max_message_size(bytes);
    }
    Ok(builder.bind(&arguments.bind).await?)
}

/// The handler's work.
pub(crate) async fn pause(delay: Duration) {
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
}

fn show_status(arguments: &Serve, host: &Host, tally: &Tally, progress: &mut Progress, begin: Instant) {
    let status = host.status();
    let (received, handled) = (tally.received(), tally.handled());
    if arguments.json {
        let mut value = json!({"event": "status", "received": received, "handled": handled});
        status::add(&mut value, &status);
        report::json(&value);
        return;
    }
    let jobs = &status.host.job_queue;
    progress.show(&format!(
        "{:>5.0} s  {} received, {} handled; permits {} of {} in use, {} sources wait, {}; receive queues {}",
        begin.elapsed().as_secs_f64(),
        units::show_count(received),
        units::show_count(handled),
        jobs.in_use,
        jobs.maximum,
        jobs.capacity_waiters,
        status::flow_name(jobs.pressure_state),
        units::show_bytes(status::receive_bytes(&status)),
    ));
}

fn summary(arguments: &Serve, host: &Host, tally: &Tally, report: &zlink::ShutdownReport, elapsed: Duration) {
    let order = tally.order();
    let protocol_errors = status::protocol_errors(&host.status());
    if arguments.json {
        report::json(&json!({
            "event": "summary",
            "received": tally.received(),
            "handled": tally.handled(),
            "gaps": order.gaps,
            "duplicates": order.duplicates,
            "out_of_order": order.out_of_order,
            "protocol_errors": protocol_errors,
            "elapsed_s": elapsed.as_secs_f64(),
            "shutdown": status::shutdown(report),
        }));
        return;
    }
    report::table(
        "served",
        &[
            ("received", units::show_count(tally.received())),
            ("handled", units::show_count(tally.handled())),
            ("gaps", units::show_count(order.gaps)),
            ("duplicates", units::show_count(order.duplicates)),
            ("out of order", units::show_count(order.out_of_order)),
            ("protocol errors", units::show_count(protocol_errors)),
            ("elapsed", format!("{:.3} s", elapsed.as_secs_f64())),
            ("shutdown", report.to_string()),
        ],
    );
}
