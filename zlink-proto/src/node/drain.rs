//! Handlers: start, terminal, answer (H-73, H-74, O-47, O-60, O-61).

use super::action::{Action, note_reply};
use super::desk::SocketSide;
use super::{ClaimError, HostSide, Job, ReplyId, Started};
use crate::error::Failure;
use crate::host::{self, Drain, ReplyResult, Running, SocketKey};
use crate::message::Body;
use crate::time::Timestamp;
use crate::transport::{ReplyToken, Socket};
use crate::wire::service::ReplyRecord;
use alloc::boxed::Box;

/// The right to answer, taken by the first terminator: what it is given to is [`send_reply`], in a section on its socket.
#[derive(Debug)]
#[must_use]
pub struct Claimed {
    /// Where the requester is.
    pub socket: SocketKey,
    /// Its request.
    pub token: ReplyToken,
}

impl HostSide {
    /// Begins a drain: its first job. `None`: the drain is over.
    #[inline]
    pub fn start(&mut self, drain: Drain, clock: impl Fn() -> Timestamp) -> Option<Started> {
        let job = self.host.start(drain, clock)?;
        Some(self.begin(job))
    }

    /// A handler's terminal, then the next job. `None`: the drain is over; if only its slice is, `poll_ready` gives the owner again.
    #[inline]
    pub fn next(&mut self, ended: Running, clock: impl Fn() -> Timestamp) -> Option<Started> {
        let job = self.host.next(ended, clock)?;
        Some(self.begin(job))
    }

    #[inline]
    fn begin(&mut self, job: host::Job<Box<Job>>) -> Started {
        let host::Job { payload: mut job, number, running } = job;
        let reply = job.token.take().map(|token| {
            let session = self.role(job.source.socket).and_then(|role| role.sessions.get(job.source.set));
            let is_gone = session.is_none_or(|session| !session.is_live());
            self.replies.open(job.source, token, is_gone)
        });
        Started { job, number, running, reply }
    }

    /// Takes the right to answer with `bytes` in all parts of the reply; only the first one gets it (O-60).
    ///
    /// # Errors
    /// It was claimed before, or the answer is too large for its connection, and then the right stays.
    #[inline]
    pub fn claim_reply(&mut self, id: ReplyId, bytes: u64) -> Result<Claimed, ClaimError> {
        let source = self.replies.source(id).ok_or(ClaimError::Claimed)?;
        let session = self.role(source.socket).and_then(|role| role.sessions.get(source.set));
        if session.is_some_and(|session| bytes > session.message_bytes_max) {
            return Err(ClaimError::TooLarge);
        }
        let (source, token) = self.replies.claim(id).ok_or(ClaimError::Claimed)?;
        Ok(Claimed { socket: source.socket, token })
    }

    /// A handler ended without an answer, for this reason (O-61): `run_actions` tells the requester. False: it was answered before.
    pub fn fail_reply(&mut self, id: ReplyId, result: ReplyResult) -> bool {
        let Some((source, token)) = self.replies.claim(id) else { return false };
        if let Some(role) = self.role_mut(source.socket) {
            role.actions.push(Action::Answer { token, result });
        }
        true
    }

    /// True if the requester of a running handler left, or the host stopped it (O-47).
    pub fn is_requester_gone(&self, id: ReplyId) -> bool {
        self.replies.is_gone(id)
    }

    /// A handler whose requester left, once each. It may have answered meanwhile.
    pub fn poll_gone(&mut self) -> Option<ReplyId> {
        self.replies.poll_gone()
    }

    /// Requests whose handlers run and have not answered.
    pub fn open_replies(&self) -> usize {
        self.replies.open_count()
    }
}

/// Answers a request with `names` (packet name and content type, those of the request as a rule) and a payload. The reply may wait for
/// room; nobody has to wait for its end (O-62).
///
/// # Errors
/// `Unavailable` if the requester is gone, `DeadlineExceeded` if too many replies wait.
#[inline]
pub fn send_reply(
    socket: &mut Socket,
    desk: &mut SocketSide,
    token: ReplyToken,
    names: &[u8],
    payload: Body<'_>,
    clock: impl FnOnce() -> Timestamp,
) -> Result<(), Failure> {
    let mut record = ReplyRecord::ok(token.sequence(), names, payload);
    let submitted = socket.reply(token, &mut record, clock);
    let failure = submitted.err();
    note_reply(desk, submitted);
    failure.map_or(Ok(()), Err)
}
