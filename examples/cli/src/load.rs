//! What `send` and `request` have in common: tasks that work through a number of messages, at a rate, until they are told to stop.

use crate::Failed;
use crate::args::Load;
use crate::ledger;
use crate::signals::Signals;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use zlink::{Client, ErrorKind, Host, Submission};

/// How long to wait for the first server at least, before going on without it.
const READY_WAIT: Duration = Duration::from_secs(10);

/// The work that the tasks share.
pub(crate) struct Work {
    begin: Instant,
    count: u64,
    size: usize,
    rate: Option<f64>,
    sender: u64,
    /// Messages that were handed out.
    taken: AtomicU64,
    is_over: AtomicBool,
    /// Messages that ended, for the progress line.
    pub(crate) good: AtomicU64,
    pub(crate) bad: AtomicU64,
}

impl Work {
    fn new(load: &Load) -> Result<Self, Failed> {
        Ok(Self {
            begin: Instant::now(),
            count: load.count(),
            size: usize::try_from(load.size)?,
            rate: load.rate,
            sender: RandomState::new().build_hasher().finish(),
            taken: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            good: AtomicU64::new(0),
            bad: AtomicU64::new(0),
        })
    }

    /// True if another message may be attempted; waits until it is due.
    pub(crate) async fn next(&self) -> bool {
        if self.is_over.load(Ordering::Relaxed) {
            return false;
        }
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        if number >= self.count {
            return false;
        }
        if let Some(rate) = self.rate {
            let due = self.begin + Duration::from_secs_f64(number as f64 / rate);
            // Within one tick of the timer it is due already: high rates come in small bursts.
            if due.saturating_duration_since(Instant::now()) >= Duration::from_millis(1) {
                tokio::time::sleep_until(due.into()).await;
                return !self.is_over.load(Ordering::Relaxed);
            }
        }
        true
    }

    fn stop(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// The next payload of one task; `sequence` counts its messages.
    pub(crate) fn payload(&self, task: u64, sequence: u64) -> Vec<u8> {
        let mut payload = vec![0; self.size];
        ledger::stamp(&mut payload, self.sender.wrapping_add(task), sequence);
        payload
    }
}

/// Ends without the result, by what is known of them.
#[derive(Clone, Default, Debug)]
pub(crate) struct Failures {
    pub(crate) by_kind: BTreeMap<&'static str, u64>,
    pub(crate) not_submitted: u64,
    pub(crate) unknown: u64,
}

impl Failures {
    pub(crate) fn record(&mut self, kind: ErrorKind, submission: Submission) {
        *self.by_kind.entry(kind.name()).or_default() += 1;
        match submission {
            Submission::NotSubmitted => self.not_submitted += 1,
            Submission::Unknown => self.unknown += 1,
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (kind, count) in &other.by_kind {
            *self.by_kind.entry(kind).or_default() += count;
        }
        self.not_submitted += other.not_submitted;
        self.unknown += other.unknown;
    }

    /// `DeadlineExceeded 3, Unavailable 1`.
    pub(crate) fn text(&self) -> String {
        if self.by_kind.is_empty() {
            return "none".into();
        }
        let kinds: Vec<_> = self.by_kind.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        kinds.join(", ")
    }
}

/// What a run gave: one result for each task, and how long the messages took together.
pub(crate) struct Done<T> {
    pub(crate) results: Vec<T>,
    pub(crate) elapsed: Duration,
    pub(crate) report: zlink::ShutdownReport,
}

/// Connects, lets `concurrency` tasks work until count, time or a signal, and shuts down gracefully.
pub(crate) async fn run<T, F>(
    load: &Load,
    host: Host,
    task: impl Fn(Arc<Work>, Client, u64) -> F,
    mut progress: impl FnMut(&Work, Duration),
) -> Result<Done<T>, Failed>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut signals = Signals::new()?;
    let client = connect(load, &host).await?;
    let ready_wait = load.duration.unwrap_or_else(|| load.timeout.unwrap_or_default().max(READY_WAIT));
    tokio::select! {
        // Without a server each message ends with its own error, which the summary tells.
        _ = tokio::time::timeout(ready_wait, client.ready()) => {}
        () = signals.next() => return finish(load, host, signals, JoinSet::new(), Duration::ZERO).await,
    }

    let work = Arc::new(Work::new(load)?);
    let mut tasks = JoinSet::new();
    for number in 0..u64::from(load.concurrency) {
        tasks.spawn(task(Arc::clone(&work), client.clone(), number));
    }
    let end = async {
        match load.duration {
            Some(duration) => tokio::time::sleep_until((work.begin + duration).into()).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(end);
    let mut second = tokio::time::interval_at(tokio::time::Instant::now() + SECOND, SECOND);
    let mut results = Vec::new();
    loop {
        tokio::select! {
            joined = tasks.join_next() => match joined {
                Some(result) => results.push(result?),
                None => break,
            },
            () = &mut end => break,
            () = signals.next() => break,
            _ = second.tick() => progress(&work, work.begin.elapsed()),
        }
    }
    work.stop();
    let elapsed = work.begin.elapsed();
    let mut done = finish(load, host, signals, tasks, elapsed).await?;
    done.results.append(&mut results);
    Ok(done)
}

const SECOND: Duration = Duration::from_secs(1);

async fn connect(load: &Load, host: &Host) -> Result<Client, Failed> {
    let mut builder = host.client(&load.channel);
    if let Some(bytes) = load.send_hwm {
        builder = builder.send_hwm(bytes);
    }
    if let Some(timeout) = load.timeout {
        builder = builder.send_timeout(timeout);
    }
    let mut endpoints = load.connect.iter();
    let first = endpoints.next().ok_or("no endpoint")?;
    let client = builder.connect(first).await?;
    for endpoint in endpoints {
        client.connect_also(endpoint)?;
    }
    Ok(client)
}

/// Everything that was begun goes to its end while the host shuts down; a second signal cuts it short.
async fn finish<T: Send + 'static>(
    load: &Load,
    host: Host,
    mut signals: Signals,
    mut tasks: JoinSet<T>,
    elapsed: Duration,
) -> Result<Done<T>, Failed> {
    let shutdown = host.shutdown(load.shutdown);
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
    let mut results = Vec::new();
    while let Some(result) = tasks.join_next().await {
        results.push(result?);
    }
    Ok(Done { results, elapsed, report })
}
