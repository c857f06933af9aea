//! Reading what happens on a socket (N-90).

use super::shared::Shared;
use crate::runtime::Runtime;
use crate::sync::WaiterKey;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use zlink_proto::transport::{Event, EventReader};

/// One reader of a socket's events, from its making on. It holds 1,024 unread events; then the newest is lost and counted.
pub struct Events<R: Runtime> {
    shared: Arc<Shared<R>>,
    reader: EventReader,
    waiter: WaiterKey,
}

impl<R: Runtime> Events<R> {
    pub(super) fn new(shared: &Arc<Shared<R>>) -> Self {
        let reader = shared.section(|locked| locked.socket.add_event_reader());
        Self { shared: Arc::clone(shared), reader, waiter: WaiterKey::default() }
    }

    /// The next event; `None` after `Closed`, which is the last one.
    pub async fn next(&mut self) -> Option<Event> {
        let Self { shared, reader, waiter } = self;
        poll_fn(|context| {
            shared.section(|locked| match locked.socket.poll_event(*reader) {
                Some(event) => Poll::Ready(Some(event)),
                None if locked.is_closed => Poll::Ready(None),
                None => {
                    locked.event_waiters.register(waiter, context.waker());
                    Poll::Pending
                }
            })
        })
        .await
    }

    /// Events that were lost because this reader fell behind.
    pub fn lost(&self) -> u64 {
        self.shared.section(|locked| locked.socket.lost_events(self.reader))
    }
}

impl<R: Runtime> Drop for Events<R> {
    fn drop(&mut self) {
        self.shared.section(|locked| {
            locked.event_waiters.deregister(&self.waiter);
            locked.socket.remove_event_reader(self.reader);
        });
    }
}
