//! Endpoints that this socket connects to (N-05, N-29, N-32 to N-35, N-68, N-71).
//!
//! ```text
//! connect ─▶ attempt ──up──▶ joining ──ready──▶ ready
//!              ▲  │ failed      │ failed           │ ended
//!              │  ▼             ▼                  ▼
//!              └─ waiting (delay) ◀────────────────┘          parked (N-29)     removed: from every state
//! ```

use super::end::Farewell;
use super::{Socket, SocketOutput};
use crate::error::{ErrorKind, Failure};
use crate::id::{ConnectionNumber, EndpointId, RoutingId};
use crate::time::Timestamp;
use crate::transport::endpoint::{Endpoint, EndpointError, EndpointUse};
use crate::transport::operations::Line;
use crate::transport::reconnect::{Backoff, BackoffOptions};
use crate::transport::{Connection, ConnectionConfig, EndReason, EventKind};
use alloc::string::String;
use alloc::vec::Vec;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ConnectorState {
    /// The driver opens a connection.
    Attempt { number: ConnectionNumber, until: Timestamp },
    /// A set is joining or ready.
    Up,
    /// The next attempt follows.
    Waiting { until: Timestamp },
    /// The peer is connected otherwise.
    Parked { name: RoutingId },
}

#[derive(Debug)]
pub(super) struct Connector {
    address: String,
    endpoint: Endpoint,
    connect_as: Option<RoutingId>,
    /// The peer that was seen here.
    known: Option<RoutingId>,
    pub(super) state: ConnectorState,
    pub(super) backoff: Backoff,
    attempts: u64,
    /// Operations of a ROUTER that wait for the return of this peer.
    line: Line,
}

/// All endpoints; ids are places and are used again.
#[derive(Debug, Default)]
pub(super) struct Connectors {
    places: Vec<Option<Connector>>,
}

impl Connectors {
    pub(super) fn get(&self, endpoint: EndpointId) -> Option<&Connector> {
        self.places.get(endpoint.0 as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, endpoint: EndpointId) -> Option<&mut Connector> {
        self.places.get_mut(endpoint.0 as usize)?.as_mut()
    }

    pub(super) fn connect_as(&self, endpoint: EndpointId) -> Option<RoutingId> {
        self.get(endpoint)?.connect_as.clone()
    }

    /// The line of an endpoint that some operation waits for.
    pub(super) fn line(&mut self, endpoint: u32) -> &mut Line {
        let place = self.places.get_mut(endpoint as usize).and_then(Option::as_mut);
        &mut place.expect("endpoint with waiting operations").line
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = EndpointId> {
        (0..).zip(&self.places).filter(|(_, place)| place.is_some()).map(|(id, _)| EndpointId(id))
    }

    pub(super) fn next_timeout(&self) -> Option<Timestamp> {
        let times = self.places.iter().flatten().filter_map(|connector| match connector.state {
            ConnectorState::Attempt { until, .. } | ConnectorState::Waiting { until } => Some(until),
            ConnectorState::Up | ConnectorState::Parked { .. } => None,
        });
        times.min()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.iter().all(Option::is_none)
    }
}

impl Socket {
    /// Registers an endpoint: it is connected, and connected again after each end, until `disconnect` or `close`.
    ///
    /// # Errors
    /// `InvalidOperation` for an address that is not legal (the reason names the part at fault), `AlreadyExists` for one that is
    /// connected, `ShuttingDown` while closing.
    pub fn connect(&mut self, address: &str, now: Timestamp) -> Result<EndpointId, Failure> {
        self.connect_as(address, None, now)
    }

    /// As `connect`; `name` replaces the peer's routing id on this socket (N-71).
    ///
    /// # Errors
    /// As `connect`; `AlreadyExists` also for a name that another endpoint has.
    pub fn connect_as(
        &mut self,
        address: &str,
        name: Option<RoutingId>,
        now: Timestamp,
    ) -> Result<EndpointId, Failure> {
        self.advance(now);
        if !self.is_open() {
            return Err(super::submit::NOT_OPEN);
        }
        let endpoint = Endpoint::parse(address, EndpointUse::Connect)
            .map_err(|error| Failure::not_submitted(ErrorKind::InvalidOperation, at_fault(error)))?;
        let is_known = self.connectors.places.iter().flatten().any(|other| other.endpoint == endpoint);
        if is_known {
            return Err(Failure::not_submitted(ErrorKind::AlreadyExists, "already connected"));
        }
        if let Some(name) = &name {
            let is_bad =
                name.is_empty() || self.names.get(name).is_some_and(|known| known.endpoint.is_some());
            if is_bad {
                return Err(Failure::not_submitted(ErrorKind::AlreadyExists, "name in use"));
            }
        }
        let backoff = BackoffOptions {
            first: self.options.reconnect_first,
            cap: self.options.reconnect_cap,
            stable_after: self.options.stable_after,
        };
        let connector = Connector {
            address: address.into(),
            endpoint,
            connect_as: name.clone(),
            known: None,
            state: ConnectorState::Waiting { until: self.now },
            backoff: Backoff::new(backoff, self.random.next()),
            attempts: 0,
            line: Line::default(),
        };
        let id = match self.connectors.places.iter().position(Option::is_none) {
            Some(place) => {
                self.connectors.places[place] = Some(connector);
                EndpointId(place as u32)
            }
            None => {
                self.connectors.places.push(Some(connector));
                EndpointId((self.connectors.places.len() - 1) as u32)
            }
        };
        if let Some(name) = name {
            self.learn_name(id, name);
        }
        self.attempt(id);
        Ok(id)
    }

    /// Ends an endpoint in every state (N-35); its set ends too (N-06).
    ///
    /// # Errors
    /// `NotFound` if there is no such endpoint.
    pub fn disconnect(&mut self, endpoint: EndpointId, now: Timestamp) -> Result<(), Failure> {
        self.advance(now);
        if self.connectors.get(endpoint).is_none() {
            return Err(Failure::not_submitted(ErrorKind::NotFound, "no such endpoint"));
        }
        let sets = self.sets.iter().filter(|set| set.endpoint == Some(endpoint) && set.is_connected());
        let sets: Vec<u32> = sets.map(|set| set.id.slot).collect();
        self.remove_connector(endpoint, ErrorKind::Unavailable);
        for slot in sets {
            self.end_set(slot, EndReason::Disconnected, Farewell::Silent);
        }
        Ok(())
    }

    pub(super) fn remove_connector(&mut self, endpoint: EndpointId, kind: ErrorKind) {
        while let Some(slot) = self.connectors.get(endpoint).and_then(|connector| connector.line.head()) {
            self.fail(slot, Failure::not_submitted(kind, "the endpoint was removed"));
        }
        self.abandon(endpoint);
        let Some(connector) = self.connectors.places.get_mut(endpoint.0 as usize).and_then(Option::take)
        else {
            return;
        };
        for set in self.sets.slots() {
            let set = self.sets.at_mut(set);
            if set.endpoint == Some(endpoint) {
                set.endpoint = None;
            }
        }
        for name in [connector.known, connector.connect_as].into_iter().flatten() {
            self.unlearn_name(endpoint, &name);
        }
    }

    /// Takes an attempt back that is under way.
    pub(super) fn abandon(&mut self, endpoint: EndpointId) {
        let Some(connector) = self.connectors.get(endpoint) else { return };
        let ConnectorState::Attempt { number, .. } = connector.state else { return };
        let before = self.outputs.len();
        self.outputs.retain(
            |output| !matches!(output, SocketOutput::Connect { number: other, .. } if *other == number),
        );
        if self.outputs.len() == before {
            self.outputs.push_back(SocketOutput::Abandon(number));
        }
    }

    /// Removes every endpoint without a ready set (N-88).
    pub(super) fn remove_connectors(&mut self) {
        for endpoint in self.connectors.ids().collect::<Vec<_>>() {
            self.remove_connector(endpoint, ErrorKind::ShuttingDown);
        }
    }

    pub(super) fn attempt(&mut self, endpoint: EndpointId) {
        let number = self.new_connection_number();
        let until = self.now.saturating_add(self.options.connect_limit);
        let Some(connector) = self.connectors.get_mut(endpoint) else { return };
        connector.state = ConnectorState::Attempt { number, until };
        connector.attempts += 1;
        let address = connector.address.clone();
        self.outputs.push_back(SocketOutput::Connect { endpoint, number, address });
        self.events.tell(self.now, Some(number), || EventKind::ConnectStarted { endpoint });
    }

    fn of_attempt(&self, number: ConnectionNumber) -> Option<EndpointId> {
        self.connectors.ids().find(|&id| {
            self.connectors.get(id).is_some_and(
                |connector| matches!(connector.state, ConnectorState::Attempt { number: other, .. } if other == number),
            )
        })
    }

    /// The transport of an attempt is up. `None`: the attempt was given up meanwhile; close the transport.
    pub fn handle_connected(&mut self, number: ConnectionNumber, now: Timestamp) -> Option<Connection> {
        self.attach(number, now)?;
        Some(Connection::new(self.connection_config(number, true), self.now))
    }

    pub(super) fn attach(&mut self, number: ConnectionNumber, now: Timestamp) -> Option<()> {
        self.advance(now);
        let endpoint = self.of_attempt(number)?;
        self.connectors.get_mut(endpoint)?.state = ConnectorState::Up;
        let slot = self.new_set(number);
        self.sets.at_mut(slot).endpoint = Some(endpoint);
        Some(())
    }

    pub(super) fn connection_config(&self, number: ConnectionNumber, is_connector: bool) -> ConnectionConfig {
        ConnectionConfig {
            number,
            is_connector,
            socket_type: self.socket_type,
            routing_id: self.routing_id.clone(),
            max_message_bytes: self.options.max_message_size,
            handshake_limit: self.options.handshake_limit,
            frame_progress_limit: self.options.frame_progress_limit,
        }
    }

    /// The attempt failed.
    pub fn handle_connect_failed(&mut self, number: ConnectionNumber, now: Timestamp) {
        self.advance(now);
        if let Some(endpoint) = self.of_attempt(number) {
            self.attempt_failed(endpoint, number);
        }
    }

    /// The set of an endpoint became ready: who waited for this peer is fixed on it (N-68).
    pub(super) fn connector_ready(&mut self, slot: u32) {
        let set = self.sets.at(slot);
        let (Some(endpoint), name) = (set.endpoint, set.routing_id.clone()) else { return };
        let Some(connector) = self.connectors.get_mut(endpoint) else { return };
        let previous = connector.known.replace(name.clone());
        if let Some(previous) = previous.filter(|previous| *previous != name) {
            self.unlearn_name(endpoint, &previous);
            while let Some(operation) = self.connectors.get(endpoint).and_then(|found| found.line.head()) {
                let failure =
                    Failure::not_submitted(ErrorKind::Unavailable, "another peer answers at the endpoint");
                self.fail(operation, failure);
            }
        }
        if !name.is_empty() {
            self.learn_name(endpoint, name);
        }
        while let Some(operation) = self.connectors.get(endpoint).and_then(|found| found.line.head()) {
            self.operations.unlink(self.connectors.line(endpoint.0), operation);
            self.fix_late(operation, slot);
        }
    }

    fn learn_name(&mut self, endpoint: EndpointId, name: RoutingId) {
        self.names.entry(name).or_default().endpoint = Some(endpoint);
    }

    fn unlearn_name(&mut self, endpoint: EndpointId, name: &RoutingId) {
        if let Some(known) = self.names.get_mut(name) {
            if known.endpoint == Some(endpoint) {
                known.endpoint = None;
            }
        }
        self.forget_name_if_unused(name);
    }
}

fn at_fault(error: EndpointError) -> &'static str {
    match error {
        EndpointError::UnknownScheme => "endpoint: unknown scheme",
        EndpointError::UnsupportedScheme(_) => "endpoint: scheme not supported",
        EndpointError::MissingPort => "endpoint: missing port",
        EndpointError::BadPort => "endpoint: bad port",
        EndpointError::EmptyHost => "endpoint: empty host",
        EndpointError::BadHost => "endpoint: bad host",
        EndpointError::WildcardInConnect => "endpoint: * in connect",
        EndpointError::PortZeroInConnect => "endpoint: port 0 in connect",
        EndpointError::EmptyPath => "endpoint: empty path",
        EndpointError::PathTooLong => "endpoint: path too long",
        EndpointError::EmptyName => "endpoint: empty name",
        EndpointError::NameTooLong => "endpoint: name too long",
    }
}
