//! What the composition saw: observations decide nothing and nobody must read them.

use crate::host::{Refusal, SocketKey};
use crate::id::{RoutingId, SetId};
use crate::wire::service::{RejectReason, ServiceFault};
use alloc::collections::VecDeque;

/// Observations that nobody took; beyond, the newest is lost and counted (M-04).
pub const OBSERVATIONS_MAX: usize = 1_024;

/// One observation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Observation {
    /// On this socket.
    pub socket: SocketKey,
    /// On this set.
    pub set: SetId,
    /// What it was.
    pub what: Observed,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Observed {
    /// A record is malformed; the connection stays (S-07).
    Malformed {
        /// What is wrong with it.
        fault: ServiceFault,
        /// Somebody was told.
        is_request: bool,
    },
    /// The peer does not keep to the protocol; its connection was closed (S-07).
    ProtocolError {
        /// What is wrong; `None`: a legal record that does not belong here now (S-31).
        fault: Option<ServiceFault>,
    },
    /// Nothing is registered for a record.
    NoHandler {
        /// Somebody was told.
        is_request: bool,
    },
    /// The content type of a record is not registered (S-12).
    Undecodable {
        /// Somebody was told.
        is_request: bool,
    },
    /// A record was refused (H-84).
    Refused {
        /// Why.
        reason: Refusal,
        /// Somebody was told.
        is_request: bool,
    },
    /// A client was rejected by us, or we by a server.
    Rejected {
        /// Why.
        reason: RejectReason,
        /// The peer.
        peer: RoutingId,
    },
}

/// The observations that nobody took yet.
#[derive(Debug, Default)]
pub(super) struct Observations {
    list: VecDeque<Observation>,
    lost: u64,
}

impl Observations {
    pub(super) fn tell(&mut self, socket: SocketKey, set: SetId, what: Observed) {
        if self.list.len() < OBSERVATIONS_MAX {
            self.list.push_back(Observation { socket, set, what });
        } else {
            self.lost = self.lost.saturating_add(1);
        }
    }

    pub(super) fn take(&mut self) -> Option<Observation> {
        self.list.pop_front()
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
}
