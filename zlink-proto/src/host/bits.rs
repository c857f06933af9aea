//! A set of small numbers with "next member from here on", found without a scan over its absentees.

use alloc::vec::Vec;

const BITS: usize = 64;

/// Two levels: a bit of `summary` says that a word has members.
#[derive(Clone, Debug, Default)]
pub(super) struct Bits {
    words: Vec<u64>,
    summary: Vec<u64>,
    count: usize,
}

impl Bits {
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn contains(&self, index: usize) -> bool {
        self.words.get(index / BITS).is_some_and(|word| word & mask(index) != 0)
    }

    /// Returns false if it was a member.
    pub(super) fn insert(&mut self, index: usize) -> bool {
        let word = index / BITS;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
            self.summary.resize(word / BITS + 1, 0);
        }
        if self.words[word] & mask(index) != 0 {
            return false;
        }
        self.words[word] |= mask(index);
        self.summary[word / BITS] |= mask(word);
        self.count += 1;
        true
    }

    /// Returns false if it was no member.
    pub(super) fn remove(&mut self, index: usize) -> bool {
        let word = index / BITS;
        if !self.contains(index) {
            return false;
        }
        self.words[word] &= !mask(index);
        if self.words[word] == 0 {
            self.summary[word / BITS] &= !mask(word);
        }
        self.count -= 1;
        true
    }

    /// The smallest member that is `from` or larger.
    pub(super) fn next(&self, from: usize) -> Option<usize> {
        let word = from / BITS;
        let rest = self.words.get(word)? & (u64::MAX << (from % BITS));
        if rest != 0 {
            return Some(word * BITS + rest.trailing_zeros() as usize);
        }
        let word = self.next_word(word + 1)?;
        Some(word * BITS + self.words[word].trailing_zeros() as usize)
    }

    fn next_word(&self, from: usize) -> Option<usize> {
        let mut keep = u64::MAX << (from % BITS);
        for (index, &bits) in self.summary.iter().enumerate().skip(from / BITS) {
            let rest = bits & keep;
            if rest != 0 {
                return Some(index * BITS + rest.trailing_zeros() as usize);
            }
            keep = u64::MAX;
        }
        None
    }
}

const fn mask(index: usize) -> u64 {
    1 << (index % BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h52_next_agrees_with_a_plain_search() {
        let mut bits = Bits::default();
        let mut plain = alloc::vec![false; 9_000];
        let mut seed = 7_u64;
        for _ in 0..4_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (index, from) = ((seed >> 33) as usize % 9_000, (seed >> 20) as usize % 9_000);
            if seed & 8 == 0 {
                assert_eq!(bits.insert(index), !plain[index]);
                plain[index] = true;
            } else {
                assert_eq!(bits.remove(index), plain[index]);
                plain[index] = false;
            }
            assert_eq!(bits.next(from), (from..9_000).find(|&i| plain[i]));
            assert_eq!(bits.is_empty(), !plain.contains(&true));
        }
    }
}
