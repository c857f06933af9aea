//! One task's timer: armed anew only for an earlier time, so that a deadline that moves away costs nothing.

use crate::runtime::{Runtime, Timer};
use std::task::Context;
use zlink_proto::time::Timestamp;

/// The timer of one task. It may wake the task early and in vain.
pub(crate) struct Alarm<R: Runtime> {
    timer: Option<R::Timer>,
    armed: Option<Timestamp>,
}

impl<R: Runtime> Alarm<R> {
    pub(crate) const fn new() -> Self {
        Self { timer: None, armed: None }
    }

    /// The time to which `arm(due)` leaves it set.
    pub(crate) fn armed_with(&self, due: Option<Timestamp>) -> Option<Timestamp> {
        match (self.armed, due) {
            (Some(armed), Some(due)) => Some(armed.min(due)),
            (armed, due) => armed.or(due),
        }
    }

    /// True until it fires.
    pub(crate) const fn is_armed(&self) -> bool {
        self.armed.is_some()
    }

    /// Makes sure that it fires at `due` or before.
    #[inline]
    pub(crate) fn arm(&mut self, runtime: &R, due: Option<Timestamp>) {
        if let Some(due) = due.filter(|due| self.armed.is_none_or(|armed| *due < armed)) {
            match &mut self.timer {
                Some(timer) => timer.reset(due),
                None => self.timer = Some(runtime.timer(due)),
            }
            self.armed = Some(due);
        }
    }

    /// True if it fired: once for each time it was armed. While it is armed the task of `context` is woken then.
    #[inline]
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> bool {
        if self.armed.is_none() {
            return false;
        }
        let has_fired = self.timer.as_mut().is_none_or(|timer| timer.poll(context).is_ready());
        if has_fired {
            self.armed = None;
        }
        has_fired
    }

    /// Gives back the memory of a timer that is not set.
    pub(crate) fn release(&mut self) {
        if self.armed.is_none() {
            self.timer = None;
        }
    }
}
