//! The bytes authority: connections, peers, byte queues, waiting sends, requests (rules B- and N-).

mod connection;
pub(crate) mod exchange;
mod socket;

pub use connection::{Connection, ConnectionIo};
pub(crate) use connection::ConnectionConfig;
pub use socket::*;
