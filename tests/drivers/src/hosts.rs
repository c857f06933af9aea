//! Hosts: channels end to end.

use crate::support::{ANYWHERE, must, sleep, task, within, yield_now};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use zlink_driver::host::{Client, Host, Message, Reply, Server, ShutdownOutcome};
use zlink_driver::runtime::Runtime;
use zlink_driver::{ErrorKind, Submission, TrySendError};

fn host<R: Runtime>() -> Host<R> {
    Host::builder().start().expect("default options")
}

async fn client<R: Runtime>(host: &Host<R>, server: &Server<R>) -> Client<R> {
    let client = host.client("orders").connect(server.endpoint()).await.expect("an endpoint");
    must::<R, _>(client.ready()).await.expect("a server");
    client
}

/// Sends and requests reach their handlers, and answers their callers; names that nobody handles are told so.
pub async fn an_echo<R: Runtime>() {
    let (there, here) = (host::<R>(), host::<R>());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&seen);
    let server = there
        .server("orders")
        .on_send("Cancel", move |_, message| {
            let record = Arc::clone(&record);
            async move {
                record.lock().expect("no panic").push(message.payload().clone());
                Ok(())
            }
        })
        .on_request("Place", |context, message| async move {
            assert_eq!((message.packet(), message.channel()), ("Place", "orders"));
            assert_eq!(message.content_type(), "application/json");
            assert!(!context.is_requester_gone());
            Ok(Reply::new(message.payload().clone()))
        })
        .bind(ANYWHERE)
        .await
        .expect("a free port");
    let client = client(&here, &server).await;
    assert_eq!((client.server_count(), server.client_count()), (1, 1));
    for size in [0, 1, 64, 9_000, 70_000, 1_000_000] {
        let body = vec![7; size];
        client.send(Message::new("Cancel", &body[..])).await.expect("room");
        let place = Message::new("Place", body.clone()).content_type("application/json");
        let reply = must::<R, _>(client.request(place)).await.expect("a reply");
        assert_eq!(reply.payload(), &body);
    }
    assert_eq!(seen.lock().expect("no panic").len(), 6);
    let nobody =
        must::<R, _>(client.request(Message::new("Nothing", &b""[..]))).await.expect_err("no handler");
    assert_eq!((nobody.kind(), nobody.submission()), (ErrorKind::NotFound, Submission::Unknown));
    client.send(Message::new("Nothing", &b""[..])).await.expect("accepted, then dropped there");
    let bad = must::<R, _>(client.send(Message::new("", &b""[..]))).await.expect_err("no name");
    assert_eq!((bad.kind(), bad.submission()), (ErrorKind::InvalidOperation, Submission::NotSubmitted));
    let bad = Message::new("Cancel", &b""[..]).metadata(&[("k", "1"), ("k", "2")]);
    assert_eq!(must::<R, _>(client.send(bad)).await.expect_err("twice").kind(), ErrorKind::InvalidOperation);
    client.try_send(Message::new("Cancel", &b"now"[..])).expect("room");
    let mut room = must::<R, _>(client.reserve(100)).await.expect("room");
    room.send(Message::new("Cancel", &[1; 100])).expect("booked");
    drop(room);
    let second = there.server("orders").bind(ANYWHERE).await.expect_err("twice");
    assert_eq!(second.kind(), ErrorKind::AlreadyExists);
    let wildcard = there.server("others").bind("tcp://*:0").await.expect_err("no advertised host");
    assert_eq!(wildcard.kind(), ErrorKind::NotConfigured);
    let text = here.status().to_string();
    assert!(text.contains("client of orders"), "{text}");
}

/// Fallbacks get every name that has no handler of its own, with metadata.
pub async fn fallbacks_and_metadata<R: Runtime>() {
    let (there, here) = (host::<R>(), host::<R>());
    let server = there
        .server("orders")
        .on_request("Known", |_, _| async { Ok(Reply::new("known")) })
        .fallback_request(|_, message| async move {
            let metadata: Vec<_> =
                message.metadata().iter().map(|(key, value)| format!("{key}={value}")).collect();
            Ok(Reply::new(format!("{} {}", message.packet(), metadata.join(","))))
        })
        .bind(ANYWHERE)
        .await
        .expect("a free port");
    let client = client(&here, &server).await;
    let ask = |packet| client.request(Message::new(packet, "").metadata(&[("tenant", "42")]));
    assert_eq!(must::<R, _>(ask("Known")).await.expect("a reply").payload(), "known");
    assert_eq!(must::<R, _>(ask("Other")).await.expect("a reply").payload(), "Other tenant=42");
}

/// Four jobs at most, small queues: the sender waits, and 100,000 messages arrive in order, none lost.
pub async fn backpressure_loses_nothing<R: Runtime>() {
    const COUNT: u64 = 100_000;
    let there = Host::<R>::builder().max_queued_jobs(4).start().expect("options");
    let here = host::<R>();
    let next = Arc::new(AtomicU64::new(0));
    let expected = Arc::clone(&next);
    let server = there
        .server("orders")
        .receive_hwm(16_384)
        .on_send("Item", move |_, message| {
            let expected = Arc::clone(&expected);
            async move {
                let number = u64::from_be_bytes(message.payload()[..8].try_into()?);
                assert_eq!(number, expected.fetch_add(1, Ordering::Relaxed));
                if number % 1_000 == 0 {
                    yield_now().await;
                }
                Ok(())
            }
        })
        .bind(ANYWHERE)
        .await
        .expect("a free port");
    let client = here
        .client("orders")
        .send_hwm(16_384)
        .send_timeout(Duration::from_secs(20))
        .connect(server.endpoint())
        .await
        .expect("an endpoint");
    must::<R, _>(client.ready()).await.expect("a server");
    must::<R, _>(async {
        let mut body = [0; 64];
        for number in 0..COUNT {
            body[..8].copy_from_slice(&number.to_be_bytes());
            client.send(Message::new("Item", &body[..])).await.expect("room in time");
        }
        while next.load(Ordering::Relaxed) < COUNT {
            sleep::<R>(Duration::from_millis(1)).await;
        }
    })
    .await;
    let status = there.status().host;
    assert_eq!((status.job_queue.maximum, status.job_queue.in_use), (4, 0), "{status}");
    assert!(status.job_queue.peak_in_use <= 4);
    assert!(status.job_queue.transitions_paused > 0, "the peer was paused: {status}");
    there.reset_metrics();
    assert_eq!(there.status().host.job_queue.transitions_paused, 0);
}

/// A handler that does not come to its end: what is accepted stays bounded, `try_send` says `Full`, a send ends at its deadline.
pub async fn a_slow_handler_makes_senders_wait<R: Runtime>() {
    let there = Host::<R>::builder().max_queued_jobs(2).start().expect("options");
    let here = host::<R>();
    let gate = Arc::new(AtomicBool::new(false));
    let handled = Arc::new(AtomicUsize::new(0));
    let (open, count) = (Arc::clone(&gate), Arc::clone(&handled));
    let small =
        |options: zlink_driver::socket::SocketOptions| options.send_buffer(8_192).receive_buffer(8_192);
    let server = there
        .server("orders")
        .receive_hwm(8_192)
        .socket_options(small)
        .on_send("Item", move |_, _| {
            let (open, count) = (Arc::clone(&open), Arc::clone(&count));
            async move {
                while !open.load(Ordering::Relaxed) {
                    sleep::<R>(Duration::from_millis(2)).await;
                }
                count.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        })
        .bind(ANYWHERE)
        .await
        .expect("a free port");
    let client = here
        .client("orders")
        .send_hwm(8_192)
        .send_timeout(Duration::from_millis(150))
        .socket_options(small)
        .connect(server.endpoint())
        .await
        .expect("an endpoint");
    must::<R, _>(client.ready()).await.expect("a server");
    let message = || Message::new("Item", &[0; 1_000]);
    let mut accepted = 0;
    let error = loop {
        match must::<R, _>(client.send(message())).await {
            Ok(()) => accepted += 1,
            Err(error) => break error,
        }
        assert!(accepted < 1_000, "somebody has to wait");
    };
    assert_eq!((error.kind(), error.submission()), (ErrorKind::DeadlineExceeded, Submission::NotSubmitted));
    assert_eq!(error.target(), "orders");
    let full = client.try_send(message()).expect_err("no room");
    assert!(matches!(full, TrySendError::Full(_)), "{full}");
    let status = there.status();
    assert_eq!(status.host.job_queue.in_use, 2, "{status}");
    assert!(!status.host.waiting.is_empty(), "{status}");
    gate.store(true, Ordering::Relaxed);
    must::<R, _>(async {
        while handled.load(Ordering::Relaxed) < accepted {
            sleep::<R>(Duration::from_millis(2)).await;
        }
    })
    .await;
    sleep::<R>(Duration::from_millis(20)).await;
    assert_eq!(handled.load(Ordering::Relaxed), accepted, "what failed was not handled");
}

/// Requests end at their deadline; handlers that fail or panic answer, and the owner goes on.
pub async fn failures_of_handlers<R: Runtime>() {
    let (there, here) = (host::<R>(), host::<R>());
    let server = there
        .server("orders")
        .concurrency(2)
        .on_request("Slow", |_, _| async {
            sleep::<R>(Duration::from_millis(300)).await;
            Ok(Reply::new("late"))
        })
        .on_request("Fails", |_, _| async { Err(zlink_driver::host::HandlerError::new("a secret")) })
        .on_request("Panics", |_, _| async { panic!("on purpose") })
        .on_request("PanicsAtOnce", |_, message| {
            assert!(message.payload().is_empty(), "on purpose");
            async { Ok(Reply::new("")) }
        })
        .on_request("TooLarge", |_, _| async { Ok(Reply::new(vec![0; 200_000])) })
        .on_send("Panics", |_, _| async { panic!("on purpose") })
        .on_request("Fine", |_, _| async { Ok(Reply::new("fine")) })
        .max_message_size(100_000)
        .bind(ANYWHERE)
        .await
        .expect("a free port");
    let client = client(&here, &server).await;
    let start = Instant::now();
    let slow = client.request(Message::new("Slow", "")).timeout(Duration::from_millis(50));
    let error = must::<R, _>(slow).await.expect_err("too slow");
    assert!(start.elapsed() < Duration::from_millis(290), "{:?}", start.elapsed());
    assert_eq!((error.kind(), error.submission()), (ErrorKind::DeadlineExceeded, Submission::Unknown));
    for packet in ["Fails", "Panics", "PanicsAtOnce", "TooLarge"] {
        let error = must::<R, _>(client.request(Message::new(packet, "x"))).await.expect_err(packet);
        assert_eq!(
            (error.kind(), error.submission()),
            (ErrorKind::InternalFailure, Submission::Unknown),
            "{packet}"
        );
        assert!(!error.to_string().contains("secret"), "the text stays there");
        client.send(Message::new("Panics", "")).await.expect("room");
    }
    let big = must::<R, _>(client.send(Message::new("Fine", vec![0; 200_000]))).await.expect_err("too large");
    assert_eq!((big.kind(), big.submission()), (ErrorKind::InvalidOperation, Submission::NotSubmitted));
    let fine = must::<R, _>(client.request(Message::new("Fine", ""))).await.expect("a reply");
    assert_eq!(fine.payload(), "fine");
    sleep::<R>(Duration::from_millis(350)).await;
    let status = there.status().host;
    assert_eq!(
        (status.owners.running_handlers, status.owners.items, status.job_queue.in_use),
        (0, 0, 0),
        "{status}"
    );
}

/// Handlers of a channel start in order and run one at a time; with concurrency several wait at once.
pub async fn concurrency<R: Runtime>() {
    for limit in [1usize, 3] {
        let (there, here) = (host::<R>(), host::<R>());
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (running, peak) = (Arc::clone(&now), Arc::clone(&most));
        let server = there
            .server("orders")
            .concurrency(limit as u32)
            .on_request("Work", move |_, _| {
                let (running, peak) = (Arc::clone(&running), Arc::clone(&peak));
                async move {
                    peak.fetch_max(running.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                    sleep::<R>(Duration::from_millis(10)).await;
                    running.fetch_sub(1, Ordering::Relaxed);
                    Ok(Reply::new(""))
                }
            })
            .bind(ANYWHERE)
            .await
            .expect("a free port");
        let client = client(&here, &server).await;
        let mut requests = Vec::new();
        for _ in 0..9 {
            let client = client.clone();
            requests.push(task::<R, _>(async move { client.request(Message::new("Work", "")).await }));
        }
        for request in requests {
            must::<R, _>(request).await.expect("a reply");
        }
        assert_eq!((most.load(Ordering::Relaxed), now.load(Ordering::Relaxed)), (limit, 0));
    }
}

/// A handler sees that its requester went away.
pub async fn a_requester_that_is_gone<R: Runtime>() {
    let (there, here) = (host::<R>(), host::<R>());
    let (started, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (start, end) = (Arc::clone(&started), Arc::clone(&ended));
    let server = there
        .server("orders")
        .on_request("Wait", move |context, _| {
            let (start, end) = (Arc::clone(&start), Arc::clone(&end));
            async move {
                start.store(true, Ordering::Relaxed);
                context.requester_gone().await;
                assert!(context.is_requester_gone());
                end.store(true, Ordering::Relaxed);
                Ok(Reply::new("nobody reads it"))
            }
        })
        .bind(ANYWHERE)
        .await
        .expect("a free port");
    let client = client(&here, &server).await;
    let request = task::<R, _>(async move {
        let request = client.request(Message::new("Wait", ""));
        assert!(within::<R, _>(Duration::from_millis(100), request).await.is_none());
        drop(client);
    });
    must::<R, _>(async {
        request.await;
        here.shutdown(Duration::from_millis(200)).await;
        while !ended.load(Ordering::Relaxed) {
            sleep::<R>(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert!(started.load(Ordering::Relaxed));
}

/// Two servers with weights 1 and 3: each gets its share, and the calls go on when one leaves.
pub async fn two_servers_by_weight<R: Runtime>() {
    let here = host::<R>();
    let counts = [Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0))];
    let mut servers = Vec::new();
    for (weight, count) in [100, 300].into_iter().zip(&counts) {
        let there = host::<R>();
        let count = Arc::clone(count);
        let server = there
            .server("orders")
            .weight(weight)
            .on_request("Who", move |_, _| {
                count.fetch_add(1, Ordering::Relaxed);
                async { Ok(Reply::new("")) }
            })
            .bind(ANYWHERE)
            .await
            .expect("a free port");
        servers.push((there, server));
    }
    let client = client(&here, &servers[0].1).await;
    client.connect_also(servers[1].1.endpoint()).expect("another endpoint");
    assert_eq!(
        client.connect_also(servers[1].1.endpoint()).expect_err("twice").kind(),
        ErrorKind::AlreadyExists
    );
    must::<R, _>(async {
        while client.server_count() < 2 {
            sleep::<R>(Duration::from_millis(2)).await;
        }
    })
    .await;
    let ask = || client.request(Message::new("Who", ""));
    for _ in 0..400 {
        must::<R, _>(ask()).await.expect("a reply");
    }
    let got = [counts[0].load(Ordering::Relaxed), counts[1].load(Ordering::Relaxed)];
    assert!((95..=105).contains(&got[0]) && (295..=305).contains(&got[1]), "{got:?}");
    servers[1].1.set_weight(0).expect("a legal weight");
    sleep::<R>(Duration::from_millis(100)).await;
    let before = counts[1].load(Ordering::Relaxed);
    for _ in 0..20 {
        must::<R, _>(ask()).await.expect("a reply");
    }
    assert_eq!(counts[1].load(Ordering::Relaxed), before, "weight 0 is no candidate");
    let (_, first) = servers.remove(0);
    servers[0].1.set_weight(100).expect("a legal weight");
    sleep::<R>(Duration::from_millis(100)).await;
    first.close();
    sleep::<R>(Duration::from_millis(100)).await;
    for _ in 0..20 {
        must::<R, _>(ask()).await.expect("a reply of the one that is left");
    }
}

/// Everything that was accepted before a shutdown, on either side, is handled and answered; then nothing is left.
pub async fn shutdown_loses_nothing<R: Runtime>() {
    const COUNT: usize = 20_000;
    for server_ends in [true, false] {
        let (there, here) = (host::<R>(), host::<R>());
        let handled = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&handled);
        let server = there
            .server("orders")
            .on_send("Item", move |_, _| {
                count.fetch_add(1, Ordering::Relaxed);
                async { Ok(()) }
            })
            .on_request("Slow", |_, _| async {
                sleep::<R>(Duration::from_millis(100)).await;
                Ok(Reply::new("done"))
            })
            .bind(ANYWHERE)
            .await
            .expect("a free port");
        let client = client(&here, &server).await;
        let request = {
            let client = client.clone();
            task::<R, _>(async move { client.request(Message::new("Slow", "")).await })
        };
        yield_now().await;
        must::<R, _>(async {
            for _ in 0..COUNT {
                client.send(Message::new("Item", &[0; 100])).await.expect("room in time");
            }
        })
        .await;
        let ends = if server_ends { &there } else { &here };
        let report = must::<R, _>(ends.shutdown(Duration::from_secs(20))).await;
        assert_eq!(report.outcome, ShutdownOutcome::Stopped, "{report}");
        must::<R, _>(async {
            while handled.load(Ordering::Relaxed) < COUNT {
                sleep::<R>(Duration::from_millis(2)).await;
            }
        })
        .await;
        let reply = must::<R, _>(request).await.expect("it was accepted before");
        assert_eq!(reply.payload(), "done");
        let late =
            must::<R, _>(client.send(Message::new("Item", "")).timeout(Duration::from_millis(50))).await;
        let expected = if server_ends { ErrorKind::DeadlineExceeded } else { ErrorKind::ShuttingDown };
        assert_eq!(late.expect_err("nobody is there").kind(), expected);
        assert_eq!(ends.status().host.state, zlink_driver::host::HostState::Stopped);
    }
}

/// A handler that never ends is signalled and abandoned at the deadline; its requester is told.
pub async fn shutdown_is_bounded<R: Runtime>() {
    let (there, here) = (host::<R>(), host::<R>());
    let told = Arc::new(AtomicBool::new(false));
    let tell = Arc::clone(&told);
    let server = there
        .server("orders")
        .on_request("Never", move |context, _| {
            let tell = Arc::clone(&tell);
            async move {
                context.requester_gone().await;
                tell.store(true, Ordering::Relaxed);
                std::future::pending().await
            }
        })
        .bind(ANYWHERE)
        .await
        .expect("a free port");
    let client = client(&here, &server).await;
    let request = task::<R, _>(async move { client.request(Message::new("Never", "")).await });
    sleep::<R>(Duration::from_millis(50)).await;
    let start = Instant::now();
    let report = must::<R, _>(there.shutdown(Duration::from_millis(200))).await;
    assert!((200..2_000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    assert_eq!(
        (report.outcome, report.counts.handlers_running),
        (ShutdownOutcome::ForceStopped, 1),
        "{report}"
    );
    let error = must::<R, _>(request).await.expect_err("abandoned");
    assert!(matches!(error.kind(), ErrorKind::ShuttingDown | ErrorKind::Unavailable), "{error}");
    sleep::<R>(Duration::from_millis(20)).await;
    assert!(told.load(Ordering::Relaxed), "the handler was signalled");
}

/// Blocking calls work on plain threads and are refused in handlers.
pub async fn blocking_calls<R: Runtime>() {
    let (there, here) = (host::<R>(), host::<R>());
    let refused = Arc::new(AtomicBool::new(false));
    let server = there
        .server("orders")
        .on_request("Echo", |_, message| async move { Ok(Reply::new(message.payload().clone())) })
        .bind(ANYWHERE)
        .await
        .expect("a free port");
    let client = client(&here, &server).await;
    let (inner, note) = (client.clone(), Arc::clone(&refused));
    let nested = here
        .server("nested")
        .on_send("Block", move |_, _| {
            let (client, note) = (inner.clone(), Arc::clone(&note));
            async move {
                let error = client.request_blocking(Message::new("Echo", "")).expect_err("inside a handler");
                note.store(error.kind() == ErrorKind::InvalidOperation, Ordering::Relaxed);
                Ok(())
            }
        })
        .bind(ANYWHERE)
        .await
        .expect("a free port");
    let thread = std::thread::spawn(move || {
        client.request_blocking(Message::new("Echo", "hello")).expect("a reply").into_payload()
    });
    must::<R, _>(async {
        while !thread.is_finished() {
            sleep::<R>(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert_eq!(thread.join().expect("no panic"), "hello");
    let block = here.client("nested").connect(nested.endpoint()).await.expect("an endpoint");
    block.send(Message::new("Block", "")).await.expect("a server in time");
    must::<R, _>(async {
        while !refused.load(Ordering::Relaxed) {
            sleep::<R>(Duration::from_millis(2)).await;
        }
    })
    .await;
}

/// An error whose text panics ends its own turn and nothing else: the permit returns, the channel goes on.
pub async fn an_error_that_panics<R: Runtime>() {
    let there = Host::<R>::builder().max_queued_jobs(1).start().expect("options");
    let here = host::<R>();
    let server = there
        .server("orders")
        .on_send("Bad", |_, _| async { Err(Nasty.into()) })
        .on_request("BadToo", |_, _| async { Err(Nasty.into()) })
        .on_request("Good", |_, _| async { Ok(Reply::new("good")) })
        .bind(ANYWHERE)
        .await
        .expect("a free port");
    let client = client(&here, &server).await;
    for _ in 0..3 {
        client.send(Message::new("Bad", "")).await.expect("room");
        let bad = must::<R, _>(client.request(Message::new("BadToo", ""))).await.expect_err("it failed");
        assert_eq!(bad.submission(), Submission::Unknown);
        let good = must::<R, _>(client.request(Message::new("Good", ""))).await.expect("a reply");
        assert_eq!(good.payload(), "good");
    }
}

#[derive(Debug)]
struct Nasty;

impl std::fmt::Display for Nasty {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("an error without text")
    }
}

impl std::error::Error for Nasty {}
