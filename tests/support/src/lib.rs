//! zlink-testkit: what tests, tools and fuzzing share.

pub mod fuzz;
pub mod nodes;
pub mod pair;
pub mod vectors;
