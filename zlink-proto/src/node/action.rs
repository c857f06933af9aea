//! What the host's side wants done on a socket.

use super::desk::{News, SocketSide, fill};
use super::reach::Reach;
use crate::error::Failure;
use crate::host::{Apply, ReplyResult, SocketKey};
use crate::id::{EndpointId, SetId};
use crate::time::Timestamp;
use crate::transport::{EndReason, ReplyToken, Slot, Socket, Submitted};
use crate::wire::service::{Command, ReplyRecord};
use alloc::vec::Vec;
use core::time::Duration;

/// Time for the last record of a set that is ended (N-25a).
const FINISH_LIMIT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) enum Action {
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
    /// A probe came.
    Ack { set: SetId, id: u64 },
    /// An ack came.
    Acked { set: SetId, id: u64 },
    /// A probe behind everything that was said before (M-62a).
    Fence { set: SetId },
    /// A request that never reaches a handler, or that its handler failed.
    Answer { token: ReplyToken, result: ReplyResult },
    /// The set ends.
    End { set: SetId, reason: EndReason },
    /// A final reject: no more attempts (S-33).
    Disconnect { endpoint: EndpointId },
    /// New operations of callers are refused (M-61).
    Seal,
    /// The orderly end of all connections of this socket, or the end of what is left (M-63, M-64).
    Close { linger: Duration },
}

/// Performs what the host's side wants done, socket by socket, until nothing is left. One loop calls it: actions of one socket keep
/// their order.
pub fn run_actions<R: Reach>(reach: &mut R) {
    while let Some((key, mut actions)) = reach.host(|side| side.take_actions()) {
        let now = reach.now();
        reach.socket(key, |socket, desk, clock| {
            for action in actions.drain(..) {
                perform(socket, desk, action, now, clock);
            }
        });
        reach.host(|side| side.give_back(key, actions));
    }
}

/// Tells sockets the receive-flow states that are due (H-41 to H-45).
pub fn apply_flows<R: Reach>(reach: &mut R) {
    while let Some(apply) = reach.host(|side| side.host_mut().flow_due()) {
        let now = reach.now();
        let told = reach.socket(apply.socket, |socket, _, _| tell(socket, &apply, now));
        reach.host(|side| side.host_mut().applied(apply, told.is_some(), now));
    }
}

pub(super) fn tell(socket: &mut Socket, apply: &Apply, now: Timestamp) {
    socket.set_flow(apply.state, apply.serial(), now);
}

fn perform(
    socket: &mut Socket,
    desk: &mut SocketSide,
    action: Action,
    now: Timestamp,
    clock: &dyn Fn() -> Timestamp,
) {
    match action {
        Action::Admit { set, token, record, message_bytes_max } => {
            if answer_hello(socket, desk, token, &record, clock) {
                socket.set_message_limit(set, message_bytes_max);
                socket.start_liveness(set, now);
            }
        }
        Action::Reject { set, token, record } => {
            answer_hello(socket, desk, token, &record, clock);
            socket.finish_set(set, EndReason::Service("rejected"), FINISH_LIMIT, now);
        }
        Action::Enter { set, message_bytes_max, weight } => {
            socket.set_message_limit(set, message_bytes_max);
            socket.start_liveness(set, now);
            socket.set_candidate(set, weight);
        }
        Action::Weigh { set, weight } => socket.set_candidate(set, weight),
        Action::Update { set, record } => {
            // Its slot is not lost to a deadline; with the set nobody is left to be told.
            let _: Result<(), Failure> = socket.fill_slot(set, Slot::Update, &mut record.as_slice());
        }
        Action::Ack { set, id } => {
            socket.discount(set, 1);
            fill(socket, set, Slot::Ack, Command::LivenessAck, id);
        }
        Action::Acked { set, id } => {
            socket.discount(set, 1);
            if socket.acked(set, id).is_some_and(|acked| acked.was_fence) {
                desk.push_news(News::FenceOver { set });
            }
        }
        Action::Fence { set } => {
            // A set that ended meanwhile has its fence until its last record was taken.
            if let Some(id) = socket.fence(set, now) {
                fill(socket, set, Slot::Probe, Command::LivenessProbe, id);
            }
        }
        Action::Answer { token, result } => {
            let mut record = ReplyRecord::failed(token.sequence(), result.result, result.code);
            note_reply(desk, socket.reply(token, &mut record, clock));
        }
        Action::End { set, reason } => socket.close_set(set, reason),
        Action::Disconnect { endpoint } => {
            // Gone already: nothing to end.
            let _: Result<(), Failure> = socket.disconnect(endpoint, now);
        }
        Action::Seal => desk.seal(),
        Action::Close { linger } => socket.close(Some(linger), now),
    }
}

/// True: the peer will read it, or its set ends before.
fn answer_hello(
    socket: &mut Socket,
    desk: &mut SocketSide,
    token: ReplyToken,
    record: &[u8],
    clock: &dyn Fn() -> Timestamp,
) -> bool {
    let mut record = record;
    note_reply(desk, socket.reply_admission(token, &mut record, clock))
}

/// A reply whose end nobody waits for. True: it was accepted.
pub(super) fn note_reply(desk: &mut SocketSide, submitted: Result<Submitted, Failure>) -> bool {
    match submitted {
        Ok(Submitted::Admitted) => true,
        Ok(Submitted::Waiting(operation)) => {
            desk.own_reply(operation);
            true
        }
        // The requester is gone, or too many replies wait: the token has ended (N-57).
        Err(_) => false,
    }
}

/// Which socket a list of actions is for.
pub(super) type Batch = (SocketKey, Vec<Action>);
