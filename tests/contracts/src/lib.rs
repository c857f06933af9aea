//! zlink-contracts.
