//! zlink-driver.
