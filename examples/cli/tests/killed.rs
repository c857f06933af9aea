//! A server that is killed without a word while others send and wait: what is pending ends at once and says how certain it is,
//! and whoever goes on reaches the next server, nothing twice.

mod process;

use process::{Zlink, number};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn call<'a>(command: &'a str, endpoint: &'a str, more: &[&'a str]) -> Zlink {
    let mut all = vec![command, "--channel", "orders", "--connect", endpoint];
    all.extend_from_slice(more);
    Zlink::start(&all)
}

#[test]
fn pending_requests_end_at_once_when_their_server_is_killed() {
    let (server, endpoint) =
        Zlink::serve(&["--channel", "orders", "--bind", "tcp://127.0.0.1:0", "--handler-delay", "1h"]);
    let requests = call("request", &endpoint, &["--count", "20", "--concurrency", "20", "--timeout", "100s"]);
    sleep(Duration::from_millis(1_500));
    server.signal("KILL");
    let killed = Instant::now();
    let (summary, _) = requests.finish();
    assert!(killed.elapsed() < Duration::from_secs(20), "{:?}", killed.elapsed());
    assert_eq!(summary["errors"], serde_json::json!({"Unavailable": 20}), "{summary}");
    assert_eq!(number(&summary, "unknown"), 20, "{summary}");
}

#[test]
fn waiting_sends_end_at_once_and_later_ones_reach_the_next_server() {
    let (server, endpoint) = Zlink::serve(&[
        "--channel",
        "orders",
        "--bind",
        "tcp://127.0.0.1:0",
        "--handler-delay",
        "1h",
        "--recv-hwm",
        "16384",
        "--max-jobs",
        "4",
    ]);
    let sender = call(
        "send",
        &endpoint,
        &["--for", "6s", "--concurrency", "8", "--size", "20000", "--send-hwm", "16384", "--timeout", "100s"],
    );
    // All eight wait by then: nothing is handled.
    sleep(Duration::from_millis(2_500));
    server.signal("KILL");
    let killed = Instant::now();
    drop(server);
    let (next, _) = Zlink::serve(&["--channel", "orders", "--bind", &endpoint]);
    let (sent, _) = sender.finish();
    assert!(killed.elapsed() < Duration::from_secs(30), "{:?}", killed.elapsed());
    // Those that waited for the lost server ended with it, and only those.
    let errors = sent["errors"].as_object().expect("errors by kind");
    assert!(errors.keys().all(|kind| kind == "Unavailable"), "{sent}");
    let ended = number(&sent, "not_submitted");
    assert_eq!((ended, number(&sent, "unknown")), (8, 0), "{sent}");
    next.signal("TERM");
    let (summary, status) = next.finish();
    assert!(status.success(), "{summary}");
    let handled = number(&summary, "handled");
    assert!(handled > 100 && handled <= number(&sent, "accepted"), "{summary} {sent}");
    for none in ["duplicates", "out_of_order"] {
        assert_eq!(number(&summary, none), 0, "{none}: {summary}");
    }
}
