//! The bytes authority: connections, peers, byte queues, waiting sends, requests (rules B- and N-).

mod connection;
pub mod endpoint;
pub(crate) mod exchange;
pub mod liveness;
pub mod reconnect;
mod socket;

pub(crate) use connection::ConnectionConfig;
pub use connection::{Connection, ConnectionIo};
pub use socket::*;
