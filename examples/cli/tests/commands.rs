//! The command as people and scripts run it: demo, serve with send and request, signals, summaries.

mod process;

use process::{Zlink, number};
use std::process::Command;

fn serve(more: &[&str]) -> (Zlink, String) {
    let mut arguments = vec!["--channel", "orders", "--bind", "tcp://127.0.0.1:0"];
    arguments.extend_from_slice(more);
    Zlink::serve(&arguments)
}

fn call<'a>(command: &'a str, endpoint: &'a str, more: &[&'a str]) -> Zlink {
    let mut arguments = vec![command, "--channel", "orders", "--connect", endpoint];
    arguments.extend_from_slice(more);
    Zlink::start(&arguments)
}

#[test]
fn demo_loses_nothing_and_says_so() {
    let output = Command::new(env!("CARGO_BIN_EXE_zlink"))
        .args(["demo", "--for", "1s"])
        .output()
        .expect("the command runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("nothing was lost"), "{text}");
}

#[test]
fn demo_tells_the_five_places_and_its_counts_as_json() {
    let mut demo = Zlink::start(&["demo", "--for", "1s"]);
    let status = demo.wait_event("status");
    for place in ["waiting_sends", "send_bytes", "receive_bytes", "permits", "mailbox_jobs"] {
        assert!(status.get(place).is_some(), "{place}: {status}");
    }
    let (summary, status) = demo.finish();
    assert!(status.success(), "{summary}");
    let accepted = number(&summary, "accepted");
    assert!(accepted > 0 && number(&summary, "attempted") >= accepted, "{summary}");
    assert_eq!(number(&summary, "handled"), accepted, "{summary}");
    for none in ["lost", "duplicates", "out_of_order"] {
        assert_eq!(number(&summary, none), 0, "{none}: {summary}");
    }
}

#[test]
fn sends_are_counted_alike_on_both_sides() {
    let (server, endpoint) = serve(&["--until-handled", "20000"]);
    let (sent, status) = call("send", &endpoint, &["--count", "20000"]).finish();
    assert!(status.success(), "{sent}");
    for (name, expected) in [
        ("attempted", 20_000),
        ("accepted", 20_000),
        ("deadline_exceeded", 0),
        ("not_submitted", 0),
        ("unknown", 0),
    ] {
        assert_eq!(number(&sent, name), expected, "{name}: {sent}");
    }
    assert_eq!(sent["errors"], serde_json::json!({}));
    assert!(sent["elapsed_s"].as_f64() > Some(0.0) && sent["messages_per_s"].as_f64() > Some(0.0), "{sent}");
    assert!(sent["longest_wait_ms"].is_number(), "{sent}");
    let (summary, status) = server.finish();
    assert!(status.success(), "{summary}");
    assert_eq!((number(&summary, "received"), number(&summary, "handled")), (20_000, 20_000), "{summary}");
    for none in ["gaps", "duplicates", "out_of_order", "protocol_errors"] {
        assert_eq!(number(&summary, none), 0, "{none}: {summary}");
    }
}

#[test]
fn tasks_of_one_sender_have_an_order_each() {
    let (server, endpoint) = serve(&["--until-handled", "4000"]);
    let (sent, _) =
        call("send", &endpoint, &["--count", "4000", "--concurrency", "8", "--size", "16"]).finish();
    assert_eq!(number(&sent, "accepted"), 4_000, "{sent}");
    let (summary, _) = server.finish();
    for none in ["gaps", "duplicates", "out_of_order"] {
        assert_eq!(number(&summary, none), 0, "{none}: {summary}");
    }
}

#[test]
fn requests_are_answered_and_timed() {
    let (server, endpoint) = serve(&["--reply-size", "100"]);
    let (summary, status) = call("request", &endpoint, &["--count", "500", "--concurrency", "10"]).finish();
    assert!(status.success(), "{summary}");
    assert_eq!((number(&summary, "ok"), &summary["errors"]), (500, &serde_json::json!({})), "{summary}");
    let [p50, p99, p999] = ["p50_us", "p99_us", "p999_us"].map(|name| summary[name].as_f64().unwrap_or(-1.0));
    assert!(0.0 < p50 && p50 <= p99 && p99 <= p999, "{summary}");
    server.signal("TERM");
    let (summary, _) = server.finish();
    assert_eq!(number(&summary, "handled"), 500, "{summary}");
}

#[test]
fn a_request_that_is_not_answered_in_time_is_an_error_of_its_kind() {
    let (server, endpoint) = serve(&["--handler-delay", "1h", "--shutdown", "100ms"]);
    let (summary, _) = call("request", &endpoint, &["--count", "2", "--timeout", "100ms"]).finish();
    assert_eq!(summary["errors"], serde_json::json!({"DeadlineExceeded": 2}), "{summary}");
    assert_eq!((number(&summary, "ok"), number(&summary, "unknown")), (0, 2), "{summary}");
    server.signal("TERM");
    let (summary, _) = server.finish();
    assert_eq!((number(&summary, "received"), number(&summary, "handled")), (1, 0), "{summary}");
    assert_eq!(summary["shutdown"]["outcome"], "ForceStopped", "{summary}");
}

#[test]
fn either_signal_ends_a_server_with_its_summary() {
    for signal in ["TERM", "INT"] {
        let (mut server, _) = serve(&[]);
        let status = server.wait_event("status");
        assert_eq!(status["job_queue"]["in_use"], 0, "{status}");
        server.signal(signal);
        let (summary, status) = server.finish();
        assert!(status.success(), "{signal}: {summary}");
        assert_eq!(summary["shutdown"]["outcome"], "Stopped", "{signal}: {summary}");
    }
}

#[test]
fn a_signal_ends_a_sender_with_its_summary() {
    let (server, endpoint) = serve(&[]);
    let mut sender = call("send", &endpoint, &["--for", "1h", "--rate", "1000"]);
    sender.wait_event("progress");
    sender.signal("INT");
    let (sent, status) = sender.finish();
    assert!(status.success(), "{sent}");
    let accepted = number(&sent, "accepted");
    assert!(accepted > 0 && accepted == number(&sent, "attempted"), "{sent}");
    server.signal("TERM");
    let (summary, _) = server.finish();
    assert_eq!(number(&summary, "handled"), accepted, "{summary}");
}

#[test]
fn a_server_ends_after_its_time() {
    let (server, _) = serve(&["--for", "100ms"]);
    let (summary, status) = server.finish();
    assert!(status.success(), "{summary}");
    assert_eq!(number(&summary, "received"), 0, "{summary}");
}

#[test]
fn what_cannot_be_done_is_one_line_and_exit_code_1() {
    for arguments in [
        &["serve", "--channel", "orders", "--bind", "udp://nowhere"][..],
        &["serve", "--channel", "orders", "--bind", "tcp://127.0.0.1:0", "--pause-percent", "101"],
        &["send", "--channel", "orders", "--connect", "tcp://"],
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_zlink")).args(arguments).output().expect("the command runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {text}");
        assert!(text.lines().count() == 1 && text.starts_with("zlink: "), "{arguments:?}: {text}");
    }
}
