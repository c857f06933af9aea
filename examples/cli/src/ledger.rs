//! The front of a payload says who sent it and the how-manieth it is; the ledger tells whether all came, once and in order.

use std::collections::HashMap;

/// Bytes of the stamp: sender's id and sequence, both u64, big endian.
pub(crate) const STAMP_BYTES: usize = 16;
/// Senders that are told apart; the messages of more are only counted.
const SENDERS_MAX: usize = 65_536;
/// Holes that are remembered for a sender. With more, the lowest ones count as gaps for good.
const RUNS_MAX: usize = 4_096;

/// Writes the stamp to the front; a payload without room for it goes without.
pub(crate) fn stamp(payload: &mut [u8], sender: u64, sequence: u64) {
    if let Some(front) = payload.first_chunk_mut::<STAMP_BYTES>() {
        let both = u128::from(sender) << 64 | u128::from(sequence);
        *front = both.to_be_bytes();
    }
}

/// Sender's id and sequence at the front of a payload.
pub(crate) fn stamp_of(payload: &[u8]) -> Option<(u64, u64)> {
    let both = u128::from_be_bytes(*payload.first_chunk::<STAMP_BYTES>()?);
    Some(((both >> 64) as u64, both as u64))
}

/// What the stamps of all payloads together say.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct OrderCounts {
    /// Sequences that never came although a lower and a higher one of the same sender came.
    pub(crate) gaps: u64,
    /// Messages whose sequence had come before.
    pub(crate) duplicates: u64,
    /// Messages that came after one with a higher sequence.
    pub(crate) out_of_order: u64,
}

/// Which sequences of each sender came.
#[derive(Default, Debug)]
pub(crate) struct Ledger {
    senders: HashMap<u64, Sender>,
    /// The sender of the latest message, kept outside of the map: most messages come in runs of one sender.
    latest: Option<(u64, Sender)>,
    duplicates: u64,
    out_of_order: u64,
}

impl Ledger {
    /// Takes a message down. One without a stamp changes nothing.
    pub(crate) fn record(&mut self, payload: &[u8]) {
        let Some((id, sequence)) = stamp_of(payload) else { return };
        if self.latest.as_ref().is_none_or(|(latest, _)| *latest != id) {
            self.turn_to(id);
        }
        let Some((_, sender)) = &mut self.latest else { return };
        match sender.record(sequence) {
            Arrival::InOrder => {}
            Arrival::Late => self.out_of_order += 1,
            Arrival::Again => self.duplicates += 1,
        }
    }

    fn turn_to(&mut self, id: u64) {
        if let Some((id, sender)) = self.latest.take() {
            self.senders.insert(id, sender);
        }
        let known = self.senders.remove(&id);
        if known.is_some() || self.senders.len() < SENDERS_MAX {
            self.latest = Some((id, known.unwrap_or_default()));
        }
    }

    /// The counts until now.
    pub(crate) fn counts(&self) -> OrderCounts {
        let all = self.senders.values().chain(self.latest.iter().map(|(_, sender)| sender));
        OrderCounts {
            gaps: all.map(Sender::gaps).sum(),
            duplicates: self.duplicates,
            out_of_order: self.out_of_order,
        }
    }
}

enum Arrival {
    InOrder,
    Late,
    Again,
}

/// Runs of sequences that came, first and last inclusive, ascending, with holes between them.
#[derive(Default, Debug)]
struct Sender {
    runs: Vec<(u64, u64)>,
    /// Sequences in holes that are no longer remembered.
    given_up: u64,
}

impl Sender {
    fn record(&mut self, sequence: u64) -> Arrival {
        match self.runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(sequence) => {
                *last = sequence;
                return Arrival::InOrder;
            }
            Some((_, last)) if *last >= sequence => {}
            Some(_) | None => {
                self.runs.push((sequence, sequence));
                self.bound();
                return Arrival::InOrder;
            }
        }
        // The first run that ends at or behind it; there is one, for the last run does.
        let place = self.runs.partition_point(|(_, last)| *last < sequence);
        if self.runs[place].0 <= sequence {
            return Arrival::Again;
        }
        let joins_next = self.runs[place].0 == sequence + 1;
        let joins_previous = place > 0 && self.runs[place - 1].1 + 1 == sequence;
        match (joins_previous, joins_next) {
            (true, true) => {
                self.runs[place - 1].1 = self.runs[place].1;
                self.runs.remove(place);
            }
            (true, false) => self.runs[place - 1].1 = sequence,
            (false, true) => self.runs[place].0 = sequence,
            (false, false) => self.runs.insert(place, (sequence, sequence)),
        }
        self.bound();
        Arrival::Late
    }

    fn bound(&mut self) {
        if self.runs.len() > RUNS_MAX {
            self.given_up += self.runs[1].0 - self.runs[0].1 - 1;
            self.runs[1].0 = self.runs[0].0;
            self.runs.remove(0);
        }
    }

    fn gaps(&self) -> u64 {
        let holes = self.runs.windows(2).map(|pair| pair[1].0 - pair[0].1 - 1);
        self.given_up + holes.sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(arrivals: &[(u64, u64)]) -> OrderCounts {
        let mut ledger = Ledger::default();
        for (sender, sequence) in arrivals {
            let mut payload = [0; 20];
            stamp(&mut payload, *sender, *sequence);
            ledger.record(&payload);
        }
        ledger.counts()
    }

    fn counts(gaps: u64, duplicates: u64, out_of_order: u64) -> OrderCounts {
        OrderCounts { gaps, duplicates, out_of_order }
    }

    #[test]
    fn all_in_order_counts_nothing() {
        assert_eq!(ledger(&[(1, 0), (1, 1), (2, 5), (1, 2), (2, 6)]), counts(0, 0, 0));
    }

    #[test]
    fn a_hole_is_a_gap_until_it_is_filled_late() {
        assert_eq!(ledger(&[(1, 0), (1, 3)]), counts(2, 0, 0));
        assert_eq!(ledger(&[(1, 0), (1, 3), (1, 2)]), counts(1, 0, 1));
        assert_eq!(ledger(&[(1, 0), (1, 3), (1, 2), (1, 1)]), counts(0, 0, 2));
        assert_eq!(ledger(&[(1, 5), (1, 3)]), counts(1, 0, 1));
    }

    #[test]
    fn a_sequence_that_came_before_is_a_duplicate() {
        assert_eq!(ledger(&[(1, 0), (1, 0), (1, 1), (1, 0)]), counts(0, 2, 0));
        assert_eq!(ledger(&[(1, 0), (1, 5), (1, 3), (1, 3)]), counts(3, 1, 1));
    }

    #[test]
    fn a_payload_without_room_has_no_stamp() {
        let mut short = [7; 15];
        stamp(&mut short, 1, 2);
        assert_eq!((short, stamp_of(&short)), ([7; 15], None));
    }

    #[test]
    fn memory_is_bounded_and_forgotten_holes_stay_gaps() {
        let mut sender = Sender::default();
        let count = 2 * RUNS_MAX as u64;
        for sequence in 0..count {
            sender.record(sequence * 2);
        }
        assert_eq!(sender.runs.len(), RUNS_MAX);
        assert_eq!(sender.gaps(), count - 1);
    }
}
