//! Observations of a socket (N-90, N-91). They never change behaviour and nobody must read them.

use crate::id::{ConnectionNumber, EndpointId, ListenerId, RoutingId, SetId};
use crate::time::Timestamp;
use crate::wire::{FaultCode, SocketType};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

/// Events that one reader can leave unread; when full the newest is lost and counted (N-90).
pub const EVENTS_MAX: usize = 1_024;

/// Why a set or a connection attempt ended (N-21). The first reason counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndReason {
    /// We found a fault.
    Fault(FaultCode, &'static str),
    /// The peer sent ERROR with this code. Its text is not kept: it decides nothing (W-22).
    PeerError(u8),
    /// The transport ended in order.
    End,
    /// The transport was reset or failed.
    Reset,
    /// The attempt failed or took too long.
    ConnectFailed,
    /// Two sets with one name (N-26).
    Duplicate,
    /// Nothing was heard for 15 s (S-42).
    Liveness,
    /// The application disconnected the endpoint or removed the listener (N-06).
    Disconnected,
    /// The service layer decided; it names the reason.
    Service(&'static str),
    /// The socket closes.
    Closed,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// A connection was accepted.
    Accepted {
        /// By this listener.
        listener: ListenerId,
    },
    /// A listener ended.
    ListenerClosed {
        /// Which.
        listener: ListenerId,
    },
    /// An attempt begins.
    ConnectStarted {
        /// To here.
        endpoint: EndpointId,
    },
    /// An attempt failed before its transport was up.
    ConnectFailed {
        /// To here.
        endpoint: EndpointId,
    },
    /// The next attempt follows after a delay.
    ConnectDelayed {
        /// To here.
        endpoint: EndpointId,
        /// From now.
        delay: Duration,
    },
    /// A connector rests while its peer is connected otherwise (N-29).
    Parked {
        /// To here.
        endpoint: EndpointId,
        /// That peer.
        routing_id: RoutingId,
    },
    /// A set ended before it was ready.
    HandshakeFailed {
        /// Why.
        reason: EndReason,
    },
    /// A set became ready.
    PeerReady {
        /// Which.
        set: SetId,
        /// Its name.
        routing_id: RoutingId,
        /// The peer's type.
        socket_type: SocketType,
        /// The peer's MaxMessageSize; 0 = none.
        max_message_bytes: u64,
        /// Ready peers now.
        ready_peers: u32,
    },
    /// A set that was ready ended.
    PeerLost {
        /// Which.
        set: SetId,
        /// Its name.
        routing_id: RoutingId,
        /// Why.
        reason: EndReason,
        /// Records that were admitted and not transmitted (N-22).
        unsent_records: u64,
        /// Their charge.
        unsent_bytes: u64,
    },
    /// A second set with this name was refused.
    DuplicateRefused {
        /// The name.
        routing_id: RoutingId,
        /// Generation of the set that keeps it.
        existing: u64,
        /// Generation of the refused set.
        refused: u64,
    },
    /// A newer set took the name.
    HandedOver {
        /// The name.
        routing_id: RoutingId,
        /// Generation of the set that lost it.
        from: u64,
        /// Generation of the set that has it.
        to: u64,
    },
    /// The peer said PAUSED.
    SendPaused {
        /// Its name.
        routing_id: RoutingId,
        /// Of the frame.
        epoch: u64,
    },
    /// The peer said RUNNING.
    SendResumed {
        /// Its name.
        routing_id: RoutingId,
        /// Of the frame.
        epoch: u64,
        /// No other blocker holds.
        is_writable: bool,
    },
    /// A flow state that is not newer than the last one (N-45).
    FlowStateStale {
        /// Its name.
        routing_id: RoutingId,
        /// Of the frame.
        epoch: u64,
    },
    /// The peer's weight changed.
    PeerWeightChanged {
        /// Its name.
        routing_id: RoutingId,
        /// The new weight.
        weight: u32,
    },
    /// Records of an ended set were given up (N-24).
    UndrainedDiscarded {
        /// Its name.
        routing_id: RoutingId,
        /// Its generation.
        generation: u64,
        /// How many.
        records: u64,
        /// Their charge.
        bytes: u64,
    },
    /// The socket is closed.
    Closed,
}

/// An observation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// On which connection, if on one.
    pub connection: Option<ConnectionNumber>,
    /// What.
    pub kind: EventKind,
}

/// A reader of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventReader(u32);

#[derive(Debug, Default)]
struct Reader {
    events: VecDeque<Event>,
    lost: u64,
}

/// The bounded lists of all readers.
#[derive(Debug, Default)]
pub(crate) struct Events {
    readers: Vec<Option<Reader>>,
    told: u64,
}

impl Events {
    pub(crate) fn add_reader(&mut self) -> EventReader {
        if let Some(place) = self.readers.iter().position(Option::is_none) {
            self.readers[place] = Some(Reader::default());
            return EventReader(place as u32);
        }
        self.readers.push(Some(Reader::default()));
        EventReader((self.readers.len() - 1) as u32)
    }

    pub(crate) fn remove_reader(&mut self, reader: EventReader) {
        if let Some(place) = self.readers.get_mut(reader.0 as usize) {
            *place = None;
        }
    }

    /// Tells every reader. `kind` is made only if there is one.
    pub(crate) fn tell(
        &mut self,
        at: Timestamp,
        connection: Option<ConnectionNumber>,
        kind: impl FnOnce() -> EventKind,
    ) {
        if self.readers.iter().all(Option::is_none) {
            return;
        }
        self.told += 1;
        let event = Event { at, connection, kind: kind() };
        for reader in self.readers.iter_mut().flatten() {
            if reader.events.len() < EVENTS_MAX {
                reader.events.push_back(event.clone());
            } else {
                reader.lost += 1;
            }
        }
    }

    pub(crate) fn next(&mut self, reader: EventReader) -> Option<Event> {
        self.readers.get_mut(reader.0 as usize)?.as_mut()?.events.pop_front()
    }

    /// Events that were told to any reader.
    pub(crate) const fn told(&self) -> u64 {
        self.told
    }

    pub(crate) fn lost(&self, reader: EventReader) -> u64 {
        self.readers.get(reader.0 as usize).and_then(Option::as_ref).map_or(0, |reader| reader.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n90_a_full_list_loses_the_newest_and_counts() {
        let mut events = Events::default();
        let slow = events.add_reader();
        for number in 0..EVENTS_MAX as u64 + 3 {
            events.tell(Timestamp::from_nanos(number), None, || EventKind::Closed);
        }
        assert_eq!(events.lost(slow), 3);
        assert_eq!(events.next(slow).map(|event| event.at), Some(Timestamp::ZERO));
        let fresh = events.add_reader();
        events.tell(Timestamp::from_nanos(9), None, || EventKind::Closed);
        assert_eq!(events.next(fresh).map(|event| event.at), Some(Timestamp::from_nanos(9)));
        assert_eq!(events.next(fresh), None);
        events.remove_reader(slow);
        assert_eq!(events.next(slow), None);
    }
}
