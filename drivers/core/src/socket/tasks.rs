//! The other tasks of a socket: one for the socket itself, one per listener, one per attempt to connect.

use super::connection_task::ConnectionTask;
use super::shared::{ConnectOrder, Shared};
use crate::alarm::Alarm;
use crate::net;
use crate::runtime::{Listener, Runtime};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use zlink_proto::id::{ConnectionNumber, ListenerId};

/// Streams that a listener accepts before others get their turn.
const ACCEPTS_MAX: usize = 64;
/// Rest of a listener whose accept failed, usually for lack of descriptors.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// Moves the socket's clock and starts its attempts. Ends when the socket is closed.
pub(super) struct SocketTask<R: Runtime> {
    shared: Arc<Shared<R>>,
    alarm: Alarm<R>,
}

impl<R: Runtime> SocketTask<R> {
    pub(super) fn spawn(shared: Arc<Shared<R>>) {
        let runtime = shared.runtime.clone();
        runtime.spawn(Self { shared, alarm: Alarm::new() });
    }
}

impl<R: Runtime> Future for SocketTask<R> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { shared, alarm } = self.get_mut();
        loop {
            let now = shared.runtime.now();
            let (orders, due, is_closed) = shared.section(|locked| {
                if locked.socket.poll_timeout().is_some_and(|due| due <= now) {
                    locked.socket.handle_timeout(now);
                }
                let due = locked.socket.poll_timeout();
                locked.task.armed = alarm.armed_with(due);
                locked.task.waker = Some(context.waker().clone());
                locked.release_buffers();
                (std::mem::take(&mut locked.task.orders), due, locked.is_closed)
            });
            orders.into_iter().for_each(|order| spawn_attempt(shared, order));
            if is_closed {
                return Poll::Ready(());
            }
            alarm.arm(&shared.runtime, due);
            if !alarm.poll(context) {
                alarm.release();
                return Poll::Pending;
            }
        }
    }
}

/// The executor ended before the socket: nothing moves its clock any more, so whoever still waits is told that it is over.
impl<R: Runtime> Drop for SocketTask<R> {
    fn drop(&mut self) {
        let now = self.shared.runtime.now();
        self.shared.section(|locked| {
            if !locked.is_closed {
                locked.socket.close(Some(Duration::ZERO), now);
            }
        });
    }
}

/// Connects; a connection that comes up gets its own task, and the memory of the attempt is given back.
fn spawn_attempt<R: Runtime>(shared: &Arc<Shared<R>>, order: ConnectOrder) {
    let runtime = shared.runtime.clone();
    let shared = Arc::clone(shared);
    runtime.spawn(async move {
        let ConnectOrder { number, address } = order;
        let Some(result) = connect(&shared, number, &address).await else { return };
        let now = shared.runtime.now();
        match result {
            Ok(stream) => {
                let connection = shared.section(|locked| {
                    locked.attempts.retain(|attempt| attempt.number != number);
                    locked.socket.handle_connected(number, now)
                });
                if let Some(connection) = connection {
                    ConnectionTask::spawn(shared, stream, connection);
                }
            }
            Err(error) => {
                tracing::debug!(%address, %error, "zlink.socket.connect_failed");
                shared.section(|locked| {
                    locked.attempts.retain(|attempt| attempt.number != number);
                    locked.socket.handle_connect_failed(number, now);
                });
            }
        }
    });
}

/// The stream, unless the socket abandoned the attempt.
async fn connect<R: Runtime>(
    shared: &Shared<R>,
    number: ConnectionNumber,
    address: &str,
) -> Option<io::Result<R::Stream>> {
    let mut attempt = pin!(net::connect(&shared.runtime, address, &shared.net));
    poll_fn(|context| {
        if !shared.section(|locked| locked.watch_attempt(number, context.waker())) {
            return Poll::Ready(None);
        }
        attempt.as_mut().poll(context).map(Some)
    })
    .await
}

/// Accepts until it is stopped.
pub(super) struct ListenerTask<R: Runtime> {
    shared: Arc<Shared<R>>,
    listener: R::Listener,
    id: ListenerId,
    alarm: Alarm<R>,
}

impl<R: Runtime> ListenerTask<R> {
    pub(super) fn spawn(shared: Arc<Shared<R>>, listener: R::Listener, id: ListenerId) {
        let runtime = shared.runtime.clone();
        runtime.spawn(Self { shared, listener, id, alarm: Alarm::new() });
    }

    fn accept(&mut self, context: &mut Context<'_>) -> Poll<()> {
        for _ in 0..ACCEPTS_MAX {
            match self.listener.poll_accept(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(stream)) => self.attach(stream),
                // The stream that waited is gone.
                Poll::Ready(Err(error)) if is_of_one_stream(&error) => {}
                Poll::Ready(Err(error)) => {
                    tracing::warn!(%error, "zlink.socket.accept_failed");
                    let again = self.shared.runtime.now().saturating_add(ACCEPT_REST);
                    self.alarm.arm(&self.shared.runtime, Some(again));
                    return Poll::Ready(());
                }
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn attach(&self, stream: R::Stream) {
        use crate::runtime::Stream;
        self.shared.net.apply(&stream.socket());
        let now = self.shared.runtime.now();
        let connection = self.shared.section(|locked| locked.socket.handle_accepted(self.id, now));
        if let Some(connection) = connection {
            ConnectionTask::spawn(Arc::clone(&self.shared), stream, connection);
        }
    }
}

impl<R: Runtime> Future for ListenerTask<R> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let id = this.id;
        if !this.shared.section(|locked| locked.watch_listener(id, context.waker())) {
            return Poll::Ready(());
        }
        loop {
            if this.alarm.is_armed() && !this.alarm.poll(context) {
                return Poll::Pending;
            }
            if this.accept(context).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

fn is_of_one_stream(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}
