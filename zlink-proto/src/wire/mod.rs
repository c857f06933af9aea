//! Bytes on a connection: frames, control, faults (rules W-01 to W-58) and service records (S-01 to S-81).

mod allowance;
pub mod control;
mod decoder;
mod fault;
pub mod frame;
mod outbox;
mod record;
pub mod service;
mod socket_type;
pub mod stream;

pub use allowance::Allowance;
pub use control::{ErrorFrame, Flow, FlowState, Hello, Ready, WEIGHT_DEFAULT, WEIGHT_MAX};
pub use decoder::{Decoded, Decoder, Dropped, Event, HANDSHAKE_BYTES_MAX};
pub use fault::{Fault, FaultCode};
pub use frame::{Kind, PARTS_MAX, SPECIAL_BYTES_MAX};
pub use outbox::{Outbox, PACKED_BYTES_MAX};
pub use record::{PART_CHARGE, Parts, Record, charge};
pub use socket_type::SocketType;
