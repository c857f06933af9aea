//! Reply tokens of received requests (N-56, N-57, N-60).
//!
//! ```text
//! live ──reply admitted──▶ free
//!  ├──reply waits──▶ claimed ──admitted──▶ free
//!  │                   └──deadline, cancel──▶ error (number waits for room) ──written──▶ free
//!  └──dropped──▶ error                                   end of the set: free, from every state
//! ```

use super::deadlines::NONE;
use crate::id::SetId;
use alloc::vec::Vec;
use core::num::NonZeroU64;

/// The right to answer one request, once (N-56). Whoever does not use it gives it to `drop_token`.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct ReplyToken {
    /// Never 0; without a gap beside it, a token and the lack of one have the same size: received records are moved often.
    generation: NonZeroU64,
    sequence: u64,
    set_slot: u32,
    place: u32,
}

impl ReplyToken {
    /// The token at `place`, `NONE` if the set has ended already.
    pub(crate) fn new(set: SetId, sequence: u64, place: u32) -> Self {
        let generation = NonZeroU64::new(set.generation).expect("generations start at 1");
        Self { generation, sequence, set_slot: set.slot, place }
    }

    /// The set on which the request came.
    pub fn set(&self) -> SetId {
        SetId { generation: self.generation.get(), slot: self.set_slot }
    }

    /// The request's sequence: service records repeat it (S-22).
    pub fn sequence(&self) -> u64 {
        self.sequence
    }
}

/// What a token's place holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenState {
    Free,
    /// The application has it.
    Live,
    /// A reply waits for room.
    Claimed,
    /// An error reply waits for room: number, and its order among what waits for the set.
    Error {
        number: u32,
        order: u64,
    },
}

/// One token's place.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) set: SetId,
    pub(crate) sequence: u64,
    pub(crate) state: TokenState,
    prev: u32,
    next: u32,
}

/// Tokens of one set, linked through their places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenList {
    head: u32,
    tail: u32,
    len: u32,
}

impl Default for TokenList {
    fn default() -> Self {
        Self { head: NONE, tail: NONE, len: 0 }
    }
}

impl TokenList {
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn head(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }
}

/// All tokens of a ROUTER.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    places: Vec<Token>,
    free: Vec<u32>,
}

impl Tokens {
    /// Places in use: live tokens and error replies that wait.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(crate) fn insert(&mut self, list: &mut TokenList, set: SetId, sequence: u64) -> u32 {
        let token = Token { set, sequence, state: TokenState::Live, prev: NONE, next: NONE };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.places[slot as usize] = token;
                slot
            }
            None => {
                self.places.push(token);
                (self.places.len() - 1) as u32
            }
        };
        self.link(list, slot);
        slot
    }

    /// The place of a token that the application still has.
    pub(crate) fn find(&self, token: &ReplyToken) -> Option<u32> {
        let place = self.places.get(token.place as usize)?;
        let is_same =
            place.set == token.set() && place.sequence == token.sequence && place.state == TokenState::Live;
        is_same.then_some(token.place)
    }

    pub(crate) fn get(&self, slot: u32) -> &Token {
        &self.places[slot as usize]
    }

    pub(crate) fn set_state(&mut self, slot: u32, state: TokenState) {
        self.places[slot as usize].state = state;
    }

    /// Moves a place to the end of another list of the same set.
    pub(crate) fn relink(&mut self, from: &mut TokenList, to: &mut TokenList, slot: u32) {
        self.unlink(from, slot);
        self.link(to, slot);
    }

    /// Ends a token.
    pub(crate) fn remove(&mut self, list: &mut TokenList, slot: u32) {
        self.unlink(list, slot);
        self.places[slot as usize].state = TokenState::Free;
        self.free.push(slot);
        if self.free.len() == self.places.len() && self.places.capacity() > 256 {
            self.places = Vec::new();
            self.free = Vec::new();
        }
    }

    fn link(&mut self, list: &mut TokenList, slot: u32) {
        let tail = list.tail;
        let place = &mut self.places[slot as usize];
        place.prev = tail;
        place.next = NONE;
        if tail == NONE {
            list.head = slot;
        } else {
            self.places[tail as usize].next = slot;
        }
        list.tail = slot;
        list.len += 1;
    }

    fn unlink(&mut self, list: &mut TokenList, slot: u32) {
        let place = &self.places[slot as usize];
        let (prev, next) = (place.prev, place.next);
        if prev == NONE {
            list.head = next;
        } else {
            self.places[prev as usize].next = next;
        }
        if next == NONE {
            list.tail = prev;
        } else {
            self.places[next as usize].prev = prev;
        }
        list.len -= 1;
    }
}
