//! Peers that are no peers: each is closed with the ERROR that names its fault, while a good client goes on.

use crate::support::{must, pair, raw_peer, task};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use zlink_driver::runtime::Runtime;
use zlink_driver::socket::SocketOptions;

/// A control frame.
fn control(body: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x5a, 0x01, 0x02, 0x00];
    frame.extend_from_slice(&(body.len() as u32).to_be_bytes());
    frame.extend_from_slice(body);
    frame
}

/// HELLO of a DEALER.
fn hello(name: &[u8]) -> Vec<u8> {
    let mut body = vec![0x01, 0x05, name.len() as u8];
    body.extend_from_slice(name);
    control(&body)
}

fn ready(name: &[u8]) -> Vec<u8> {
    let mut body = vec![0x04];
    for (key, value) in [
        (&b"Socket-Type"[..], &b"DEALER"[..]),
        (b"Routing-Id", name),
        (b"Zlink-Max-Message-Size", &[0; 8]),
        (b"Zlink-Lane-Count", &[1]),
        (b"Zlink-Lane", &[0]),
    ] {
        body.push(key.len() as u8);
        body.extend_from_slice(key);
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value);
    }
    control(&body)
}

/// The code of the last ERROR frame in what the server wrote.
fn error_code(answer: &[u8]) -> Option<u8> {
    let mut rest = answer;
    let mut code = None;
    while rest.len() >= 8 {
        let length = u32::from_be_bytes(rest[4..8].try_into().expect("four bytes")) as usize;
        let body = rest.get(8..8 + length)?;
        if body.first() == Some(&0x05) {
            code = body.get(1).copied();
        }
        rest = &rest[8 + length..];
    }
    code
}

/// Each row: what the peer writes, whether it then ends, and the code of the ERROR that it gets.
fn rows() -> Vec<(&'static str, Vec<u8>, bool, Option<u8>)> {
    let established = |behind: &[u8]| [hello(b"raw"), ready(b"raw"), behind.to_vec()].concat();
    vec![
        ("garbage", vec![0xde, 0xad, 0xbe, 0xef, 0, 1, 2, 3], false, Some(0x01)),
        ("TLS", vec![0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc], false, Some(0x01)),
        ("HTTP", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), false, Some(0x01)),
        ("version", vec![0x5a, 0x02, 0, 0], false, Some(0x02)),
        ("flags before HELLO", vec![0x5a, 0x01, 0x00, 0x00, 0, 0, 0, 1], false, Some(0x03)),
        ("silence", Vec::new(), false, Some(0x06)),
        ("half a handshake", hello(b"half"), false, Some(0x06)),
        ("half a header", vec![0x5a, 0x01], true, Some(0x0a)),
        ("huge length", established(&[0x5a, 0x01, 0, 0, 0xff, 0xff, 0xff, 0xff]), false, Some(0x04)),
        ("end inside a record", established(&[0x5a, 0x01, 0, 0, 0, 0, 0, 100, 1, 2, 3]), true, Some(0x0a)),
        ("an end and nothing else", Vec::new(), true, None),
    ]
}

/// All rows, one after the other, while a good client sends and is answered.
pub async fn bad_peers_are_closed_and_good_ones_go_on<R: Runtime>() {
    let options = SocketOptions::default().handshake_limit(Duration::from_millis(300));
    let (router, dealer, endpoint) = pair::<R>(options, SocketOptions::default()).await;
    let server = task::<R, _>(async move {
        loop {
            let received = router.recv().await.expect("open");
            assert_eq!(received.record.part(0), Some(&b"good"[..]), "from {}", received.from);
            match received.token {
                Some(token) => router.reply(token, &b"good"[..]).await.expect("a live client"),
                None => return router,
            }
        }
    });
    let is_over = Arc::new(AtomicBool::new(false));
    let client = {
        let (dealer, is_over) = (dealer.clone(), Arc::clone(&is_over));
        task::<R, _>(async move {
            let mut count = 0u64;
            while !is_over.load(Ordering::Relaxed) {
                dealer.request(&b"good"[..]).await.expect("a reply");
                count += 1;
            }
            count
        })
    };
    for (name, bytes, ends, expected) in rows() {
        let answer = must::<R, _>(raw_peer::<R>(&endpoint, bytes, ends)).await;
        assert_eq!(error_code(&answer), expected, "{name}: {answer:02x?}");
    }
    is_over.store(true, Ordering::Relaxed);
    let count = must::<R, _>(client).await;
    assert!(count > 100, "{count}");
    dealer.send(&b"good"[..]).await.expect("room");
    let router = must::<R, _>(server).await;
    let status = router.status();
    assert_eq!(status.ready_peers, 1);
    assert_eq!(status.peers.len(), 1, "nothing of the bad peers is left: {:?}", status.peers);
}
