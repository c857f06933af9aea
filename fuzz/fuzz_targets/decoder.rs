//! Bytes to frames and records: the same however they are cut, no panic, memory bounded.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| zlink_testkit::fuzz::decoder(data));
