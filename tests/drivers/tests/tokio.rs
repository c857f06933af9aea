//! The suite on tokio, with one thread and with several.

use std::future::Future;
use zlink_driver_tests::{cancel, flow, hostile, hosts, lifecycle, order, requests};
use zlink_driver_tokio::Tokio;

fn one_thread(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(test);
}

fn many_threads(test: impl Future<Output = ()> + Send + 'static) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(async { tokio::spawn(test).await.expect("no panic") });
}

macro_rules! suite {
    ($($part:ident: $($test:ident)*;)*) => {
        mod current_thread {
            use super::*;
            $($(#[test] fn $test() { one_thread($part::$test::<Tokio>()); })*)*
        }
        mod multi_thread {
            use super::*;
            $($(#[test] fn $test() { many_threads($part::$test::<Tokio>()); })*)*
        }
    };
}

suite! {
    order: a_hundred_thousand_in_order every_size_and_shape many_peers_by_name;
    flow: a_full_queue_ends_at_the_deadline room_admits_the_oldest_waiter t130_a_reservation_never_waits
        a_busy_sender_starves_nobody;
    requests: each_request_gets_its_own_answer a_request_ends_at_its_deadline a_dropped_token_answers
        a_lost_peer_ends_requests a_request_without_peer_was_not_submitted plain_threads_block;
    lifecycle: a_restarted_server_is_found_again connecting_before_binding close_transmits_what_was_accepted
        close_is_bounded_by_linger bind_errors unbind_may_keep_peers;
    cancel: t78_a_dropped_send_was_not_sent t78_a_send_admitted_before_the_drop_is_sent a_dropped_request_frees_its_slot
        a_dropped_receive_loses_nothing a_dropped_reply_answers a_dropped_wait_leaves_nothing;
    hosts: an_echo fallbacks_and_metadata backpressure_loses_nothing a_slow_handler_makes_senders_wait
        failures_of_handlers concurrency a_requester_that_is_gone two_servers_by_weight shutdown_loses_nothing
        shutdown_is_bounded blocking_calls an_error_that_panics;
    hostile: bad_peers_are_closed_and_good_ones_go_on;
}

/// The executor is dropped while plain threads wait in calls: each of them ends, none hangs.
#[test]
fn calls_end_when_the_runtime_is_dropped() {
    use std::sync::mpsc::channel;
    use std::time::Duration;
    use zlink_driver::host::{Host, Message};
    use zlink_driver::socket::{Dealer, Router, SocketOptions};

    let limit = Duration::from_secs(20);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let (router, dealer, lonely, host, client) = runtime.block_on(async {
        let router = Router::<Tokio>::new(SocketOptions::default()).expect("options");
        let endpoint = router.bind("tcp://127.0.0.1:0").await.expect("a port");
        let patient = || SocketOptions::default().send_timeout(Duration::from_secs(600));
        let dealer = Dealer::<Tokio>::new(patient()).expect("options");
        dealer.connect(&endpoint).expect("an endpoint");
        dealer.ready().await.expect("a peer");
        let lonely = Dealer::<Tokio>::new(patient()).expect("options");
        let host = Host::<Tokio>::builder().start().expect("options");
        let client = host.client("orders").send_timeout(Duration::from_secs(600));
        let client = client.connect("tcp://127.0.0.1:1").await.expect("an endpoint");
        (router, dealer, lonely, host, client)
    });
    let (done, ended) = channel();
    let start = |name: &'static str, call: Box<dyn FnOnce() -> bool + Send>| {
        let done = done.clone();
        std::thread::spawn(move || done.send((name, call())));
    };
    start(
        "receive",
        Box::new(move || {
            // The request comes first, and its token answers when it is dropped: keep it.
            let _request = router.recv_blocking();
            router.recv_blocking().is_err()
        }),
    );
    start("request", Box::new(move || dealer.request_blocking(&b"x"[..]).is_err()));
    start("send", Box::new(move || lonely.send_blocking(&b"x"[..]).is_err()));
    start("client send", Box::new(move || client.send_blocking(Message::new("A", "")).is_err()));
    std::thread::sleep(Duration::from_millis(300));
    drop(runtime);
    let mut seen = Vec::new();
    while seen.len() < 4 {
        match ended.recv_timeout(limit) {
            Ok((name, is_error)) => {
                assert!(is_error, "{name}");
                seen.push(name);
            }
            Err(_) => panic!("only {seen:?} ended"),
        }
    }
    let other = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let report =
        other.block_on(async { tokio::time::timeout(limit, host.shutdown(Duration::from_secs(1))).await });
    report.expect("a report");
}
