//! Locks and wake-ups: short sections, and everything that was woken in one is woken after it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Locks. A panic of another holder does not spread: the machines behind these locks change by whole calls, and what
/// panicked reports itself.
#[inline]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakers collected inside a section. Almost always none or one; a batch of results brings more.
#[derive(Default)]
pub(crate) struct Wakes {
    first: Option<Waker>,
    more: Vec<Waker>,
}

impl Wakes {
    pub(crate) const fn new() -> Self {
        Self { first: None, more: Vec::new() }
    }

    #[inline]
    pub(crate) fn push(&mut self, waker: Waker) {
        if self.first.is_none() {
            self.first = Some(waker);
        } else {
            self.more.push(waker);
        }
    }

    /// Adds what is there.
    #[inline]
    pub(crate) fn extend(&mut self, waker: Option<Waker>) {
        if let Some(waker) = waker {
            self.push(waker);
        }
    }

    /// Wakes in the order of collection. Outside every lock.
    #[inline]
    pub(crate) fn wake_all(&mut self) {
        if let Some(waker) = self.first.take() {
            waker.wake();
            for waker in self.more.drain(..) {
                waker.wake();
            }
        }
    }

    /// Gives back memory.
    pub(crate) fn release(&mut self) {
        if self.more.is_empty() && self.more.capacity() > 0 {
            self.more = Vec::new();
        }
    }
}

/// Tasks that wait for the same condition. All are woken: who finds nothing waits again.
#[derive(Default)]
pub(crate) struct WakerSet {
    wakers: Vec<(u64, Waker)>,
    last_key: u64,
}

/// The place of one waiter in a `WakerSet`.
#[derive(Default)]
pub(crate) struct WaiterKey(Option<u64>);

impl WaiterKey {
    /// True if it ever waited.
    pub(crate) const fn is_used(&self) -> bool {
        self.0.is_some()
    }
}

impl WakerSet {
    /// Waits, or goes on waiting with this waker.
    pub(crate) fn register(&mut self, key: &mut WaiterKey, waker: &Waker) {
        if let Some((_, known)) = self.wakers.iter_mut().find(|(known, _)| Some(*known) == key.0) {
            known.clone_from(waker);
            return;
        }
        let number = *key.0.get_or_insert_with(|| {
            self.last_key += 1;
            self.last_key
        });
        self.wakers.push((number, waker.clone()));
    }

    /// Waits no more.
    pub(crate) fn deregister(&mut self, key: &WaiterKey) {
        self.wakers.retain(|(known, _)| Some(*known) != key.0);
    }

    #[inline]
    pub(crate) fn wake_into(&mut self, wakes: &mut Wakes) {
        self.wakers.drain(..).for_each(|(_, waker)| wakes.push(waker));
    }
}

/// Keeps `place` up to date with the task that polls; true if it changed.
pub(crate) fn note_waker(place: &mut Option<Waker>, waker: &Waker) -> bool {
    if place.as_ref().is_some_and(|known| known.will_wake(waker)) {
        return false;
    }
    *place = Some(waker.clone());
    true
}
