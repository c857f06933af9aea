//! Control frames: HELLO, READY, ERROR, WEIGHT, FLOWSTATE (W-26 to W-44).

use super::{FaultCode, SocketType};
use crate::id::RoutingId;
use bytes::Bytes;

/// Weight that a receiver assumes until told otherwise (W-39).
pub const WEIGHT_DEFAULT: u32 = 100;
/// Largest weight (W-39).
pub const WEIGHT_MAX: u32 = 10_000;

/// First frame in each direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hello {
    /// Type of the sender.
    pub socket_type: SocketType,
    /// Name of the sender.
    pub routing_id: RoutingId,
}

/// Second frame in each direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ready {
    /// The sender's MaxMessageSize; 0 = none.
    pub max_message_bytes: u64,
    /// Lane count and lane, on types that have lanes.
    pub lanes: Option<(u8, u8)>,
}

/// Whether the writer wants application records (W-41).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Flow {
    /// It does.
    #[default]
    Running = 0,
    /// It does not.
    Paused = 1,
}

/// FLOWSTATE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowState {
    /// The absolute state.
    pub state: Flow,
    /// Counts the FLOWSTATE frames of this connection, from 1.
    pub epoch: u64,
}

/// ERROR: the peer's reason to close. The text is untrusted (W-22).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorFrame {
    /// Code byte as received.
    pub code: u8,
    /// Reason bytes as received, at most 255.
    pub reason: Bytes,
}

impl ErrorFrame {
    /// True if it names this code.
    pub fn is(&self, code: FaultCode) -> bool {
        self.code == code as u8
    }
}
