//! Requests end once: with their reply, a failure, or their deadline.

use crate::support::{must, pair, task, within};
use std::time::{Duration, Instant};
use zlink_driver::runtime::Runtime;
use zlink_driver::socket::{Dealer, Router, SocketOptions};
use zlink_driver::{ErrorKind, Submission};

/// Answers with the same bytes, `count` times.
async fn echo<R: Runtime>(router: Router<R>, count: usize) -> Router<R> {
    for _ in 0..count {
        let received = router.recv().await.expect("open");
        let token = received.token.expect("a request");
        router.reply(token, received.record.part(0).expect("one part")).await.expect("a live requester");
    }
    router
}

/// Many requests at a time, each gets its own answer.
pub async fn each_request_gets_its_own_answer<R: Runtime>() {
    const TASKS: u32 = 50;
    const EACH: u32 = 100;
    let (router, dealer, _) = pair::<R>(SocketOptions::default(), SocketOptions::default()).await;
    let server = task::<R, _>(echo(router, (TASKS * EACH) as usize));
    let mut tasks = Vec::new();
    for number in 0..TASKS {
        let dealer = dealer.clone();
        tasks.push(task::<R, _>(async move {
            for index in 0..EACH {
                let body = [number.to_be_bytes(), index.to_be_bytes()].concat();
                let reply = dealer.request(&body[..]).await.expect("a reply");
                assert_eq!(reply.part(0), Some(&body[..]));
            }
        }));
    }
    for requests in tasks {
        must::<R, _>(requests).await;
    }
    must::<R, _>(server).await;
    let status = dealer.status();
    assert_eq!((status.pending_requests, status.completion_slots), (0, 0));
}

/// No answer: the request ends at its deadline, and a late answer harms nothing.
pub async fn a_request_ends_at_its_deadline<R: Runtime>() {
    let (router, dealer, _) = pair::<R>(SocketOptions::default(), SocketOptions::default()).await;
    let start = Instant::now();
    let error = must::<R, _>(dealer.request(&b"slow"[..]).timeout(Duration::from_millis(100))).await;
    let error = error.expect_err("nobody answers");
    assert!(start.elapsed() >= Duration::from_millis(100));
    assert_eq!((error.kind(), error.submission()), (ErrorKind::DeadlineExceeded, Submission::Unknown));
    let late = must::<R, _>(router.recv()).await.expect("open");
    router.reply(late.token.expect("a request"), &b"late"[..]).await.expect("the peer lives");
    let server = task::<R, _>(echo(router, 1));
    let reply = must::<R, _>(dealer.request(&b"next"[..])).await.expect("a reply");
    assert_eq!(reply.part(0), Some(&b"next"[..]));
    must::<R, _>(server).await;
    assert_eq!(dealer.status().completion_slots, 0);
}

/// A token that is dropped tells the requester that there will be no answer.
pub async fn a_dropped_token_answers<R: Runtime>() {
    let (router, dealer, _) = pair::<R>(SocketOptions::default(), SocketOptions::default()).await;
    let server = task::<R, _>(async move {
        let received = router.recv().await.expect("open");
        drop(received);
        router
    });
    let error = must::<R, _>(dealer.request(&b"?"[..])).await.expect_err("no answer");
    assert_eq!((error.kind(), error.submission()), (ErrorKind::InternalFailure, Submission::Unknown));
    must::<R, _>(server).await;
}

/// The server goes away: requests end at once, long before their deadline; its token knows that the requester is gone.
pub async fn a_lost_peer_ends_requests<R: Runtime>() {
    let (router, dealer, _) = pair::<R>(SocketOptions::default(), SocketOptions::default()).await;
    let request = {
        let dealer = dealer.clone();
        task::<R, _>(async move { dealer.request(&b"?"[..]).timeout(Duration::from_secs(60)).await })
    };
    let received = must::<R, _>(router.recv()).await.expect("open");
    let token = received.token.expect("a request");
    assert!(!token.is_requester_gone());
    must::<R, _>(router.close_within(Duration::ZERO)).await;
    assert!(token.is_requester_gone());
    let error = must::<R, _>(request).await.expect_err("lost");
    assert!(matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::ShuttingDown), "{error}");
    assert_eq!(error.submission(), Submission::Unknown);
    drop(token);
}

/// Without any peer a request waits until its deadline, and was not submitted.
pub async fn a_request_without_peer_was_not_submitted<R: Runtime>() {
    let dealer = Dealer::<R>::new(SocketOptions::default()).expect("options");
    let error = must::<R, _>(dealer.request(&b"?"[..]).timeout(Duration::from_millis(30))).await;
    let error = error.expect_err("nobody is there");
    assert_eq!((error.kind(), error.submission()), (ErrorKind::DeadlineExceeded, Submission::NotSubmitted));
    let early = within::<R, _>(Duration::from_millis(30), dealer.ready()).await;
    assert!(early.is_none(), "nobody is there");
}

/// Plain threads send, request and receive while the runtime runs elsewhere.
pub async fn plain_threads_block<R: Runtime>() {
    let (router, dealer, _) = pair::<R>(SocketOptions::default(), SocketOptions::default()).await;
    let server = std::thread::spawn(move || {
        let first = router.recv_blocking().expect("open");
        assert_eq!(first.record.part(0), Some(&b"one-way"[..]));
        let second = router.recv_blocking().expect("open");
        router.reply_blocking(second.token.expect("a request"), &b"yes"[..]).expect("a live requester");
        router
    });
    let client = std::thread::spawn(move || {
        dealer.send_blocking(&b"one-way"[..]).expect("room");
        let reply = dealer.request_blocking(&b"?"[..]).expect("a reply");
        assert_eq!(reply.part(0), Some(&b"yes"[..]));
        dealer
    });
    must::<R, _>(async {
        while !server.is_finished() || !client.is_finished() {
            crate::support::sleep::<R>(Duration::from_millis(2)).await;
        }
    })
    .await;
    server.join().expect("no panic");
    client.join().expect("no panic");
}
