//! Reconnecting, closing, binding.

use crate::support::{ANYWHERE, address, must, pair, sleep, task, within};
use std::time::{Duration, Instant};
use zlink_driver::runtime::Runtime;
use zlink_driver::socket::{Dealer, EventKind, Router, SocketOptions};
use zlink_driver::{ErrorKind, Submission};

fn quick() -> SocketOptions {
    SocketOptions::default().reconnect(Duration::from_millis(10), Duration::from_millis(50))
}

/// The server restarts on the same port: the client finds it again by itself, and sends that wait meanwhile go to it.
pub async fn a_restarted_server_is_found_again<R: Runtime>() {
    let (router, dealer, endpoint) =
        pair::<R>(SocketOptions::default(), quick().send_timeout(Duration::from_secs(20))).await;
    dealer.send(&b"first"[..]).await.expect("room");
    assert_eq!(must::<R, _>(router.recv()).await.expect("open").record.part(0), Some(&b"first"[..]));
    let mut events = dealer.events();
    must::<R, _>(router.close_within(Duration::ZERO)).await;
    drop(router);
    loop {
        let event = must::<R, _>(events.next()).await.expect("open");
        if matches!(event.kind, EventKind::PeerLost { .. }) {
            break;
        }
    }
    let waiting = {
        let dealer = dealer.clone();
        task::<R, _>(async move { dealer.send(&b"second"[..]).await })
    };
    sleep::<R>(Duration::from_millis(30)).await;
    let router = Router::<R>::new(SocketOptions::default()).expect("options");
    router.bind(&endpoint).await.expect("the port is free again");
    must::<R, _>(waiting).await.expect("the new server");
    assert_eq!(must::<R, _>(router.recv()).await.expect("open").record.part(0), Some(&b"second"[..]));
}

/// A client may come first.
pub async fn connecting_before_binding<R: Runtime>() {
    let probe = Router::<R>::new(SocketOptions::default()).expect("options");
    let endpoint = probe.bind(ANYWHERE).await.expect("a port");
    must::<R, _>(probe.close()).await;
    let dealer = Dealer::<R>::new(quick()).expect("options");
    dealer.connect(&endpoint).expect("an endpoint");
    sleep::<R>(Duration::from_millis(30)).await;
    let router = Router::<R>::new(SocketOptions::default()).expect("options");
    router.bind(&endpoint).await.expect("a free port");
    must::<R, _>(dealer.ready()).await.expect("a peer");
    let name = endpoint.replace("127.0.0.1", "localhost");
    dealer.connect(&name).expect("a name is another endpoint");
    dealer.disconnect(&name).expect("known");
    assert_eq!(dealer.disconnect(&name).expect_err("unknown").kind(), ErrorKind::NotFound);
    assert_eq!(dealer.connect(&endpoint).expect_err("twice").kind(), ErrorKind::AlreadyExists);
}

/// What was accepted is transmitted before the socket ends, also when its last handle is just dropped.
pub async fn close_transmits_what_was_accepted<R: Runtime>() {
    for explicit in [true, false] {
        let (router, dealer, _) = pair::<R>(SocketOptions::default(), SocketOptions::default()).await;
        for _ in 0..2_000 {
            dealer.send(&[7; 1_000][..]).await.expect("room");
        }
        let closing = task::<R, _>(async move {
            if explicit {
                let report = dealer.close().await;
                assert_eq!((report.unsent_records, report.ended_waiting, report.ended_requests), (0, 0, 0));
                let error = dealer.send(&b"x"[..]).await.expect_err("closed");
                assert_eq!(
                    (error.kind(), error.submission()),
                    (ErrorKind::ShuttingDown, Submission::NotSubmitted)
                );
                assert_eq!(dealer.recv().await.expect_err("closed").kind(), ErrorKind::ShuttingDown);
            } else {
                drop(dealer);
            }
        });
        for _ in 0..2_000 {
            must::<R, _>(router.recv()).await.expect("open");
        }
        must::<R, _>(closing).await;
    }
}

/// A peer that never reads does not delay a close beyond its linger.
pub async fn close_is_bounded_by_linger<R: Runtime>() {
    let (router, dealer, _) = pair::<R>(
        SocketOptions::default().receive_hwm(10_000).receive_buffer(8_192),
        SocketOptions::default().send_buffer(8_192).send_timeout(Duration::from_millis(50)),
    )
    .await;
    while dealer.send(&[7; 10_000][..]).await.is_ok() {}
    let start = Instant::now();
    let report = must::<R, _>(dealer.close_within(Duration::from_millis(200))).await;
    assert!(start.elapsed() >= Duration::from_millis(200));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(report.unsent_records > 0);
    drop(router);
}

/// Errors of bind name the fault, and nothing of a failed bind remains.
pub async fn bind_errors<R: Runtime>() {
    let router = Router::<R>::new(SocketOptions::default()).expect("options");
    let endpoint = router.bind(ANYWHERE).await.expect("a port");
    let kind = |error: zlink_driver::Error| error.kind();
    let other = Router::<R>::new(SocketOptions::default()).expect("options");
    assert_eq!(other.bind(&endpoint).await.map_err(kind), Err(ErrorKind::AlreadyExists));
    assert_eq!(other.bind("tcp://192.0.2.1:0").await.map_err(kind), Err(ErrorKind::Unavailable));
    assert_eq!(other.bind("tcp://localhost").await.map_err(kind), Err(ErrorKind::InvalidOperation));
    assert_eq!(other.connect("tcp://*:1").map_err(kind), Err(ErrorKind::InvalidOperation));
    assert_eq!(router.unbind("tcp://127.0.0.1:1", false).map_err(kind), Err(ErrorKind::NotFound));
    router.unbind(&endpoint, false).expect("a listener");
    let is_refused = || std::net::TcpStream::connect(address(&endpoint)).is_err();
    let closed = within::<R, _>(Duration::from_secs(5), async {
        while !is_refused() {
            sleep::<R>(Duration::from_millis(5)).await;
        }
    });
    closed.await.expect("the listener is gone");
    let wildcard = router.bind("tcp://*:0").await.expect("all addresses");
    let port = wildcard.rsplit(':').next().expect("a port");
    let dealer = Dealer::<R>::new(SocketOptions::default()).expect("options");
    dealer.connect(&format!("tcp://127.0.0.1:{port}")).expect("an endpoint");
    must::<R, _>(dealer.ready()).await.expect("a peer");
    let bad =
        Router::<R>::new(SocketOptions::default().weight(10_001).routing_id(b"")).expect_err("bad options");
    assert_eq!(bad.kind(), ErrorKind::InvalidOperation);
}

/// A stopped listener keeps its peers if it is told to.
pub async fn unbind_may_keep_peers<R: Runtime>() {
    for keeps in [true, false] {
        let (router, dealer, endpoint) = pair::<R>(SocketOptions::default(), quick()).await;
        let mut events = dealer.events();
        router.unbind(&endpoint, keeps).expect("a listener");
        if keeps {
            dealer.send(&b"still here"[..]).await.expect("room");
            must::<R, _>(router.recv()).await.expect("open");
        } else {
            let event = must::<R, _>(events.next()).await.expect("open");
            assert!(matches!(event.kind, EventKind::PeerLost { .. }), "{event:?}");
        }
    }
}
