//! zlink-driver-tests.
