//! Roles: a channel's server behind a ROUTER, a channel's client behind a DEALER.

use super::action::Action;
use super::routes::{HandlerConfig, Routes};
use super::session::Sessions;
use crate::host::{OwnerId, SocketKey};
use crate::id::SetId;
use crate::wire::service::{
    Admission, ClientHello, Content, RejectReason, RuntimeState, Sender, ServerDescriptor, ServiceRecord,
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
    /// Where it listens, as announced to clients; 1 to 4,096 bytes.
    pub endpoint: String,
    /// Changes with each start; not 0 (S-36).
    pub lifecycle_generation: u64,
    /// 0 to 10,000 (S-45).
    pub weight: u32,
    /// Handlers that may run at once, 1 to 65,535 (H-72).
    pub concurrency: u32,
    /// Its handlers (S-38).
    pub handlers: Vec<HandlerConfig>,
    /// Content types beside the known ones that handlers can decode (S-12).
    pub content_types: Vec<String>,
}

/// What a client of a channel says of itself.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The channel, 1 to 255 bytes of text without NUL.
    pub channel: String,
    /// Must equal that of the servers; 1 to 255 bytes.
    pub security_identity: String,
}

/// One socket of the host and what it is for.
#[derive(Debug)]
pub(super) struct Role {
    pub(super) key: SocketKey,
    pub(super) channel: String,
    pub(super) security_identity: String,
    pub(super) max_message: u32,
    pub(super) kind: RoleKind,
    pub(super) sessions: Sessions,
    /// What the socket has to do next, in order. Bounded: a few per session and one per record of a turn.
    pub(super) actions: Vec<Action>,
}

#[derive(Debug)]
pub(super) enum RoleKind {
    Server(Server),
    Client(Client),
}

#[derive(Debug)]
pub(super) struct Server {
    pub(super) owner: OwnerId,
    /// The channel as text8.
    pub(super) channel_text: Vec<u8>,
    pub(super) routes: Routes,
    pub(super) routing_id: Vec<u8>,
    pub(super) endpoint: String,
    pub(super) lifecycle_generation: u64,
    pub(super) revision: u64,
    pub(super) weight: u32,
    pub(super) state: RuntimeState,
}

#[derive(Debug, Default)]
pub(super) struct Client {
    /// The last one, until a server admits us.
    pub(super) rejection: Option<RejectReason>,
}

/// A cap of 0 is announced as the largest number (S-37).
pub(super) fn announced(max_message_bytes: u64) -> u32 {
    match u32::try_from(max_message_bytes) {
        Ok(0) | Err(_) => u32::MAX,
        Ok(bytes) => bytes,
    }
}

pub(super) fn text8(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() + 1);
    bytes.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

impl Role {
    /// Who sends to this role (S-21).
    pub(super) const fn peer_sender(&self) -> Sender {
        match self.kind {
            RoleKind::Server(_) => Sender::Client,
            RoleKind::Client(_) => Sender::Server,
        }
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
        let live = self.sessions.iter().filter(|session| session.is_live());
        let sets: Vec<SetId> = live.map(|session| session.set).collect();
        for set in sets {
            self.actions.push(Action::Update { set, record: record.clone() });
        }
    }
}

/// Part 0 of a client's hello.
pub(super) fn hello(config: &ClientConfig, max_message: u32) -> Vec<u8> {
    encode(Content::Hello(Admission::Client(ClientHello {
        channel: &config.channel,
        security_identity: &config.security_identity,
        max_message,
    })))
}

/// Part 0 of a record that has no other part.
pub(super) fn encode(content: Content<'_>) -> Vec<u8> {
    ServiceRecord::of(content).encode_first()
}
