//! Which set a submission goes to (N-50, N-60a to N-65, N-68).

use super::submit::{Choice, Measured, NO_LINK_ROOM, NOT_OPEN, SET_ENDED, TOO_LARGE};
use super::waiting::Destination;
use super::{Socket, Target};
use crate::error::{ErrorKind, Failure};
use crate::id::{RoutingId, SetId};
use crate::transport::SocketOptions;
use crate::transport::deadlines::NONE;
use crate::transport::lane_set::LaneSet;
use crate::wire::SocketType;

impl Socket {
    pub(super) fn destination(&self, choice: Choice) -> Destination {
        match choice {
            Choice::Set(slot) => Destination::Set(slot),
            Choice::Wait(destination) => destination,
        }
    }

    /// Where a reservation goes.
    pub(super) fn choose_destination(
        &mut self,
        target: Target<'_>,
        measured: Measured,
    ) -> Result<Destination, Failure> {
        let choice = self.choose_for_send(target, measured)?;
        Ok(self.destination(choice))
    }

    #[inline]
    pub(super) fn choose_for_send(
        &mut self,
        target: Target<'_>,
        measured: Measured,
    ) -> Result<Choice, Failure> {
        if !self.is_open() {
            return Err(NOT_OPEN);
        }
        match target {
            Target::Any => self.choose_any(measured),
            Target::Named(name) => self.choose_named(name, measured, None),
            Target::Set(set) | Target::Admission(set) => self.choose_set(set, measured, None),
        }
    }

    pub(super) fn choose_for_request(
        &mut self,
        target: Target<'_>,
        measured: Measured,
    ) -> Result<Choice, Failure> {
        if !self.is_open() {
            return Err(NOT_OPEN);
        }
        match target {
            Target::Any => self.choose_any_router(measured),
            Target::Named(name) => self.choose_named(name, measured, Some(measured.charge)),
            Target::Set(set) | Target::Admission(set) => {
                self.choose_set(set, measured, Some(measured.charge))
            }
        }
    }

    /// A set named by its handle. `request`: its charge, to be checked against the link's places and work.
    fn choose_set(&self, id: SetId, measured: Measured, request: Option<u64>) -> Result<Choice, Failure> {
        let set = self.sets.get(id).filter(|set| !set.blockers.ending).ok_or(SET_ENDED)?;
        if measured.bytes > set.message_max {
            return Err(TOO_LARGE);
        }
        if let Some(charge) = request {
            if set.socket_type == Some(SocketType::Dealer) {
                return Err(Failure::not_submitted(
                    ErrorKind::InvalidOperation,
                    "a DEALER answers no requests",
                ));
            }
            self.check_link(id.slot, charge)?;
        }
        Ok(Choice::Set(id.slot))
    }

    fn check_link(&self, slot: u32, charge: u64) -> Result<(), Failure> {
        let options = &self.options;
        if self.sets.at(slot).has_link_room(charge, options.requests_per_link_max, options.request_work_max) {
            Ok(())
        } else {
            Err(NO_LINK_ROOM)
        }
    }

    /// N-68.
    fn choose_named(
        &self,
        name: &RoutingId,
        measured: Measured,
        request: Option<u64>,
    ) -> Result<Choice, Failure> {
        if self.socket_type != SocketType::Router {
            return Err(Failure::not_submitted(
                ErrorKind::InvalidOperation,
                "only a ROUTER sends to a routing id",
            ));
        }
        let Some(known) = self.names.get(name) else {
            return Err(Failure::not_submitted(ErrorKind::NotFound, "unknown routing id"));
        };
        if known.ready != NONE {
            return self.choose_set(self.sets.at(known.ready).id, measured, request);
        }
        match known.endpoint {
            Some(endpoint) => Ok(Choice::Wait(Destination::Endpoint(endpoint.0))),
            None => Err(Failure::not_submitted(ErrorKind::NotFound, "unknown routing id")),
        }
    }

    /// DEALER, one-way: an open peer by weight, else a blocked one, else the line of the socket (N-61 to N-63).
    #[inline]
    fn choose_any(&mut self, measured: Measured) -> Result<Choice, Failure> {
        self.check_dealer()?;
        if !self.unfixed.is_empty() {
            return Ok(Choice::Wait(Destination::Unfixed));
        }
        if let Some(only) = self.selector.only() {
            // Selection among one peer changes no accumulator, and whether it is open is found out when it is admitted.
            return if measured.bytes <= self.sets.at(only.slot).message_max {
                Ok(Choice::Set(only.slot))
            } else {
                Err(TOO_LARGE)
            };
        }
        self.select(measured, false)
    }

    fn choose_any_router(&mut self, measured: Measured) -> Result<Choice, Failure> {
        self.check_dealer()?;
        if !self.unfixed.is_empty() {
            return Ok(Choice::Wait(Destination::Unfixed));
        }
        if let Some(only) = self.selector.only() {
            let set = self.sets.at(only.slot);
            let suits = set.socket_type == Some(SocketType::Router) && measured.bytes <= set.message_max;
            if suits && has_link_room(set, measured.charge, true, &self.options) {
                return Ok(Choice::Set(only.slot));
            }
        }
        self.select(measured, true)
    }

    fn check_dealer(&self) -> Result<(), Failure> {
        if self.socket_type == SocketType::Dealer {
            Ok(())
        } else {
            Err(Failure::not_submitted(ErrorKind::InvalidOperation, "a ROUTER sends to a routing id"))
        }
    }

    fn select(&mut self, measured: Measured, is_request: bool) -> Result<Choice, Failure> {
        match self.select_open(measured, is_request) {
            Selected::Set(slot) => Ok(Choice::Set(slot)),
            Selected::Blocked => Ok(Choice::Wait(Destination::Blocked)),
            Selected::Nobody => Ok(Choice::Wait(Destination::Unfixed)),
            Selected::NoLinkRoom => Err(NO_LINK_ROOM),
            Selected::TooLarge => Err(TOO_LARGE),
        }
    }

    /// N-61 and N-50: the winner among the open peers. Without one nothing changed.
    pub(super) fn select_open(&mut self, measured: Measured, is_request: bool) -> Selected {
        let Self { sets, selector, options, .. } = self;
        let Measured { bytes, charge } = measured;
        // Peers for this kind of record, by what may keep it from them.
        let suits = |id: SetId| !is_request || sets.at(id.slot).socket_type == Some(SocketType::Router);
        let may_take = |id: SetId| suits(id) && bytes <= sets.at(id.slot).message_max;
        let has_link =
            |id: SetId| may_take(id) && has_link_room(sets.at(id.slot), charge, is_request, options);
        match selector.select(|id| has_link(id) && sets.at(id.slot).is_open_for(bytes, charge)) {
            Some(id) => Selected::Set(id.slot),
            None if selector.any(has_link) => Selected::Blocked,
            None if selector.any(may_take) => Selected::NoLinkRoom,
            None if selector.any(suits) => Selected::TooLarge,
            None => Selected::Nobody,
        }
    }

    /// N-62: the winner among ready peers none of which is open.
    pub(super) fn select_blocked(&mut self, measured: Measured, is_request: bool) -> Option<u32> {
        let Self { sets, selector, options, .. } = self;
        let Measured { bytes, charge } = measured;
        let winner = selector.select(|id| {
            let set = sets.at(id.slot);
            (!is_request || set.socket_type == Some(SocketType::Router))
                && bytes <= set.message_max
                && has_link_room(set, charge, is_request, options)
        });
        winner.map(|id| id.slot)
    }
}

fn has_link_room(set: &LaneSet, charge: u64, is_request: bool, options: &SocketOptions) -> bool {
    !is_request || set.has_link_room(charge, options.requests_per_link_max, options.request_work_max)
}

/// Result of a selection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Selected {
    Set(u32),
    /// Peers for it are ready, none is open.
    Blocked,
    /// No ready peer with a weight, or for a request no ROUTER among them.
    Nobody,
    /// Every peer has too many unanswered requests.
    NoLinkRoom,
    /// The record is above every peer's limit.
    TooLarge,
}
