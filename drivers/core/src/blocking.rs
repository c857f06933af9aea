//! Calls for plain threads: the same futures, driven by parking the thread. Refused inside handlers (O-03).

use crate::error::{Error, Family};
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;
use zlink_proto::error::{ErrorKind, Failure};

thread_local! {
    static IS_IN_HANDLER: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread as one that runs a handler, until it is dropped.
pub(crate) struct HandlerMark {
    was: bool,
}

impl HandlerMark {
    pub(crate) fn new() -> Self {
        Self { was: IS_IN_HANDLER.replace(true) }
    }
}

impl Drop for HandlerMark {
    fn drop(&mut self) {
        IS_IN_HANDLER.set(self.was);
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for the end of a call on this thread. The runtime of the socket has to run on others.
pub(crate) fn block_on<T>(
    family: Family,
    target: &str,
    call: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    if IS_IN_HANDLER.get() {
        let failure = Failure::not_submitted(ErrorKind::InvalidOperation, "a blocking call inside a handler");
        return Err(Error::new(failure, family, target, Duration::ZERO));
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut call = pin!(call);
    loop {
        match call.as_mut().poll(&mut context) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o03_a_blocking_call_inside_a_handler_ends_at_once() {
        let call = || block_on(Family::Send, "any peer", std::future::ready(Ok(7)));
        assert_eq!(call().expect("a plain thread"), 7);
        {
            let _outer = HandlerMark::new();
            drop(HandlerMark::new());
            assert_eq!(call().expect_err("inside").kind(), ErrorKind::InvalidOperation);
        }
        assert_eq!(call().expect("outside again"), 7);
    }
}
