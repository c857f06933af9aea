//! zlink-driver-tokio.
