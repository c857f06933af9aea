//! Workers run the handlers of one owner: a job, its handler's future in a place that is used again, its answer, the next job.

use super::context::{Context, TurnState};
use super::handler::{Handlers, Outcome, Place};
use super::message::{Incoming, Reply};
use super::shared::HostShared;
use crate::blocking::HandlerMark;
use crate::runtime::Runtime;
use crate::socket::shared::Shared;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};
use zlink_proto::host::{OwnerId, ReplyResult, Running, SocketKey};
use zlink_proto::message::Body;
use zlink_proto::node::{ClaimError, Claimed, Job, ReplyId, Started, send_reply};

/// Runs jobs of one owner one after the other; sleeps without work. One turn of its owner's concurrency.
pub(crate) struct Worker<R: Runtime> {
    host: Arc<HostShared<R>>,
    handlers: Arc<Handlers<R>>,
    socket_key: SocketKey,
    socket: Option<Arc<Shared<R>>>,
    owner: OwnerId,
    place: usize,
    /// By index of the handler.
    places: Vec<Option<Box<dyn Place<R>>>>,
    turn: Arc<TurnState>,
    state: State,
    request: Request,
    /// The box of the job that runs, to be given back.
    spare: Option<Box<Job>>,
}

/// What is left of a request while its handler runs. Its buffer is used again.
#[derive(Default)]
struct Request {
    reply: Option<ReplyId>,
    names: Vec<u8>,
}

/// Bytes of a reply beside names and payload: its head, and the numbers of its envelope.
const REPLY_OVERHEAD: u64 = 21 + 9;

enum State {
    /// Nothing to do.
    Sleeps,
    /// The handler runs.
    Runs { running: Running, handler: usize, is_noted: bool },
    /// The host stopped.
    Over,
}

/// What a worker does next.
enum Next {
    Job(Started),
    Sleep,
    Over,
}

impl<R: Runtime> Worker<R> {
    pub(crate) fn new(
        host: Arc<HostShared<R>>,
        handlers: Arc<Handlers<R>>,
        socket_key: SocketKey,
        owner: OwnerId,
        place: usize,
    ) -> Self {
        let places = (0..handlers.len()).map(|_| None).collect();
        Self {
            host,
            handlers,
            socket_key,
            socket: None,
            owner,
            place,
            places,
            turn: Arc::default(),
            state: State::Sleeps,
            request: Request::default(),
            spare: None,
        }
    }

    /// The end of `ended`, if something ran, and what comes next.
    #[inline]
    fn next(&mut self, ended: Option<Running>, context: &task::Context<'_>) -> Next {
        let Self { host, owner, place, turn, spare, .. } = self;
        let runtime = &host.runtime;
        let clock = || runtime.now();
        host.job_section(|locked| {
            if let Some(job) = spare.take() {
                locked.side.recycle(job);
            }
            let mut job = ended.and_then(|ended| locked.side.next(ended, clock));
            if job.is_none() {
                // Its drain is over; a new one may wait already.
                let drain = locked.worker(*owner, *place).and_then(|worker| worker.drain.take());
                job = drain.and_then(|drain| locked.side.start(drain, clock));
            }
            locked.task.is_called |= locked.is_draining;
            let reply = job.as_ref().and_then(|job| job.reply);
            let is_gone = reply.is_some_and(|reply| locked.side.is_requester_gone(reply));
            let is_stopped = locked.report.is_some();
            let Some(worker) = locked.worker(*owner, *place) else { return Next::Over };
            worker.turn = None;
            let Some(job) = job else {
                if is_stopped {
                    return Next::Over;
                }
                worker.is_busy = false;
                worker.waker = Some(context.waker().clone());
                return Next::Sleep;
            };
            if Arc::strong_count(turn) > 1 {
                // A handler kept its context: it goes on showing its own turn.
                *turn = Arc::default();
            }
            turn.reset(is_gone);
            worker.turn = reply.map(|reply| (reply, Arc::clone(turn)));
            Next::Job(job)
        })
    }

    /// Calls the handler of a job; if that panics the job ends here.
    fn start(&mut self, started: Started) -> Result<(), Running> {
        let Started { mut job, running, reply, .. } = started;
        self.request.reply = reply;
        if reply.is_some() {
            self.request.names.clear();
            self.request.names.extend_from_slice(job.names());
        }
        let handler = job.handler() as usize;
        let Some(place) = self.places.get_mut(handler) else { return Err(running) };
        if place.is_none() {
            *place = self.handlers.place(handler);
        }
        let context = Context::new(&self.turn);
        let content = job.take_content();
        self.spare = Some(job);
        let called = catch_unwind(AssertUnwindSafe(|| {
            if let Some(place) = place {
                place.start(context, Incoming::new(content));
            }
        }));
        if called.is_err() {
            self.failed("panicked");
            return Err(running);
        }
        self.state = State::Runs { running, handler, is_noted: false };
        Ok(())
    }

    /// Takes jobs until a handler runs. False: there is none.
    fn take_job(&mut self, mut ended: Option<Running>, context: &task::Context<'_>) -> bool {
        loop {
            let job = match self.next(ended, context) {
                Next::Job(job) => job,
                Next::Sleep => {
                    self.state = State::Sleeps;
                    return false;
                }
                Next::Over => {
                    self.state = State::Over;
                    return false;
                }
            };
            match self.start(job) {
                Ok(()) => return true,
                Err(running) => ended = Some(running),
            }
        }
    }

    /// Runs the handler's future; its place is free again afterwards, also if it panicked (H-80).
    #[inline]
    fn run(&mut self, handler: usize, context: &mut task::Context<'_>) -> Poll<Option<Outcome>> {
        let Some(place) = self.places.get_mut(handler).and_then(Option::as_mut) else {
            return Poll::Ready(None);
        };
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let polled = place.poll(context);
            if polled.is_ready() {
                place.clear();
            }
            polled
        }));
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(outcome)) => Poll::Ready(Some(outcome)),
            Err(_) => {
                // What its drop may throw as well is of no interest any more.
                let _ = catch_unwind(AssertUnwindSafe(|| place.clear()));
                Poll::Ready(None)
            }
        }
    }

    /// What the handler ended with.
    #[inline]
    fn finish(&mut self, outcome: Option<Outcome>) {
        match outcome {
            Some(Ok(Some(reply))) => self.reply(&reply),
            Some(Ok(None)) => {}
            Some(Err(error)) => {
                // Text and drop of an error are the application's code too.
                let text = catch_unwind(AssertUnwindSafe(move || error.to_string()));
                self.failed(text.as_deref().unwrap_or("panicked"));
            }
            None => self.failed("panicked"),
        }
    }

    /// A handler failed: its requester gets 105/17, its text stays here (O-61, O-85, O-92).
    #[cold]
    fn failed(&mut self, reason: &str) {
        tracing::warn!(target: "zlink.dispatch_error", reason = "handler_exception", detail = reason);
        if let Some(reply) = self.request.reply.take() {
            self.host.section(|locked| locked.side.fail_reply(reply, ReplyResult::REQUEST_FAILED));
        }
    }

    /// The right to answer is claimed first, and used in a section of its own (O-60). A reply that has to wait for room waits there.
    fn reply(&mut self, reply: &Reply) {
        let Some(id) = self.request.reply.take() else { return };
        let bytes = (self.request.names.len() + reply.payload().len()) as u64 + REPLY_OVERHEAD;
        let token = match self.host.job_section(|locked| locked.side.claim_reply(id, bytes)) {
            Ok(Claimed { token, .. }) => token,
            Err(ClaimError::TooLarge) => {
                self.request.reply = Some(id);
                return self.failed("the reply is above the message size limit");
            }
            // The host stopped meanwhile, and told the requester.
            Err(ClaimError::Claimed) => return,
        };
        if self.socket.is_none() {
            self.socket = self.host.socket(self.socket_key);
        }
        let Some(socket) = &self.socket else { return };
        let names = &self.request.names;
        let sent = socket.submit(|locked| {
            let Some(side) = &mut locked.side else { return (Ok(()), true) };
            let body = Body::Shared(reply.payload());
            let clock = || socket.runtime.now();
            (send_reply(&mut locked.socket, side, token, names, body, clock), true)
        });
        if let Err(failure) = sent {
            tracing::debug!(target: "zlink.message_flow", phase = "replied", outcome = "failed", %failure);
        }
    }

    /// The handler returned pending for the first time: status shows how long it runs (M-38).
    #[cold]
    fn note_pending(&self, running: &mut Running) {
        let now = self.host.runtime.now();
        self.host.job_section(|locked| locked.side.host_mut().pending(running, now));
    }
}

impl<R: Runtime> Future for Worker<R> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let _mark = HandlerMark::new();
        loop {
            let ended = match std::mem::replace(&mut this.state, State::Over) {
                State::Over => return Poll::Ready(()),
                State::Sleeps => None,
                State::Runs { mut running, handler, is_noted } => match this.run(handler, context) {
                    Poll::Pending => {
                        if !is_noted {
                            this.note_pending(&mut running);
                        }
                        this.state = State::Runs { running, handler, is_noted: true };
                        return Poll::Pending;
                    }
                    Poll::Ready(outcome) => {
                        this.finish(outcome);
                        Some(running)
                    }
                },
            };
            if !this.take_job(ended, context) {
                let is_over = matches!(this.state, State::Over);
                return if is_over { Poll::Ready(()) } else { Poll::Pending };
            }
        }
    }
}

impl<R: Runtime> Drop for Worker<R> {
    /// The executor ended while a handler ran: its requester is told.
    fn drop(&mut self) {
        if let Some(reply) = self.request.reply.take() {
            self.host.section(|locked| locked.side.fail_reply(reply, ReplyResult::REQUEST_FAILED));
        }
    }
}
