//! zlink-testkit: what tests, tools and fuzzing share.

pub mod vectors;
