//! When endpoints are tried again (N-29, N-32 to N-35).

use super::Socket;
use super::connector::ConnectorState;
use crate::id::{ConnectionNumber, EndpointId, RoutingId};
use crate::transport::lane_set::Name;
use crate::transport::{EndReason, EventKind};
use crate::wire::FaultCode;
use alloc::vec::Vec;
use core::time::Duration;

impl Socket {
    pub(super) fn attempt_failed(&mut self, endpoint: EndpointId, number: ConnectionNumber) {
        self.events.tell(self.now, Some(number), || EventKind::ConnectFailed { endpoint });
        let Some(connector) = self.connectors.get_mut(endpoint) else { return };
        let delay = connector.backoff.failed();
        self.delay(endpoint, delay);
    }

    fn delay(&mut self, endpoint: EndpointId, delay: Duration) {
        let until = self.now.saturating_add(delay);
        if let Some(connector) = self.connectors.get_mut(endpoint) {
            connector.state = ConnectorState::Waiting { until };
        }
        self.events.tell(self.now, None, || EventKind::ConnectDelayed { endpoint, delay });
    }

    /// Lets timers of endpoints act.
    pub(super) fn run_connectors(&mut self) {
        for endpoint in self.connectors.ids().collect::<Vec<_>>() {
            let Some(connector) = self.connectors.get(endpoint) else { continue };
            match connector.state {
                ConnectorState::Attempt { number, until } if until <= self.now => {
                    self.abandon(endpoint);
                    self.attempt_failed(endpoint, number);
                }
                ConnectorState::Waiting { until } if until <= self.now => self.attempt(endpoint),
                ConnectorState::Attempt { .. }
                | ConnectorState::Waiting { .. }
                | ConnectorState::Up
                | ConnectorState::Parked { .. } => {}
            }
        }
    }

    /// The set of an endpoint ended: when is the next attempt (N-29, N-33, N-34)?
    /// `ready_for`: how long the set was ready, if it was.
    pub(super) fn connector_ended(
        &mut self,
        endpoint: EndpointId,
        ready_for: Option<Duration>,
        reason: EndReason,
        name: &RoutingId,
    ) {
        let now = self.now;
        let is_elsewhere = self.names.get(name).is_some_and(Name::is_taken);
        let Some(connector) = self.connectors.get_mut(endpoint) else { return };
        let delay = match reason {
            EndReason::Duplicate if is_elsewhere => {
                connector.state = ConnectorState::Parked { name: name.clone() };
                let routing_id = name.clone();
                self.events.tell(now, None, || EventKind::Parked { endpoint, routing_id });
                return;
            }
            EndReason::Duplicate => connector.backoff.refused(),
            EndReason::Fault(code, _) if is_incurable(code as u8) => connector.backoff.refused(),
            EndReason::PeerError(code) if is_incurable(code) => connector.backoff.refused(),
            EndReason::Fault(..)
            | EndReason::PeerError(_)
            | EndReason::End
            | EndReason::Reset
            | EndReason::ConnectFailed
            | EndReason::Liveness
            | EndReason::Disconnected
            | EndReason::Service(_)
            | EndReason::Closed => match ready_for {
                None => connector.backoff.failed(),
                Some(ready_for) => connector.backoff.ended(ready_for),
            },
        };
        self.delay(endpoint, delay);
    }

    /// A set of this name ended: endpoints that rested for it go on.
    pub(super) fn unpark(&mut self, name: &RoutingId) {
        let is_gone = self.names.get(name).is_none_or(|known| !known.is_taken());
        if !is_gone || self.connectors.is_empty() {
            return;
        }
        for endpoint in self.connectors.ids().collect::<Vec<_>>() {
            let Some(connector) = self.connectors.get_mut(endpoint) else { continue };
            if matches!(&connector.state, ConnectorState::Parked { name: other } if other == name) {
                let delay = connector.backoff.unparked();
                self.delay(endpoint, delay);
            }
        }
    }
}

/// N-34.
fn is_incurable(code: u8) -> bool {
    code == FaultCode::VersionMismatch as u8 || code == FaultCode::SocketTypeMismatch as u8
}
