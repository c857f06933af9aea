//! A receive queue as 2-bytes.md states it, one counter and no cleverness.

use std::collections::VecDeque;
use zlink_proto::wire::Allowance;

pub(super) struct ModelQueue {
    /// 0 = unlimited.
    hwm: u64,
    records: VecDeque<u64>,
    /// Charge of the record under reception.
    provisional: u64,
    is_full: bool,
}

impl ModelQueue {
    pub(super) fn new(hwm: u64) -> Self {
        Self { hwm, records: VecDeque::new(), provisional: 0, is_full: false }
    }

    fn used(&self) -> u64 {
        self.records.iter().sum::<u64>() + self.provisional
    }

    /// B-14.
    pub(super) fn allowance(&self) -> Allowance {
        if self.hwm == 0 {
            return Allowance::UNLIMITED;
        }
        Allowance {
            room: self.hwm.saturating_sub(self.used()),
            is_open: !self.is_full,
            holds_other: !self.records.is_empty(),
        }
    }

    /// A complete record: what was provisional of it is part of `charge`.
    pub(super) fn push(&mut self, charge: u64) {
        self.provisional = 0;
        self.records.push_back(charge);
        if self.hwm == 0 {
            self.records.clear();
        }
        self.after_admission();
    }

    pub(super) fn set_provisional(&mut self, provisional: u64) {
        self.provisional = provisional;
        self.after_admission();
    }

    fn after_admission(&mut self) {
        self.is_full |= self.hwm != 0 && self.used() >= self.hwm;
        // B-08, with records of any size: all of them but the last fitted.
        let last = self.records.back().copied().unwrap_or_default().max(self.provisional);
        let rest = self.used() - last;
        assert!(self.hwm == 0 || rest <= self.hwm, "{rest} before the last record of {}", self.hwm);
    }

    /// A part was refused: the refusal is right, and the reader takes records until B-10 opens the queue.
    pub(super) fn refused(&mut self, charge: u64, provisional: u64) {
        self.set_provisional(provisional);
        let is_right = self.is_full || self.used() + charge > self.hwm;
        assert!(self.hwm != 0 && is_right && !self.records.is_empty(), "a part may enter and was refused");
        self.is_full = true;
        while self.is_full {
            self.records.pop_front().expect("B-10: without other records the queue opens");
            if self.used() <= self.hwm.div_ceil(2) || self.records.is_empty() {
                self.is_full = false;
            }
        }
    }

    /// The end of input: the decoder agrees about what is provisional, unless a fault rolled it back.
    pub(super) fn finish(&self, provisional: Option<u64>) {
        if let Some(provisional) = provisional {
            assert_eq!(self.provisional, provisional);
        }
    }
}
