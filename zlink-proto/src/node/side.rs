//! The host's side of the composition: jobs authority, roles, sessions.

use super::Job;
use super::action::{Action, Batch, Feedback};
use super::role::{ClientConfig, Role, RoleKind, ServerConfig};
use crate::error::{ErrorKind, Failure};
use crate::host::{Host, HostOptions, OptionsError, OwnerConfig, OwnerId, OwnerKind, SocketKey, SourceId};
use crate::id::SetId;
use crate::time::Timestamp;
use crate::transport::{Settled, SocketOutput};
use crate::wire::service::RuntimeState;
use alloc::vec::Vec;
use core::time::Duration;

/// What changed for the users of a role. An observation: the state itself can be read at any time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// A peer was admitted, left, or changed its weight or state.
    Peers(SocketKey),
}

/// Everything of a host that is not a socket.
#[derive(Debug)]
pub struct HostSide {
    host: Host<Job>,
    /// By place of their socket key.
    roles: Vec<Option<Role>>,
    /// Roles whose peers changed since `poll_change`; each once.
    changed: Vec<SocketKey>,
    /// Set once by a drain that has come so far (M-63).
    is_ending: bool,
}

impl HostSide {
    /// A serving host without roles.
    ///
    /// # Errors
    /// Lists every violated option (H-01).
    pub fn new(options: HostOptions, now: Timestamp) -> Result<Self, OptionsError> {
        let host = Host::new(options, now)?;
        Ok(Self { host, roles: Vec::new(), changed: Vec::new(), is_ending: false })
    }

    /// The jobs authority.
    pub fn host(&self) -> &Host<Job> {
        &self.host
    }

    /// The jobs authority: drains, status, reset.
    pub fn host_mut(&mut self) -> &mut Host<Job> {
        &mut self.host
    }

    /// Adds the server of a channel with its own owner. The socket gets its first flow state by `apply_flows`; bind after it (H-43).
    ///
    /// # Errors
    /// `InvalidOperation` for a wrong name or number, `AlreadyExists` if the channel has a server here (H-06), `ShuttingDown`.
    pub fn add_server(&mut self, config: ServerConfig) -> Result<(SocketKey, OwnerId), Failure> {
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
        if config.weight > crate::wire::WEIGHT_MAX {
            return Err(refuse(ErrorKind::InvalidOperation, "a weight is 0 to 10,000"));
        }
        let owner = self.host.add_owner(owner);
        let key = self.host.add_socket();
        self.put(key, Role::server(key, config, owner));
        Ok((key, owner))
    }

    /// Adds a client of a channel. Its socket has `service_selection` set; connect after the first `apply_flows` (H-43).
    ///
    /// # Errors
    /// As `add_server`.
    pub fn add_client(&mut self, config: ClientConfig) -> Result<SocketKey, Failure> {
        self.check_role(&config.channel, &config.security_identity)?;
        let key = self.host.add_socket();
        self.put(key, Role::client(key, config));
        Ok(key)
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

    fn put(&mut self, key: SocketKey, role: Role) {
        if self.roles.len() <= key.index() {
            self.roles.resize_with(key.index() + 1, || None);
        }
        if let Some(place) = self.roles.get_mut(key.index()) {
            *place = Some(role);
        }
    }

    /// Removes a role: its sources, its owner, its sessions. Jobs that never ran are pushed to `ended`; requests among them get
    /// their answer by whoever takes their tokens.
    pub fn remove_role(&mut self, key: SocketKey, ended: &mut Vec<Job>, now: Timestamp) {
        let Some(role) =
            self.roles.get_mut(key.index()).filter(|role| role.as_ref().is_some_and(|r| r.key == key))
        else {
            return;
        };
        let Some(role) = role.take() else { return };
        self.host.remove_socket(key, now);
        if let RoleKind::Server(server) = &role.kind {
            self.host.close_owner(server.owner, ended, now);
        }
    }

    /// Changes the weight of a server at run time (S-45).
    ///
    /// # Errors
    /// `InvalidOperation` above 10,000; `NotFound` if the key is not that of a server.
    pub fn set_weight(&mut self, key: SocketKey, weight: u32) -> Result<(), Failure> {
        if weight > crate::wire::WEIGHT_MAX {
            return Err(refuse(ErrorKind::InvalidOperation, "a weight is 0 to 10,000"));
        }
        match self.role_mut(key) {
            Some(role) if matches!(role.kind, RoleKind::Server(_)) => role.update(Some(weight), None),
            Some(_) | None => return Err(refuse(ErrorKind::NotFound, "no such server")),
        }
        Ok(())
    }

    /// Peers of a role that are admitted.
    pub fn admitted_peers(&self, key: SocketKey) -> u32 {
        self.role(key).map_or(0, |role| role.sessions.admitted_count())
    }

    /// Faults in service records that closed a connection, since the start.
    pub fn protocol_errors(&self) -> u64 {
        self.roles.iter().flatten().map(|role| role.protocol_errors).sum()
    }

    /// A role whose peers changed. Call until `None`.
    pub fn poll_change(&mut self) -> Option<Change> {
        self.changed.pop().map(Change::Peers)
    }

    pub(super) fn note_change(&mut self, key: SocketKey) {
        if !self.changed.contains(&key) {
            self.changed.push(key);
        }
    }

    /// Takes what a socket says about its peers. Outputs about connections are not for this side and change nothing.
    pub fn handle_output(&mut self, key: SocketKey, output: SocketOutput, now: Timestamp) {
        match output {
            SocketOutput::PeerReady { set, routing_id, endpoint, .. } => {
                self.host.add_source(SourceId { socket: key, set }, now);
                let Some(role) = self.role_mut(key) else { return };
                role.sessions.open(set, routing_id, endpoint);
                role.actions.push(match role.kind {
                    RoleKind::Server(_) => Action::Expect { set },
                    RoleKind::Client => Action::Hello { set, record: role.hello() },
                });
            }
            SocketOutput::PeerLost { set } => {
                if let Some(role) = self.role_mut(key) {
                    role.sessions.end(set);
                }
                self.note_change(key);
            }
            SocketOutput::Drained(set) => {
                if let Some(role) = self.role_mut(key) {
                    role.sessions.close(set);
                }
                self.host.remove_source(SourceId { socket: key, set }, now);
            }
            SocketOutput::ProbeDue(set) => {
                if let Some(role) = self.role_mut(key) {
                    role.actions.push(Action::Probe { set });
                }
            }
            SocketOutput::Connect { .. }
            | SocketOutput::Abandon(_)
            | SocketOutput::StopListening(_)
            | SocketOutput::Closed => {}
        }
    }

    /// Takes the result of an operation that no caller waits for. True: it was a hello, and its slot is to be collected.
    pub fn handle_settled(&mut self, key: SocketKey, settled: Settled) -> bool {
        let Some(role) = self.role_mut(key) else { return false };
        let Some(set) = role.sessions.of_hello(settled.operation) else { return false };
        role.handle_answer(set, settled.outcome);
        self.note_change(key);
        true
    }

    /// Edge from a socket (H-55).
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
        let role = self.roles.iter_mut().flatten().find(|role| !role.actions.is_empty())?;
        Some((role.key, core::mem::take(&mut role.actions)))
    }

    /// True if `run_actions` has something to do.
    pub fn has_actions(&self) -> bool {
        self.roles.iter().flatten().any(|role| !role.actions.is_empty())
    }

    pub(super) fn handle_feedback(&mut self, key: SocketKey, feedback: impl Iterator<Item = Feedback>) {
        for one in feedback {
            let Some(role) = self.role_mut(key) else { return };
            match one {
                Feedback::HelloSent { set, operation } => role.note_hello(set, operation),
                Feedback::FenceOver { set } | Feedback::NoFence { set } => {
                    self.host.fence_over(SourceId { socket: key, set });
                }
            }
        }
    }

    /// Seals the host and begins to drain (M-61, M-62a): every server says "draining", every admitted peer gets a fence. A later
    /// call may shorten it. Returns when it ends at the latest.
    pub fn shutdown(&mut self, within: Duration, now: Timestamp) -> Timestamp {
        let is_first = !self.host.is_sealed();
        let deadline = self.host.shutdown(within, now);
        if is_first {
            for role in self.roles.iter_mut().flatten() {
                role.update(None, Some(RuntimeState::Draining));
                for session in role.sessions.iter() {
                    let set = session.set;
                    if session.is_admitted() {
                        role.actions.push(Action::Fence { set });
                    } else {
                        self.host.fence_over(SourceId { socket: role.key, set });
                    }
                }
            }
        }
        deadline
    }

    /// All fences are over and nothing else is left: each set gets its orderly end, once.
    pub(super) fn end_connections(&mut self, within: Duration) {
        if core::mem::replace(&mut self.is_ending, true) {
            return;
        }
        for role in self.roles.iter_mut().flatten() {
            for session in role.sessions.iter() {
                role.actions.push(Action::Finish { set: session.set, within });
            }
        }
    }

    /// The sockets of this host.
    pub fn sockets(&self) -> impl Iterator<Item = SocketKey> {
        self.roles.iter().flatten().map(|role| role.key)
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

    /// Both halves, for steps that need them at once.
    pub(super) fn split(&mut self, key: SocketKey) -> (&mut Host<Job>, Option<&mut Role>) {
        let role = self.roles.get_mut(key.index()).and_then(Option::as_mut).filter(|role| role.key == key);
        (&mut self.host, role)
    }

    /// Panics if a sum or a set does not match. For tests.
    pub fn check_invariants(&self) {
        self.host.check_invariants();
        for role in self.roles.iter().flatten() {
            let counted = role.sessions.admitted().count();
            assert_eq!(counted, role.sessions.admitted_count() as usize, "admitted sessions are counted");
        }
    }
}

fn refuse(kind: ErrorKind, reason: &'static str) -> Failure {
    Failure::not_submitted(kind, reason)
}
