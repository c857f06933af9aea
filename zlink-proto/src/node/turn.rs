//! The receive turn: records from a socket's receive queue to their owners (H-12, H-50 to H-55, H-88).
//!
//! ```text
//!  H1 begin_turn: whose turn, with which permit; its readiness is cleared before looking
//!  S1 heads: kind and head part of the next records, nothing moved
//!  H2 room: reserve owner room, stop at the first without it (park); permits for the rest
//!  S2 take: as many as have room; replies met at the head are settled in passing
//!  H3 attach: admission span for each, control handled, ready again if more came
//! ```

use super::control::Handled;
use super::role::RoleKind;
use super::{HostSide, Job, Reach};
use crate::host::{DropReason, HeadInfo, NewJob, ROTATION_RECORDS_PER_LOOK, SourceId, Turn};
use crate::time::Timestamp;
use crate::transport::{Head, Received};
use crate::wire::service::{ChannelLayout, ChannelRecord, KnownTexts};
use alloc::vec::Vec;

/// Vectors that turns use again. One for each loop that serves turns.
#[derive(Debug, Default)]
pub struct Scratch {
    heads: Vec<Head>,
    infos: Vec<HeadInfo>,
    /// Of each head: where things lie, if it is for an owner.
    layouts: Vec<Option<ChannelLayout>>,
    received: Vec<Received>,
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
    let Scratch { heads, infos, layouts, received } = scratch;
    let look = turn.look();
    reach.socket(key, |socket, _| socket.heads(set, look, heads));
    let has_heads = !heads.is_empty();
    let count = if has_heads { reach.host(|side| side.room(&mut turn, heads, infos, layouts)) } else { 0 };
    heads.clear();
    let mut more = has_heads;
    if count > 0 {
        let deadline = turn.deadline();
        let taken = reach.socket(key, |socket, clock| {
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
    reach.host(|side| side.attach(turn, received, layouts, more, end));
}

impl HostSide {
    /// H2: what each head is, and how many of them to take.
    fn room(
        &mut self,
        turn: &mut Turn,
        heads: &[Head],
        infos: &mut Vec<HeadInfo>,
        layouts: &mut Vec<Option<ChannelLayout>>,
    ) -> usize {
        infos.clear();
        layouts.clear();
        let SourceId { socket, set } = turn.source();
        let (host, role) = self.split(socket);
        let Some(role) = role else { return 0 };
        let owner = match &role.kind {
            RoleKind::Server(server) if role.sessions.is_admitted(set) => Some(server.owner),
            RoleKind::Server(_) | RoleKind::Client => None,
        };
        for head in heads {
            let found = owner.and_then(|owner| {
                let known = KnownTexts { channel: &role.channel_text, names: &role.known_names };
                let record = ChannelRecord::decode(&head.record, known)?;
                if *record.channel != *role.channel_text {
                    return None;
                }
                if *record.names != *role.known_names {
                    role.known_names.clear();
                    role.known_names.extend_from_slice(record.names);
                }
                Some((owner, record.layout))
            });
            infos.push(HeadInfo {
                owner: found.map(|(owner, _)| owner),
                bytes: found.map_or(0, |(_, layout)| layout.cost()),
                charge: head.charge,
                is_request: found.is_some_and(|(_, layout)| layout.is_request),
            });
            layouts.push(found.map(|(_, layout)| layout));
        }
        host.room(turn, infos)
    }

    /// H3: what was taken goes to its owner or is handled here.
    fn attach(
        &mut self,
        mut turn: Turn,
        received: &mut Vec<Received>,
        layouts: &[Option<ChannelLayout>],
        more: bool,
        now: Timestamp,
    ) {
        let source = turn.source();
        let mut has_change = false;
        for (index, received) in received.drain(..).enumerate() {
            let layout = layouts.get(index).copied().flatten();
            let (host, role) = self.split(source.socket);
            let Some(role) = role else {
                host.finish_control(&mut turn);
                continue;
            };
            match (layout, &role.kind) {
                (Some(layout), RoleKind::Server(server)) => {
                    let Received { from, record, token, .. } = received;
                    let payload = Job { source, from, record, layout, token };
                    let (bytes, is_request) = (layout.cost(), layout.is_request);
                    let job = NewJob { owner: server.owner, bytes, is_request, payload };
                    if let Err(refused) = host.attach(&mut turn, job) {
                        role.refuse(refused.payload, refused.reason.reply());
                    }
                }
                (_, RoleKind::Server(_) | RoleKind::Client) => {
                    match role.handle_control(received) {
                        Handled::Done => {}
                        Handled::PeersChanged => has_change = true,
                        Handled::NoTarget => host.count_dropped(DropReason::NoHandler),
                        Handled::Malformed => host.count_dropped(DropReason::DecodeError),
                    }
                    host.finish_control(&mut turn);
                }
            }
        }
        self.host_mut().end_turn(turn, more, now);
        if has_change {
            self.note_change(source.socket);
        }
    }
}
