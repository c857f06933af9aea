//! Raw sockets on tokio: bytes without channels. A DEALER sends one-way records and makes a request; a ROUTER takes them, answers,
//! and sends something back by name.
//!
//! `cargo run -p zlink-examples --example sockets_tokio`

use bytes::Bytes;
use std::error::Error;
use std::time::Duration;
use zlink::socket::{Dealer, Router, SocketOptions};

/// Small limits, to see that they hold: 100 records of 1 KiB go through queues of 16 KiB.
const QUEUE_BYTES: u64 = 16 * 1024;
const RECORDS: usize = 100;

/// Takes all records, then one request, which it answers.
async fn serve(router: Router) -> Result<usize, zlink::Error> {
    let (mut batch, mut taken) = (Vec::new(), 0);
    loop {
        // Records are taken in batches: one lock and one wake-up for many.
        router.recv_many(&mut batch, 64).await?;
        for received in batch.drain(..) {
            match received.token {
                None => taken += 1,
                Some(token) => {
                    let answer = Bytes::from(format!("{taken} records so far"));
                    router.reply(token, answer).await?;
                    router.send_to(&received.from, &b"goodbye"[..]).await?;
                    return Ok(taken);
                }
            }
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let options = SocketOptions::default().send_hwm(QUEUE_BYTES).receive_hwm(QUEUE_BYTES);
    let router = Router::new(options.clone())?;
    let endpoint = router.bind("tcp://127.0.0.1:0").await?;
    println!("listening on {endpoint}");
    let server = tokio::spawn(serve(router.clone()));

    let dealer = Dealer::new(options.routing_id(b"example"))?;
    dealer.connect(&endpoint)?; // registered; it reconnects by itself
    dealer.ready().await?;

    let body = Bytes::from(vec![b'x'; 1024]);
    for _ in 0..RECORDS {
        // Done when this process accepted the record. Where the queue is full it waits, the send timeout at most.
        dealer.send(body.clone()).await?;
    }
    // Two parts; the reply ends it, or a failure, or the deadline: exactly one of them.
    let question = vec![Bytes::from_static(b"how many?"), Bytes::from_static(b"second part")];
    let reply = dealer.request(question).timeout(Duration::from_secs(5)).await?;
    println!("reply: {}", String::from_utf8_lossy(reply.part(0).unwrap_or_default()));
    let last = dealer.recv().await?;
    println!("and then: {}", String::from_utf8_lossy(last.record.part(0).unwrap_or_default()));

    let taken = server.await??;
    dealer.close().await;
    router.close().await;
    if taken == RECORDS { Ok(()) } else { Err(format!("{taken} of {RECORDS} records").into()) }
}
