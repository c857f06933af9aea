//! What the suite needs beside the driver: sleeping, limits, tasks, a raw peer that writes any bytes.

use std::future::{Future, poll_fn};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use zlink_driver::runtime::{Runtime, Timer};
use zlink_driver::socket::{Dealer, Router, SocketOptions};

/// A generous limit: reached only if something hangs.
pub const LIMIT: Duration = Duration::from_secs(30);

/// Any free port of this machine.
pub const ANYWHERE: &str = "tcp://127.0.0.1:0";

/// Waits.
pub async fn sleep<R: Runtime>(time: Duration) {
    let runtime = R::current().expect("tests run on the runtime");
    let mut timer = runtime.timer(runtime.now().saturating_add(time));
    poll_fn(|context| timer.poll(context)).await;
}

/// The result of `future`, or `None` after `limit`.
pub async fn within<R: Runtime, T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    let (mut future, mut limit) = (pin!(future), pin!(sleep::<R>(limit)));
    poll_fn(|context| {
        if let Poll::Ready(result) = future.as_mut().poll(context) {
            return Poll::Ready(Some(result));
        }
        limit.as_mut().poll(context).map(|()| None)
    })
    .await
}

/// The result of `future`; panics if it hangs.
pub async fn must<R: Runtime, T>(future: impl Future<Output = T>) -> T {
    within::<R, T>(LIMIT, future).await.expect("finished in time")
}

/// A task whose result can be awaited.
pub fn task<R: Runtime, T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Task<T> {
    let place = Arc::new(Mutex::new(Place { result: None, waker: None, is_over: false }));
    let guard = Guard(Arc::clone(&place));
    R::current().expect("tests run on the runtime").spawn(async move {
        let result = future.await;
        guard.0.lock().expect("no panic").result = Some(result);
        drop(guard);
    });
    Task(place)
}

/// See [`task`].
#[must_use]
pub struct Task<T>(Arc<Mutex<Place<T>>>);

struct Place<T> {
    result: Option<T>,
    waker: Option<Waker>,
    is_over: bool,
}

struct Guard<T>(Arc<Mutex<Place<T>>>);

impl<T> Drop for Guard<T> {
    fn drop(&mut self) {
        let mut place = self.0.lock().expect("no panic");
        place.is_over = true;
        if let Some(waker) = place.waker.take() {
            waker.wake();
        }
    }
}

impl<T> Future for Task<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut place = self.0.lock().expect("no panic");
        if place.is_over {
            return Poll::Ready(place.result.take().expect("the task did not panic"));
        }
        place.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

/// Polls once.
pub async fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    poll_fn(|context| Poll::Ready(Pin::new(&mut *future).poll(context))).await
}

/// Lets other tasks run.
pub async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A ROUTER that listens, a DEALER that is connected to it, and the endpoint.
pub async fn pair<R: Runtime>(
    router: SocketOptions,
    dealer: SocketOptions,
) -> (Router<R>, Dealer<R>, String) {
    let router = Router::new(router).expect("options");
    let endpoint = router.bind(ANYWHERE).await.expect("a free port");
    let dealer = Dealer::new(dealer).expect("options");
    dealer.connect(&endpoint).expect("a good endpoint");
    must::<R, _>(dealer.ready()).await.expect("a peer");
    must::<R, _>(router.ready()).await.expect("a peer");
    (router, dealer, endpoint)
}

/// The address in an endpoint.
pub fn address(endpoint: &str) -> SocketAddr {
    endpoint.strip_prefix("tcp://").and_then(|rest| rest.parse().ok()).expect("a numeric endpoint")
}

/// A peer that is no peer: writes `bytes`, ends its sending side if `ends`, and reads until the other side closes. On a thread of its
/// own, so that it works on every runtime.
pub async fn raw_peer<R: Runtime>(endpoint: &str, bytes: Vec<u8>, ends: bool) -> Vec<u8> {
    let address = address(endpoint);
    let answer = Arc::new(Mutex::new(None));
    let thread = {
        let answer = Arc::clone(&answer);
        std::thread::spawn(move || {
            let mut stream = TcpStream::connect(address).expect("a listener");
            stream.set_read_timeout(Some(LIMIT)).expect("a timeout");
            // The other side may close before everything is written.
            let _ = stream.write_all(&bytes);
            if ends {
                let _ = stream.shutdown(std::net::Shutdown::Write);
            }
            let mut read = Vec::new();
            let mut chunk = [0; 4_096];
            loop {
                match stream.read(&mut chunk) {
                    Ok(0) => break,
                    Ok(count) => read.extend_from_slice(&chunk[..count]),
                    Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
                    Err(error) => panic!("the other side did not close: {error}"),
                }
            }
            *answer.lock().expect("no panic") = Some(read);
        })
    };
    while !thread.is_finished() {
        sleep::<R>(Duration::from_millis(5)).await;
    }
    thread.join().expect("no panic in the raw peer");
    answer.lock().expect("no panic").take().expect("an answer")
}
