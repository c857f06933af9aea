//! The ring of members and its cursor (H-50 to H-52).
//!
//! Places keep their order; a removed member leaves a hole, and holes are filled or squeezed out as members come.
//! Ready members are a set of places, so that serving costs nothing for those that are idle.

use super::bits::Bits;
use alloc::vec::Vec;

const HOLE: u32 = u32::MAX;
/// Fewer holes than this are not worth squeezing out.
const HOLES_KEPT: usize = 64;

/// Members in ring order.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring {
    /// Member at each place, or a hole.
    members: Vec<u32>,
    /// Place of each member.
    places: Vec<u32>,
    holes: usize,
    ready: Bits,
    /// Place at which the next rotation begins; `members.len()` means the first place.
    cursor: usize,
}

impl Ring {
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// A new member, before the cursor: last in the order of the next rotation (H-52). Not ready.
    pub(super) fn insert(&mut self, member: u32) {
        self.squeeze();
        if self.cursor >= self.members.len() {
            self.cursor = 0;
        }
        if member as usize >= self.places.len() {
            self.places.resize(member as usize + 1, HOLE);
        }
        if self.cursor == 0 {
            self.members.push(HOLE);
            self.put(self.members.len() - 1, member);
        } else if self.members[self.cursor - 1] == HOLE {
            self.holes -= 1;
            self.put(self.cursor - 1, member);
        } else {
            self.shift_from_cursor();
            self.put(self.cursor, member);
            self.cursor += 1;
        }
    }

    fn put(&mut self, place: usize, member: u32) {
        self.members[place] = member;
        // The number of places is bounded by the number of members, an u32.
        self.places[member as usize] = place as u32;
    }

    /// Makes the cursor's place free: everything up to the next hole moves on by one.
    fn shift_from_cursor(&mut self) {
        let end = match self.members[self.cursor..].iter().position(|&member| member == HOLE) {
            Some(distance) => {
                self.holes -= 1;
                self.cursor + distance
            }
            None => {
                self.members.push(HOLE);
                self.members.len() - 1
            }
        };
        for place in (self.cursor..end).rev() {
            let member = self.members[place];
            self.put(place + 1, member);
            if self.ready.remove(place) {
                self.ready.insert(place + 1);
            }
        }
    }

    /// Closes the gaps when more than half of the places are holes.
    fn squeeze(&mut self) {
        if self.holes < HOLES_KEPT || self.holes * 2 < self.members.len() {
            return;
        }
        let mut kept = 0;
        let mut cursor = None;
        for place in 0..self.members.len() {
            if place >= self.cursor && cursor.is_none() {
                cursor = Some(kept);
            }
            let member = self.members[place];
            if member == HOLE {
                continue;
            }
            if kept != place {
                self.put(kept, member);
                if self.ready.remove(place) {
                    self.ready.insert(kept);
                }
            }
            kept += 1;
        }
        self.members.truncate(kept);
        self.holes = 0;
        self.cursor = cursor.unwrap_or(kept);
    }

    /// Forgets a member; a cursor at it stands at its successor then (H-52).
    pub(super) fn remove(&mut self, member: u32) {
        let place = self.place(member);
        self.ready.remove(place);
        self.members[place] = HOLE;
        self.places[member as usize] = HOLE;
        self.holes += 1;
    }

    fn place(&self, member: u32) -> usize {
        self.places[member as usize] as usize
    }

    pub(super) fn set_ready(&mut self, member: u32) {
        self.ready.insert(self.place(member));
    }

    pub(super) fn is_ready(&self, member: u32) -> bool {
        self.ready.contains(self.place(member))
    }

    /// The next rotation begins right after `member` (H-52, H-53).
    pub(super) fn move_behind(&mut self, member: u32) {
        self.cursor = self.place(member) + 1;
    }

    /// The next ready member in ring order from the cursor; it is not ready any more. The cursor stays.
    pub(super) fn take_ready(&mut self) -> Option<u32> {
        let place = self.ready.next(self.cursor).or_else(|| self.ready.next(0))?;
        self.ready.remove(place);
        Some(self.members[place])
    }

    pub(super) fn check_invariants(&self) {
        let holes = self.members.iter().filter(|&&member| member == HOLE).count();
        assert_eq!(holes, self.holes, "holes are counted");
        for (place, &member) in self.members.iter().enumerate() {
            assert!(member == HOLE || self.place(member) == place, "a member knows its place");
            assert!(member != HOLE || !self.ready.contains(place), "a hole is not ready");
        }
        assert!(self.cursor <= self.members.len(), "the cursor is at a place");
    }
}
