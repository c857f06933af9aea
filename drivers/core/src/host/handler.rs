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

/// The handlers of one channel.
pub(crate) struct Handlers<R> {
    /// Sorted by kind and name.
    named: Vec<Named>,
    handlers: Vec<Arc<dyn Handler<R>>>,
    fallback_send: Option<usize>,
    fallback_request: Option<usize>,
}

struct Named {
    is_request: bool,
    packet: Box<str>,
    index: usize,
}

impl<R> Default for Handlers<R> {
    fn default() -> Self {
        Self { named: Vec::new(), handlers: Vec::new(), fallback_send: None, fallback_request: None }
    }
}

impl<R> Handlers<R> {
    /// Adds a handler; false if there is one for this packet name and kind (H-06).
    pub(crate) fn add(&mut self, is_request: bool, packet: &str, handler: Arc<dyn Handler<R>>) -> bool {
        let Err(place) = self.position(is_request, packet) else { return false };
        self.handlers.push(handler);
        let index = self.handlers.len() - 1;
        self.named.insert(place, Named { is_request, packet: packet.into(), index });
        true
    }

    /// Sets the handler of all other packet names of a kind; false if there is one.
    pub(crate) fn set_fallback(&mut self, is_request: bool, handler: Arc<dyn Handler<R>>) -> bool {
        let fallback = if is_request { &mut self.fallback_request } else { &mut self.fallback_send };
        if fallback.is_some() {
            return false;
        }
        self.handlers.push(handler);
        *fallback = Some(self.handlers.len() - 1);
        true
    }

    fn position(&self, is_request: bool, packet: &str) -> Result<usize, usize> {
        self.named.binary_search_by(|named| (named.is_request, &*named.packet).cmp(&(is_request, packet)))
    }

    /// The handler of a packet, as its index.
    pub(crate) fn find(&self, is_request: bool, packet: &str) -> Option<usize> {
        match self.position(is_request, packet) {
            Ok(place) => self.named.get(place).map(|named| named.index),
            Err(_) if is_request => self.fallback_request,
            Err(_) => self.fallback_send,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.handlers.len()
    }

    /// A place for the futures of handler `index`.
    pub(crate) fn place(&self, index: usize) -> Option<Box<dyn Place<R>>> {
        self.handlers.get(index).map(|handler| Arc::clone(handler).place())
    }

    /// Names that are not legal (H-06).
    pub(crate) fn illegal_name(&self) -> Option<&str> {
        let is_text = |text: &str| (1..=255).contains(&text.len()) && !text.contains('\0');
        self.named.iter().map(|named| &*named.packet).find(|packet| !is_text(packet))
    }
}
