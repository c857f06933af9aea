//! The receive turn: records from a socket's receive queue to their owners (H-12, H-50 to H-55, H-88).
//!
//! ```text
//!  H1 begin_turn: whose turn, with which permit; its readiness is cleared before looking
//!  S1 heads: kind and head part of the next records, nothing moved
//!  H2 room: reserve owner room, stop at the first without it (park); permits for the rest
//!  S2 take: as many as have room; replies met at the head are settled in passing
//!  H3 attach: admission span for each, control handled, ready again if more came
//! ```

use super::observe::Observed;
use super::role::RoleKind;
use super::routes::Disposition;
use super::{Content, HostSide, Job, Reach};
use crate::host::{HeadInfo, NewJob, ROTATION_RECORDS_PER_LOOK, SourceId, Turn};
use crate::time::Timestamp;
use crate::transport::{Head, Received};
use crate::wire::service::{ChannelLayout, ChannelRecord, KnownTexts};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Vectors that turns use again. One for each loop that serves turns.
#[derive(Debug, Default)]
pub struct Scratch {
    heads: Vec<Head>,
    infos: Vec<HeadInfo>,
    /// Of each head: where things lie and where it goes, if it is a well-formed call.
    calls: Vec<Option<Call>>,
    received: Vec<Received>,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    layout: ChannelLayout,
    to: Disposition,
}

/// One rotation (H-51): serves sources until its bounds are reached or nothing is left. Returns the turns served. Afterwards
/// `Host::needs_turn` says whether the next one is due at once, and `run_actions` may have something to do.
pub fn serve_turns<R: Reach>(reach: &mut R, scratch: &mut Scratch) -> usize {
    let mut turns = 0;
    loop {
        let now = reach.now();
        let Some(turn) = reach.host(|side| side.host_mut().begin_turn(now)) else { return turns };
        serve(reach, scratch, turn, now);
        turns += 1;
    }
}

fn serve<R: Reach>(reach: &mut R, scratch: &mut Scratch, mut turn: Turn, now: Timestamp) {
    let SourceId { socket: key, set } = turn.source();
    let Scratch { heads, infos, calls, received } = scratch;
    let look = turn.look();
    reach.socket(key, |socket, _, _| socket.heads(set, look, heads));
    let has_heads = !heads.is_empty();
    let count = if has_heads { reach.host(|side| side.room(&mut turn, heads, infos, calls)) } else { 0 };
    // The records are taken by moving them: nobody else holds them then.
    heads.clear();
    let mut more = has_heads;
    if count > 0 {
        let deadline = turn.deadline();
        let taken = reach.socket(key, |socket, _, clock| {
            // The time is looked at after every 16 records at the latest (H-51).
            let mut left = count;
            loop {
                let step = left.min(ROTATION_RECORDS_PER_LOOK);
                let more = socket.take(set, step, received, now);
                left -= step;
                if left == 0 || !more || clock() >= deadline {
                    return more;
                }
            }
        });
        more = taken.unwrap_or(false);
    }
    let end = reach.now();
    reach.host(|side| side.attach(turn, received, calls, more, end));
}

impl HostSide {
    /// H2: what each head is, and how many of them to take.
    fn room(
        &mut self,
        turn: &mut Turn,
        heads: &[Head],
        infos: &mut Vec<HeadInfo>,
        calls: &mut Vec<Option<Call>>,
    ) -> usize {
        infos.clear();
        calls.clear();
        let SourceId { socket, set } = turn.source();
        let parts = self.split(socket);
        let Some(role) = parts.role else { return 0 };
        let session = role.sessions.get_mut(set).filter(|session| session.is_admitted());
        // What stands behind a hello is looked at once the hello is handled.
        let heads = if session.is_some() { heads } else { heads.get(..1).unwrap_or_default() };
        let mut server = match &mut role.kind {
            RoleKind::Server(server) => session.map(|session| (server, session)),
            RoleKind::Client(_) => None,
        };
        for head in heads {
            let call = server.as_mut().and_then(|(server, session)| {
                let known = KnownTexts {
                    channel: &server.channel_text,
                    names: server.routes.known_names(session.route),
                };
                let record = ChannelRecord::decode(&head.record, known)?;
                if *record.channel != *server.channel_text {
                    return None;
                }
                let to = server.routes.find(record.names, record.layout.is_request, &mut session.route);
                Some(Call { layout: record.layout, to })
            });
            let owner = server.as_ref().map(|(server, _)| server.owner);
            let job = call.filter(|call| matches!(call.to, Disposition::Handler(_)));
            infos.push(HeadInfo {
                owner: job.and(owner),
                bytes: job.map_or(0, |call| call.layout.cost()),
                charge: head.charge,
                is_request: job.is_some_and(|call| call.layout.is_request),
            });
            calls.push(call);
        }
        parts.host.room(turn, infos)
    }

    /// H3: what was taken goes to its owner or is handled here.
    fn attach(
        &mut self,
        mut turn: Turn,
        received: &mut Vec<Received>,
        calls: &[Option<Call>],
        more: bool,
        now: Timestamp,
    ) {
        let source = turn.source();
        let mut has_change = false;
        let parts = self.split(source.socket);
        let (host, seen, spare_jobs) = (parts.host, parts.seen, parts.spare_jobs);
        let mut role = parts.role;
        for (received, call) in received.drain(..).zip(calls) {
            let Some(role) = role.as_deref_mut() else {
                host.finish_control(&mut turn);
                continue;
            };
            let owner = match &role.kind {
                RoleKind::Server(server)
                    if role.sessions.get(source.set).is_some_and(|s| s.is_admitted()) =>
                {
                    Some(server.owner)
                }
                RoleKind::Server(_) | RoleKind::Client(_) => None,
            };
            let handled = match (call, owner) {
                (Some(Call { layout, to: Disposition::Handler(handler) }), Some(owner)) => {
                    let Received { from, record, token, .. } = received;
                    let content = Content { from, record, layout: *layout };
                    let payload = Job { source, handler: *handler, token, content };
                    let payload = match spare_jobs.pop() {
                        Some(mut place) => {
                            *place = payload;
                            place
                        }
                        None => Box::new(payload),
                    };
                    let (bytes, is_request) = (layout.cost(), layout.is_request);
                    let job = NewJob { owner, bytes, is_request, payload };
                    if let Err(mut refused) = host.attach(&mut turn, job) {
                        let reason = refused.reason;
                        seen.tell(source.socket, source.set, Observed::Refused { reason, is_request });
                        role.refuse(&mut refused.payload, reason.reply());
                    }
                    continue;
                }
                (Some(Call { to, .. }), Some(_)) => {
                    let is_undecodable = *to == Disposition::Undecodable;
                    role.handle_unhandled(source.set, received.token, is_undecodable, seen)
                }
                (Some(_) | None, _) => role.handle_control(received, seen),
            };
            if let Some(reason) = handled.dropped {
                host.count_dropped(reason);
            }
            has_change |= handled.has_change;
            host.finish_control(&mut turn);
        }
        host.end_turn(turn, more, now);
        if has_change {
            self.note_change(source.socket);
        }
    }
}
