//! zlink-testkit.
