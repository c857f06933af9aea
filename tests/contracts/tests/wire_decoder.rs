//! The decoder under input that nobody wrote by hand.

use zlink_testkit::fuzz;

/// Pseudo-random bytes that are the same in every run.
fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn w03_any_split_gives_the_same_events_for_frames_of_all_kinds() {
    for seed in 0..400 {
        let mut input = bytes(seed, 6 + (seed as usize % 120));
        input[5] = 1;
        fuzz::decoder(&input);
    }
}

#[test]
fn w03_any_split_gives_the_same_events_for_garbage() {
    for seed in 0..300 {
        let mut input = bytes(seed, 60);
        input[5] = 0;
        // Most of it begins well.
        if seed % 3 != 0 {
            input[6..10].copy_from_slice(&[0x5a, 1, seed as u8 & 3, seed as u8 >> 2 & 3]);
        }
        fuzz::decoder(&input);
    }
}
