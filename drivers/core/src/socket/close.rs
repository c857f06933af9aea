//! Waiting for the end of a socket.

use super::shared::Shared;
use crate::runtime::Runtime;
use crate::sync::WaiterKey;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;
pub use zlink_proto::transport::CloseReport;

pub(super) async fn close<R: Runtime>(shared: &Shared<R>, linger: Option<Duration>) -> CloseReport {
    let now = shared.runtime.now();
    shared.section(|locked| locked.socket.close(linger, now));
    let mut waiter = Waiter { shared, key: WaiterKey::default() };
    poll_fn(|context| {
        shared.section(|locked| {
            if locked.is_closed {
                return Poll::Ready(locked.socket.close_report());
            }
            locked.close_waiters.register(&mut waiter.key, context.waker());
            Poll::Pending
        })
    })
    .await
}

/// Takes its waker back when the wait ends early.
struct Waiter<'a, R: Runtime> {
    shared: &'a Shared<R>,
    key: WaiterKey,
}

impl<R: Runtime> Drop for Waiter<'_, R> {
    fn drop(&mut self) {
        if self.key.is_used() {
            self.shared.section(|locked| locked.close_waiters.deregister(&self.key));
        }
    }
}
