//! One queue's bytes: admission, hysteresis and changed limits (B-05 to B-22).
//!
//! ```text
//!            refused for bytes, or used ≥ HWM after an admission
//!   open ───────────────────────────────────────────────────────▶ full
//!     ▲                                                             │
//!     └─────────────────────────────────────────────────────────────┘
//!       used decreased and (used ≤ low mark, or no other record in the queue)
//! ```

/// What one direction of one peer holds, and whether more may enter. 0 as a limit means unlimited.
#[derive(Debug)]
pub(crate) struct Meter {
    planned: u64,
    applied: u64,
    used: u64,
    /// Part of `used` that belongs to reservations or to the record under reception (B-19).
    provisional: u64,
    /// Complete records and reservations: what B-06 calls other records.
    records: u64,
    is_full: bool,
    statistics: Statistics,
}

/// Counts of one measurement epoch (B-48).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Records that met the byte test.
    pub attempts: u64,
    /// Those that it refused at first.
    pub blocked: u64,
    /// Admissions by the oversize exception (B-09).
    pub oversize_count: u64,
    /// The largest charge admitted by it.
    pub largest_oversize: u64,
}

impl Meter {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            planned: limit,
            applied: limit,
            used: 0,
            provisional: 0,
            records: 0,
            is_full: false,
            statistics: Statistics::default(),
        }
    }

    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    pub(crate) fn provisional(&self) -> u64 {
        self.provisional
    }

    pub(crate) fn planned(&self) -> u64 {
        self.planned
    }

    pub(crate) fn applied(&self) -> u64 {
        self.applied
    }

    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// A lowered limit waits for the queue to shrink (B-21).
    pub(crate) fn is_deferred(&self) -> bool {
        self.planned != self.applied
    }

    pub(crate) fn holds_records(&self) -> bool {
        self.records != 0
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.statistics
    }

    pub(crate) fn reset_statistics(&mut self) {
        self.statistics = Statistics::default();
    }

    /// ceil(HWM / 2).
    fn low_mark(&self) -> u64 {
        self.applied.div_ceil(2)
    }

    /// Room without the oversize exception.
    fn fits(&self, charge: u64) -> bool {
        match self.used.checked_add(charge) {
            Some(sum) => self.applied == 0 || sum <= self.applied,
            None => false,
        }
    }

    /// B-05 without any effect: marks nothing full and is no attempt (N-61).
    #[inline]
    pub(crate) fn has_room(&self, charge: u64) -> bool {
        !self.is_full
            && !self.is_deferred()
            && (self.fits(charge) || (self.records == 0 && self.used.checked_add(charge).is_some()))
    }

    /// Admits a new record that has room without reaching the limit, so that the state stays open. False: nothing changed.
    #[inline]
    pub(crate) fn admit_easily(&mut self, charge: u64) -> bool {
        // Wraps to the largest limit for an unlimited queue.
        let last = self.applied.wrapping_sub(1);
        let sum = self.used.saturating_add(charge);
        if self.is_full || self.is_deferred() || sum >= last {
            return false;
        }
        self.statistics.attempts += 1;
        self.used = sum;
        self.records += 1;
        true
    }

    /// The byte test of a whole record (B-07). `is_first_test`: it counts as an attempt (B-48).
    pub(crate) fn admit_record(&mut self, charge: u64, is_first_test: bool) -> bool {
        self.statistics.attempts += u64::from(is_first_test);
        if !self.has_room(charge) {
            self.statistics.blocked += u64::from(is_first_test);
            self.refuse();
            return false;
        }
        self.enter(charge);
        self.records += 1;
        true
    }

    /// Books `charge` as a reservation, which counts as a record (O-35).
    pub(crate) fn admit_reservation(&mut self, charge: u64, is_first_test: bool) -> bool {
        let is_admitted = self.admit_record(charge, is_first_test);
        if is_admitted {
            self.provisional += charge;
        }
        is_admitted
    }

    /// A reservation becomes a record of `charge`: surplus returns, missing room is needed at once. `None`: nothing changed.
    /// `Some(true)`: the waiting line may be tried now.
    pub(crate) fn use_reservation(&mut self, reserved: u64, charge: u64) -> Option<bool> {
        let Some(extra) = charge.checked_sub(reserved) else {
            self.provisional -= reserved;
            self.used -= reserved - charge;
            return Some(self.decreased());
        };
        let is_alone = self.records == 1;
        let may_enter =
            extra == 0 || (!self.is_full && !self.is_deferred() && (is_alone || self.fits(extra)));
        self.used.checked_add(extra).filter(|_| may_enter)?;
        self.provisional -= reserved;
        if extra > 0 {
            self.enter(extra);
        }
        Some(false)
    }

    /// Ends a reservation that was not used.
    #[must_use]
    pub(crate) fn end_reservation(&mut self, reserved: u64) -> bool {
        self.provisional -= reserved;
        self.end_records(reserved, 1)
    }

    /// The byte test of a part of the record under reception, as the queue itself sees it. A part after the first enters
    /// whatever its size if the queue holds nothing else (B-08).
    pub(crate) fn has_room_for_part(&self, charge: u64, is_first: bool) -> bool {
        if self.records == 0 && !is_first {
            return self.used.checked_add(charge).is_some();
        }
        self.has_room(charge)
    }

    /// A part was refused.
    pub(crate) fn refuse(&mut self) {
        if self.applied != 0 && !self.is_deferred() {
            self.is_full = true;
        }
    }

    /// Parts of a record under reception entered, admitted against an allowance: `provisional` is their absolute charge.
    pub(crate) fn set_provisional(&mut self, provisional: u64) {
        let used = self.used.saturating_sub(self.provisional);
        let is_growing = provisional > self.provisional;
        self.used = used.saturating_add(provisional);
        self.provisional = provisional;
        if is_growing {
            self.note_entry();
        }
    }

    /// `count` records of `charge` together entered, admitted part by part against an allowance.
    pub(crate) fn commit(&mut self, charge: u64, count: u64) {
        self.used = self.used.saturating_add(charge);
        self.records += count;
        self.note_entry();
    }

    pub(crate) fn count_attempts(&mut self, attempts: u64, blocked: u64) {
        self.statistics.attempts += attempts;
        self.statistics.blocked += blocked;
    }

    fn enter(&mut self, charge: u64) {
        self.used += charge;
        self.note_entry();
        self.note_oversize(charge);
    }

    pub(crate) fn note_oversize(&mut self, charge: u64) {
        if self.applied != 0 && self.used > self.applied {
            self.statistics.oversize_count += 1;
            self.statistics.largest_oversize = self.statistics.largest_oversize.max(charge);
        }
    }

    fn note_entry(&mut self) {
        if self.applied != 0 && self.used >= self.applied {
            self.is_full = true;
        }
    }

    /// The charge of `count` records ended. True: the waiting line may be tried now (B-10, B-11, B-21).
    #[inline]
    #[must_use]
    pub(crate) fn end_records(&mut self, charge: u64, count: u64) -> bool {
        self.used -= charge;
        self.records -= count;
        self.decreased()
    }

    /// The open record was rolled back (B-18).
    #[must_use]
    pub(crate) fn roll_back(&mut self) -> bool {
        self.used -= self.provisional;
        self.provisional = 0;
        self.decreased()
    }

    /// Charge of a record under reception ended without entering the queue as a record: a reply that settled at once.
    pub(crate) fn settled(&mut self) {
        // Its connection is just being served: it gets its new allowance in the same step.
        let _ = self.decreased();
    }

    fn decreased(&mut self) -> bool {
        if self.is_deferred() {
            if self.used > self.planned {
                return false;
            }
            self.applied = self.planned;
            self.is_full = self.applied != 0 && self.used >= self.applied;
            return !self.is_full;
        }
        self.leave_full()
    }

    fn leave_full(&mut self) -> bool {
        if self.is_full && (self.applied == 0 || self.used <= self.low_mark() || self.records == 0) {
            self.is_full = false;
            return true;
        }
        false
    }

    /// Changes the limit (B-20 to B-22). True: the waiting line may be tried now.
    #[must_use]
    pub(crate) fn set_limit(&mut self, limit: u64) -> bool {
        let was_deferred = self.is_deferred();
        self.planned = limit;
        let is_lower = limit != 0 && (self.applied == 0 || limit < self.applied);
        if is_lower && self.used > limit {
            return false;
        }
        self.applied = limit;
        if is_lower {
            self.note_entry();
            return was_deferred && !self.is_full;
        }
        self.leave_full() || was_deferred && !self.is_full
    }

    /// B-04, B-08.
    pub(crate) fn check_invariants(&self, record_charge_max: Option<u64>) {
        assert!(self.provisional <= self.used, "provisional is part of used");
        if self.records == 0 {
            assert_eq!(self.used, self.provisional, "an empty queue uses nothing");
        }
        if self.applied == 0 {
            assert!(!self.is_full, "an unlimited queue is never full");
        } else if let Some(max) = record_charge_max {
            assert!(self.used <= self.applied.max(max), "used above max(HWM, C(MAX))");
        }
        if self.is_deferred() {
            assert!(self.planned != 0 && self.used > self.planned, "deferred without need");
        }
    }
}
