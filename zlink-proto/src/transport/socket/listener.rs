//! Listeners and the connections that they accept (N-06, N-20, B-56).

use super::end::Farewell;
use super::{Socket, SocketOutput};
use crate::id::{ConnectionNumber, ListenerId};
use crate::time::Timestamp;
use crate::transport::{Connection, EndReason, EventKind};
use crate::wire::Fault;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

#[derive(Debug, Default)]
struct Listener {
    /// Sets that are not ready yet, oldest first (N-20).
    unvalidated: VecDeque<u32>,
}

/// All listeners; ids are never used again.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    places: Vec<Option<Listener>>,
}

impl Listeners {
    fn get_mut(&mut self, listener: ListenerId) -> Option<&mut Listener> {
        self.places.get_mut(listener.0 as usize)?.as_mut()
    }

    /// A set is ready or gone: it does not count any more.
    pub(super) fn validated(&mut self, listener: ListenerId, slot: u32) {
        if let Some(listener) = self.get_mut(listener) {
            listener.unvalidated.retain(|&other| other != slot);
        }
    }

    pub(super) fn take_all(&mut self) -> Vec<ListenerId> {
        let ids = (0..).zip(&mut self.places).filter_map(|(id, place)| place.take().map(|_| ListenerId(id)));
        ids.collect()
    }
}

impl Socket {
    /// Registers a listener that the driver opened.
    pub fn add_listener(&mut self) -> ListenerId {
        self.listeners.places.push(Some(Listener::default()));
        ListenerId((self.listeners.places.len() - 1) as u32)
    }

    /// Ends a listener; its peers end with it unless `keep_peers` (N-06).
    pub fn remove_listener(&mut self, listener: ListenerId, keep_peers: bool, now: Timestamp) {
        self.advance(now);
        if self.listeners.places.get_mut(listener.0 as usize).and_then(Option::take).is_none() {
            return;
        }
        self.tell_listener_closed(listener);
        let of_it = self.sets.iter().filter(|set| set.listener == Some(listener) && set.is_connected());
        let slots: Vec<u32> = of_it
            .filter(|set| !keep_peers || set.phase == crate::transport::lane_set::Phase::Joining)
            .map(|set| set.id.slot)
            .collect();
        for slot in slots {
            self.end_set(slot, EndReason::Disconnected, Farewell::Silent);
        }
    }

    pub(super) fn tell_listener_closed(&mut self, listener: ListenerId) {
        self.outputs.push_back(SocketOutput::StopListening(listener));
        self.events.tell(self.now, None, || EventKind::ListenerClosed { listener });
    }

    /// A listener accepted a connection. `None`: it is not wanted; close it. Of too many unvalidated ones the oldest goes (N-20).
    pub fn handle_accepted(&mut self, listener: ListenerId, now: Timestamp) -> Option<Connection> {
        let number = self.accept(listener, now)?;
        Some(Connection::new(self.connection_config(number, false), self.now))
    }

    pub(super) fn accept(&mut self, listener: ListenerId, now: Timestamp) -> Option<ConnectionNumber> {
        self.advance(now);
        let max = self.options.unvalidated_max as usize;
        if !self.is_open() {
            return None;
        }
        let place = self.listeners.get_mut(listener)?;
        let displaced = if place.unvalidated.len() >= max { place.unvalidated.pop_front() } else { None };
        if let Some(slot) = displaced {
            self.fault_set(slot, Fault::other("too many connections"));
        }
        let number = self.new_connection_number();
        let slot = self.new_set(number);
        self.sets.at_mut(slot).listener = Some(listener);
        self.listeners.get_mut(listener)?.unvalidated.push_back(slot);
        self.events.tell(self.now, Some(number), || EventKind::Accepted { listener });
        Some(number)
    }
}
