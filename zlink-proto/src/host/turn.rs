//! The receive turn: permit, look, reserve, take, attach (H-12, H-16, H-51 to H-54, H-63, H-88).
//!
//! ```text
//! H1  begin_turn      a source with its first permit; its readiness is cleared before anybody looks
//! S1  (transport)     heads of its next records, nothing moved
//! H2  room            permits, rotation and room at the owners for exactly the records that will be taken
//! S2  (transport)     takes them
//! H3  attach / finish_control per record, end_turn
//! ```

use super::mailbox::Item;
use super::members::{MemberState, SourceId};
use super::owners::OwnerId;
use super::permits::Requested;
use super::refusal::{Refusal, Refused};
use super::rotation::Rotation;
use super::{DropReason, Host, OwnerOverflow};
use crate::time::Timestamp;
use alloc::vec::Vec;

/// First look at the next record of a source, before it is taken (H-88).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeadInfo {
    /// Whom it is for. `None`: control, malformed, unknown handler: it takes no room.
    pub owner: Option<OwnerId>,
    /// Payload and metadata bytes; the fixed cost of an item is added by the host.
    pub bytes: u64,
    /// Charge in the transport's receive queue: counts against `rotation_bytes_max` (H-51).
    pub charge: u64,
    /// Requests never park (H-88).
    pub is_request: bool,
}

/// A record on its way to its owner.
#[derive(Debug)]
pub struct NewJob<T> {
    /// Whom it is for.
    pub owner: OwnerId,
    /// Payload and metadata bytes, as in the head.
    pub bytes: u64,
    /// Somebody waits for an answer.
    pub is_request: bool,
    /// What the handler gets.
    pub payload: T,
}

/// One turn of one source: the right to take records with the permits that it holds. [`Host::end_turn`] ends it, always.
#[derive(Debug)]
#[must_use]
pub struct Turn {
    member: u32,
    source: SourceId,
    look: usize,
    bytes_left: u64,
    deadline: Timestamp,
    rooms: Vec<Room>,
    attached: usize,
}

/// Room reserved for one record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    owner: OwnerId,
    cost: u64,
}

const NO_ROOM: Room = Room { owner: OwnerId::NOBODY, cost: 0 };

impl Turn {
    /// Whose turn it is.
    pub fn source(&self) -> SourceId {
        self.source
    }

    /// How many heads to look at, 1 to 64.
    pub fn look(&self) -> usize {
        self.look
    }

    /// Look at the time after each [`ROTATION_RECORDS_PER_LOOK`](super::ROTATION_RECORDS_PER_LOOK) taken records and take
    /// no more from this point on (H-51).
    pub fn deadline(&self) -> Timestamp {
        self.deadline
    }
}

impl<T> Host<T> {
    /// True if `begin_turn` has a source to serve: schedule a rotation (H-53, H-55).
    pub fn needs_turn(&self) -> bool {
        self.permits.has_handed() || self.ring.has_ready()
    }

    /// The next source to serve: granted ones first, then ready ones in ring order (H-53). `None` ends the rotation; then
    /// `needs_turn` says whether the next one is due at once.
    pub fn begin_turn(&mut self, now: Timestamp) -> Option<Turn> {
        let now = self.advance(now);
        let rotation = self.rotation.take().unwrap_or_else(|| Rotation::begin(&self.config, now));
        if rotation.is_over() {
            return None;
        }
        let member = self.pick(now)?;
        self.rotation = Some(rotation);
        self.ring.move_behind(member);
        let entry = self.members.get_mut(member);
        entry.state = MemberState::Serving;
        entry.again = false;
        let source = entry.id;
        self.queue_ready_if_saturated(now);
        self.sync_flow();
        let obtainable = self.permits.obtainable().saturating_add(1);
        let mut rooms = core::mem::take(&mut self.spare_rooms);
        rooms.clear();
        Some(Turn {
            member,
            source,
            look: rotation.records_left.min(obtainable) as usize,
            bytes_left: rotation.bytes_left,
            deadline: rotation.deadline,
            rooms,
            attached: 0,
        })
    }

    fn pick(&mut self, now: Timestamp) -> Option<u32> {
        if let Some(member) = self.permits.fetch_handed() {
            return Some(member);
        }
        while let Some(member) = self.ring.take_ready() {
            match self.permits.request(member, now) {
                Requested::Granted => return Some(member),
                Requested::Waiting | Requested::AlreadyWaiting | Requested::AlreadyGranted => {
                    self.members.get_mut(member).state = MemberState::Asked;
                }
                Requested::Closed => self.members.get_mut(member).state = MemberState::Idle,
            }
        }
        None
    }

    /// While saturated every ready member has its place in the FIFO (H-53): those that were not asked yet ask now, in ring
    /// order.
    fn queue_ready_if_saturated(&mut self, now: Timestamp) {
        while self.permits.obtainable() == 0 {
            let Some(member) = self.ring.take_ready() else { return };
            self.ask(member, now);
        }
    }

    /// A member that has something to take: into the ready set while permits are free, else into the FIFO.
    pub(super) fn make_ready(&mut self, member: u32, now: Timestamp) {
        if !self.registry.is_published(self.members.get(member).id.socket) {
            let entry = self.members.get_mut(member);
            entry.state = MemberState::Idle;
            entry.again = true;
        } else if self.permits.obtainable() > 0 {
            self.members.get_mut(member).state = MemberState::Ready;
            self.ring.set_ready(member);
        } else {
            self.ask(member, now);
        }
    }

    fn ask(&mut self, member: u32, now: Timestamp) {
        let state = match self.permits.request(member, now) {
            Requested::Closed => MemberState::Idle,
            Requested::Granted
            | Requested::Waiting
            | Requested::AlreadyWaiting
            | Requested::AlreadyGranted => MemberState::Asked,
        };
        self.members.get_mut(member).state = state;
    }

    /// How many of `heads` to take, in order; what they need is reserved: permits (H-16), the rotation's share (H-51) and room
    /// at their owners (H-88). The first one-way record without room parks the source. Called once a turn.
    pub fn room(&mut self, turn: &mut Turn, heads: &[HeadInfo]) -> usize {
        let now = self.clock;
        if !turn.rooms.is_empty() || self.is_stopped() {
            return 0;
        }
        let obtainable = self.permits.obtainable().saturating_add(1) as usize;
        let is_admitting = self.is_admitting(turn.member);
        let mut bytes = 0_u64;
        for head in heads.iter().take(turn.look.min(obtainable)) {
            if bytes >= turn.bytes_left {
                break;
            }
            let Some(room) = self.reserve(turn.member, head, is_admitting, now) else { break };
            turn.rooms.push(room);
            bytes = bytes.saturating_add(head.charge);
        }
        let count = turn.rooms.len();
        // At most 64; the turn holds the first permit already.
        let more = (count as u32).saturating_sub(1);
        let got = self.permits.request_more(turn.member, more, now);
        debug_assert_eq!(got, more, "what was obtainable a moment ago was obtained");
        if let Some(rotation) = &mut self.rotation {
            rotation.spend(count as u32, bytes);
        }
        self.queue_ready_if_saturated(now);
        self.sync_flow();
        count
    }

    /// Room for one record; `None` if its source has to wait for it.
    #[inline]
    fn reserve(&mut self, member: u32, head: &HeadInfo, is_admitting: bool, now: Timestamp) -> Option<Room> {
        let Some(id) = head.owner.filter(|_| is_admitting) else { return Some(NO_ROOM) };
        let cost = head.bytes.saturating_add(self.item_cost);
        match self.owners.get_mut(id) {
            // Nobody is parked anywhere: no order to keep.
            Some(owner) if self.parked == 0 && owner.is_active() && owner.mailbox.fits(cost) => {
                owner.mailbox.promise(cost);
                Some(Room { owner: id, cost })
            }
            Some(owner) if owner.is_active() => self.reserve_in_line(member, id, cost, head.is_request, now),
            Some(_) | None => Some(NO_ROOM),
        }
    }

    /// As `reserve`, where somebody is parked or the owner is full (H-88).
    #[cold]
    fn reserve_in_line(
        &mut self,
        member: u32,
        id: OwnerId,
        cost: u64,
        is_request: bool,
        now: Timestamp,
    ) -> Option<Room> {
        let owner = self.owners.get_mut(id)?;
        let is_waiting = !is_request && self.config.overflow() == OwnerOverflow::Wait;
        let is_behind = is_waiting && owner.parked.first().is_some_and(|first| first != member);
        if !is_behind && owner.mailbox.fits(cost) {
            owner.mailbox.promise(cost);
            self.unpark(member, now);
            return Some(Room { owner: id, cost });
        }
        if !is_waiting {
            return Some(NO_ROOM);
        }
        self.park(member, id, cost, now);
        None
    }

    /// Appends a taken record to its owner: the admission span (H-63). Its permit becomes the queued one of the job.
    ///
    /// # Errors
    /// The payload comes back with the check that failed; nothing changed but that its permit returned (H-64, H-85).
    #[inline]
    pub fn attach(&mut self, turn: &mut Turn, job: NewJob<T>) -> Result<(), Refused<T>> {
        let NewJob { owner: id, bytes, is_request, payload } = job;
        let cost = bytes.saturating_add(self.item_cost);
        let room = turn.rooms.get(turn.attached).copied().unwrap_or(NO_ROOM);
        turn.attached += 1;
        let is_promised = room.owner == id && room.cost == cost;
        if !is_promised || !self.is_admitting(turn.member) {
            if let Err(reason) = self.admit_late(turn.member, room, id, cost, is_request) {
                return Err(Refused { reason, payload });
            }
        }
        let Some(owner) = self.owners.get_mut(id).filter(|owner| owner.is_active()) else {
            self.give_back(room);
            let reason = Refusal::TargetClosed;
            self.refuse_remote(turn.member, is_request, reason);
            return Err(Refused { reason, payload });
        };
        let permit = self.permits.attach(turn.member);
        debug_assert!(permit.is_some(), "a turn attaches no more records than it holds permits for");
        let accepted_at = self.samples.accept(self.clock);
        owner.mailbox.push_promised(Item { payload, cost, permit, accepted_at });
        if owner.is_misplaced() {
            self.owners.relist(id);
        }
        Ok(())
    }

    /// A record whose room was not reserved, or whose host does not admit it any more: reserves now or refuses.
    #[cold]
    fn admit_late(
        &mut self,
        member: u32,
        room: Room,
        id: OwnerId,
        cost: u64,
        is_request: bool,
    ) -> Result<(), Refusal> {
        self.give_back(room);
        let is_admitting = self.is_admitting(member);
        let reason = match self.owners.get_mut(id) {
            _ if !is_admitting => Refusal::ShuttingDown,
            Some(owner) if owner.is_active() && owner.mailbox.fits(cost) => {
                owner.mailbox.promise(cost);
                return Ok(());
            }
            Some(owner) if owner.is_active() => Refusal::OwnerFull,
            Some(_) | None => Refusal::TargetClosed,
        };
        self.refuse_remote(member, is_request, reason);
        Err(reason)
    }

    /// The permit of a refused record returns at once (H-85); a one-way is counted as dropped (M-21).
    fn refuse_remote(&mut self, member: u32, is_request: bool, reason: Refusal) {
        let dropped = match reason {
            Refusal::OwnerFull => {
                self.counters.remote_rejections = self.counters.remote_rejections.saturating_add(1);
                DropReason::Backpressure
            }
            Refusal::TargetClosed => DropReason::StaleTarget,
            Refusal::ShuttingDown => {
                self.lifecycle.count_refused();
                DropReason::Shutdown
            }
        };
        if !is_request {
            self.counters.dropped.count(dropped);
        }
        self.permits.release_one(member, self.clock);
        self.sync_flow();
    }

    /// A taken record was control or malformed, and its handling is over: its permit returns (H-12, 3b).
    pub fn finish_control(&mut self, turn: &mut Turn) {
        let room = turn.rooms.get(turn.attached).copied().unwrap_or(NO_ROOM);
        turn.attached += 1;
        self.give_back(room);
        self.permits.release_one(turn.member, self.clock);
        self.sync_flow();
    }

    /// Returns reserved room that no record used.
    fn give_back(&mut self, room: Room) {
        if let Some(owner) = self.owners.get_mut(room.owner) {
            owner.mailbox.break_promise(room.cost);
            self.wake_parked(room.owner, self.clock);
            self.owners.free_if_over(room.owner);
        }
    }

    /// Ends a turn: what it did not use goes back, the source is ready again if there is `more` or `readable` came meanwhile, and
    /// queues behind those that wait (H-15, H-17).
    pub fn end_turn(&mut self, turn: Turn, more: bool, now: Timestamp) {
        let now = self.advance(now);
        let Turn { member, mut rooms, attached, .. } = turn;
        for &room in rooms.iter().skip(attached) {
            self.give_back(room);
        }
        rooms.clear();
        self.spare_rooms = rooms;
        self.permits.release_held(member, now);
        if let Some(rotation) = &mut self.rotation {
            rotation.look_at(now);
        }
        let entry = self.members.get_mut(member);
        let is_ready = core::mem::take(&mut entry.again) || more;
        entry.state = MemberState::Idle;
        if entry.is_removed {
            self.end_member(member, now);
        } else {
            match entry.parking {
                Some(parking) if !parking.is_woken => entry.state = MemberState::Parked,
                Some(_) => self.make_ready(member, now),
                None if is_ready => self.make_ready(member, now),
                None => {}
            }
        }
        self.sync_flow();
    }
}
