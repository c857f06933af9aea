//! Which peer of a DEALER gets the next record (N-60a to N-64): smooth weighted round robin.

use crate::id::{RoutingId, SetId};
use alloc::vec::Vec;

/// One candidate. Its accumulator lives as long as it is one.
#[derive(Debug)]
struct Candidate {
    set: SetId,
    weight: u32,
    accumulator: i64,
    routing_id: RoutingId,
}

/// Weights and accumulators of the ready peers, in the order that decides ties: routing id, then attachment.
#[derive(Debug, Default)]
pub(crate) struct Selector {
    candidates: Vec<Candidate>,
}

impl Selector {
    /// Adds a peer, or changes its weight; the accumulator of a known one stays (N-64).
    pub(crate) fn set_weight(&mut self, set: SetId, routing_id: &RoutingId, weight: u32) {
        if let Some(known) = self.candidates.iter_mut().find(|candidate| candidate.set == set) {
            known.weight = weight;
            return;
        }
        let key = (routing_id, set.generation);
        let place = self.candidates.partition_point(|other| (&other.routing_id, other.set.generation) < key);
        self.candidates
            .insert(place, Candidate { set, weight, accumulator: 0, routing_id: routing_id.clone() });
    }

    /// Forgets a peer.
    pub(crate) fn remove(&mut self, set: SetId) {
        self.candidates.retain(|candidate| candidate.set != set);
    }

    /// The only candidate, if its weight is not 0: selection among one changes nothing.
    #[inline]
    pub(crate) fn only(&self) -> Option<SetId> {
        match self.candidates.as_slice() {
            [only] if only.weight > 0 => Some(only.set),
            _ => None,
        }
    }

    /// True if some peer with a weight satisfies `is_eligible`.
    pub(crate) fn any(&self, mut is_eligible: impl FnMut(SetId) -> bool) -> bool {
        self.candidates.iter().any(|candidate| candidate.weight > 0 && is_eligible(candidate.set))
    }

    /// One step over the peers that have a weight and satisfy `is_eligible` (N-61): adds each one's weight, takes the largest,
    /// subtracts the sum from it.
    pub(crate) fn select(&mut self, mut is_eligible: impl FnMut(SetId) -> bool) -> Option<SetId> {
        let (mut winner, mut largest, mut sum) = (None, i64::MIN, 0i64);
        for (index, candidate) in self.candidates.iter_mut().enumerate() {
            if candidate.weight == 0 || !is_eligible(candidate.set) {
                continue;
            }
            let weight = i64::from(candidate.weight);
            candidate.accumulator = candidate.accumulator.saturating_add(weight);
            sum += weight;
            if winner.is_none() || candidate.accumulator > largest {
                largest = candidate.accumulator;
                winner = Some(index);
            }
        }
        let won = self.candidates.get_mut(winner?)?;
        won.accumulator = won.accumulator.saturating_sub(sum);
        Some(won.set)
    }

    /// Accumulators by set, for tests.
    #[cfg(test)]
    pub(crate) fn accumulators(&self) -> impl Iterator<Item = (SetId, u32, i64)> {
        self.candidates.iter().map(|candidate| (candidate.set, candidate.weight, candidate.accumulator))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    fn peer(name: &'static str, generation: u64) -> (SetId, RoutingId) {
        let id = RoutingId::new(name.as_bytes()).expect("short name");
        (SetId { generation, slot: generation as u32 }, id)
    }

    fn selector(peers: &[(&'static str, u32)]) -> Selector {
        let mut selector = Selector::default();
        for (generation, &(name, weight)) in peers.iter().enumerate() {
            let (set, id) = peer(name, generation as u64);
            selector.set_weight(set, &id, weight);
        }
        selector
    }

    fn run(selector: &mut Selector, peers: &[(&'static str, u32)], count: usize) -> String {
        (0..count)
            .map(|_| peers[selector.select(|_| true).expect("someone").generation as usize].0)
            .collect::<alloc::vec::Vec<_>>()
            .join(" ")
    }

    #[test]
    fn n61_sequence_of_the_table() {
        let peers = [("A", 100), ("B", 300)];
        assert_eq!(run(&mut selector(&peers), &peers, 8), "B A B B B A B B");
        let peers = [("c", 20), ("a", 50), ("b", 30)];
        assert_eq!(run(&mut selector(&peers), &peers, 10), "a b c a a b a c b a");
    }

    #[test]
    fn n64_a_blocked_peer_keeps_its_accumulator() {
        let peers = [("A", 100), ("B", 300)];
        let mut selector = selector(&peers);
        let mut winners = String::new();
        for record in 1..=4 {
            let is_b_blocked = record == 2 || record == 3;
            let won = selector.select(|set| set.generation == 0 || !is_b_blocked).expect("A is open");
            winners.push_str(peers[won.generation as usize].0);
        }
        assert_eq!(winners, "BAAA");
        let values: alloc::vec::Vec<i64> = selector.accumulators().map(|(_, _, value)| value).collect();
        assert_eq!(values, [-200, 200]);
    }

    #[test]
    fn n61_equal_ids_are_ordered_by_attachment() {
        let mut selector = Selector::default();
        let (late, id) = peer("same", 9);
        let (early, _) = peer("same", 4);
        selector.set_weight(late, &id, 1);
        selector.set_weight(early, &id, 1);
        assert_eq!(selector.select(|_| true), Some(early));
        assert_eq!(selector.select(|_| true), Some(late));
    }

    #[test]
    fn n49_weight_zero_is_never_selected() {
        let mut selector = selector(&[("A", 0)]);
        assert_eq!(selector.only(), None);
        assert_eq!(selector.select(|_| true), None);
    }
}
