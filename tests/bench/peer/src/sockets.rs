//! The workloads on raw sockets: DEALER to ROUTER.

use crate::harness::{
    Args, END, FAN_IN, FRESH_BYTES_MAX, HWM_BYTES, IDLE, OUTSTANDING, SLOW_MESSAGES_MAX, Workload, cpu_ns,
    end_message, nap, ready, sender, sequence, stamp, vm_kib,
};
use crate::meters::{
    Latencies, Meter, Slow, Source, report_idle, report_rate, report_sent, report_served, report_slow_sender,
};
use bytes::Bytes;
use std::time::{Duration, Instant};
use tokio::time::Instant as RuntimeInstant;
use zlink::socket::{Dealer, Received, Router, SocketOptions};

/// Records a call of `recv_many` takes.
const BATCH_RECORDS: usize = 1024;

pub(crate) async fn run(args: Args) {
    if args.is_server {
        let router = Router::new(options()).expect("default options");
        router.bind(&args.endpoint()).await.expect("free port");
        match args.workload {
            Workload::W1 => receive(router).await,
            Workload::W2 | Workload::W3 => serve(router).await,
            Workload::W4 => receive_from_many(router).await,
            Workload::W6 => receive_slowly(router).await,
            Workload::W7 => hold_idle(router).await,
        }
    } else {
        match args.workload {
            Workload::W1 => send(&args).await,
            Workload::W2 => request_one_by_one(&args).await,
            Workload::W3 => request_many(&args).await,
            Workload::W4 => send_from_many(&args).await,
            Workload::W6 => send_as_fast_as_allowed(&args).await,
            Workload::W7 => connect_many(&args).await,
        }
    }
}

/// Queues of 256 KiB, like the reference peer `swap`; everything else is the default.
fn options() -> SocketOptions {
    SocketOptions::default().send_hwm(HWM_BYTES).receive_hwm(HWM_BYTES)
}

async fn dealer(args: &Args) -> Dealer {
    let dealer = Dealer::new(options()).expect("default options");
    dealer.connect(&args.endpoint()).expect("well-formed endpoint");
    dealer.ready().await.expect("a server");
    dealer
}

/// The only part.
#[inline]
fn body(received: &Received) -> &[u8] {
    received.record.part(0).unwrap_or_default()
}

async fn receive(router: Router) {
    ready();
    let mut meter = Meter::default();
    let mut batch: Vec<Received> = Vec::new();
    loop {
        router.recv_many(&mut batch, BATCH_RECORDS).await.expect("open socket");
        for received in batch.drain(..) {
            if meter.hit(body(&received)) {
                return meter.report("");
            }
        }
    }
}

async fn send(args: &Args) {
    let dealer = dealer(args).await;
    let mut message = vec![0; args.size];
    let fixed = Bytes::from(message.clone());
    let mut source = Source::new(args.size, args.secs);
    while source.more() {
        if args.size > FRESH_BYTES_MAX {
            dealer.send(fixed.clone()).await.expect("a live server");
        } else {
            stamp(&mut message, source.messages, 0);
            dealer.send(&message[..]).await.expect("a live server");
        }
    }
    dealer.send(&end_message(0)[..]).await.expect("a live server");
    source.report();
    // The harness ends us when both sides have reported.
    nap(15_000).await;
}

async fn serve(router: Router) {
    ready();
    let (cpu, mut requests) = (cpu_ns(), 0);
    let mut batch: Vec<Received> = Vec::new();
    loop {
        router.recv_many(&mut batch, BATCH_RECORDS).await.expect("open socket");
        for received in batch.drain(..) {
            let Received { record, token, .. } = received;
            let message = record.part(0).unwrap_or_default();
            let Some(token) = token else {
                assert_eq!(sequence(message), END, "one-way data is the end");
                report_served(requests, cpu);
                return nap(100).await;
            };
            requests += 1;
            router.reply(token, message).await.expect("a live client");
        }
    }
}

async fn request_one_by_one(args: &Args) {
    let dealer = dealer(args).await;
    let mut message = vec![0; args.size];
    for index in 0..200 {
        stamp(&mut message, index, 0);
        dealer.request(&message[..]).await.expect("a reply");
    }
    let mut latencies = Latencies::new();
    while latencies.elapsed() < args.duration() {
        let start = Instant::now();
        dealer.request(&message[..]).await.expect("a reply");
        latencies.add(start);
    }
    latencies.report();
    dealer.send(&end_message(0)[..]).await.expect("a live server");
    nap(200).await;
}

async fn request_many(args: &Args) {
    let dealer = dealer(args).await;
    let (start, cpu, duration, size) = (Instant::now(), cpu_ns(), args.duration(), args.size);
    let mut tasks = Vec::new();
    for _ in 0..OUTSTANDING {
        let dealer = dealer.clone();
        tasks.push(tokio::spawn(async move {
            let (mut message, mut replies) = (vec![0; size], 0);
            while replies & 63 != 0 || start.elapsed() < duration {
                stamp(&mut message, replies, 0);
                dealer.request(&message[..]).await.expect("a reply");
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
    dealer.send(&end_message(0)[..]).await.expect("a live server");
    nap(200).await;
}

async fn receive_from_many(router: Router) {
    ready();
    let (mut meter, mut per_sender, mut ends) = (Meter::default(), vec![0; FAN_IN], 0);
    let mut batch: Vec<Received> = Vec::new();
    while ends < FAN_IN {
        router.recv_many(&mut batch, BATCH_RECORDS).await.expect("open socket");
        for received in batch.drain(..) {
            let message = body(&received);
            if meter.hit(message) {
                ends += 1;
            } else {
                per_sender[sender(message)] += 1;
            }
        }
    }
    meter.report_fan_in(&per_sender);
}

async fn send_from_many(args: &Args) {
    let cpu = cpu_ns();
    let mut tasks = Vec::new();
    for id in 0..FAN_IN as u32 {
        let args = *args;
        tasks.push(tokio::spawn(async move {
            let dealer = dealer(&args).await;
            nap(300).await;
            let mut message = vec![0; args.size];
            let mut source = Source::new(args.size, args.secs);
            while source.more() {
                stamp(&mut message, source.messages, id);
                dealer.send(&message[..]).await.expect("a live server");
                if source.messages % 64 == 0 {
                    tokio::task::yield_now().await;
                }
            }
            dealer.send(&end_message(id)[..]).await.expect("a live server");
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

async fn receive_slowly(router: Router) {
    ready();
    let mut slow = Slow::new();
    loop {
        let received = router.recv().await.expect("open socket");
        match slow.hit(body(&received)) {
            Some(true) => nap(1).await,
            Some(false) => {}
            None => return slow.report(),
        }
    }
}

async fn send_as_fast_as_allowed(args: &Args) {
    let dealer = dealer(args).await;
    nap(200).await;
    let base = vm_kib("VmRSS");
    let mut message = vec![0; args.size];
    let (end, mut sent) = (RuntimeInstant::now() + Duration::from_secs(3), 0);
    while sent < SLOW_MESSAGES_MAX && RuntimeInstant::now() < end {
        stamp(&mut message, sent, 0);
        // A send that ends by its own timeout, or is dropped at the end of the time, was not accepted.
        if let Ok(Ok(())) = tokio::time::timeout_at(end, dealer.send(&message[..])).await {
            sent += 1;
        }
    }
    while dealer.send(&end_message(0)[..]).await.is_err() {}
    report_slow_sender(sent, base);
    nap(15_000).await;
}

async fn hold_idle(router: Router) {
    nap(50).await;
    let base = vm_kib("VmRSS");
    ready();
    for _ in 0..IDLE {
        router.recv().await.expect("open socket");
    }
    nap(300).await;
    report_idle("srv", base);
    nap(15_000).await;
}

async fn connect_many(args: &Args) {
    let warm = dealer(args).await;
    nap(50).await;
    let base = vm_kib("VmRSS");
    let mut dealers = Vec::with_capacity(IDLE);
    for id in 0..IDLE as u32 {
        let dealer = dealer(args).await;
        dealer.send(&end_message(id)[..]).await.expect("a live server");
        dealers.push(dealer);
    }
    nap(1000).await;
    report_idle("cli", base);
    nap(15_000).await;
    drop((dealers, warm));
}
