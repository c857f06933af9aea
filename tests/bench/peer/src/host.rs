//! The workloads on channels: client to handler.

use crate::harness::{
    Args, FAN_IN, FRESH_BYTES_MAX, HWM_BYTES, IDLE, OUTSTANDING, SLOW_MESSAGES_MAX, Workload, cpu_ns,
    end_message, nap, ready, sender, stamp, vm_kib,
};
use crate::meters::{
    Latencies, Meter, Slow, Source, is_end, report_idle, report_rate, report_sent, report_served,
    report_slow_sender,
};
use bytes::Bytes;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::Instant as RuntimeInstant;
use zlink::{Client, Host, Message, Reply};

const CHANNEL: &str = "bench";
const ITEM: &str = "Item";
const ASK: &str = "Ask";

pub(crate) async fn run(args: Args) {
    let host = Host::builder().start().expect("default options");
    if args.is_server {
        match args.workload {
            Workload::W1 | Workload::W4 => receive(&args, &host).await,
            Workload::W2 | Workload::W3 => serve(&args, &host).await,
            Workload::W6 => receive_slowly(&args, &host).await,
            Workload::W7 => hold_idle(&args, &host).await,
        }
    } else {
        match args.workload {
            Workload::W1 => send(&args, &host).await,
            Workload::W2 => request_one_by_one(&args, &host).await,
            Workload::W3 => request_many(&args, &host).await,
            Workload::W4 => send_from_many(&args, &host).await,
            Workload::W6 => send_as_fast_as_allowed(&args, &host).await,
            Workload::W7 => connect_many(&args, &host).await,
        }
    }
}

/// What the handlers of one run count. Handlers of a channel run one at a time, so that plain loads and stores do.
struct Counts {
    messages: AtomicU64,
    bytes: AtomicU64,
    ends: AtomicU64,
    per_sender: [AtomicU64; FAN_IN],
    first: OnceLock<(Instant, u64)>,
    last: OnceLock<Instant>,
    done: Notify,
}

impl Counts {
    /// Lives as long as the process: handlers refer to it without counting references.
    fn leak() -> &'static Self {
        Box::leak(Box::new(Self {
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            ends: AtomicU64::new(0),
            per_sender: [const { AtomicU64::new(0) }; FAN_IN],
            first: OnceLock::new(),
            last: OnceLock::new(),
            done: Notify::new(),
        }))
    }

    #[inline]
    fn hit(&self, message: &[u8], ends: u64) {
        if is_end(message) {
            add(&self.ends, 1);
            if self.ends.load(Relaxed) == ends {
                self.last.get_or_init(Instant::now);
                self.done.notify_one();
            }
            return;
        }
        if self.messages.load(Relaxed) == 0 {
            self.first.get_or_init(|| (Instant::now(), cpu_ns()));
        }
        add(&self.messages, 1);
        add(&self.bytes, message.len() as u64);
        if ends > 1 {
            add(&self.per_sender[sender(message)], 1);
        }
    }

    fn meter(&self) -> Meter {
        let first = self.first.get();
        Meter {
            first: first.map(|first| first.0),
            last: self.last.get().copied().unwrap_or_else(Instant::now),
            messages: self.messages.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            cpu_at_first: first.map_or(0, |first| first.1),
        }
    }
}

#[inline]
fn add(counter: &AtomicU64, value: u64) {
    counter.store(counter.load(Relaxed) + value, Relaxed);
}

async fn client(args: &Args, host: &Host) -> Client {
    let client = host
        .client(CHANNEL)
        .send_hwm(HWM_BYTES)
        .receive_hwm(HWM_BYTES)
        .connect(&args.endpoint())
        .await
        .expect("well-formed endpoint");
    client.ready().await.expect("a server");
    client
}

async fn receive(args: &Args, host: &Host) {
    let counts = Counts::leak();
    let ends = if args.workload == Workload::W4 { FAN_IN as u64 } else { 1 };
    let _server = host
        .server(CHANNEL)
        .send_hwm(HWM_BYTES)
        .receive_hwm(HWM_BYTES)
        .on_send(ITEM, move |_, message| async move {
            counts.hit(message.payload(), ends);
            Ok(())
        })
        .bind(&args.endpoint())
        .await
        .expect("free port");
    ready();
    counts.done.notified().await;
    if ends == 1 {
        return counts.meter().report("");
    }
    let per_sender: Vec<u64> = counts.per_sender.iter().map(|count| count.load(Relaxed)).collect();
    counts.meter().report_fan_in(&per_sender);
}

async fn send(args: &Args, host: &Host) {
    let client = client(args, host).await;
    let mut message = vec![0; args.size];
    let fixed = Bytes::from(message.clone());
    let mut source = Source::new(args.size, args.secs);
    while source.more() {
        if args.size > FRESH_BYTES_MAX {
            client.send(Message::new(ITEM, fixed.clone())).await.expect("a live server");
        } else {
            stamp(&mut message, source.messages, 0);
            client.send(Message::new(ITEM, &message[..])).await.expect("a live server");
        }
    }
    client.send(Message::new(ITEM, &end_message(0)[..])).await.expect("a live server");
    source.report();
    // The harness ends us when both sides have reported.
    nap(15_000).await;
}

async fn serve(args: &Args, host: &Host) {
    let counts = Counts::leak();
    let cpu = cpu_ns();
    let _server = host
        .server(CHANNEL)
        .send_hwm(HWM_BYTES)
        .receive_hwm(HWM_BYTES)
        .on_request(ASK, move |_, message| async move {
            add(&counts.messages, 1);
            Ok(Reply::new(message.payload().clone()))
        })
        .on_send(ITEM, move |_, message| async move {
            counts.hit(message.payload(), 1);
            Ok(())
        })
        .bind(&args.endpoint())
        .await
        .expect("free port");
    ready();
    counts.done.notified().await;
    report_served(counts.messages.load(Relaxed), cpu);
    nap(100).await;
}

async fn request_one_by_one(args: &Args, host: &Host) {
    let client = client(args, host).await;
    let mut message = vec![0; args.size];
    for index in 0..200 {
        stamp(&mut message, index, 0);
        client.request(Message::new(ASK, &message[..])).await.expect("a reply");
    }
    let mut latencies = Latencies::new();
    while latencies.elapsed() < args.duration() {
        let start = Instant::now();
        client.request(Message::new(ASK, &message[..])).await.expect("a reply");
        latencies.add(start);
    }
    latencies.report();
    client.send(Message::new(ITEM, &end_message(0)[..])).await.expect("a live server");
    nap(200).await;
}

async fn request_many(args: &Args, host: &Host) {
    let client = client(args, host).await;
    let (start, cpu, duration, size) = (Instant::now(), cpu_ns(), args.duration(), args.size);
    let mut tasks = Vec::new();
    for _ in 0..OUTSTANDING {
        let client = client.clone();
        tasks.push(tokio::spawn(async move {
            let (mut message, mut replies) = (vec![0; size], 0);
            while replies & 63 != 0 || start.elapsed() < duration {
                stamp(&mut message, replies, 0);
                client.request(Message::new(ASK, &message[..])).await.expect("a reply");
                replies += 1;
            }
            replies
        }));
    }
    let mut replies = 0;
    for task in tasks {
        replies += task.await.expect("no panic");
    }
    report_rate(replies, start, cpu);
    client.send(Message::new(ITEM, &end_message(0)[..])).await.expect("a live server");
    nap(200).await;
}

async fn send_from_many(args: &Args, host: &Host) {
    let cpu = cpu_ns();
    let mut tasks = Vec::new();
    for id in 0..FAN_IN as u32 {
        let (args, host) = (*args, host.clone());
        tasks.push(tokio::spawn(async move {
            let client = client(&args, &host).await;
            nap(300).await;
            let mut message = vec![0; args.size];
            let mut source = Source::new(args.size, args.secs);
            while source.more() {
                stamp(&mut message, source.messages, id);
                client.send(Message::new(ITEM, &message[..])).await.expect("a live server");
                if source.messages % 64 == 0 {
                    tokio::task::yield_now().await;
                }
            }
            client.send(Message::new(ITEM, &end_message(id)[..])).await.expect("a live server");
            nap(1500).await;
            source.messages
        }));
    }
    let mut sent = 0;
    for task in tasks {
        sent += task.await.expect("no panic");
    }
    report_sent(sent, cpu);
    nap(15_000).await;
}

async fn receive_slowly(args: &Args, host: &Host) {
    let counts = Counts::leak();
    let slow: &'static Mutex<Slow> = Box::leak(Box::new(Mutex::new(Slow::new())));
    let _server = host
        .server(CHANNEL)
        .send_hwm(HWM_BYTES)
        .receive_hwm(HWM_BYTES)
        .on_send(ITEM, move |_, message| async move {
            let pause = slow.lock().expect("no panic in a handler").hit(message.payload());
            match pause {
                Some(true) => nap(1).await,
                Some(false) => {}
                None => counts.done.notify_one(),
            }
            Ok(())
        })
        .bind(&args.endpoint())
        .await
        .expect("free port");
    ready();
    counts.done.notified().await;
    slow.lock().expect("no panic in a handler").report();
}

async fn send_as_fast_as_allowed(args: &Args, host: &Host) {
    let client = client(args, host).await;
    nap(200).await;
    let base = vm_kib("VmRSS");
    let mut message = vec![0; args.size];
    let (end, mut sent) = (RuntimeInstant::now() + Duration::from_secs(3), 0);
    while sent < SLOW_MESSAGES_MAX && RuntimeInstant::now() < end {
        stamp(&mut message, sent, 0);
        // A send that ends by its own timeout, or is dropped at the end of the time, was not accepted.
        if let Ok(Ok(())) = tokio::time::timeout_at(end, client.send(Message::new(ITEM, &message[..]))).await
        {
            sent += 1;
        }
    }
    while client.send(Message::new(ITEM, &end_message(0)[..])).await.is_err() {}
    report_slow_sender(sent, base);
    nap(15_000).await;
}

async fn hold_idle(args: &Args, host: &Host) {
    let counts = Counts::leak();
    let _server = host
        .server(CHANNEL)
        .send_hwm(HWM_BYTES)
        .receive_hwm(HWM_BYTES)
        .on_send(ITEM, move |_, message| async move {
            counts.hit(message.payload(), IDLE as u64);
            Ok(())
        })
        .bind(&args.endpoint())
        .await
        .expect("free port");
    nap(50).await;
    let base = vm_kib("VmRSS");
    ready();
    counts.done.notified().await;
    nap(300).await;
    report_idle("srv", base);
    nap(15_000).await;
}

async fn connect_many(args: &Args, host: &Host) {
    let warm = client(args, host).await;
    nap(50).await;
    let base = vm_kib("VmRSS");
    let mut clients = Vec::with_capacity(IDLE);
    for id in 0..IDLE as u32 {
        let client = client(args, host).await;
        client.send(Message::new(ITEM, &end_message(id)[..])).await.expect("a live server");
        clients.push(client);
    }
    nap(1000).await;
    report_idle("cli", base);
    nap(15_000).await;
    drop((clients, warm));
}
