//! Where in the stream of frames the written bytes end (W-20).

use super::Outbox;
use crate::wire::Kind;
use crate::wire::frame::MORE;
use crate::wire::record::frame_size;

/// A place between two frames in the packed bytes of the first segment. It moves only past referenced bodies, so that
/// writing costs nothing for packed records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Border {
    /// Offset in the packed bytes: a frame starts here, or nothing is behind it.
    at: usize,
    /// The frame before has MORE.
    pub(super) is_inside_record: bool,
}

impl Border {
    /// The body that is referenced at offset `at` of `packed` was written completely: its frame ends there.
    pub(super) fn pass_body(&mut self, packed: &[u8], at: usize) {
        self.walk(packed, at);
        self.is_inside_record = has_more(packed, self.at);
        self.at = at;
    }

    /// Moves to the last start of a frame that is not behind `to`.
    fn walk(&mut self, packed: &[u8], to: usize) {
        while self.at < to {
            let Some(end) = frame_end(packed, self.at).filter(|&end| end <= to) else { return };
            self.is_inside_record = has_more(packed, self.at);
            self.at = end;
        }
    }
}

impl Outbox {
    /// True if what was written ends with a whole record, or nothing was written.
    pub fn is_at_record_border(&self) -> bool {
        let segment = self.closed.front().unwrap_or(&self.tail);
        let mut border = self.border;
        border.walk(&segment.packed, self.written);
        border.at == self.written && !border.is_inside_record
    }
}

/// Where the frame at `at` ends if its body is packed; behind everything packed if it is referenced.
fn frame_end(packed: &[u8], at: usize) -> Option<usize> {
    let kind = Kind::from_byte(*packed.get(at + 3)?)?;
    Some(at + kind.header_bytes() + frame_size(packed, at)?)
}

fn has_more(packed: &[u8], at: usize) -> bool {
    packed.get(at + 2).is_some_and(|flags| flags & MORE != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use bytes::Bytes;

    /// Writes everything in steps of `step` bytes; the offsets at which a record ended.
    fn borders(outbox: &mut Outbox, step: usize) -> Vec<usize> {
        let mut borders = Vec::new();
        let total = outbox.len();
        let mut written = 0;
        while written <= total {
            if outbox.is_at_record_border() {
                borders.push(written);
            }
            if written == total {
                break;
            }
            let count = step.min(total - written);
            outbox.advance(count);
            outbox.check_invariants();
            written += count;
        }
        borders
    }

    fn records() -> Vec<(Kind, Vec<Bytes>)> {
        let large = Bytes::from(vec![b'x'; 9_000]);
        let huge = Bytes::from(vec![b'y'; 70_000]);
        let small = Bytes::from_static(b"small");
        vec![
            (Kind::Data, vec![small.clone()]),
            (Kind::Request, vec![small.clone(), large.clone(), small.clone()]),
            (Kind::Data, vec![large.clone()]),
            (Kind::Reply, vec![large.clone(), large.clone()]),
            (Kind::Data, vec![Bytes::new()]),
            (Kind::Data, vec![small.clone(), huge]),
            (Kind::Data, vec![Bytes::from(vec![b'z'; 8_000]); 20]),
            (Kind::Data, vec![small]),
        ]
    }

    #[test]
    fn w20_the_written_bytes_end_with_a_record_exactly_at_the_ends_of_records() {
        for step in [1, 7, 5_000] {
            for is_taken in [false, true] {
                let mut queue = Outbox::default();
                let mut ends = vec![0];
                for (kind, parts) in records() {
                    queue.push_record(kind, 1, &parts);
                    ends.push(queue.len());
                }
                let mut batch = Outbox::default();
                if is_taken {
                    queue.take_batch(usize::MAX, &mut batch);
                } else {
                    batch = queue;
                }
                let total = ends.last().copied();
                let hit = |end: &usize| end % step == 0 || Some(*end) == total;
                let expected: Vec<usize> = ends.iter().copied().filter(hit).collect();
                assert_eq!(borders(&mut batch, step), expected, "steps of {step}");
            }
        }
    }
}
