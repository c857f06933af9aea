//! Rights to answer of running handlers: each is claimed once (O-60), and dies with its requester (O-47).
//!
//! ```text
//!  token: Open ──first valid terminator──▶ Claimed (gone from here) ──accepted──▶ Sent
//!           └── requester gone: the handler is told once; a claim still succeeds, its reply ends Unavailable
//! ```

use crate::host::SourceId;
use crate::transport::ReplyToken;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Signals that nobody took. Beyond, the oldest is not told: its handler's reply ends `Unavailable` all the same.
const GONE_MAX: usize = 65_536;

/// The right to answer one request that a handler runs for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReplyId {
    /// Place: small and dense, so that a driver can keep its waker in a vector.
    pub slot: u32,
    /// Never used again.
    pub serial: u64,
}

/// Why an answer was not attempted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimError {
    /// Answered before: `InvalidOperation` (O-60).
    Claimed,
    /// Above the limit of its connection: `InvalidOperation`; the right stays (S-37).
    TooLarge,
}

#[derive(Debug)]
struct Open {
    serial: u64,
    source: SourceId,
    token: Option<ReplyToken>,
    is_gone: bool,
}

/// All running requests of a host.
#[derive(Debug, Default)]
pub(super) struct Replies {
    places: Vec<Option<Open>>,
    free: Vec<u32>,
    next_serial: u64,
    /// Requesters that left, to be told to their handlers.
    gone: VecDeque<ReplyId>,
}

impl Replies {
    /// `is_gone`: the requester left before the handler began.
    pub(super) fn open(&mut self, source: SourceId, token: ReplyToken, is_gone: bool) -> ReplyId {
        let serial = self.next_serial;
        self.next_serial += 1;
        let open = Some(Open { serial, source, token: Some(token), is_gone });
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.places.push(None);
                (self.places.len() - 1) as u32
            }
        };
        if let Some(place) = self.places.get_mut(slot as usize) {
            *place = open;
        }
        ReplyId { slot, serial }
    }

    fn find(&self, id: ReplyId) -> Option<&Open> {
        self.places.get(id.slot as usize)?.as_ref().filter(|open| open.serial == id.serial)
    }

    /// The connection on which the request came, while it is not answered.
    pub(super) fn source(&self, id: ReplyId) -> Option<SourceId> {
        self.find(id).map(|open| open.source)
    }

    /// The first one gets it.
    pub(super) fn claim(&mut self, id: ReplyId) -> Option<(SourceId, ReplyToken)> {
        self.find(id)?;
        let mut open = self.places.get_mut(id.slot as usize)?.take()?;
        self.free.push(id.slot);
        open.token.take().map(|token| (open.source, token))
    }

    pub(super) fn is_gone(&self, id: ReplyId) -> bool {
        self.find(id).is_some_and(|open| open.is_gone)
    }

    /// All handlers that answer this connection are told, once.
    pub(super) fn leave(&mut self, source: SourceId) {
        self.tell(|open| open.source == source);
    }

    fn tell(&mut self, concerns: impl Fn(&Open) -> bool) {
        for (slot, place) in (0..).zip(&mut self.places) {
            let Some(open) = place.as_mut().filter(|open| !open.is_gone && concerns(open)) else { continue };
            open.is_gone = true;
            if self.gone.len() >= GONE_MAX {
                self.gone.pop_front();
            }
            self.gone.push_back(ReplyId { slot, serial: open.serial });
        }
    }

    /// The host stops: every handler is told, and what was not answered is given to `answer`.
    pub(super) fn stop(&mut self, mut answer: impl FnMut(SourceId, ReplyToken)) {
        self.tell(|_| true);
        for (slot, place) in (0..).zip(&mut self.places) {
            if let Some(Open { source, token: Some(token), .. }) = place.take() {
                self.free.push(slot);
                answer(source, token);
            }
        }
    }

    /// A handler to tell that its requester left. One that has answered meanwhile is not told.
    pub(super) fn poll_gone(&mut self) -> Option<ReplyId> {
        self.gone.pop_front()
    }

    pub(super) fn open_count(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(super) fn check_invariants(&self) {
        assert_eq!(self.places.iter().flatten().count(), self.open_count(), "free places are listed");
    }
}
