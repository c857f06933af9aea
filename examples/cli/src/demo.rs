//! `zlink demo`: a slow handler slows a fast sender down, and nothing is lost.

use crate::args::Demo;
use crate::ledger;
use crate::report::{self, Progress};
use crate::serve::{Tally, pause};
use crate::signals::Signals;
use crate::{Failed, status, units};
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use zlink::socket::SocketOptions;
use zlink::{Client, Host, Message, Server};

const CHANNEL: &str = "demo";
/// What a handler takes.
const HANDLER_DELAY: Duration = Duration::from_millis(1);
/// Tasks that send as fast as they may.
const SENDERS: u64 = 32;
const PAYLOAD_BYTES: usize = 4_096;
/// Small queues: they are full within milliseconds, so that there is something to see.
const QUEUE_BYTES: u64 = 64 * 1024;
/// Small kernel buffers too: what lies in them is counted by nobody.
const KERNEL_BYTES: usize = 16 * 1024;
const JOBS_MAX: u64 = 8;
/// Enough for everything that is on the way when the senders stop.
const DRAIN: Duration = Duration::from_secs(30);

/// What the senders did.
#[derive(Default)]
struct Sent {
    attempted: AtomicU64,
    accepted: AtomicU64,
    is_over: AtomicBool,
}

/// Both sides of the demo.
struct Sides {
    server: Host,
    client: Host,
    tally: Arc<Tally>,
    sent: Arc<Sent>,
    begin: Instant,
}

/// Runs the command.
pub(crate) async fn run(arguments: &Demo) -> Result<ExitCode, Failed> {
    let mut signals = Signals::new()?;
    let tally = Arc::new(Tally::new(None));
    // Two hosts, as two processes would have them.
    let server = Host::builder().max_queued_jobs(JOBS_MAX).start()?;
    let bound = bind(&server, &tally).await?;
    let client = Host::builder().start()?;
    let builder = client.client(CHANNEL).send_hwm(QUEUE_BYTES).socket_options(small_kernel_buffers);
    let connection = builder.connect(bound.endpoint()).await?;
    connection.ready().await?;

    let sides = Sides { server, client, tally, sent: Arc::default(), begin: Instant::now() };
    if !arguments.json {
        report::line(&format!(
            "{SENDERS} senders send messages of {PAYLOAD_BYTES} bytes as fast as they may; one handler takes {HANDLER_DELAY:?} for each"
        ));
    }
    let mut tasks = JoinSet::new();
    for number in 0..SENDERS {
        tasks.spawn(sender(Arc::clone(&sides.sent), connection.clone(), number));
    }
    let mut progress = Progress::new();
    let end = tokio::time::sleep(arguments.duration);
    tokio::pin!(end);
    let mut tick = tokio::time::interval(if progress.is_live() { PICTURE_LIVE } else { PICTURE });
    loop {
        tokio::select! {
            () = &mut end => break,
            () = signals.next() => break,
            _ = tick.tick() => sides.show(arguments.json, &mut progress, "sending"),
        }
    }
    sides.sent.is_over.store(true, Ordering::Relaxed);

    // What waits ends first, then what was accepted is transmitted, then handled.
    let drained = async {
        while tasks.join_next().await.is_some() {}
        let of_client = sides.client.shutdown(DRAIN).await;
        (of_client, sides.server.shutdown(DRAIN).await)
    };
    tokio::pin!(drained);
    loop {
        tokio::select! {
            _ = &mut drained => break,
            // Whoever does not want to wait for the end gets an end without it.
            () = signals.next() => break,
            _ = tick.tick() => sides.show(arguments.json, &mut progress, "draining"),
        }
    }
    sides.show(arguments.json, &mut progress, "at rest");
    Ok(sides.summary(arguments.json))
}

const PICTURE: Duration = Duration::from_secs(1);
const PICTURE_LIVE: Duration = Duration::from_millis(100);

async fn bind(host: &Host, tally: &Arc<Tally>) -> Result<Server, Failed> {
    let tally = Arc::clone(tally);
    let server = host
        .server(CHANNEL)
        .on_send("Work", move |_context, message| {
            let tally = Arc::clone(&tally);
            async move {
                tally.begin(message.payload());
                pause(HANDLER_DELAY).await;
                tally.end();
                Ok(())
            }
        })
        .receive_hwm(QUEUE_BYTES)
        .max_message_size(QUEUE_BYTES)
        .socket_options(small_kernel_buffers)
        .bind("tcp://127.0.0.1:0")
        .await?;
    Ok(server)
}

fn small_kernel_buffers(options: SocketOptions) -> SocketOptions {
    options.send_buffer(KERNEL_BYTES).receive_buffer(KERNEL_BYTES)
}

async fn sender(sent: Arc<Sent>, client: Client, number: u64) {
    let (mut sequence, mut payload) = (0, vec![0; PAYLOAD_BYTES]);
    while !sent.is_over.load(Ordering::Relaxed) {
        ledger::stamp(&mut payload, number, sequence);
        sequence += 1;
        sent.attempted.fetch_add(1, Ordering::Relaxed);
        match client.send(Message::new("Work", &payload[..])).await {
            Ok(()) => {
                sent.accepted.fetch_add(1, Ordering::Relaxed);
            }
            // It was not accepted, so it may not be handled either; the sequence has a gap then, which is no loss.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

impl Sides {
    fn on_the_way(&self) -> u64 {
        self.sent.accepted.load(Ordering::Relaxed).saturating_sub(self.tally.handled())
    }

    fn show(&self, as_json: bool, progress: &mut Progress, phase: &str) {
        let (server, client) = (self.server.status(), self.client.status());
        let (jobs, owners) = (&server.host.job_queue, &server.host.owners);
        let waiting = &client.host.operations.client;
        let (send, receive) = (status::send_bytes(&client), status::receive_bytes(&server));
        let (accepted, handled) = (self.sent.accepted.load(Ordering::Relaxed), self.tally.handled());
        let elapsed_s = self.begin.elapsed().as_secs_f64();
        if as_json {
            report::json(&json!({
                "event": "status",
                "phase": phase,
                "elapsed_s": elapsed_s,
                "waiting_sends": waiting.waiters,
                "send_bytes": send,
                "receive_bytes": receive,
                "permits": {"in_use": jobs.in_use, "maximum": jobs.maximum, "waiters": jobs.capacity_waiters},
                "mailbox_jobs": owners.queued_items,
                "pressure": status::flow_name(jobs.pressure_state),
                "pauses": jobs.transitions_paused,
                "accepted": accepted,
                "handled": handled,
            }));
            return;
        }
        if !progress.is_live() {
            progress.show(&format!(
                "{elapsed_s:>6.1} s  {phase}: {} senders wait, send queue {}, receive queue {}, permits {} of {}, mailbox {} jobs, \
                 {}; {} accepted, {} handled",
                waiting.waiters,
                units::show_bytes(send),
                units::show_bytes(receive),
                jobs.in_use,
                jobs.maximum,
                owners.queued_items,
                status::flow_name(jobs.pressure_state),
                units::show_count(accepted),
                units::show_count(handled),
            ));
            return;
        }
        let row = |name: &str, value: u64, limit: u64, text: String| {
            format!("  {name}  {}  {text}\n", bar(value, limit))
        };
        let mut block = format!("{elapsed_s:>6.1} s  {phase}\n");
        block += &row(
            "① waiting sends ",
            waiting.waiters,
            SENDERS,
            format!("{} of {} senders wait for room", waiting.waiters, SENDERS),
        );
        block += &row(
            "② send queue    ",
            send,
            QUEUE_BYTES,
            format!("{} of {}", units::show_bytes(send), units::show_bytes(QUEUE_BYTES)),
        );
        block += &row(
            "③ receive queue ",
            receive,
            QUEUE_BYTES,
            format!("{} of {}", units::show_bytes(receive), units::show_bytes(QUEUE_BYTES)),
        );
        block += &row(
            "④ permits       ",
            jobs.in_use.into(),
            jobs.maximum.into(),
            format!("{} of {} in use, {} sources wait", jobs.in_use, jobs.maximum, jobs.capacity_waiters),
        );
        block += &row(
            "⑤ owner mailbox ",
            owners.queued_items,
            jobs.maximum.into(),
            format!("{} jobs wait for their handler", owners.queued_items),
        );
        let pressure = status::flow_name(jobs.pressure_state);
        block += &format!("     pressure         {pressure}, {} pauses so far\n", jobs.transitions_paused);
        block += &format!(
            "     messages         {} accepted, {} handled, {} on the way",
            units::show_count(accepted),
            units::show_count(handled),
            units::show_count(self.on_the_way())
        );
        progress.show(&block);
    }

    /// Success: everything that was accepted was handled, once and in order.
    fn summary(&self, as_json: bool) -> ExitCode {
        let (attempted, accepted) =
            (self.sent.attempted.load(Ordering::Relaxed), self.sent.accepted.load(Ordering::Relaxed));
        let (handled, order) = (self.tally.handled(), self.tally.order());
        let lost = accepted.saturating_sub(handled);
        let is_good = accepted == handled && order.duplicates == 0 && order.out_of_order == 0;
        if as_json {
            report::json(&json!({
                "event": "summary",
                "attempted": attempted,
                "accepted": accepted,
                "handled": handled,
                "lost": lost,
                "duplicates": order.duplicates,
                "out_of_order": order.out_of_order,
            }));
        } else {
            report::table(
                if is_good { "nothing was lost" } else { "NOT what was promised" },
                &[
                    ("attempted", units::show_count(attempted)),
                    ("accepted", units::show_count(accepted)),
                    ("handled", units::show_count(handled)),
                    ("lost", units::show_count(lost)),
                    ("duplicates", units::show_count(order.duplicates)),
                    ("out of order", units::show_count(order.out_of_order)),
                ],
            );
        }
        if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Twenty cells, filled in proportion.
fn bar(value: u64, limit: u64) -> String {
    let cells = (value.min(limit) * 20).div_ceil(limit.max(1)) as usize;
    "█".repeat(cells) + &"·".repeat(20 - cells)
}
