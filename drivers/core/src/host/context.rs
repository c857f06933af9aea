//! What a handler knows beside its message.

use crate::sync::{WaiterKey, WakerSet, Wakes, lock};
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

/// The context of one turn of a handler. Clones show the same turn.
pub struct Context<R> {
    turn: Arc<TurnState>,
    runtime: PhantomData<fn() -> R>,
}

/// Whether somebody still waits for the answer.
#[derive(Default)]
pub(crate) struct TurnState {
    is_gone: AtomicBool,
    waiters: Mutex<WakerSet>,
}

impl TurnState {
    /// The requester is gone, or the host stops by force (O-47).
    pub(crate) fn set_gone(&self) {
        self.is_gone.store(true, Ordering::Release);
        let mut wakes = Wakes::new();
        lock(&self.waiters).wake_into(&mut wakes);
        wakes.wake_all();
    }

    /// For the next turn of the same worker.
    pub(crate) fn reset(&self, is_gone: bool) {
        self.is_gone.store(is_gone, Ordering::Relaxed);
    }
}

impl<R> Context<R> {
    pub(crate) fn new(turn: &Arc<TurnState>) -> Self {
        Self { turn: Arc::clone(turn), runtime: PhantomData }
    }

    /// True once nobody waits for the answer any more: the requester's connection ended, or this host stops by force. The
    /// handler may ignore it.
    pub fn is_requester_gone(&self) -> bool {
        self.turn.is_gone.load(Ordering::Acquire)
    }

    /// Ends when nobody waits for the answer any more; never for one-way messages whose host goes on.
    pub async fn requester_gone(&self) {
        let mut waiter = GoneWaiter { turn: &self.turn, key: WaiterKey::default() };
        poll_fn(|context| {
            // Under the lock of the waiters: whoever sets the flag afterwards finds the waker.
            let mut waiters = lock(&waiter.turn.waiters);
            if waiter.turn.is_gone.load(Ordering::Acquire) {
                return Poll::Ready(());
            }
            waiters.register(&mut waiter.key, context.waker());
            Poll::Pending
        })
        .await;
    }
}

struct GoneWaiter<'a> {
    turn: &'a TurnState,
    key: WaiterKey,
}

impl Drop for GoneWaiter<'_> {
    fn drop(&mut self) {
        if self.key.is_used() {
            lock(&self.turn.waiters).deregister(&self.key);
        }
    }
}

impl<R> Clone for Context<R> {
    fn clone(&self) -> Self {
        Self { turn: Arc::clone(&self.turn), runtime: PhantomData }
    }
}

impl<R> fmt::Debug for Context<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("is_requester_gone", &self.is_requester_gone())
            .finish_non_exhaustive()
    }
}
