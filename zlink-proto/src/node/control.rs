//! Records that never reach a handler: admission, update, probe, ack, and what is at fault (S-07, S-31 to S-43).

use super::action::Action;
use super::role::{Role, RoleKind, encode};
use super::session::SessionState;
use crate::host::ReplyResult;
use crate::id::{OperationId, SetId};
use crate::transport::{Outcome, Received, ReplyToken};
use crate::wire::Record;
use crate::wire::service::{
    Admission, ClientHello, Content, RejectReason, RuntimeState, Scope, Sender, ServerDescriptor,
    ServiceFault, decode,
};

/// Reason with which a connection closes whose peer does not keep to the protocol (S-07).
const PROTOCOL_ERROR: &str = "service protocol error";

/// How a record that no handler gets was handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Handled {
    /// Internal work, or an answer to a request.
    Done,
    /// A one-way record that is well formed but addresses nothing here.
    NoTarget,
    /// A one-way record that is malformed.
    Malformed,
    /// Peers of the role changed.
    PeersChanged,
}

impl Role {
    /// Handles a received record that is not for an owner.
    pub(super) fn handle_control(&mut self, received: Received) -> Handled {
        let Received { set, record, token, .. } = received;
        let is_admitted = self.sessions.is_admitted(set);
        match decode(&record, Some(self.peer_sender())) {
            Err(fault) => self.handle_fault(set, fault, token, is_admitted),
            Ok(service) => match service.content {
                Content::Hello(admission) if !is_admitted => self.handle_hello(set, admission, token),
                Content::LivenessProbe { id } if is_admitted => self.act(Action::Ack { set, id }, token),
                Content::LivenessAck { id } if is_admitted => self.act(Action::Acked { set, id }, token),
                Content::Update(Admission::Server(update)) if is_admitted => {
                    self.handle_update(set, &update, &record)
                }
                Content::ChannelSend { .. } if is_admitted => Handled::NoTarget,
                Content::ChannelRequest { .. } if is_admitted => {
                    self.answer(token, ReplyResult::TARGET_NOT_FOUND);
                    Handled::Done
                }
                // Everything else does not belong here now (S-31).
                _ => self.close(set, token),
            },
        }
    }

    fn act(&mut self, action: Action, token: Option<ReplyToken>) -> Handled {
        debug_assert!(token.is_none(), "probes and acks are data");
        self.actions.push(action);
        Handled::Done
    }

    fn answer(&mut self, token: Option<ReplyToken>, result: ReplyResult) {
        if let Some(token) = token {
            self.actions.push(Action::Answer { token, result });
        }
    }

    /// The peer does not keep to the protocol. Its token ends with its set.
    fn close(&mut self, set: SetId, _token: Option<ReplyToken>) -> Handled {
        self.protocol_errors = self.protocol_errors.saturating_add(1);
        self.actions.push(Action::Close { set, reason: PROTOCOL_ERROR });
        Handled::Done
    }

    fn handle_fault(
        &mut self,
        set: SetId,
        fault: ServiceFault,
        token: Option<ReplyToken>,
        is_admitted: bool,
    ) -> Handled {
        match fault.scope {
            _ if !is_admitted => self.close(set, token),
            Scope::Connection => self.close(set, token),
            Scope::Record | Scope::Envelope if token.is_none() => Handled::Malformed,
            Scope::Record => {
                self.answer(token, ReplyResult::PROTOCOL_ERROR);
                Handled::Done
            }
            Scope::Envelope => {
                self.answer(token, ReplyResult::PAYLOAD_DECODE_FAILED);
                Handled::Done
            }
        }
    }

    /// A client introduces itself (S-32).
    fn handle_hello(&mut self, set: SetId, admission: Admission<'_>, token: Option<ReplyToken>) -> Handled {
        let RoleKind::Server(server) = &self.kind else { return self.close(set, token) };
        let Some(token) = token else { return self.close(set, None) };
        let hello = match admission {
            Admission::Client(hello) => self.judge(&hello, server.state).map(|()| hello),
            Admission::Mesh(_) => Err(RejectReason::TopologyMismatch),
            Admission::Server(_) => Err(RejectReason::IdentityMismatch),
        };
        match hello {
            Ok(hello) => {
                let record = self.admit(server);
                let message_bytes_max = u64::from(self.max_message.min(hello.max_message));
                self.sessions.admit(set, None);
                self.actions.push(Action::Admit { set, token, record, message_bytes_max });
                Handled::PeersChanged
            }
            Err(reason) => {
                let record = encode(Content::Reject(reason));
                self.actions.push(Action::Reject { set, token, record });
                Handled::Done
            }
        }
    }

    fn judge(&self, hello: &ClientHello<'_>, state: RuntimeState) -> Result<(), RejectReason> {
        if hello.channel != self.channel {
            Err(RejectReason::ChannelMismatch)
        } else if hello.security_identity != self.security_identity {
            Err(RejectReason::SecurityIdentityMismatch)
        } else if state != RuntimeState::Serving {
            Err(RejectReason::RuntimeNotServing)
        } else {
            Ok(())
        }
    }

    pub(super) fn note_hello(&mut self, set: SetId, operation: OperationId) {
        if let Some(session) = self.sessions.get_mut(set) {
            session.state = SessionState::Pending(operation);
        }
    }

    /// The answer to our hello, or its end.
    pub(super) fn handle_answer(&mut self, set: SetId, outcome: Outcome) {
        let Outcome::Reply(record) = outcome else {
            // The set ended, or the server answered with an error number: the connection is of no use.
            self.actions.push(Action::Close { set, reason: "hello not answered" });
            return;
        };
        let content = decode(&record, Some(Sender::Server)).map(|service| service.content);
        match content {
            Ok(Content::Admit(Admission::Server(descriptor))) if self.is_expected(set, &descriptor) => {
                let message_bytes_max = u64::from(self.max_message.min(descriptor.max_message));
                let weight = weight_of(&descriptor);
                self.sessions.admit(set, Some(kept(&record)));
                self.actions.push(Action::Enter { set, message_bytes_max, weight });
            }
            Ok(Content::Reject(reason)) => {
                let endpoint = self.sessions.get(set).and_then(|session| session.endpoint);
                match endpoint {
                    Some(endpoint) if reason.is_final() => {
                        self.actions.push(Action::Disconnect { endpoint });
                    }
                    Some(_) | None => self.actions.push(Action::Close { set, reason: "rejected" }),
                }
            }
            Ok(_) | Err(_) => {
                self.close(set, None);
            }
        }
    }

    /// The server that answers is the one that was asked (S-32).
    fn is_expected(&self, set: SetId, descriptor: &ServerDescriptor<'_>) -> bool {
        let is_peer =
            self.sessions.get(set).is_some_and(|session| session.peer.as_bytes() == descriptor.server);
        is_peer
            && descriptor.channel == self.channel
            && descriptor.security_identity == self.security_identity
    }

    /// A server says what changed (S-35).
    fn handle_update(&mut self, set: SetId, update: &ServerDescriptor<'_>, record: &Record) -> Handled {
        let Some(SessionState::Admitted(Some(known))) = self.sessions.get(set).map(|session| &session.state)
        else {
            return self.close(set, None);
        };
        let known = match decode(known, None).map(|service| service.content) {
            Ok(Content::Admit(Admission::Server(known)) | Content::Update(Admission::Server(known))) => known,
            Ok(_) | Err(_) => return self.close(set, None),
        };
        if *update == known {
            return Handled::Done;
        }
        if update.descriptor_revision <= known.descriptor_revision || known.check_update(update).is_err() {
            return self.close(set, None);
        }
        self.actions.push(Action::Weigh { set, weight: weight_of(update) });
        self.sessions.admit(set, Some(kept(record)));
        Handled::PeersChanged
    }
}

/// A copy that keeps no read chunk alive.
fn kept(record: &Record) -> Record {
    let mut copy = record.clone();
    copy.detach();
    copy
}

/// Weight for selection: only serving ones are candidates (S-50).
fn weight_of(descriptor: &ServerDescriptor<'_>) -> u32 {
    match descriptor.runtime_state {
        RuntimeState::Serving => descriptor.weight,
        RuntimeState::Preparing | RuntimeState::Draining | RuntimeState::Stopped | RuntimeState::Error => 0,
    }
}
