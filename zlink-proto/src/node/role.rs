//! Roles: a channel's server behind a ROUTER, a channel's client behind a DEALER.

use super::action::Action;
use super::session::Sessions;
use crate::host::{OwnerId, SocketKey};
use crate::id::SetId;
use crate::wire::service::{
    Admission, ClientHello, Content, RuntimeState, Sender, ServerDescriptor, ServiceRecord,
};
use alloc::string::String;
use alloc::vec::Vec;

/// What a server of a channel says of itself.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The channel, 1 to 255 bytes of text without NUL.
    pub channel: String,
    /// Must equal that of the clients; 1 to 255 bytes.
    pub security_identity: String,
    /// Routing id of the socket.
    pub routing_id: Vec<u8>,
    /// Where it listens, as announced to clients; 1 to 4,096 bytes.
    pub endpoint: String,
    /// Changes with each start; not 0 (S-36).
    pub lifecycle_generation: u64,
    /// 0 to 10,000 (S-45).
    pub weight: u32,
    /// MaxMessageSize of the socket; 0 = none.
    pub max_message_bytes: u64,
    /// Handlers that may run at once, 1 to 65,535 (H-72).
    pub concurrency: u32,
}

/// What a client of a channel says of itself.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The channel, 1 to 255 bytes of text without NUL.
    pub channel: String,
    /// Must equal that of the servers; 1 to 255 bytes.
    pub security_identity: String,
    /// MaxMessageSize of the socket; 0 = none.
    pub max_message_bytes: u64,
}

/// One socket of the host and what it is for.
#[derive(Debug)]
pub(super) struct Role {
    pub(super) key: SocketKey,
    pub(super) channel: String,
    /// The channel as text8.
    pub(super) channel_text: Vec<u8>,
    pub(super) security_identity: String,
    pub(super) max_message: u32,
    pub(super) kind: RoleKind,
    pub(super) sessions: Sessions,
    /// Packet name and content type of the latest record, found well formed.
    pub(super) known_names: Vec<u8>,
    /// What the socket has to do next, in order. Bounded: a few per session and one per record of a turn.
    pub(super) actions: Vec<Action>,
    pub(super) protocol_errors: u64,
}

#[derive(Debug)]
pub(super) enum RoleKind {
    Server(Server),
    Client,
}

#[derive(Debug)]
pub(super) struct Server {
    pub(super) owner: OwnerId,
    routing_id: Vec<u8>,
    endpoint: String,
    lifecycle_generation: u64,
    revision: u64,
    weight: u32,
    pub(super) state: RuntimeState,
}

/// A cap of 0 is announced as the largest number (S-37).
fn announced(max_message_bytes: u64) -> u32 {
    match u32::try_from(max_message_bytes) {
        Ok(0) | Err(_) => u32::MAX,
        Ok(bytes) => bytes,
    }
}

fn text8(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() + 1);
    bytes.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

impl Role {
    pub(super) fn server(key: SocketKey, config: ServerConfig, owner: OwnerId) -> Self {
        let server = Server {
            owner,
            routing_id: config.routing_id,
            endpoint: config.endpoint,
            lifecycle_generation: config.lifecycle_generation.max(1),
            revision: 1,
            weight: config.weight,
            state: RuntimeState::Serving,
        };
        let kind = RoleKind::Server(server);
        Self::new(key, config.channel, config.security_identity, config.max_message_bytes, kind)
    }

    pub(super) fn client(key: SocketKey, config: ClientConfig) -> Self {
        Self::new(key, config.channel, config.security_identity, config.max_message_bytes, RoleKind::Client)
    }

    fn new(key: SocketKey, channel: String, security_identity: String, max: u64, kind: RoleKind) -> Self {
        Self {
            key,
            channel_text: text8(&channel),
            channel,
            security_identity,
            max_message: announced(max),
            kind,
            sessions: Sessions::default(),
            known_names: Vec::new(),
            actions: Vec::new(),
            protocol_errors: 0,
        }
    }

    /// Who sends to this role (S-21).
    pub(super) const fn peer_sender(&self) -> Sender {
        match self.kind {
            RoleKind::Server(_) => Sender::Client,
            RoleKind::Client => Sender::Server,
        }
    }

    /// Part 0 of a client's hello.
    pub(super) fn hello(&self) -> Vec<u8> {
        let hello = ClientHello {
            channel: &self.channel,
            security_identity: &self.security_identity,
            max_message: self.max_message,
        };
        encode(Content::Hello(Admission::Client(hello)))
    }

    fn descriptor<'a>(&'a self, server: &'a Server) -> ServerDescriptor<'a> {
        ServerDescriptor {
            channel: &self.channel,
            server: &server.routing_id,
            lifecycle_generation: server.lifecycle_generation,
            descriptor_revision: server.revision,
            weight: server.weight,
            runtime_state: server.state,
            security_identity: &self.security_identity,
            max_message: self.max_message,
            endpoint: &server.endpoint,
        }
    }

    /// Part 0 of a server's admit.
    pub(super) fn admit(&self, server: &Server) -> Vec<u8> {
        encode(Content::Admit(Admission::Server(self.descriptor(server))))
    }

    /// Changes weight or state: the revision grows and each admitted client gets an update (S-35, S-45).
    pub(super) fn update(&mut self, weight: Option<u32>, state: Option<RuntimeState>) {
        let RoleKind::Server(server) = &mut self.kind else { return };
        let (weight, state) = (weight.unwrap_or(server.weight), state.unwrap_or(server.state));
        if (weight, state) == (server.weight, server.state) {
            return;
        }
        (server.weight, server.state) = (weight, state);
        server.revision += 1;
        let RoleKind::Server(server) = &self.kind else { return };
        let record = encode(Content::Update(Admission::Server(self.descriptor(server))));
        let admitted: Vec<SetId> = self.sessions.admitted().map(|session| session.set).collect();
        for set in admitted {
            self.actions.push(Action::Update { set, record: record.clone() });
        }
    }
}

/// Part 0 of a record that has no other part.
pub(super) fn encode(content: Content<'_>) -> Vec<u8> {
    ServiceRecord { content, metadata: None, envelope: None }.encode_first()
}
