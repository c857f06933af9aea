//! What a connection may take in before it asks the byte authority again (B-14).

/// Charge that may enter a receive queue, copied out in one step by the queue's only producer. The copy can only be too
/// strict; a refused part asks the queue itself before reading stops.
///
/// | Field | In the queue that it was copied from |
/// |---|---|
/// | `room` | HWM − used, 0 if used is above; `u64::MAX` if HWM is 0 |
/// | `is_open` | not full (§4), and no limit deferred |
/// | `holds_other` | a complete record is in it, or a reservation |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allowance {
    /// Charge that may still enter; `u64::MAX` if the queue is unlimited.
    pub room: u64,
    /// False while the queue is full.
    pub is_open: bool,
    /// True if the queue holds a record other than the one under reception: then the oversize exception does not apply (B-06).
    pub holds_other: bool,
}

impl Allowance {
    /// That of a queue without HWM.
    pub const UNLIMITED: Self = Self { room: u64::MAX, is_open: true, holds_other: false };

    /// Admits one part of a received record and takes its charge from the room (B-05, B-07). `is_first`: it begins a record.
    /// A refusal changes nothing.
    ///
    /// A later part of the record under reception also enters a full queue if that holds no other record: B-10 opens a full
    /// queue at decreases only, and while nothing else is in it there will be none, so without this B-08 (a record under
    /// reception always finishes) would not hold.
    #[inline]
    pub fn admit(&mut self, charge: u64, is_first: bool) -> bool {
        if self.room == u64::MAX {
            return true;
        }
        if self.is_open && charge <= self.room {
            self.room -= charge;
            // Full at used >= HWM.
            self.is_open = self.room > 0;
            return true;
        }
        if self.holds_other || (is_first && !self.is_open) {
            return false;
        }
        self.room = 0;
        self.is_open = false;
        true
    }

    /// Room that needs no second look: 0 unless open.
    #[inline]
    pub(super) fn open_room(&self) -> u64 {
        if self.is_open { self.room } else { 0 }
    }

    /// `room` is left of `open_room`; `is_complete`: a record was completed.
    #[inline]
    pub(super) fn use_room(&mut self, room: u64, is_complete: bool) {
        if self.is_open {
            // Full at used >= HWM.
            self.is_open = room > 0;
            self.room = room;
        }
        self.holds_other |= is_complete;
    }

    /// The last part of a record is there: to all that follow it is another record.
    #[inline]
    pub fn complete(&mut self) {
        self.holds_other = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn empty(hwm: u64) -> Allowance {
        Allowance { room: hwm, is_open: true, holds_other: false }
    }

    /// Records of `charge` until one is refused.
    fn fill(allowance: &mut Allowance, charge: u64) -> u64 {
        let mut count = 0;
        while allowance.admit(charge, true) {
            allowance.complete();
            count += 1;
        }
        count
    }

    #[test]
    fn b05_equal_records_until_refusal() {
        for (payload, count) in [(0, 31), (36, 20), (100, 12), (5_000, 1)] {
            assert_eq!(fill(&mut empty(2_000), payload + 64), count, "{payload}");
        }
    }

    #[test]
    fn b06_oversize_enters_only_if_nothing_else_is_there() {
        let mut allowance = empty(100);
        assert!(allowance.admit(64, true));
        allowance.complete();
        assert!(!allowance.admit(164, true));
        assert_eq!(allowance, Allowance { room: 36, is_open: true, holds_other: true });
    }

    #[test]
    fn b08_a_record_under_reception_finishes_alone_in_a_full_queue() {
        let mut allowance = empty(100);
        assert!(allowance.admit(100, true));
        assert!(!allowance.is_open);
        assert!(allowance.admit(5_000, false) && allowance.admit(64, false));
        allowance.complete();
        assert!(!allowance.admit(64, true));
    }

    #[test]
    fn b10_a_full_queue_takes_no_new_record_and_no_part_behind_others() {
        let full = Allowance { room: 500, is_open: false, holds_other: false };
        assert!(!{ full }.admit(64, true));
        assert!(!Allowance { holds_other: true, ..full }.admit(64, false));
    }

    #[test]
    fn b13_no_hwm_is_never_full() {
        let mut allowance = Allowance::UNLIMITED;
        for _ in 0..4 {
            assert!(allowance.admit(u64::MAX / 2, true));
            allowance.complete();
        }
        assert_eq!(allowance.room, u64::MAX);
    }
}
