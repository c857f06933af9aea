//! The promises of the README, with real processes over loopback. `ZLINK_LONG=1` runs them at full size.

mod process;

use process::{Zlink, is_long, number};
use std::time::Duration;

const TIGHT: [&str; 8] =
    ["--recv-hwm", "16384", "--send-hwm", "16384", "--max-jobs", "4", "--max-message-size", "65536"];

/// A server that was told how much it will get, small limits everywhere.
fn tight_server(count: u64) -> (Zlink, String) {
    let count = count.to_string();
    let mut args = vec!["--channel", "orders", "--bind", "tcp://127.0.0.1:0", "--until-handled", &count];
    args.extend_from_slice(&TIGHT);
    Zlink::serve(&args)
}

fn sender(endpoint: &str, count: u64, more: &[&str]) -> Zlink {
    let count = count.to_string();
    let mut args = vec!["send", "--channel", "orders", "--connect", endpoint, "--count", &count];
    args.extend_from_slice(&["--size", "64", "--send-hwm", "16384"]);
    args.extend_from_slice(more);
    Zlink::start(&args)
}

fn assert_perfect(summary: &serde_json::Value, count: u64) {
    assert_eq!(number(summary, "handled"), count, "{summary}");
    for none in ["gaps", "duplicates", "out_of_order", "protocol_errors"] {
        assert_eq!(number(summary, none), 0, "{none}: {summary}");
    }
}

#[test]
fn small_limits_lose_nothing_and_keep_the_order() {
    let count = if is_long() { 1_000_000 } else { 100_000 };
    let (server, endpoint) = tight_server(count);
    // An unoptimised server behind the kernel's buffers, beside other tests, may keep one send waiting for more than the default 1 s.
    let (sent, status) = sender(&endpoint, count, &["--timeout", "30s"]).finish();
    assert!(status.success(), "{sent}");
    assert_eq!(number(&sent, "accepted"), count);
    let (summary, status) = server.finish();
    assert!(status.success());
    assert_perfect(&summary, count);
}

#[test]
fn a_stopped_server_makes_the_sender_wait_and_nothing_else() {
    let count = if is_long() { 1_000_000 } else { 100_000 };
    let (mut server, endpoint) = tight_server(count);
    let client = sender(&endpoint, count, &["--timeout", "10s"]);
    server.wait_line("some handled", |line| line["event"] == "status");
    server.signal("STOP");
    std::thread::sleep(Duration::from_secs(3)); // the promise is about a server that stands still for three seconds
    server.signal("CONT");
    let (sent, status) = client.finish();
    assert!(status.success(), "{sent}");
    assert_eq!(number(&sent, "accepted"), count);
    let (summary, _) = server.finish();
    assert_perfect(&summary, count);
}

#[test]
fn an_endless_handler_fills_the_five_places_and_then_sends_end_at_their_deadline() {
    let mut args = vec!["--channel", "orders", "--bind", "tcp://127.0.0.1:0", "--handler-delay", "1h"];
    args.extend_from_slice(&["--shutdown", "2s"]); // nothing would end earlier: the handler never returns
    args.extend_from_slice(&TIGHT);
    let (server, endpoint) = Zlink::serve(&args);
    let mut more = vec!["--timeout", "300ms", "--concurrency", "8", "--shutdown", "2s"];
    more.extend_from_slice(&["--for", if is_long() { "30s" } else { "4s" }]);
    let client = sender(&endpoint, 1_000_000_000, &more);
    std::thread::sleep(Duration::from_secs(2)); // everything is full by then
    let (before, client_before) = (server.resident_kib(), client.resident_kib());
    std::thread::sleep(Duration::from_secs(if is_long() { 20 } else { 1 }));
    let (after, client_after) = (server.resident_kib(), client.resident_kib());
    assert!(
        after < before + 1024 && client_after < client_before + 1024,
        "memory grows: {before} → {after} KiB, {client_before} → {client_after} KiB"
    );
    let (sent, _) = client.finish();
    let accepted = number(&sent, "accepted");
    assert!(number(&sent, "deadline_exceeded") > 0, "{sent}");
    assert_eq!(number(&sent, "attempted"), accepted + number(&sent, "deadline_exceeded"), "{sent}");
    assert_eq!(number(&sent, "not_submitted"), number(&sent, "deadline_exceeded"), "{sent}");
    server.signal("TERM");
    let (summary, _) = server.finish();
    assert_eq!(number(&summary, "handled"), 0, "{summary}");
}

#[test]
fn a_restart_under_load_hands_every_accepted_message_to_one_of_the_two() {
    let (first, first_endpoint) =
        Zlink::serve(&["--channel", "orders", "--bind", "tcp://127.0.0.1:0", "--max-jobs", "16"]);
    let (second, second_endpoint) =
        Zlink::serve(&["--channel", "orders", "--bind", "tcp://127.0.0.1:0", "--max-jobs", "16"]);
    let both = format!("{first_endpoint},{second_endpoint}");
    let clients: Vec<_> = (0..4)
        .map(|_| sender(&both, 1_000_000_000, &["--for", "4s", "--timeout", "5s", "--rate", "20000"]))
        .collect();
    std::thread::sleep(Duration::from_secs(2)); // in the middle of the load
    first.signal("TERM");
    let (of_first, status) = first.finish();
    assert!(status.success(), "{of_first}");
    let accepted: u64 = clients
        .into_iter()
        .map(|client| {
            let (sent, _) = client.finish();
            assert_eq!(number(&sent, "unknown"), 0, "{sent}");
            number(&sent, "accepted")
        })
        .sum();
    second.signal("TERM");
    let (of_second, status) = second.finish();
    assert!(status.success(), "{of_second}");
    let handled = number(&of_first, "handled") + number(&of_second, "handled");
    assert_eq!(handled, accepted, "first {of_first}, second {of_second}");
    assert_eq!(number(&of_first, "duplicates") + number(&of_second, "duplicates"), 0);
    assert!(number(&of_first, "handled") > 0 && number(&of_second, "handled") > 0);
}

#[test]
fn a_killed_server_ends_what_waits_and_the_client_comes_back() {
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port();
    let endpoint = format!("tcp://127.0.0.1:{port}");
    let (mut first, _) = Zlink::serve(&["--channel", "orders", "--bind", &endpoint]);
    let client = sender(&endpoint, 1_000_000_000, &["--for", "6s", "--timeout", "2s", "--rate", "10000"]);
    first.wait_line("traffic", |line| line["event"] == "status");
    first.signal("KILL");
    drop(first);
    let (second, _) = Zlink::serve(&["--channel", "orders", "--bind", &endpoint]);
    let (sent, _) = client.finish();
    second.signal("TERM");
    let (summary, _) = second.finish();
    assert!(number(&summary, "handled") > 0, "later sends are delivered: {sent} {summary}");
    assert_eq!(number(&summary, "duplicates"), 0, "{summary}");
    assert_eq!(number(&summary, "out_of_order"), 0, "{summary}");
}
