//! Admission per lane set (S-30 to S-38).
//!
//! ```text
//!  Connected ─hello sent or received─▶ Pending ─admit─▶ Admitted ─fault, missed probe, loss─▶ (gone)
//!                                         └─reject, or too late (the socket's clock)─▶ (gone)
//! ```

use crate::id::{EndpointId, OperationId, RoutingId, SetId};
use crate::wire::Record;
use alloc::vec::Vec;

#[derive(Debug)]
pub(super) struct Session {
    pub(super) set: SetId,
    pub(super) peer: RoutingId,
    /// Our endpoint, if we connected.
    pub(super) endpoint: Option<EndpointId>,
    pub(super) state: SessionState,
    /// The set ended; what it left in its receive queue still comes in (N-24).
    is_ended: bool,
}

#[derive(Debug)]
pub(super) enum SessionState {
    /// Server: hello is expected. Client: hello is about to be sent.
    Connected,
    /// Client: hello was sent under this operation.
    Pending(OperationId),
    /// Records may flow. Client: what the server last said of itself.
    Admitted(Option<Record>),
}

impl Session {
    pub(super) const fn is_admitted(&self) -> bool {
        matches!(self.state, SessionState::Admitted(_))
    }
}

/// The sessions of one socket, by place of their set.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    places: Vec<Option<Session>>,
    admitted: u32,
}

impl Sessions {
    pub(super) fn open(&mut self, set: SetId, peer: RoutingId, endpoint: Option<EndpointId>) {
        let place = set.slot as usize;
        if self.places.len() <= place {
            self.places.resize_with(place + 1, || None);
        }
        self.close_place(place);
        if let Some(entry) = self.places.get_mut(place) {
            let state = SessionState::Connected;
            *entry = Some(Session { set, peer, endpoint, state, is_ended: false });
        }
    }

    #[inline]
    pub(super) fn get(&self, set: SetId) -> Option<&Session> {
        self.places.get(set.slot as usize)?.as_ref().filter(|session| session.set == set)
    }

    pub(super) fn get_mut(&mut self, set: SetId) -> Option<&mut Session> {
        self.places.get_mut(set.slot as usize)?.as_mut().filter(|session| session.set == set)
    }

    /// True if records of applications may flow on this set.
    #[inline]
    pub(super) fn is_admitted(&self, set: SetId) -> bool {
        self.get(set).is_some_and(Session::is_admitted)
    }

    pub(super) fn admit(&mut self, set: SetId, descriptor: Option<Record>) {
        let Some(session) = self.get_mut(set).filter(|session| !session.is_ended) else { return };
        let was_admitted = session.is_admitted();
        session.state = SessionState::Admitted(descriptor);
        self.admitted += u32::from(!was_admitted);
    }

    pub(super) fn close(&mut self, set: SetId) {
        if self.get(set).is_some() {
            self.close_place(set.slot as usize);
        }
    }

    fn close_place(&mut self, place: usize) {
        if let Some(session) = self.places.get_mut(place).and_then(Option::take) {
            self.admitted -= u32::from(session.is_admitted() && !session.is_ended);
        }
    }

    /// The set ended. Its records that are still to be taken belong to an admitted peer, if it was one.
    pub(super) fn end(&mut self, set: SetId) {
        let Some(session) = self.get_mut(set).filter(|session| !session.is_ended) else { return };
        session.is_ended = true;
        let was_admitted = session.is_admitted();
        self.admitted -= u32::from(was_admitted);
    }

    /// Sessions of sets that did not end.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Session> {
        self.places.iter().flatten().filter(|session| !session.is_ended)
    }

    pub(super) fn admitted(&self) -> impl Iterator<Item = &Session> {
        self.iter().filter(|session| session.is_admitted())
    }

    pub(super) const fn admitted_count(&self) -> u32 {
        self.admitted
    }

    /// The session whose hello this operation is.
    pub(super) fn of_hello(&self, operation: OperationId) -> Option<SetId> {
        let is_it =
            |session: &&Session| matches!(session.state, SessionState::Pending(own) if own == operation);
        self.iter().find(is_it).map(|session| session.set)
    }
}
