//! Messaging with backpressure as pure state machines.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

pub mod error;
pub mod host;
pub mod id;
pub mod message;
pub mod node;
pub mod time;
pub mod transport;
pub mod wire;
