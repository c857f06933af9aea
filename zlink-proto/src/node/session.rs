//! Admission per lane set (S-30 to S-38).
//!
//! ```text
//!  Connected ─hello, admit─▶ Admitted ─fault, missed probe, loss─▶ Ending ─last record taken─▶ (gone)
//!      └─reject, or 5 s without answer─────────────────────────────▲
//! ```

use crate::id::{EndpointId, RoutingId, SetId};
use crate::wire::Record;
use alloc::vec::Vec;

#[derive(Debug)]
pub(super) struct Session {
    pub(super) set: SetId,
    pub(super) peer: RoutingId,
    /// Our endpoint, if we connected.
    pub(super) endpoint: Option<EndpointId>,
    pub(super) state: SessionState,
    /// The set ended: what it left is still delivered (N-24).
    is_lost: bool,
    /// Client: the server says that it is serving (S-38).
    is_serving: bool,
    /// Largest record of this set, 0 before admission (S-37).
    pub(super) message_bytes_max: u64,
    /// Where the last packet name was found; a hint.
    pub(super) route: usize,
}

#[derive(Debug)]
pub(super) enum SessionState {
    /// Hello or its answer is expected.
    Connected,
    /// Records may flow. Client: what the server last said of itself.
    Admitted(Option<Record>),
    /// Rejected, or at fault: what is left of it is not looked at.
    Ending,
}

impl Session {
    /// Its records are for applications.
    #[inline]
    pub(super) const fn is_admitted(&self) -> bool {
        matches!(self.state, SessionState::Admitted(_))
    }

    /// Admitted, and its connection lives.
    pub(super) const fn is_live(&self) -> bool {
        self.is_admitted() && !self.is_lost
    }

    /// S-38, as far as this side knows.
    pub(super) const fn is_ready(&self) -> bool {
        self.is_live() && self.is_serving
    }
}

/// The sessions of one socket, by place of their set.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    places: Vec<Option<Session>>,
    live: u32,
    ready: u32,
}

impl Sessions {
    pub(super) fn open(&mut self, set: SetId, peer: RoutingId, endpoint: Option<EndpointId>) {
        let place = set.slot as usize;
        if self.places.len() <= place {
            self.places.resize_with(place + 1, || None);
        }
        self.take_place(place);
        if let Some(entry) = self.places.get_mut(place) {
            *entry = Some(Session {
                set,
                peer,
                endpoint,
                state: SessionState::Connected,
                is_lost: false,
                is_serving: false,
                message_bytes_max: 0,
                route: 0,
            });
        }
    }

    #[inline]
    pub(super) fn get(&self, set: SetId) -> Option<&Session> {
        self.places.get(set.slot as usize)?.as_ref().filter(|session| session.set == set)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, set: SetId) -> Option<&mut Session> {
        self.places.get_mut(set.slot as usize)?.as_mut().filter(|session| session.set == set)
    }

    /// Changes a session and keeps the counts.
    fn change<T>(&mut self, set: SetId, change: impl FnOnce(&mut Session) -> T) -> Option<T> {
        let session =
            self.places.get_mut(set.slot as usize)?.as_mut().filter(|session| session.set == set)?;
        let (was_live, was_ready) = (session.is_live(), session.is_ready());
        let result = change(session);
        self.live = self.live + u32::from(session.is_live()) - u32::from(was_live);
        self.ready = self.ready + u32::from(session.is_ready()) - u32::from(was_ready);
        Some(result)
    }

    /// Admits a set, or takes what its server says of itself now.
    pub(super) fn admit(&mut self, set: SetId, descriptor: Option<Record>, is_serving: bool) {
        self.change(set, |session| {
            session.state = SessionState::Admitted(descriptor);
            session.is_serving = is_serving;
        });
    }

    /// Nothing of this set is looked at any more.
    pub(super) fn end(&mut self, set: SetId) {
        self.change(set, |session| session.state = SessionState::Ending);
    }

    /// The set ended.
    pub(super) fn lose(&mut self, set: SetId) {
        self.change(set, |session| session.is_lost = true);
    }

    /// Nothing is left of the set.
    pub(super) fn remove(&mut self, set: SetId) {
        if self.get(set).is_some() {
            self.take_place(set.slot as usize);
        }
    }

    fn take_place(&mut self, place: usize) {
        if let Some(session) = self.places.get_mut(place).and_then(Option::take) {
            self.live -= u32::from(session.is_live());
            self.ready -= u32::from(session.is_ready());
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Session> {
        self.places.iter().flatten()
    }

    /// Admitted sessions whose connection lives.
    pub(super) const fn live_count(&self) -> u32 {
        self.live
    }

    /// Those of them whose server is serving.
    pub(super) const fn ready_count(&self) -> u32 {
        self.ready
    }

    pub(super) fn check_invariants(&self) {
        let count = |is: fn(&Session) -> bool| self.iter().filter(|session| is(session)).count();
        assert_eq!(count(Session::is_live), self.live as usize, "live sessions are counted");
        assert_eq!(count(Session::is_ready), self.ready as usize, "ready sessions are counted");
    }
}
