//! Hashing of what peers choose.

use core::hash::{BuildHasher, Hasher};

/// A keyed hash for names and numbers that peers choose: they cannot know which ones collide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed {
    pub(crate) key: [u64; 2],
}

impl BuildHasher for Keyed {
    type Hasher = KeyedHasher;
    fn build_hasher(&self) -> KeyedHasher {
        KeyedHasher { state: self.key[0], key: self.key[1] }
    }
}

/// Multiplies and folds 8 bytes at a time.
#[derive(Debug)]
pub(crate) struct KeyedHasher {
    state: u64,
    key: u64,
}

impl KeyedHasher {
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.state ^ word).wrapping_mul(u128::from(self.key | 1));
        self.state = (product as u64) ^ ((product >> 64) as u64) ^ self.key.rotate_left(23);
    }
}

impl Hasher for KeyedHasher {
    fn write(&mut self, bytes: &[u8]) {
        let words = bytes.chunks_exact(8);
        let rest = words.remainder();
        for word in words {
            let mut whole = [0; 8];
            whole.copy_from_slice(word);
            self.mix(u64::from_le_bytes(whole));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.mix(u64::from_le_bytes(last) ^ (rest.len() as u64) << 56);
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }

    fn write_usize(&mut self, word: usize) {
        self.mix(word as u64);
    }

    fn finish(&self) -> u64 {
        let product = u128::from(self.state).wrapping_mul(u128::from(self.key.rotate_left(17) | 1));
        (product as u64) ^ ((product >> 64) as u64)
    }
}
