//! Intrusive FIFO: elements live in somebody's vector, removal from the middle costs as little as from the front.

/// Marks the end of a list.
const NONE: u32 = u32::MAX;

/// An element's place in the list that it is in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    previous: u32,
    next: u32,
}

impl Default for Links {
    fn default() -> Self {
        Self { previous: NONE, next: NONE }
    }
}

/// What can be in a [`Fifo`], in one at a time.
pub(super) trait Linked {
    fn links(&self) -> Links;
    fn links_mut(&mut self) -> &mut Links;
}

/// First in, first out, of indexes into one vector.
#[derive(Clone, Debug)]
pub(super) struct Fifo {
    first: u32,
    last: u32,
    len: u32,
}

impl Default for Fifo {
    fn default() -> Self {
        Self { first: NONE, last: NONE, len: 0 }
    }
}

impl Fifo {
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    /// The caller knows that the element is in no list.
    pub(super) fn push<L: Linked>(&mut self, elements: &mut [L], index: u32) {
        *elements[index as usize].links_mut() = Links { previous: self.last, next: NONE };
        match self.last {
            NONE => self.first = index,
            last => elements[last as usize].links_mut().next = index,
        }
        self.last = index;
        self.len += 1;
    }

    pub(super) fn pop<L: Linked>(&mut self, elements: &mut [L]) -> Option<u32> {
        let first = self.first()?;
        self.remove(elements, first);
        Some(first)
    }

    /// The caller knows that the element is in this list.
    pub(super) fn remove<L: Linked>(&mut self, elements: &mut [L], index: u32) {
        let Links { previous, next } = core::mem::take(elements[index as usize].links_mut());
        match previous {
            NONE => self.first = next,
            previous => elements[previous as usize].links_mut().next = next,
        }
        match next {
            NONE => self.last = previous,
            next => elements[next as usize].links_mut().previous = previous,
        }
        self.len -= 1;
    }

    /// From the first to the last; for checks and status only.
    pub(super) fn iter<'a, L: Linked>(&self, elements: &'a [L]) -> impl Iterator<Item = u32> + 'a {
        core::iter::successors(self.first(), |&index| {
            let next = elements[index as usize].links().next;
            (next != NONE).then_some(next)
        })
    }
}
