//! Memory for one large body, obtained as it arrives (W-15).

use alloc::vec::Vec;
use bytes::Bytes;

/// Memory that may be obtained ahead of arrival, in bytes.
const AHEAD_BYTES: usize = 65_536;

/// A body that is read straight into memory of its own.
#[derive(Debug)]
pub(super) struct LargeBody {
    /// What arrived, then room.
    memory: Vec<u8>,
    arrived: usize,
    size: usize,
}

impl LargeBody {
    /// A body of `size` bytes of which `arrived` are here.
    pub(super) fn new(size: usize, arrived: &[u8]) -> Self {
        let room = room(size, arrived.len());
        let mut memory = Vec::with_capacity(room);
        memory.extend_from_slice(arrived);
        memory.resize(room, 0);
        Self { memory, arrived: arrived.len(), size }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.arrived >= self.size
    }

    /// Where the next bytes of the body go; empty only if it is complete.
    pub(super) fn space(&mut self) -> &mut [u8] {
        if self.arrived == self.memory.len() && !self.is_complete() {
            let room = room(self.size, self.arrived);
            self.memory.reserve_exact(room - self.arrived);
            self.memory.resize(room, 0);
        }
        self.memory.get_mut(self.arrived..).unwrap_or_default()
    }

    /// `count` bytes were put into `space`.
    pub(super) fn filled(&mut self, count: usize) {
        self.arrived = (self.arrived + count).min(self.memory.len());
    }

    /// Memory that is held, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.memory.capacity()
    }

    /// The complete body.
    pub(super) fn into_bytes(self) -> Bytes {
        debug_assert!(self.is_complete() && self.memory.len() == self.size, "the body is complete");
        Bytes::from(self.memory)
    }
}

/// Memory for a body of `size` bytes when `arrived` are here.
fn room(size: usize, arrived: usize) -> usize {
    size.min(arrived.saturating_add(arrived.max(AHEAD_BYTES)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w15_memory_ahead_of_arrival_is_bounded() {
        for size in [70_000, 1_000_000, u32::MAX as usize] {
            let mut body = LargeBody::new(size, &[1, 2, 3]);
            for step in [1, 100, 65_533, 7, 400_000, 50] {
                assert!(body.memory.capacity() <= body.arrived + body.arrived.max(65_536));
                let count = body.space().len().min(step);
                body.filled(count);
            }
        }
    }

    #[test]
    fn w15_up_to_64_kib_the_exact_memory_is_obtained_at_once() {
        let mut body = LargeBody::new(65_536, &[9]);
        assert_eq!((body.memory.capacity(), body.space().len()), (65_536, 65_535));
        body.space().fill(7);
        body.filled(65_535);
        assert!(body.is_complete() && body.space().is_empty());
        let bytes = body.into_bytes();
        assert_eq!((bytes.len(), bytes[0], bytes[1], bytes[65_535]), (65_536, 9, 7, 7));
    }
}
