//! Workers run the handlers of one owner: a job, its handler's future in a place that is used again, its answer, the next job.

use super::context::{Context, TurnState};
use super::handler::{Handlers, Outcome, Place};
use super::message::{Incoming, Reply};
use super::shared::HostShared;
use crate::blocking::HandlerMark;
use crate::runtime::Runtime;
use crate::socket::call::{Address, Step, Wait};
use crate::socket::shared::Shared;
use crate::error::Family;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};
use zlink_proto::host::{Job, OwnerId, ReplyResult, Running, SocketKey};
use zlink_proto::message::{Body, Outgoing};
use zlink_proto::node;
use zlink_proto::time::Timestamp;
use zlink_proto::transport::ReplyToken;
use zlink_proto::wire::service::ReplyRecord;

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
}

/// What is left of a request while its handler runs. Its buffer is used again.
#[derive(Default)]
struct Request {
    token: Option<ReplyToken>,
    sequence: u64,
    names: Vec<u8>,
}

enum State {
    /// Nothing to do.
    Sleeps,
    /// The handler runs.
    Runs { running: Running, handler: usize, is_noted: bool },
    /// Its reply waits for room.
    Replies { running: Running, wait: Wait },
    /// The host stopped.
    Over,
}

/// What a worker does next.
enum Next {
    Job(Job<node::Job>),
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
        }
    }

    /// The end of `ended`, if something ran, and what comes next.
    #[inline]
    fn next(&mut self, ended: Option<Running>, context: &task::Context<'_>) -> Next {
        let Self { host, owner, place, turn, .. } = self;
        let runtime = &host.runtime;
        let clock = || runtime.now();
        host.job_section(|locked| {
            let mut job = ended.and_then(|ended| locked.side.host_mut().next(ended, clock));
            if job.is_none() {
                // Its drain is over; a new one may wait already.
                let drain = locked.worker(*owner, *place).and_then(|worker| worker.drain.take());
                job = drain.and_then(|drain| locked.side.host_mut().start(drain, clock));
            }
            locked.task.is_called |= locked.is_draining;
            let source = job.as_ref().filter(|job| job.payload.is_request()).map(|job| job.payload.source());
            let is_gone = source.is_some_and(|source| !locked.side.is_peer_live(source));
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
            worker.turn = source.map(|source| (source, Arc::clone(turn)));
            Next::Job(job)
        })
    }

    /// Calls the handler of a job. Without one the job ends here.
    fn start(&mut self, job: Job<node::Job>) -> Result<(), Running> {
        let Job { mut payload, running, .. } = job;
        let is_request = payload.is_request();
        self.request.token = payload.take_token();
        let Some(handler) = self.handlers.find(is_request, payload.packet()) else {
            self.refuse(ReplyResult::HANDLER_NOT_FOUND, "no_handler");
            return Err(running);
        };
        if is_request {
            self.request.sequence = payload.sequence();
            self.request.names.clear();
            self.request.names.extend_from_slice(payload.names());
        }
        let Some(place) = self.places.get_mut(handler) else { return Err(running) };
        if place.is_none() {
            *place = self.handlers.place(handler);
        }
        let context = Context::new(&self.turn);
        let started = catch_unwind(AssertUnwindSafe(|| {
            let _mark = HandlerMark::new();
            if let Some(place) = place {
                place.start(context, Incoming::new(payload));
            }
        }));
        if started.is_err() {
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
        let Some(place) = self.places.get_mut(handler).and_then(Option::as_mut) else { return Poll::Ready(None) };
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let _mark = HandlerMark::new();
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

    /// What the handler ended with. Some: its reply waits for room.
    fn finish(&mut self, outcome: Option<Outcome>, context: &task::Context<'_>) -> Option<Wait> {
        match outcome {
            Some(Ok(Some(reply))) => return self.reply(&reply, context),
            Some(Ok(None)) => {}
            Some(Err(error)) => self.failed(&error.to_string()),
            None => self.failed("panicked"),
        }
        None
    }

    /// A handler failed: its requester gets 105/17, its text stays here (O-61, O-85, O-92).
    #[cold]
    fn failed(&mut self, reason: &str) {
        tracing::warn!(target: "zlink.dispatch_error", reason = "handler_exception", detail = reason);
        self.refuse(ReplyResult::REQUEST_FAILED, "handler_exception");
    }

    /// Answers a request without a payload; a one-way is observed.
    #[cold]
    fn refuse(&mut self, result: ReplyResult, reason: &'static str) {
        let Some(token) = self.request.token.take() else {
            tracing::warn!(target: "zlink.dispatch_error", reason, action = "drop");
            return;
        };
        let Some(socket) = self.socket() else { return };
        let mut record = ReplyRecord::failed(token.sequence(), result.result, result.code);
        let runtime = &socket.runtime;
        // The token ends either way; the requester's own deadline covers the rest.
        let _ = socket.section(|locked| locked.socket.reply(token, &mut record, || runtime.now()));
    }

    fn reply(&mut self, reply: &Reply, context: &task::Context<'_>) -> Option<Wait> {
        let token = self.request.token.take()?;
        let socket = self.socket()?;
        let names = &self.request.names;
        let set = token.set();
        let mut record = ReplyRecord::ok(self.request.sequence, names, Body::Shared(reply.payload()));
        let bytes: u64 = (0..record.part_count()).map(|index| record.part(index).len() as u64).sum();
        let mut since = Timestamp::ZERO;
        let step = socket.submit(|locked| {
            // A reply that is too large is the handler's failure (O-60).
            if locked.socket.message_limit(set).is_some_and(|limit| bytes > limit) {
                let ReplyResult { result, code } = ReplyResult::REQUEST_FAILED;
                record = ReplyRecord::failed(token.sequence(), result, code);
            }
            let runtime = &socket.runtime;
            let submitted = locked.socket.reply(token, &mut record, || {
                since = runtime.now();
                since
            });
            locked.conclude(submitted, &record, since, context)
        });
        match step {
            Ok(Step::Done { .. }) => None,
            Ok(Step::Waits(wait)) => Some(wait),
            Err(failure) => {
                tracing::debug!(target: "zlink.message_flow", phase = "replied", outcome = "failed", %failure);
                None
            }
        }
    }

    fn socket(&mut self) -> Option<Arc<Shared<R>>> {
        if self.socket.is_none() {
            self.socket = self.host.socket(self.socket_key);
        }
        self.socket.clone()
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
                    Poll::Ready(outcome) => match this.finish(outcome, context) {
                        Some(wait) => {
                            this.state = State::Replies { running, wait };
                            continue;
                        }
                        None => Some(running),
                    },
                },
                State::Replies { running, wait } => {
                    let Some(socket) = this.socket() else { return Poll::Ready(()) };
                    match wait.poll(&socket, context) {
                        Poll::Pending => {
                            this.state = State::Replies { running, wait };
                            return Poll::Pending;
                        }
                        Poll::Ready(outcome) => {
                            let address = Address::channel("requester", Family::Reply);
                            // The requester learns it from its own deadline or error reply; observed here.
                            if let Err(error) = wait.end_send(&socket, outcome, address) {
                                tracing::debug!(target: "zlink.message_flow", phase = "replied", outcome = "failed", %error);
                            }
                            Some(running)
                        }
                    }
                }
            };
            if !this.take_job(ended, context) {
                let is_over = matches!(this.state, State::Over);
                return if is_over { Poll::Ready(()) } else { Poll::Pending };
            }
        }
    }
}

impl<R: Runtime> Drop for Worker<R> {
    /// A request whose answer never came tells its requester.
    fn drop(&mut self) {
        if let Some(token) = self.request.token.take() {
            if let Some(socket) = self.socket() {
                socket.section(|locked| locked.socket.drop_token(token));
            }
        }
    }
}
