//! The read buffer of a connection: chunks that are filled by reads, sliced without copying, and reused (B-52).

use bytes::{Bytes, BytesMut};

/// Largest chunk, in bytes.
pub(super) const CHUNK_BYTES_MAX: usize = 65_536;
/// Smallest chunk, and what a read is offered at first.
const CHUNK_BYTES_MIN: usize = 4_096;
/// Reads that fill less than an eighth of their offer until the offer is halved.
const QUIET_READS: u8 = 16;

/// Received bytes that were not given out yet, and room for more.
///
/// ```text
/// chunk   │ given out │ start … end: held │ room │
/// ```
///
/// What is given out is a slice of the chunk if it fills at least half of it: the chunk is *frozen* then, and what is held
/// behind it moves to the front of another chunk before the next read. Less than that is copied into exact memory, and the
/// chunk stays. So a chunk is kept alive only by records whose charge is at least half of it as long as all of them are
/// queued, whatever a peer mixes between its records. What is left to the queue is to take them in the order of arrival: then
/// only the oldest chunk can have less, and that is the slack of 64 KiB of B-52.
#[derive(Debug)]
pub(super) struct ReadBuffer {
    chunk: Chunk,
    start: usize,
    end: usize,
    /// What the next read is offered.
    offer: usize,
    /// What the last read was offered.
    offered: usize,
    quiet_reads: u8,
    /// The frozen chunk that was left last: used again if nobody else holds it any more. So no more than two chunks are held
    /// beyond what is charged.
    retired: Option<Bytes>,
}

#[derive(Debug)]
enum Chunk {
    None,
    /// All of it is initialised; bytes from `end` on are room.
    Writable(BytesMut),
    /// Slices of it were given out.
    Frozen(Bytes),
}

impl ReadBuffer {
    pub(super) const fn new() -> Self {
        Self {
            chunk: Chunk::None,
            start: 0,
            end: 0,
            offer: CHUNK_BYTES_MIN,
            offered: 0,
            quiet_reads: 0,
            retired: None,
        }
    }

    /// Bytes that are held.
    pub(super) const fn len(&self) -> usize {
        self.end - self.start
    }

    /// What is held.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        let chunk: &[u8] = match &self.chunk {
            Chunk::None => &[],
            Chunk::Writable(chunk) => chunk,
            Chunk::Frozen(chunk) => chunk,
        };
        chunk.get(self.start..self.end).unwrap_or_default()
    }

    /// Drops the first `count` bytes.
    pub(super) fn skip(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
    }

    /// The first `count` bytes, to be kept; they are no longer held.
    pub(super) fn give(&mut self, count: usize) -> Bytes {
        let from = self.start;
        self.skip(count);
        let range = from..self.start;
        match core::mem::replace(&mut self.chunk, Chunk::None) {
            Chunk::Writable(chunk) if range.len().saturating_mul(2) >= chunk.len() => {
                let chunk = chunk.freeze();
                let given = chunk.slice(range);
                self.chunk = Chunk::Frozen(chunk);
                given
            }
            Chunk::Writable(chunk) => {
                let given = Bytes::copy_from_slice(chunk.get(range).unwrap_or_default());
                self.chunk = Chunk::Writable(chunk);
                given
            }
            Chunk::Frozen(chunk) => {
                let given = chunk.slice(range);
                self.chunk = Chunk::Frozen(chunk);
                given
            }
            Chunk::None => Bytes::new(),
        }
    }

    /// Where the next bytes go. `wanted`: bytes that must be held together for the next step; `limit`: most that may be
    /// held. Empty only if `limit` bytes are held.
    pub(super) fn space(&mut self, wanted: usize, limit: usize) -> &mut [u8] {
        let held = self.len();
        self.offered = 0;
        if held >= limit {
            return &mut [];
        }
        let wanted = wanted.clamp(held + 1, limit);
        self.make_room(wanted, limit);
        let (end, offer) = (self.end, self.offer.max(wanted - held));
        let Chunk::Writable(chunk) = &mut self.chunk else { return &mut [] };
        let offered = chunk.len().min(limit).saturating_sub(end).min(offer);
        self.offered = offered;
        chunk.get_mut(end..end + offered).unwrap_or_default()
    }

    /// `count` bytes were put into `space`.
    pub(super) fn filled(&mut self, count: usize) {
        debug_assert!(count <= self.offered, "no more is filled than was offered");
        let count = count.min(self.offered);
        self.end += count;
        if count == self.offered && count >= self.offer / 2 {
            self.offer = (self.offer * 4).min(CHUNK_BYTES_MAX);
            self.quiet_reads = 0;
        } else if count >= self.offer / 8 {
            self.quiet_reads = 0;
        } else {
            self.quiet_reads += 1;
            if self.quiet_reads >= QUIET_READS {
                self.quiet_reads = 0;
                self.offer = (self.offer / 2).max(CHUNK_BYTES_MIN);
            }
        }
        self.offered = 0;
    }

    /// A large body begins: what follows it is read in small steps, so that the next large one arrives in place.
    pub(super) fn expect_large(&mut self) {
        self.offer = CHUNK_BYTES_MIN;
    }

    /// Gives all memory back if nothing is held.
    pub(super) fn release(&mut self) {
        if self.len() > 0 {
            return;
        }
        self.chunk = Chunk::None;
        self.retired = None;
        (self.start, self.end, self.offered) = (0, 0, 0);
        self.offer = (self.offer / 2).max(CHUNK_BYTES_MIN);
    }

    /// Memory that is held for this buffer alone or may be, in bytes.
    pub(super) fn memory(&self) -> usize {
        let chunk = match &self.chunk {
            Chunk::None => 0,
            Chunk::Writable(chunk) => chunk.len(),
            Chunk::Frozen(chunk) => chunk.len(),
        };
        chunk + self.retired.as_ref().map_or(0, Bytes::len)
    }

    /// Makes the chunk writable with room for `wanted` bytes from `start` on.
    fn make_room(&mut self, wanted: usize, limit: usize) {
        let size = self.offer.max(wanted).min(limit);
        match core::mem::replace(&mut self.chunk, Chunk::None) {
            Chunk::None => self.chunk = Chunk::Writable(self.obtain(size)),
            Chunk::Writable(chunk) => self.make_room_in(chunk, size),
            Chunk::Frozen(chunk) => match reuse(chunk, size) {
                Ok(mut chunk) => {
                    self.move_to_front(&mut chunk);
                    self.chunk = Chunk::Writable(chunk);
                }
                Err(chunk) => {
                    let mut next = self.obtain(size);
                    self.copy_to(&mut next, &chunk);
                    self.chunk = Chunk::Writable(next);
                    self.retired = Some(chunk);
                }
            },
        }
    }

    fn make_room_in(&mut self, mut chunk: BytesMut, size: usize) {
        let is_too_large = self.start == self.end && chunk.len() / 4 > size;
        if chunk.len() < size || is_too_large {
            let mut next = BytesMut::zeroed(size);
            self.copy_to(&mut next, &chunk);
            chunk = next;
        } else if self.start == self.end || chunk.len() - self.end < self.offer {
            self.move_to_front(&mut chunk);
        }
        self.chunk = Chunk::Writable(chunk);
    }

    /// A chunk of at least `size` bytes: a retired one that nobody holds any more, or a new one.
    fn obtain(&mut self, size: usize) -> BytesMut {
        let retired = self.retired.take().and_then(|chunk| reuse(chunk, size).ok());
        retired.unwrap_or_else(|| BytesMut::zeroed(size))
    }

    fn move_to_front(&mut self, chunk: &mut BytesMut) {
        if self.start > 0 {
            chunk.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
    }

    fn copy_to(&mut self, next: &mut BytesMut, chunk: &[u8]) {
        let held = chunk.get(self.start..self.end).unwrap_or_default();
        if let Some(front) = next.get_mut(..held.len()) {
            front.copy_from_slice(held);
        }
        (self.start, self.end) = (0, held.len());
    }
}

/// The chunk as a writable one if nobody else holds it and its size is right.
fn reuse(chunk: Bytes, size: usize) -> Result<BytesMut, Bytes> {
    if chunk.len() < size || chunk.len() / 4 > size { Err(chunk) } else { chunk.try_into_mut() }
}
