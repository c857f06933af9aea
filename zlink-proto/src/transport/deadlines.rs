//! Deadlines of operations: one first in, first out line per distinct timeout (O-16), so that registering costs nothing.

use super::operations::Operations;
use crate::time::Timestamp;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

/// No place.
pub(crate) const NONE: u32 = u32::MAX;
/// Distinct timeouts that get a line of their own; a further one is kept in an ordered map.
const LINES_MAX: usize = 32;
/// `line` of an entry in the ordered map.
const ORDERED: u16 = u16::MAX - 1;
/// `line` of an entry without a timer.
const UNARMED: u16 = u16::MAX;

/// An operation's place among the deadlines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DueLink {
    /// When the timer acts: the deadline, or earlier for a limited wait.
    pub(crate) at: Timestamp,
    prev: u32,
    next: u32,
    line: u16,
}

impl Default for DueLink {
    fn default() -> Self {
        Self { at: Timestamp::ZERO, prev: NONE, next: NONE, line: UNARMED }
    }
}

#[derive(Debug)]
struct DueLine {
    timeout: Duration,
    head: u32,
    tail: u32,
}

/// All timers of operations of one socket.
#[derive(Debug)]
pub(crate) struct Deadlines {
    /// No timer is earlier.
    bound: Timestamp,
    lines: Vec<DueLine>,
    ordered: BTreeMap<(Timestamp, u64), u32>,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { bound: Timestamp::from_nanos(u64::MAX), lines: Vec::new(), ordered: BTreeMap::new() }
    }
}

impl Deadlines {
    /// Arms the timer of `slot` for `now + timeout`. `now` never goes back.
    pub(crate) fn arm(&mut self, operations: &mut Operations, slot: u32, now: Timestamp, timeout: Duration) {
        let at = now.saturating_add(timeout);
        let Some(line) = self.line_for(timeout) else {
            return self.arm_at(operations, slot, at);
        };
        self.bound = self.bound.min(at);
        let tail = self.lines[line].tail;
        operations[slot].due = DueLink { at, prev: tail, next: NONE, line: line as u16 };
        if tail == NONE {
            self.lines[line].head = slot;
        } else {
            operations[tail].due.next = slot;
        }
        self.lines[line].tail = slot;
    }

    /// Arms the timer of `slot` for any time.
    pub(crate) fn arm_at(&mut self, operations: &mut Operations, slot: u32, at: Timestamp) {
        self.bound = self.bound.min(at);
        let serial = operations[slot].serial;
        operations[slot].due = DueLink { at, prev: NONE, next: NONE, line: ORDERED };
        self.ordered.insert((at, serial), slot);
    }

    fn line_for(&mut self, timeout: Duration) -> Option<usize> {
        if let Some(found) = self.lines.iter().position(|line| line.timeout == timeout) {
            return Some(found);
        }
        let fresh = DueLine { timeout, head: NONE, tail: NONE };
        if let Some(empty) = self.lines.iter().position(|line| line.head == NONE) {
            self.lines[empty] = fresh;
            return Some(empty);
        }
        (self.lines.len() < LINES_MAX).then(|| {
            self.lines.push(fresh);
            self.lines.len() - 1
        })
    }

    /// Takes the timer of `slot` away, if it has one.
    pub(crate) fn disarm(&mut self, operations: &mut Operations, slot: u32) {
        let link = operations[slot].due;
        operations[slot].due = DueLink::default();
        match link.line {
            UNARMED => {}
            ORDERED => {
                self.ordered.remove(&(link.at, operations[slot].serial));
            }
            line => {
                let line = &mut self.lines[usize::from(line)];
                if link.prev == NONE {
                    line.head = link.next;
                } else {
                    operations[link.prev].due.next = link.next;
                }
                if link.next == NONE {
                    line.tail = link.prev;
                } else {
                    operations[link.next].due.prev = link.prev;
                }
            }
        }
    }

    /// The earliest timer.
    pub(crate) fn next(&self, operations: &Operations) -> Option<Timestamp> {
        self.first(operations).map(|(at, _, _)| at)
    }

    /// The operation that is due at `now` and comes first, by time, then by age (O-33).
    #[inline]
    pub(crate) fn due(&mut self, operations: &Operations, now: Timestamp) -> Option<u32> {
        if now < self.bound { None } else { self.find_due(operations, now) }
    }

    fn find_due(&mut self, operations: &Operations, now: Timestamp) -> Option<u32> {
        let first = self.first(operations);
        self.bound = first.map_or(Timestamp::from_nanos(u64::MAX), |(at, _, _)| at);
        first.filter(|&(at, _, _)| at <= now).map(|(_, _, slot)| slot)
    }

    fn first(&self, operations: &Operations) -> Option<(Timestamp, u64, u32)> {
        let heads = self.lines.iter().filter(|line| line.head != NONE).map(|line| {
            let operation = &operations[line.head];
            (operation.due.at, operation.serial, line.head)
        });
        let ordered = self.ordered.first_key_value().map(|(&(at, serial), &slot)| (at, serial, slot));
        heads.chain(ordered).min()
    }

    /// Every entry that waits has exactly one timer, and lines are in order.
    pub(crate) fn check_invariants(&self, operations: &Operations) {
        let mut armed = self.ordered.len();
        assert!(self.next(operations).is_none_or(|next| next >= self.bound), "a timer before the bound");
        for line in &self.lines {
            let (mut slot, mut last) = (line.head, Timestamp::ZERO);
            while slot != NONE {
                let due = operations[slot].due;
                assert!(due.at >= last, "deadline line out of order");
                last = due.at;
                slot = due.next;
                armed += 1;
            }
        }
        let expected = operations.iter().filter(|(_, operation)| operation.due.line != UNARMED).count();
        assert_eq!(armed, expected, "timers and operations");
    }
}
