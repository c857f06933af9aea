//! Bytes to frames: see `zlink_testkit::fuzz::decoder`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| zlink_testkit::fuzz::decoder(data));
