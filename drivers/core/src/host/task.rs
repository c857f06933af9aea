//! The host task: receive turns, flow states, sessions, shutdown, and their timer.

use super::shared::{HostShared, Sections};
use crate::alarm::Alarm;
use crate::runtime::Runtime;
use crate::sync::Wakes;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use zlink_proto::host::ShutdownStep;
use zlink_proto::node::{Scratch, shutdown_step, step, stop};

/// Ends with the host.
pub(crate) struct HostTask<R: Runtime> {
    shared: Arc<HostShared<R>>,
    alarm: Alarm<R>,
    scratch: Scratch,
}

impl<R: Runtime> HostTask<R> {
    pub(crate) fn spawn(shared: Arc<HostShared<R>>) {
        let runtime = shared.runtime.clone();
        runtime.spawn(Self { shared, alarm: Alarm::new(), scratch: Scratch::default() });
    }

    /// True once the host is stopped (M-63, M-64).
    fn drain(&self) -> bool {
        let mut reach = Sections(&self.shared);
        match shutdown_step(&mut reach) {
            ShutdownStep::Wait | ShutdownStep::EndConnections => return false,
            ShutdownStep::Stop => {}
        }
        self.stop();
        true
    }

    fn stop(&self) {
        let report = stop(&mut Sections(&self.shared));
        for (key, _) in self.shared.sockets() {
            self.shared.remove_socket(key);
        }
        tracing::info!(%report, "zlink.host.shutdown");
        let mut wakes = Wakes::new();
        self.shared.section(|locked| {
            locked.report = Some(report);
            locked.end_workers(&mut wakes);
            locked.stop_waiters.wake_into(&mut wakes);
            locked.peer_waiters.wake_into(&mut wakes);
        });
        wakes.wake_all();
    }
}

/// The executor ended before the host: it stops by force, and whoever waits for its end is told.
impl<R: Runtime> Drop for HostTask<R> {
    fn drop(&mut self) {
        let now = self.shared.runtime.now();
        let is_stopped = self.shared.section(|locked| {
            let is_stopped = locked.report.is_some();
            if !is_stopped {
                locked.side.shutdown(Duration::from_millis(1), now);
                locked.is_draining = true;
            }
            is_stopped
        });
        if !is_stopped {
            self.stop();
        }
    }
}

impl<R: Runtime> Future for HostTask<R> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let mut wakes = Wakes::new();
        loop {
            let now = this.shared.runtime.now();
            let (is_draining, retired) = this.shared.section(|locked| {
                locked.task.is_called = false;
                if locked.side.poll_timeout().is_some_and(|due| due <= now) {
                    locked.side.handle_timeout(now);
                }
                (locked.is_draining, std::mem::take(&mut locked.retired))
            });
            // One rotation and everything that became due around it (H-51, H-55).
            step(&mut Sections(&this.shared), &mut this.scratch);
            retired.into_iter().for_each(|key| this.shared.remove_socket(key));
            if is_draining && this.drain() {
                return Poll::Ready(());
            }
            let (due, is_due) = this.shared.section(|locked| {
                locked.tell_changes(&mut wakes);
                let due = locked.side.poll_timeout();
                let is_due = locked.task.is_called || locked.side.has_work();
                if !is_due {
                    locked.task.waker = Some(context.waker().clone());
                }
                (due, is_due)
            });
            wakes.wake_all();
            if is_due {
                // A rotation is over and there is more: others first.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            this.alarm.arm(&this.shared.runtime, due);
            if !this.alarm.poll(context) {
                this.alarm.release();
                return Poll::Pending;
            }
        }
    }
}
