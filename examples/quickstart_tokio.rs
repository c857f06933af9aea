//! A server and a client of a channel, in one process: the quick start of the README, whole.
//!
//! `cargo run -p zlink-examples --example quickstart_tokio`

use std::error::Error;
use std::time::Duration;
use zlink::{Host, Message, Reply};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let host = Host::builder().start()?;

    let server = host
        .server("orders")
        .on_send("CancelOrder", |_context, message| async move {
            println!("cancelled: {}", String::from_utf8_lossy(message.payload()));
            Ok(())
        })
        .on_request("PlaceOrder", |_context, message| async move {
            let text = format!("placed {}", String::from_utf8_lossy(message.payload()));
            Ok(Reply::new(text))
        })
        .bind("tcp://127.0.0.1:0")
        .await?;

    let client = host.client("orders").connect(server.endpoint()).await?; // registered: it connects, and reconnects, by itself
    client.ready().await?; // admitted by the server

    // Ok: this process accepted it. While there is no room it waits, 1 s at most; then it ends `DeadlineExceeded` and was not sent.
    client.send(Message::new("CancelOrder", "order 6")).await?;

    // One end, always: the reply, or why there is none.
    let reply = client.request(Message::new("PlaceOrder", "order 7")).timeout(Duration::from_secs(3)).await?;
    println!("reply: {}", String::from_utf8_lossy(reply.payload()));

    println!("\n{}\n", host.status()); // what waits where, and why

    // Loses nothing that was accepted.
    let report = host.shutdown(Duration::from_secs(30)).await;
    println!("shutdown: {report}");
    Ok(())
}
