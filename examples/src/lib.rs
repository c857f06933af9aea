//! zlink-examples.
