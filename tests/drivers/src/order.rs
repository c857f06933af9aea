//! Records arrive once, whole and in order.

use crate::support::{ANYWHERE, must, pair, task};
use bytes::Bytes;
use zlink_driver::runtime::Runtime;
use zlink_driver::socket::{Dealer, Received, Router, RoutingId, SocketOptions};

fn number(received: &[u8]) -> u64 {
    u64::from_be_bytes(received[..8].try_into().expect("eight bytes"))
}

/// 100,000 small records through small queues: the sender waits often, nothing is lost or swapped.
pub async fn a_hundred_thousand_in_order<R: Runtime>() {
    const COUNT: u64 = 100_000;
    let options = || SocketOptions::default().send_hwm(65_536).receive_hwm(65_536);
    let (router, dealer, _) = pair::<R>(options(), options()).await;
    let sender = task::<R, _>(async move {
        let mut message = [0; 64];
        for index in 0..COUNT {
            message[..8].copy_from_slice(&index.to_be_bytes());
            dealer.send(&message[..]).await.expect("room in time");
        }
        dealer
    });
    must::<R, _>(async {
        let (mut batch, mut next) = (Vec::new(), 0);
        while next < COUNT {
            router.recv_many(&mut batch, 100).await.expect("open");
            for received in batch.drain(..) {
                assert_eq!(number(received.record.part(0).expect("one part")), next);
                next += 1;
            }
        }
    })
    .await;
    must::<R, _>(sender).await;
}

/// Empty parts, several parts, and payloads around and above every size at which something changes.
pub async fn every_size_and_shape<R: Runtime>() {
    let (router, dealer, _) = pair::<R>(SocketOptions::default(), SocketOptions::default()).await;
    let body = |size: usize| Bytes::from((0..size).map(|index| (index * 31 % 251) as u8).collect::<Vec<_>>());
    let sizes = [0, 1, 255, 256, 8_191, 8_192, 8_193, 65_535, 65_536, 65_537, 300_000, 5_000_000];
    let mut shapes: Vec<Vec<Bytes>> = sizes.iter().map(|&size| vec![body(size)]).collect();
    shapes.push(sizes.iter().take(8).map(|&size| body(size)).collect());
    shapes.push(vec![Bytes::new(); 1_024]);
    for _ in 0..2 {
        for shape in &shapes {
            let sent = dealer.send(shape.clone());
            let (sent, received) = (must::<R, _>(sent).await, must::<R, _>(router.recv()).await);
            sent.expect("room");
            let record = received.expect("open").record;
            assert!(record.parts().eq(shape.iter().map(|part| &part[..])), "{} parts", shape.len());
        }
    }
    let too_many = dealer.send(vec![Bytes::new(); 1_025]).await.expect_err("too many parts");
    assert_eq!(too_many.kind(), zlink_driver::ErrorKind::InvalidOperation);
}

/// A ROUTER answers each of its peers by name; each peer's own records stay in order.
pub async fn many_peers_by_name<R: Runtime>() {
    const PEERS: usize = 8;
    const COUNT: u64 = 500;
    let router = Router::<R>::new(SocketOptions::default()).expect("options");
    let endpoint = router.bind(ANYWHERE).await.expect("a port");
    let mut peers = Vec::new();
    for peer in 0..PEERS {
        let name = format!("peer-{peer}");
        let dealer = Dealer::<R>::new(SocketOptions::default().routing_id(name.as_bytes())).expect("options");
        dealer.connect(&endpoint).expect("an endpoint");
        peers.push(task::<R, _>(async move {
            dealer.ready().await.expect("a peer");
            for index in 0..COUNT {
                dealer.send(&index.to_be_bytes()[..]).await.expect("room");
            }
            for index in 0..COUNT {
                let received = dealer.recv().await.expect("open");
                assert_eq!(number(received.record.part(0).expect("one part")), index);
            }
        }));
    }
    must::<R, _>(async {
        let mut next = [0; PEERS];
        let mut batch: Vec<Received<R>> = Vec::new();
        while next.iter().sum::<u64>() < PEERS as u64 * COUNT {
            router.recv_many(&mut batch, 64).await.expect("open");
            for received in batch.drain(..) {
                let peer = received.from.as_bytes()[5] - b'0';
                let body = received.record.part(0).expect("one part");
                assert_eq!(number(body), next[usize::from(peer)]);
                next[usize::from(peer)] += 1;
                router.send_to(&received.from, body).await.expect("room");
            }
        }
        for peer in peers {
            peer.await;
        }
    })
    .await;
    let nobody = RoutingId::new(&b"nobody"[..]).expect("short");
    let error = router.send_to(&nobody, &b"x"[..]).await.expect_err("unknown");
    assert_eq!(error.kind(), zlink_driver::ErrorKind::NotFound);
}
