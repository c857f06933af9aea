//! What the host's side wants done on a socket, and what came of it.

use super::reach::Reach;
use super::role::encode;
use crate::error::Failure;
use crate::host::{ReplyResult, SocketKey};
use crate::id::{EndpointId, OperationId, SetId};
use crate::time::Timestamp;
use crate::transport::{EndReason, ReplyToken, Slot, Socket, Target};
use crate::wire::service::{Content, ReplyRecord};
use alloc::vec::Vec;
use core::time::Duration;

/// The longest timeout (O-10): hello has its own clock, which can stand still (S-31).
const LONGEST: Duration = Duration::from_millis(0x7fff_ffff);
/// Time for the last record of a set that is ended (N-25a).
const FINISH_LIMIT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) enum Action {
    /// Server: hello is due within the handshake limit (S-31).
    Expect { set: SetId },
    /// Client: say hello on a new set; the answer is due within the handshake limit.
    Hello { set: SetId, record: Vec<u8> },
    /// Server: answer a hello; the set is admitted.
    Admit { set: SetId, token: ReplyToken, record: Vec<u8>, message_bytes_max: u64 },
    /// Server: answer a hello and end the set after it.
    Reject { set: SetId, token: ReplyToken, record: Vec<u8> },
    /// Client: the server admitted us.
    Enter { set: SetId, message_bytes_max: u64, weight: u32 },
    /// Client: weight 0 takes the server out of selection.
    Weigh { set: SetId, weight: u32 },
    /// Server: tell a client.
    Update { set: SetId, record: Vec<u8> },
    /// A probe is due.
    Probe { set: SetId },
    /// A probe came.
    Ack { set: SetId, id: u64 },
    /// An ack came.
    Acked { set: SetId, id: u64 },
    /// A probe behind everything that was said before (M-62a).
    Fence { set: SetId },
    /// A request that never reaches a handler.
    Answer { token: ReplyToken, result: ReplyResult },
    /// The peer does not keep to the protocol.
    Close { set: SetId, reason: &'static str },
    /// A final reject: no more attempts (S-33).
    Disconnect { endpoint: EndpointId },
    /// The orderly end of a drain.
    Finish { set: SetId, within: Duration },
}

/// What an action led to.
#[derive(Debug)]
pub(super) enum Feedback {
    HelloSent {
        set: SetId,
        operation: OperationId,
    },
    FenceOver {
        set: SetId,
    },
    /// No fence could be begun: the set is gone.
    NoFence {
        set: SetId,
    },
}

/// Performs what the host's side wants done, socket by socket, until nothing is left.
pub fn run_actions<R: Reach>(reach: &mut R) {
    let mut feedback = Vec::new();
    while let Some((key, actions)) = reach.host(|side| side.take_actions()) {
        let now = reach.now();
        reach.socket(key, |socket, clock| {
            for action in actions {
                feedback.extend(perform(socket, action, now, clock));
            }
        });
        if !feedback.is_empty() {
            reach.host(|side| side.handle_feedback(key, feedback.drain(..)));
        }
    }
}

/// Tells sockets the receive-flow states that are due (H-41 to H-45).
pub fn apply_flows<R: Reach>(reach: &mut R) {
    while let Some(apply) = reach.host(|side| side.host_mut().flow_due()) {
        let now = reach.now();
        let told = reach.socket(apply.socket, |socket, _| socket.set_flow(apply.state, apply.serial(), now));
        reach.host(|side| side.host_mut().applied(apply, told.is_some(), now));
    }
}

fn perform(
    socket: &mut Socket,
    action: Action,
    now: Timestamp,
    clock: &dyn Fn() -> Timestamp,
) -> Option<Feedback> {
    match action {
        Action::Expect { set } => socket.start_admission(set, now),
        Action::Hello { set, record } => {
            socket.start_admission(set, now);
            let target = Target::Admission(set);
            match socket.request(target, &mut record.as_slice(), Some(LONGEST), now) {
                Ok(operation) => return Some(Feedback::HelloSent { set, operation }),
                Err(_) => socket.close_set(set, EndReason::Service("hello refused")),
            }
        }
        Action::Admit { set, token, record, message_bytes_max } => {
            if socket.reply_admission(token, &mut record.as_slice(), clock).is_ok() {
                socket.set_message_limit(set, message_bytes_max);
                socket.start_liveness(set, now);
            }
        }
        Action::Reject { set, token, record } => {
            // It is gone already if this fails.
            let _: Result<_, Failure> = socket.reply_admission(token, &mut record.as_slice(), clock);
            socket.finish_set(set, EndReason::Service("rejected"), FINISH_LIMIT, now);
        }
        Action::Enter { set, message_bytes_max, weight } => {
            socket.set_message_limit(set, message_bytes_max);
            socket.start_liveness(set, now);
            socket.set_candidate(set, weight);
        }
        Action::Weigh { set, weight } => socket.set_candidate(set, weight),
        Action::Update { set, record } => {
            // Of several updates that wait the latest is written; a set that ended needs none.
            let _ = socket.fill_slot(set, Slot::Update, &mut record.as_slice());
        }
        Action::Probe { set } => {
            if let Some(id) = socket.probe_id(set) {
                fill(socket, set, Slot::Probe, Content::LivenessProbe { id });
            }
        }
        Action::Ack { set, id } => {
            // Probes and acks alone are no reason to be told PAUSED (N-41).
            socket.discount(set, 1);
            fill(socket, set, Slot::Ack, Content::LivenessAck { id });
        }
        Action::Acked { set, id } => {
            socket.discount(set, 1);
            let acked = socket.acked(set, id)?;
            return acked.was_fence.then_some(Feedback::FenceOver { set });
        }
        Action::Fence { set } => match socket.fence(set, now) {
            Some(id) => fill(socket, set, Slot::Probe, Content::LivenessProbe { id }),
            None => return Some(Feedback::NoFence { set }),
        },
        Action::Answer { token, result } => {
            let mut record = ReplyRecord::failed(token.sequence(), result.result, result.code);
            // The token ends either way; the requester's own deadline covers the rest.
            let _ = socket.reply(token, &mut record, clock);
        }
        Action::Close { set, reason } => socket.close_set(set, EndReason::Service(reason)),
        Action::Disconnect { endpoint } => {
            // Gone already: nothing to end.
            let _ = socket.disconnect(endpoint, now);
        }
        Action::Finish { set, within } => {
            socket.finish_set(set, EndReason::Service("draining"), within, now);
        }
    }
    None
}

fn fill(socket: &mut Socket, set: SetId, slot: Slot, content: Content<'_>) {
    // A set that ended meanwhile needs no probe.
    let _ = socket.fill_slot(set, slot, &mut encode(content).as_slice());
}

/// Which socket a list of actions is for.
pub(super) type Batch = (SocketKey, Vec<Action>);
