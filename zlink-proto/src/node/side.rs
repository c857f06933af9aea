//! The host's side of the composition: jobs authority, roles, sessions.

use super::action::{Action, Batch};
use super::desk::SocketSide;
use super::observe::{Observation, Observations};
use super::replies::Replies;
use super::role::{Client, ClientConfig, Role, RoleKind, Server, ServerConfig, announced, hello, text8};
use super::routes::Routes;
use super::session::Sessions;
use super::{Job, action};
use crate::error::{ErrorKind, Failure};
use crate::host::{
    Host, HostOptions, OptionsError, OwnerConfig, OwnerId, OwnerKind, ReplyResult, SocketKey, SourceId,
};
use crate::id::SetId;
use crate::time::Timestamp;
use crate::transport::{EndReason, Socket};
use crate::wire::service::{RejectReason, RuntimeState};
use crate::wire::{SocketType, WEIGHT_MAX};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

/// Everything of a host that is not a socket.
#[derive(Debug)]
pub struct HostSide {
    pub(super) host: Host<Box<Job>>,
    /// By place of their socket key.
    roles: Vec<Option<Role>>,
    pub(super) replies: Replies,
    pub(super) seen: Observations,
    /// Roles whose peers changed since `poll_change`; each once.
    changed: Vec<SocketKey>,
    /// Sockets with news; each once.
    marked: Vec<SocketKey>,
    /// Last actions of removed roles.
    farewells: Vec<Batch>,
    /// Set once by a drain that has come so far (M-63).
    pub(super) is_ending: bool,
    /// Boxes of jobs that are over. The boxes themselves are what is kept.
    #[allow(clippy::vec_box)]
    spare_jobs: Vec<Box<Job>>,
}

/// Boxes that are kept for the next jobs.
const SPARE_JOBS_MAX: usize = 4_096;

/// The parts that a turn needs at once.
pub(super) struct Parts<'a> {
    pub(super) host: &'a mut Host<Box<Job>>,
    pub(super) role: Option<&'a mut Role>,
    pub(super) seen: &'a mut Observations,
    #[allow(clippy::vec_box)]
    pub(super) spare_jobs: &'a mut Vec<Box<Job>>,
}

impl HostSide {
    /// A serving host without roles.
    ///
    /// # Errors
    /// Lists every violated option (H-01).
    pub fn new(options: HostOptions, now: Timestamp) -> Result<Self, OptionsError> {
        Ok(Self {
            host: Host::new(options, now)?,
            roles: Vec::new(),
            replies: Replies::default(),
            seen: Observations::default(),
            changed: Vec::new(),
            marked: Vec::new(),
            farewells: Vec::new(),
            is_ending: false,
            spare_jobs: Vec::new(),
        })
    }

    /// The jobs authority.
    pub fn host(&self) -> &Host<Box<Job>> {
        &self.host
    }

    /// The jobs authority: drains, status, reset.
    pub fn host_mut(&mut self) -> &mut Host<Box<Job>> {
        &mut self.host
    }

    /// Takes the box of a job whose content was moved out; the next job lies in it.
    #[inline]
    pub fn recycle(&mut self, job: Box<Job>) {
        if self.spare_jobs.len() < SPARE_JOBS_MAX {
            self.spare_jobs.push(job);
        }
    }

    /// Adds the server of a channel with its own owner. `socket` is a fresh ROUTER, to be shared and bound after this call: it has its
    /// first flow state then (H-43).
    ///
    /// # Errors
    /// `InvalidOperation` for a wrong name or number or two handlers with one key, `AlreadyExists` if the channel has a server here
    /// (H-06), `ShuttingDown`.
    pub fn add_server(
        &mut self,
        config: ServerConfig,
        socket: &mut Socket,
        now: Timestamp,
    ) -> Result<(SocketKey, OwnerId, SocketSide), Failure> {
        self.check_role(&config.channel, &config.security_identity)?;
        if self.servers().any(|role| role.channel == config.channel) {
            return Err(refuse(ErrorKind::AlreadyExists, "this channel has a server here already"));
        }
        let owner = OwnerConfig {
            kind: OwnerKind::Channel,
            name: config.channel.clone(),
            concurrency: config.concurrency,
        };
        if self.host.config().validate_owner(&owner).is_err() {
            return Err(refuse(ErrorKind::InvalidOperation, "concurrency is 1 to 65,535"));
        }
        if config.weight > WEIGHT_MAX {
            return Err(refuse(ErrorKind::InvalidOperation, "a weight is 0 to 10,000"));
        }
        if !(1..=4_096).contains(&config.endpoint.len()) || config.endpoint.contains('\0') {
            return Err(refuse(ErrorKind::InvalidOperation, "an endpoint is 1 to 4,096 bytes"));
        }
        if socket.socket_type() != SocketType::Router {
            return Err(refuse(ErrorKind::InvalidOperation, "a server stands behind a ROUTER"));
        }
        let Some(routes) = Routes::new(config.handlers, config.content_types) else {
            return Err(refuse(ErrorKind::InvalidOperation, "two handlers with one key"));
        };
        let owner = self.host.add_owner(owner);
        let kind = RoleKind::Server(Server {
            owner,
            channel_text: text8(&config.channel),
            routes,
            routing_id: socket.routing_id().as_bytes().to_vec(),
            endpoint: config.endpoint,
            lifecycle_generation: config.lifecycle_generation.clamp(1, i64::MAX as u64),
            revision: 1,
            weight: config.weight,
            state: RuntimeState::Serving,
        });
        let max_message = announced(socket.options().max_message_size);
        let key = self.put(config.channel, config.security_identity, max_message, kind);
        self.start_socket(key, socket, now);
        Ok((key, owner, SocketSide::new(None)))
    }

    /// Adds a client of a channel. `socket` is a fresh DEALER with `service_selection`, to be shared and connected after this call: it
    /// has its first flow state then (H-43).
    ///
    /// # Errors
    /// `InvalidOperation` for a wrong name or another socket, `ShuttingDown`.
    pub fn add_client(
        &mut self,
        config: ClientConfig,
        socket: &mut Socket,
        now: Timestamp,
    ) -> Result<(SocketKey, SocketSide), Failure> {
        self.check_role(&config.channel, &config.security_identity)?;
        if socket.socket_type() != SocketType::Dealer || !socket.options().service_selection {
            return Err(refuse(
                ErrorKind::InvalidOperation,
                "a client stands behind a DEALER of the service",
            ));
        }
        let max_message = announced(socket.options().max_message_size);
        let hello = hello(&config, max_message);
        let kind = RoleKind::Client(Client::default());
        let key = self.put(config.channel, config.security_identity, max_message, kind);
        self.start_socket(key, socket, now);
        Ok((key, SocketSide::new(Some(hello))))
    }

    fn check_role(&self, channel: &str, security_identity: &str) -> Result<(), Failure> {
        let is_text = |text: &str| (1..=255).contains(&text.len()) && !text.contains('\0');
        if self.host.is_sealed() {
            return Err(refuse(ErrorKind::ShuttingDown, "the host shuts down"));
        }
        if !is_text(channel) || !is_text(security_identity) {
            return Err(refuse(ErrorKind::InvalidOperation, "names are 1 to 255 bytes of text without NUL"));
        }
        Ok(())
    }

    fn put(
        &mut self,
        channel: String,
        security_identity: String,
        max_message: u32,
        kind: RoleKind,
    ) -> SocketKey {
        let key = self.host.add_socket();
        let role = Role {
            key,
            channel,
            security_identity,
            max_message,
            kind,
            sessions: Sessions::default(),
            actions: Vec::new(),
        };
        if self.roles.len() <= key.index() {
            self.roles.resize_with(key.index() + 1, || None);
        }
        if let Some(place) = self.roles.get_mut(key.index()) {
            *place = Some(role);
        }
        key
    }

    /// The first flow state is there before anybody can connect, so no peer ever sees another one (H-43).
    fn start_socket(&mut self, key: SocketKey, socket: &mut Socket, now: Timestamp) {
        if let Some(apply) = self.host.flow_due_for(key) {
            action::tell(socket, &apply, now);
            self.host.applied(apply, true, now);
        }
    }

    /// Removes a role: its sources, its owner, its sessions. `run_actions` answers requesters of jobs that never ran with 102/14 and
    /// closes the socket, which its owner may forget once it is closed.
    pub fn remove_role(&mut self, key: SocketKey, linger: Duration, now: Timestamp) {
        let Some(place) = self.roles.get_mut(key.index()) else { return };
        let Some(mut role) = place.take_if(|role| role.key == key) else { return };
        self.host.remove_socket(key, now);
        for session in role.sessions.iter() {
            self.replies.leave(SourceId { socket: key, set: session.set });
        }
        if let RoleKind::Server(server) = &role.kind {
            let mut ended = Vec::new();
            self.host.close_owner(server.owner, &mut ended, now);
            ended.iter_mut().for_each(|job| role.refuse(job, ReplyResult::TARGET_NOT_FOUND));
        }
        role.actions.push(Action::Close { linger });
        self.farewells.push((key, role.actions));
    }

    /// Changes the weight of a server at run time (S-45): `run_actions` tells its clients.
    ///
    /// # Errors
    /// `InvalidOperation` above 10,000; `NotFound` if the key is not that of a server.
    pub fn set_weight(&mut self, key: SocketKey, weight: u32) -> Result<(), Failure> {
        if weight > WEIGHT_MAX {
            return Err(refuse(ErrorKind::InvalidOperation, "a weight is 0 to 10,000"));
        }
        match self.role_mut(key) {
            Some(role) if matches!(role.kind, RoleKind::Server(_)) => role.update(Some(weight), None),
            Some(_) | None => return Err(refuse(ErrorKind::NotFound, "no such server")),
        }
        Ok(())
    }

    /// Peers of a role that are admitted and connected.
    pub fn admitted_peers(&self, key: SocketKey) -> u32 {
        self.role(key).map_or(0, |role| role.sessions.live_count())
    }

    /// Those of them that are serving: for a client, servers that may be candidates (S-38).
    pub fn ready_peers(&self, key: SocketKey) -> u32 {
        self.role(key).map_or(0, |role| role.sessions.ready_count())
    }

    /// Why the last server rejected this client, until one admits it (S-33).
    pub fn rejection(&self, key: SocketKey) -> Option<RejectReason> {
        match &self.role(key)?.kind {
            RoleKind::Client(client) => client.rejection,
            RoleKind::Server(_) => None,
        }
    }

    /// A role whose peers changed. Call until `None`.
    pub fn poll_change(&mut self) -> Option<SocketKey> {
        self.changed.pop()
    }

    pub(super) fn note_change(&mut self, key: SocketKey) {
        if !self.changed.contains(&key) {
            self.changed.push(key);
        }
    }

    /// An observation. Nobody must read them.
    pub fn poll_observation(&mut self) -> Option<Observation> {
        self.seen.take()
    }

    /// Observations that were lost because nobody read them.
    pub fn lost_observations(&self) -> u64 {
        self.seen.lost()
    }

    /// A socket has news for `run_news`.
    pub fn mark(&mut self, key: SocketKey) {
        if !self.marked.contains(&key) {
            self.marked.push(key);
        }
    }

    pub(super) fn take_mark(&mut self) -> Option<SocketKey> {
        self.marked.pop()
    }

    /// True if `run_news` has something to do.
    pub fn has_news(&self) -> bool {
        !self.marked.is_empty()
    }

    /// Edge from a socket (H-55). One that comes before its set is known here is not lost: a new source is looked at.
    #[inline]
    pub fn readable(&mut self, key: SocketKey, set: SetId, now: Timestamp) {
        self.host.readable(SourceId { socket: key, set }, now);
    }

    /// Earliest time at which `handle_timeout` has something to do.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.host.poll_timeout()
    }

    /// Lets timers act.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.host.handle_timeout(now);
    }

    /// The next socket that has something to do.
    pub(super) fn take_actions(&mut self) -> Option<Batch> {
        if let Some(last) = self.farewells.pop() {
            return Some(last);
        }
        let role = self.roles.iter_mut().flatten().find(|role| !role.actions.is_empty())?;
        Some((role.key, core::mem::take(&mut role.actions)))
    }

    /// Keeps the memory of a list that was performed.
    pub(super) fn give_back(&mut self, key: SocketKey, list: Vec<Action>) {
        if let Some(role) = self.role_mut(key).filter(|role| role.actions.capacity() == 0) {
            role.actions = list;
        }
    }

    /// True if `run_actions` has something to do.
    pub fn has_actions(&self) -> bool {
        !self.farewells.is_empty() || self.roles.iter().flatten().any(|role| !role.actions.is_empty())
    }

    /// True if `step` has something to do.
    pub fn has_work(&self) -> bool {
        self.has_news() || self.has_actions() || self.host.needs_turn() || self.host.has_flow_due()
    }

    /// Ends the connection of a peer at once (N-21).
    pub fn end_set(&mut self, key: SocketKey, set: SetId, reason: EndReason) {
        if let Some(role) = self.role_mut(key) {
            role.sessions.end(set);
            role.actions.push(Action::End { set, reason });
        }
    }

    /// The sockets of this host.
    pub fn sockets(&self) -> impl Iterator<Item = SocketKey> {
        self.roles.iter().flatten().map(|role| role.key)
    }

    pub(super) fn roles_mut(&mut self) -> impl Iterator<Item = &mut Role> {
        self.roles.iter_mut().flatten()
    }

    fn servers(&self) -> impl Iterator<Item = &Role> {
        self.roles.iter().flatten().filter(|role| matches!(role.kind, RoleKind::Server(_)))
    }

    #[inline]
    pub(super) fn role(&self, key: SocketKey) -> Option<&Role> {
        self.roles.get(key.index())?.as_ref().filter(|role| role.key == key)
    }

    pub(super) fn role_mut(&mut self, key: SocketKey) -> Option<&mut Role> {
        self.roles.get_mut(key.index())?.as_mut().filter(|role| role.key == key)
    }

    #[inline]
    pub(super) fn split(&mut self, key: SocketKey) -> Parts<'_> {
        let role = self.roles.get_mut(key.index()).and_then(Option::as_mut).filter(|role| role.key == key);
        Parts { host: &mut self.host, role, seen: &mut self.seen, spare_jobs: &mut self.spare_jobs }
    }

    /// Panics if a sum or a set does not match. For tests.
    pub fn check_invariants(&self) {
        self.host.check_invariants();
        self.replies.check_invariants();
        for role in self.roles.iter().flatten() {
            role.sessions.check_invariants();
        }
    }
}

pub(super) const fn refuse(kind: ErrorKind, reason: &'static str) -> Failure {
    Failure::not_submitted(kind, reason)
}
