//! What a connection may take in before it asks the byte authority again (B-14).

/// Charge that may enter a receive queue, copied out in one step by the queue's only producer. The copy can only be too
/// strict; a refused part asks the queue itself before reading stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allowance {
    /// Charge that may still enter; `u64::MAX` if the queue is unlimited.
    pub room: u64,
    /// False while the queue is full.
    pub is_open: bool,
    /// True if the queue holds a record other than the one under reception: then the oversize exception does not apply (B-06).
    pub holds_other: bool,
}
