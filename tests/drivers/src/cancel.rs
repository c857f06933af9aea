//! Dropping a future at every point where it can be dropped.

use crate::support::{LIMIT, must, pair, poll_once, sleep, within, yield_now};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use zlink_driver::host::Host;
use zlink_driver::runtime::Runtime;
use zlink_driver::socket::SocketOptions;

/// A send that is dropped before its first poll, or while it waits, was never sent; one that was admitted is sent.
pub async fn t78_a_dropped_send_was_not_sent<R: Runtime>() {
    let narrow = || {
        SocketOptions::default().send_hwm(4_096).receive_hwm(4_096).send_buffer(4_096).receive_buffer(4_096)
    };
    let (router, dealer, _) = pair::<R>(narrow(), narrow()).await;
    drop(dealer.send(&[9; 1_000][..]));
    let mut accepted = 0;
    let mut waiting = loop {
        let mut send = dealer.send(&[1; 1_000][..]);
        match poll_once(&mut send).await {
            Poll::Ready(result) => {
                result.expect("room");
                accepted += 1;
            }
            Poll::Pending => {
                // Admitted all the same once everything between here and the receiver moved on?
                match within::<R, _>(Duration::from_millis(50), &mut send).await {
                    Some(result) => {
                        result.expect("room");
                        accepted += 1;
                    }
                    None => break send,
                }
            }
        }
    };
    assert!(poll_once(&mut waiting).await.is_pending());
    drop(waiting);
    assert_eq!(dealer.status().waiting_sends, 0);
    for _ in 0..accepted {
        let received = must::<R, _>(router.recv()).await.expect("open");
        assert_eq!(received.record.part(0), Some(&[1; 1_000][..]));
    }
    dealer.send(&b"end"[..]).await.expect("room");
    assert_eq!(must::<R, _>(router.recv()).await.expect("open").record.part(0), Some(&b"end"[..]));
}

/// A send that was admitted while its future still waited, and is dropped before it was polled again, is sent: once.
pub async fn t78_a_send_admitted_before_the_drop_is_sent<R: Runtime>() {
    let narrow = || {
        SocketOptions::default().send_hwm(4_096).receive_hwm(4_096).send_buffer(4_096).receive_buffer(4_096)
    };
    let (router, dealer, _) = pair::<R>(narrow(), narrow().send_timeout(Duration::from_secs(20))).await;
    let mut accepted = 0;
    while within::<R, _>(Duration::from_millis(50), dealer.send(&[1; 1_000][..])).await.is_some() {
        accepted += 1;
    }
    let mut waiting = dealer.send(&b"waited"[..]);
    assert!(poll_once(&mut waiting).await.is_pending());
    for _ in 0..accepted {
        must::<R, _>(router.recv()).await.expect("open");
    }
    assert_eq!(must::<R, _>(router.recv()).await.expect("open").record.part(0), Some(&b"waited"[..]));
    drop(waiting);
    let status = dealer.status();
    assert_eq!((status.waiting_sends, status.unfixed), (0, 0));
    assert!(within::<R, _>(Duration::from_millis(30), router.recv()).await.is_none());
}

/// A request that is dropped at each of its states frees its slot; its answer harms nothing.
pub async fn a_dropped_request_frees_its_slot<R: Runtime>() {
    let (router, dealer, _) = pair::<R>(SocketOptions::default(), SocketOptions::default()).await;
    drop(dealer.request(&b"never polled"[..]));
    assert_eq!(dealer.status().completion_slots, 0);

    let mut submitted = dealer.request(&b"dropped while submitted"[..]);
    assert!(poll_once(&mut submitted).await.is_pending());
    assert_eq!(dealer.status().completion_slots, 1);
    drop(submitted);
    assert_eq!(dealer.status().completion_slots, 0);
    let received = must::<R, _>(router.recv()).await.expect("open");
    router.reply(received.token.expect("a request"), &b"late"[..]).await.expect("the peer lives");

    let mut answered = dealer.request(&b"dropped with its answer"[..]);
    assert!(poll_once(&mut answered).await.is_pending());
    let received = must::<R, _>(router.recv()).await.expect("open");
    router.reply(received.token.expect("a request"), &b"untaken"[..]).await.expect("the peer lives");
    sleep::<R>(Duration::from_millis(50)).await;
    assert_eq!((dealer.status().pending_requests, dealer.status().completion_slots), (0, 1));
    drop(answered);
    assert_eq!(dealer.status().completion_slots, 0);

    let mut last = dealer.request(&b"taken"[..]);
    assert!(poll_once(&mut last).await.is_pending());
    let received = must::<R, _>(router.recv()).await.expect("open");
    assert_eq!(received.record.part(0), Some(&b"taken"[..]));
    router.reply(received.token.expect("a request"), &b"yes"[..]).await.expect("the peer lives");
    assert_eq!(must::<R, _>(last).await.expect("a reply").part(0), Some(&b"yes"[..]));
}

/// A wait for records that is dropped loses none, and another one gets them.
pub async fn a_dropped_receive_loses_nothing<R: Runtime>() {
    let (router, dealer, _) = pair::<R>(SocketOptions::default(), SocketOptions::default()).await;
    for round in 0..100u32 {
        let mut other = Box::pin(router.recv());
        let mut first = Box::pin(router.recv());
        assert!(poll_once(&mut first).await.is_pending());
        assert!(poll_once(&mut other).await.is_pending());
        dealer.send(&round.to_be_bytes()[..]).await.expect("room");
        if round % 2 == 0 {
            yield_now().await;
        }
        drop(first);
        let received = must::<R, _>(other).await.expect("open");
        assert_eq!(received.record.part(0), Some(&round.to_be_bytes()[..]));
    }
}

/// A reply that is dropped before its first poll answers with a failure, at once.
pub async fn a_dropped_reply_answers<R: Runtime>() {
    let (router, dealer, _) = pair::<R>(SocketOptions::default(), SocketOptions::default()).await;
    let mut request = dealer.request(&b"?"[..]);
    assert!(poll_once(&mut request).await.is_pending());
    let received = must::<R, _>(router.recv()).await.expect("open");
    drop(router.reply(received.token.expect("a request"), &b"!"[..]));
    let error = must::<R, _>(request).await.expect_err("no answer");
    assert_eq!(error.kind(), zlink_driver::ErrorKind::InternalFailure);
}

/// A wait for a server or for the end of a host that is given up leaves nothing behind, however often.
pub async fn a_dropped_wait_leaves_nothing<R: Runtime>() {
    let host = Host::<R>::builder().start().expect("default options");
    let client = host.client("orders").connect("tcp://127.0.0.1:1").await.expect("an endpoint");
    let flag = Arc::new(Nothing);
    let waker = Waker::from(Arc::clone(&flag));
    let before = Arc::strong_count(&flag);
    for _ in 0..100 {
        assert!(waits(client.ready(), &waker));
    }
    assert_eq!(Arc::strong_count(&flag), before, "ready");
    assert!(waits(host.shutdown(LIMIT), &waker));
    assert_eq!(Arc::strong_count(&flag), before, "shutdown");
    let (router, dealer, _) = pair::<R>(
        SocketOptions::default().receive_hwm(10_000).receive_buffer(8_192),
        SocketOptions::default().send_buffer(8_192).send_timeout(Duration::from_millis(50)),
    )
    .await;
    while dealer.send(&[7; 10_000][..]).await.is_ok() {}
    assert!(waits(dealer.close_within(LIMIT), &waker));
    assert_eq!(Arc::strong_count(&flag), before, "close");
    drop(router);
}

/// True if the future waits when it is polled; then it is dropped.
fn waits(future: impl Future, waker: &Waker) -> bool {
    pin!(future).poll(&mut Context::from_waker(waker)).is_pending()
}

struct Nothing;

impl Wake for Nothing {
    fn wake(self: Arc<Self>) {}
}
