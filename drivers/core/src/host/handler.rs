//! Handlers by packet name, and the places in which their futures run: one for each handler and worker, used again by each turn.

use super::context::Context;
use super::message::{HandlerError, Incoming, Reply};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};

/// What a handler ended with: a reply if it answers requests.
pub(crate) type Outcome = Result<Option<Reply>, HandlerError>;

/// Makes places for the futures of one handler.
pub(crate) trait Handler<R>: Send + Sync {
    fn place(self: Arc<Self>) -> Box<dyn Place<R>>;
}

/// A place in which one future of one handler runs at a time.
pub(crate) trait Place<R>: Send {
    /// Calls the handler. Whatever ran here before is gone.
    fn start(&mut self, context: Context<R>, message: Incoming);

    /// Runs it. Pending if nothing was started.
    fn poll(&mut self, context: &mut task::Context<'_>) -> Poll<Outcome>;

    /// Drops the future.
    fn clear(&mut self);
}

/// One-way or request.
pub(crate) trait Answer: 'static {
    type Value;
    fn reply(value: Self::Value) -> Option<Reply>;
}

pub(crate) struct OneWay;

impl Answer for OneWay {
    type Value = ();
    fn reply((): ()) -> Option<Reply> {
        None
    }
}

pub(crate) struct Answers;

impl Answer for Answers {
    type Value = Reply;
    fn reply(reply: Reply) -> Option<Reply> {
        Some(reply)
    }
}

struct Function<F, A> {
    call: F,
    kind: std::marker::PhantomData<fn() -> A>,
}

/// A handler made of a function.
pub(crate) fn handler<R, A, F, T>(call: F) -> Arc<dyn Handler<R>>
where
    R: 'static,
    A: Answer,
    F: Fn(Context<R>, Incoming) -> T + Send + Sync + 'static,
    T: Future<Output = Result<A::Value, HandlerError>> + Send + 'static,
{
    Arc::new(Function::<F, A> { call, kind: std::marker::PhantomData })
}

impl<R, A, F, T> Handler<R> for Function<F, A>
where
    R: 'static,
    A: Answer,
    F: Fn(Context<R>, Incoming) -> T + Send + Sync + 'static,
    T: Future<Output = Result<A::Value, HandlerError>> + Send + 'static,
{
    fn place(self: Arc<Self>) -> Box<dyn Place<R>> {
        Box::new(FunctionPlace { function: self, future: Box::pin(None) })
    }
}

struct FunctionPlace<F, A, T> {
    function: Arc<Function<F, A>>,
    future: Pin<Box<Option<T>>>,
}

impl<R, A, F, T> Place<R> for FunctionPlace<F, A, T>
where
    R: 'static,
    A: Answer,
    F: Fn(Context<R>, Incoming) -> T + Send + Sync + 'static,
    T: Future<Output = Result<A::Value, HandlerError>> + Send + 'static,
{
    fn start(&mut self, context: Context<R>, message: Incoming) {
        self.future.set(Some((self.function.call)(context, message)));
    }

    fn poll(&mut self, context: &mut task::Context<'_>) -> Poll<Outcome> {
        match self.future.as_mut().as_pin_mut() {
            Some(future) => future.poll(context).map(|result| result.map(A::reply)),
            None => Poll::Pending,
        }
    }

    fn clear(&mut self) {
        self.future.set(None);
    }
}

/// The handlers of one channel: jobs name them by their numbers.
pub(crate) struct Handlers<R> {
    handlers: Vec<Arc<dyn Handler<R>>>,
}

impl<R> Default for Handlers<R> {
    fn default() -> Self {
        Self { handlers: Vec::new() }
    }
}

impl<R> Handlers<R> {
    /// Adds a handler and returns its number.
    pub(crate) fn add(&mut self, handler: Arc<dyn Handler<R>>) -> u32 {
        self.handlers.push(handler);
        (self.handlers.len() - 1) as u32
    }

    pub(crate) fn len(&self) -> usize {
        self.handlers.len()
    }

    /// A place for the futures of a handler.
    pub(crate) fn place(&self, number: usize) -> Option<Box<dyn Place<R>>> {
        self.handlers.get(number).map(|handler| Arc::clone(handler).place())
    }
}
