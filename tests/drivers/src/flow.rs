//! A full queue makes the sender wait, and its deadline ends the wait.

use crate::support::{must, pair, poll_once, sleep, task, within};
use std::time::{Duration, Instant};
use zlink_driver::runtime::Runtime;
use zlink_driver::socket::{Dealer, Router, SocketOptions};
use zlink_driver::{ErrorKind, Submission, TrySendError};

/// Small queues and small system buffers.
fn narrow() -> SocketOptions {
    SocketOptions::default().send_hwm(16_384).receive_hwm(16_384).send_buffer(8_192).receive_buffer(8_192)
}

/// Sends until one has to wait; returns how many were accepted.
async fn fill<R: Runtime>(dealer: &Dealer<R>, message: &[u8]) -> usize {
    let mut accepted = 0;
    loop {
        match dealer.try_send(message) {
            Ok(()) => accepted += 1,
            Err(TrySendError::Full(_)) => {
                // What lies between here and the receiver has to fill up as well.
                sleep::<R>(Duration::from_millis(20)).await;
                if dealer.try_send(message).is_err() {
                    return accepted;
                }
                accepted += 1;
            }
            Err(TrySendError::Failed(_, error)) => panic!("{error}"),
        }
    }
}

async fn drain<R: Runtime>(router: &Router<R>, count: usize) {
    for index in 0..count {
        must::<R, _>(router.recv()).await.unwrap_or_else(|error| panic!("record {index}: {error}"));
    }
}

/// The receiver takes nothing: a send waits and ends at its deadline, and nothing of it is ever sent.
pub async fn a_full_queue_ends_at_the_deadline<R: Runtime>() {
    let (router, dealer, _) = pair::<R>(narrow(), narrow().send_timeout(Duration::from_millis(200))).await;
    let accepted = fill(&dealer, &[1; 1_000]).await;
    assert!(accepted >= 14, "both queues hold something: {accepted}");
    let start = Instant::now();
    let error = must::<R, _>(dealer.send(&[2; 1_000][..])).await.expect_err("no room");
    assert!(start.elapsed() >= Duration::from_millis(200), "{:?}", start.elapsed());
    assert_eq!((error.kind(), error.submission()), (ErrorKind::DeadlineExceeded, Submission::NotSubmitted));
    assert!(error.elapsed() >= Duration::from_millis(200));
    assert_eq!(
        error.hint(),
        Some("peer's send queue full: see blocked ratio and job waiters of the receiver")
    );
    let start = Instant::now();
    let error = must::<R, _>(dealer.send(&[2; 1_000][..]).timeout(Duration::from_millis(50))).await;
    assert_eq!(error.expect_err("no room").kind(), ErrorKind::DeadlineExceeded);
    assert!(start.elapsed() < Duration::from_millis(190), "a caller may shorten");
    for _ in 0..accepted {
        let received = must::<R, _>(router.recv()).await.expect("open");
        assert_eq!(received.record.part(0), Some(&[1; 1_000][..]));
    }
    assert!(
        within::<R, _>(Duration::from_millis(50), router.recv()).await.is_none(),
        "what failed was not sent"
    );
}

/// The receiver takes again: the waiting send is admitted, in order.
pub async fn room_admits_the_oldest_waiter<R: Runtime>() {
    let (router, dealer, _) = pair::<R>(narrow(), narrow().send_timeout(Duration::from_secs(20))).await;
    let accepted = fill(&dealer, &[1; 1_000]).await;
    let mut waiters = Vec::new();
    for index in 2..6u8 {
        let dealer = dealer.clone();
        waiters.push(task::<R, _>(async move { dealer.send(&[index; 1_000][..]).await }));
        sleep::<R>(Duration::from_millis(5)).await;
    }
    assert_eq!(dealer.status().waiting_sends, 4);
    drain(&router, accepted).await;
    for index in 2..6u8 {
        let received = must::<R, _>(router.recv()).await.expect("open");
        assert_eq!(received.record.part(0), Some(&[index; 1_000][..]));
    }
    for waiter in waiters {
        must::<R, _>(waiter).await.expect("admitted");
    }
}

/// Booked room is good for one record, whatever happens to the queue meanwhile; unused room returns.
pub async fn t130_a_reservation_never_waits<R: Runtime>() {
    let (router, dealer, _) = pair::<R>(narrow(), narrow()).await;
    let mut reservation = must::<R, _>(dealer.reserve(1_000)).await.expect("room");
    let unused = must::<R, _>(dealer.reserve(1_000)).await.expect("room");
    let accepted = fill(&dealer, &[1; 1_000]).await;
    reservation.send(&[9; 1_000][..]).expect("booked");
    let again = reservation.send(&[9; 1_000][..]).expect_err("used");
    assert!(!again.is_full());
    drop((reservation, unused));
    let mut nines = 0;
    for _ in 0..=accepted {
        let received = must::<R, _>(router.recv()).await.expect("open");
        nines += usize::from(received.record.part(0) == Some(&[9; 1_000][..]));
    }
    assert_eq!(nines, 1);
    let waits = fill(&dealer, &[1; 1_000]).await;
    let mut waiting = dealer.reserve(1_000);
    assert!(poll_once(&mut waiting).await.is_pending());
    drop(waiting);
    assert_eq!(dealer.status().waiting_sends, 0);
    drain(&router, waits).await;
}

/// A sender in a loop that never has to wait lets the connection write all the same.
pub async fn a_busy_sender_starves_nobody<R: Runtime>() {
    let (router, dealer, _) =
        pair::<R>(SocketOptions::default().receive_hwm(0), SocketOptions::default().send_hwm(0)).await;
    let receiver = task::<R, _>(async move {
        let first = router.recv().await.expect("open");
        assert_eq!(first.record.part(0), Some(&[0; 1_024][..]));
        (Instant::now(), router)
    });
    must::<R, _>(async {
        for _ in 0..20_000 {
            dealer.send(&[0; 1_024][..]).await.expect("unlimited");
        }
    })
    .await;
    let end = Instant::now();
    let (first, _router) = must::<R, _>(receiver).await;
    assert!(first < end, "the first of 20,000 records arrives while the others are sent");
}
