//! The bytes authority: connections, peers, byte queues, waiting sends, requests (rules B- and N-).

mod admission;
mod connection;
mod deadlines;
pub mod endpoint;
mod event;
pub(crate) mod exchange;
mod flow;
mod keyed;
mod lane_set;
pub mod liveness;
mod meter;
mod operations;
mod options;
mod receive_queue;
pub mod reconnect;
mod selector;
mod send_queue;
mod socket;
mod tokens;

pub(crate) use connection::ConnectionConfig;
pub use connection::{Connection, ConnectionIo};
pub use event::{EVENTS_MAX, EndReason, Event, EventKind, EventReader};
pub use flow::FlowCounts;
pub use meter::Statistics;
pub use options::{DuplicatePolicy, HWM_DEFAULT, OptionsError, SocketOptions, Violation};
pub use socket::*;
pub use tokens::ReplyToken;
