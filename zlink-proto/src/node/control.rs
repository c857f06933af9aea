//! Records that never reach a handler: admission, update, probe, ack, and what is at fault (S-07, S-31 to S-43).

use super::action::Action;
use super::desk::PROTOCOL_ERROR;
use super::observe::{Observations, Observed};
use super::role::{Role, RoleKind, encode};
use super::session::{Session, SessionState};
use crate::host::{DropReason, ReplyResult};
use crate::id::SetId;
use crate::transport::{EndReason, Outcome, Received, ReplyToken};
use crate::wire::Record;
use crate::wire::service::{
    Admission, ClientHello, Content, RejectReason, RuntimeState, Scope, Sender, ServerDescriptor,
    ServiceFault, decode,
};

/// What handling a record led to beside actions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Handled {
    /// A one-way that ended so.
    pub(super) dropped: Option<DropReason>,
    /// Peers of the role changed.
    pub(super) has_change: bool,
}

impl Handled {
    const NOTHING: Self = Self { dropped: None, has_change: false };
    const CHANGE: Self = Self { dropped: None, has_change: true };
}

/// What a record is answered with, or dropped for, when no handler gets it.
#[derive(Clone, Copy, Debug)]
struct Verdict {
    result: ReplyResult,
    dropped: DropReason,
}

impl Role {
    /// Handles a received record that is not for an owner.
    pub(super) fn handle_control(&mut self, received: Received, seen: &mut Observations) -> Handled {
        let Received { set, record, token, .. } = received;
        let Some(session) = self.sessions.get(set) else { return Handled::NOTHING };
        let is_admitted = match session.state {
            SessionState::Connected => false,
            SessionState::Admitted(_) => true,
            // It is being closed: nothing of it is looked at. Its token ends with it.
            SessionState::Ending => return Handled::NOTHING,
        };
        let service = match decode(&record, Some(self.peer_sender())) {
            Ok(service) => service,
            Err(fault) => return self.handle_fault(set, fault, token, is_admitted, seen),
        };
        match service.content {
            Content::Hello(admission) if !is_admitted => self.handle_hello(set, admission, token, seen),
            Content::LivenessProbe { id } if is_admitted => {
                self.actions.push(Action::Ack { set, id });
                Handled::NOTHING
            }
            Content::LivenessAck { id } if is_admitted => {
                self.actions.push(Action::Acked { set, id });
                Handled::NOTHING
            }
            Content::Update(Admission::Server(update)) if is_admitted => {
                self.handle_update(set, &update, &record, seen)
            }
            Content::ChannelSend { .. } | Content::ChannelRequest { .. } if is_admitted => {
                seen.tell(self.key, set, Observed::NoHandler { is_request: token.is_some() });
                let verdict =
                    Verdict { result: ReplyResult::TARGET_NOT_FOUND, dropped: DropReason::NoHandler };
                self.decline(token, verdict)
            }
            // Everything else does not belong here now (S-31).
            _ => self.close(set, None, seen),
        }
    }

    /// A call that no handler can take: nothing is registered, or nothing decodes it (O-84).
    pub(super) fn handle_unhandled(
        &mut self,
        set: SetId,
        token: Option<ReplyToken>,
        is_undecodable: bool,
        seen: &mut Observations,
    ) -> Handled {
        let is_request = token.is_some();
        let (what, result, dropped) = if is_undecodable {
            let result = ReplyResult::PAYLOAD_DECODE_FAILED;
            (Observed::Undecodable { is_request }, result, DropReason::DecodeError)
        } else {
            let result = ReplyResult::HANDLER_NOT_FOUND;
            (Observed::NoHandler { is_request }, result, DropReason::NoHandler)
        };
        seen.tell(self.key, set, what);
        self.decline(token, Verdict { result, dropped })
    }

    /// A requester is told; a one-way is counted.
    fn decline(&mut self, token: Option<ReplyToken>, verdict: Verdict) -> Handled {
        let Verdict { result, dropped } = verdict;
        match token {
            Some(token) => {
                self.actions.push(Action::Answer { token, result });
                Handled::NOTHING
            }
            None => Handled { dropped: Some(dropped), has_change: false },
        }
    }

    /// The peer does not keep to the protocol (S-07). Tokens end with the set.
    fn close(&mut self, set: SetId, fault: Option<ServiceFault>, seen: &mut Observations) -> Handled {
        seen.tell(self.key, set, Observed::ProtocolError { fault });
        self.sessions.end(set);
        self.actions.push(Action::End { set, reason: EndReason::Service(PROTOCOL_ERROR) });
        Handled::CHANGE
    }

    fn handle_fault(
        &mut self,
        set: SetId,
        fault: ServiceFault,
        token: Option<ReplyToken>,
        is_admitted: bool,
        seen: &mut Observations,
    ) -> Handled {
        let result = match fault.scope {
            Scope::Record | Scope::Envelope if !is_admitted => return self.close(set, Some(fault), seen),
            Scope::Connection => return self.close(set, Some(fault), seen),
            Scope::Record => ReplyResult::PROTOCOL_ERROR,
            Scope::Envelope => ReplyResult::PAYLOAD_DECODE_FAILED,
        };
        seen.tell(self.key, set, Observed::Malformed { fault, is_request: token.is_some() });
        self.decline(token, Verdict { result, dropped: DropReason::DecodeError })
    }

    /// A client introduces itself (S-32).
    fn handle_hello(
        &mut self,
        set: SetId,
        admission: Admission<'_>,
        token: Option<ReplyToken>,
        seen: &mut Observations,
    ) -> Handled {
        let (RoleKind::Server(server), Some(token)) = (&self.kind, token) else {
            return self.close(set, None, seen);
        };
        let hello = match admission {
            Admission::Client(hello) => self.judge(&hello, server.state).map(|()| hello),
            Admission::Mesh(_) => Err(RejectReason::TopologyMismatch),
            Admission::Server(_) => Err(RejectReason::InvalidDescriptor),
        };
        match hello {
            Ok(hello) => {
                let record = self.admit(server);
                let message_bytes_max = u64::from(self.max_message.min(hello.max_message));
                self.sessions.admit(set, None, true);
                self.set_message_limit(set, message_bytes_max);
                self.actions.push(Action::Admit { set, token, record, message_bytes_max });
                Handled::CHANGE
            }
            Err(reason) => {
                self.tell_rejected(set, reason, seen);
                self.sessions.end(set);
                let record = encode(Content::Reject(reason));
                self.actions.push(Action::Reject { set, token, record });
                Handled::NOTHING
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

    fn set_message_limit(&mut self, set: SetId, bytes: u64) {
        if let Some(session) = self.sessions.get_mut(set) {
            session.message_bytes_max = bytes;
        }
    }

    fn tell_rejected(&self, set: SetId, reason: RejectReason, seen: &mut Observations) {
        if let Some(session) = self.sessions.get(set) {
            seen.tell(self.key, set, Observed::Rejected { reason, peer: session.peer.clone() });
        }
    }

    /// The answer to our hello, or its end.
    pub(super) fn handle_answer(&mut self, set: SetId, outcome: Outcome, seen: &mut Observations) {
        let Some(session) = self.sessions.get(set) else { return };
        if !matches!(session.state, SessionState::Connected) {
            return;
        }
        let Outcome::Reply(record) = outcome else {
            // The set ended, or the peer answers with an error number: the connection is of no use.
            self.sessions.end(set);
            self.actions.push(Action::End { set, reason: EndReason::Service("hello not answered") });
            return;
        };
        match decode(&record, Some(Sender::Server)).map(|service| service.content) {
            Ok(Content::Admit(Admission::Server(descriptor))) => {
                match self.judge_server(session, &descriptor) {
                    Ok(()) => self.enter(set, &descriptor, &record),
                    Err(reason) => self.leave(set, reason, seen),
                }
            }
            Ok(Content::Admit(Admission::Mesh(_))) => self.leave(set, RejectReason::TopologyMismatch, seen),
            Ok(Content::Admit(Admission::Client(_))) => {
                self.leave(set, RejectReason::InvalidDescriptor, seen)
            }
            Ok(Content::Reject(reason)) => self.leave(set, reason, seen),
            Ok(_) => {
                self.close(set, None, seen);
            }
            Err(fault) => {
                self.close(set, Some(fault), seen);
            }
        }
    }

    /// The server that answers must be the one that was asked (S-32).
    fn judge_server(&self, session: &Session, descriptor: &ServerDescriptor<'_>) -> Result<(), RejectReason> {
        if descriptor.channel != self.channel {
            Err(RejectReason::ChannelMismatch)
        } else if descriptor.server != session.peer.as_bytes() {
            Err(RejectReason::IdentityMismatch)
        } else if descriptor.security_identity != self.security_identity {
            Err(RejectReason::SecurityIdentityMismatch)
        } else {
            match descriptor.runtime_state {
                RuntimeState::Serving | RuntimeState::Draining => Ok(()),
                RuntimeState::Preparing | RuntimeState::Stopped | RuntimeState::Error => {
                    Err(RejectReason::RuntimeNotServing)
                }
            }
        }
    }

    fn enter(&mut self, set: SetId, descriptor: &ServerDescriptor<'_>, record: &Record) {
        let message_bytes_max = u64::from(self.max_message.min(descriptor.max_message));
        self.sessions.admit(set, Some(kept(record)), is_serving(descriptor));
        self.set_message_limit(set, message_bytes_max);
        if let RoleKind::Client(client) = &mut self.kind {
            client.rejection = None;
        }
        self.actions.push(Action::Enter { set, message_bytes_max, weight: weight_of(descriptor) });
    }

    /// We are rejected, or we reject (S-33). A final reason ends the endpoint.
    fn leave(&mut self, set: SetId, reason: RejectReason, seen: &mut Observations) {
        self.tell_rejected(set, reason, seen);
        let endpoint = self.sessions.get(set).and_then(|session| session.endpoint);
        self.sessions.end(set);
        if let RoleKind::Client(client) = &mut self.kind {
            client.rejection = Some(reason);
        }
        self.actions.push(match endpoint {
            Some(endpoint) if reason.is_final() => Action::Disconnect { endpoint },
            Some(_) | None => Action::End { set, reason: EndReason::Disconnected },
        });
    }

    /// A server says what changed (S-35).
    fn handle_update(
        &mut self,
        set: SetId,
        update: &ServerDescriptor<'_>,
        record: &Record,
        seen: &mut Observations,
    ) -> Handled {
        let Some(SessionState::Admitted(Some(known))) = self.sessions.get(set).map(|session| &session.state)
        else {
            return self.close(set, None, seen);
        };
        let known = match decode(known, None).map(|service| service.content) {
            Ok(Content::Admit(Admission::Server(known)) | Content::Update(Admission::Server(known))) => known,
            Ok(_) | Err(_) => return self.close(set, None, seen),
        };
        // Equal values have equal bytes: there is one way to write them.
        if *update == known {
            return Handled::NOTHING;
        }
        if update.descriptor_revision <= known.descriptor_revision {
            return self.close(set, None, seen);
        }
        if let Err(fault) = known.check_update(update) {
            return self.close(set, Some(fault), seen);
        }
        self.actions.push(Action::Weigh { set, weight: weight_of(update) });
        self.sessions.admit(set, Some(kept(record)), is_serving(update));
        Handled::CHANGE
    }
}

/// A copy that keeps no read chunk alive.
fn kept(record: &Record) -> Record {
    let mut copy = record.clone();
    copy.detach();
    copy
}

fn is_serving(descriptor: &ServerDescriptor<'_>) -> bool {
    descriptor.runtime_state == RuntimeState::Serving
}

/// Weight for selection: only serving ones are candidates (S-50).
fn weight_of(descriptor: &ServerDescriptor<'_>) -> u32 {
    if is_serving(descriptor) { descriptor.weight } else { 0 }
}
