//! Options of raw sockets: those of the machine and those of the OS socket.

use crate::error::Error;
use crate::net::NetOptions;
use std::time::Duration;
use zlink_proto::error::ErrorKind;
use zlink_proto::id::RoutingId;
use zlink_proto::transport::{self, DuplicatePolicy};

/// Options of a DEALER or ROUTER (spec 3 §15, spec 2 §9). Checked together when the socket is made; names, units and
/// defaults are those of the spec.
#[derive(Clone, Debug, Default)]
pub struct SocketOptions {
    pub(crate) machine: transport::SocketOptions,
    pub(crate) net: NetOptions,
    bad_routing_id: bool,
}

impl SocketOptions {
    /// Our name: 1 to 255 bytes. Default: 16 random bytes (W-27).
    #[must_use]
    pub fn routing_id(mut self, bytes: &[u8]) -> Self {
        let id = RoutingId::new(bytes.to_vec()).ok().filter(|id| !id.is_empty());
        self.bad_routing_id = id.is_none();
        self.machine.routing_id = id;
        self
    }

    /// What happens when a second set claims a name (N-26). Default: Reject.
    #[must_use]
    pub const fn duplicate_policy(mut self, policy: DuplicatePolicy) -> Self {
        self.machine.duplicate_policy = policy;
        self
    }

    /// Bytes that wait to be sent to one peer before senders wait. 0: unlimited.
    #[must_use]
    pub const fn send_hwm(mut self, bytes: u64) -> Self {
        self.machine.send_hwm = Some(bytes);
        self
    }

    /// Bytes of one peer that wait to be received before its connection is not read. 0: unlimited.
    #[must_use]
    pub const fn receive_hwm(mut self, bytes: u64) -> Self {
        self.machine.receive_hwm = Some(bytes);
        self
    }

    /// Largest record, in bytes of its parts together. 0: none. Default: 16 MiB.
    #[must_use]
    pub const fn max_message_size(mut self, bytes: u64) -> Self {
        self.machine.max_message_size = bytes;
        self
    }

    /// Longest wait of a send for room. Default: 1 s.
    #[must_use]
    pub const fn send_timeout(mut self, timeout: Duration) -> Self {
        self.machine.send_timeout = timeout;
        self
    }

    /// Longest wait of a reply for room. Default: 1 s.
    #[must_use]
    pub const fn reply_timeout(mut self, timeout: Duration) -> Self {
        self.machine.reply_timeout = timeout;
        self
    }

    /// Deadline of a request, from the call to its reply. Default: 5 s.
    #[must_use]
    pub const fn request_timeout(mut self, timeout: Duration) -> Self {
        self.machine.request_timeout = timeout;
        self
    }

    /// How long admitted records may still be transmitted after close, 0 to 24 h. Default: 30 s.
    #[must_use]
    pub const fn linger(mut self, linger: Duration) -> Self {
        self.machine.linger = linger;
        self
    }

    /// Our weight in the selection of the peers, 0 to 10,000. Default: 100.
    #[must_use]
    pub const fn weight(mut self, weight: u32) -> Self {
        self.machine.weight = weight;
        self
    }

    /// One empty record is the first record on each new set (N-70). Default: off.
    #[must_use]
    pub const fn probe(mut self, is_on: bool) -> Self {
        self.machine.probe = is_on;
        self
    }

    /// Longest handshake, in total. Default: 5 s.
    #[must_use]
    pub const fn handshake_limit(mut self, limit: Duration) -> Self {
        self.machine.handshake_limit = limit;
        self
    }

    /// Longest attempt to connect. Default: 5 s.
    #[must_use]
    pub const fn connect_limit(mut self, limit: Duration) -> Self {
        self.machine.connect_limit = limit;
        self
    }

    /// Longest silence inside a frame. Default: 30 s.
    #[must_use]
    pub const fn frame_progress_limit(mut self, limit: Duration) -> Self {
        self.machine.frame_progress_limit = limit;
        self
    }

    /// First bound and cap of the delay before connecting again (N-32). Default: 100 ms and 5 s.
    #[must_use]
    pub const fn reconnect(mut self, first: Duration, cap: Duration) -> Self {
        self.machine.reconnect_first = first;
        self.machine.reconnect_cap = cap;
        self
    }

    /// Completion slots: requests whose result was not taken yet (N-50). Default: 65,536.
    #[must_use]
    pub const fn pending_requests_max(mut self, requests: u32) -> Self {
        self.machine.pending_requests_max = requests;
        self
    }

    /// Sends, and replies, that may wait for room at a time (O-22). Default: 4,096.
    #[must_use]
    pub const fn waiters_max(mut self, operations: u32) -> Self {
        self.machine.waiters_max = operations;
        self
    }

    /// Replies need byte room only, not the peer's RUNNING (N-46). Default: off.
    #[must_use]
    pub const fn replies_pass_pause(mut self, is_on: bool) -> Self {
        self.machine.replies_pass_pause = is_on;
        self
    }

    /// Small writes go out at once. Default: on.
    #[must_use]
    pub const fn tcp_nodelay(mut self, is_on: bool) -> Self {
        self.net.nodelay = is_on;
        self
    }

    /// Half-open peers are found: idle 15 s, interval 5 s, 3 probes. Default: on.
    #[must_use]
    pub const fn tcp_keepalive(mut self, is_on: bool) -> Self {
        self.net.keepalive = is_on;
        self
    }

    /// Size of the system's send buffer in bytes. Default: the system's choice. To be set where a bound of the whole path counts.
    #[must_use]
    pub const fn send_buffer(mut self, bytes: usize) -> Self {
        self.net.send_buffer = Some(bytes);
        self
    }

    /// Size of the system's receive buffer in bytes. Default: the system's choice.
    #[must_use]
    pub const fn receive_buffer(mut self, bytes: usize) -> Self {
        self.net.receive_buffer = Some(bytes);
        self
    }

    /// Every option of the machine, for those that have no method here.
    pub const fn machine_mut(&mut self) -> &mut transport::SocketOptions {
        &mut self.machine
    }

    /// The machine checks its own; a name that could not be made is found here.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.bad_routing_id {
            return Err(Error::setup(
                ErrorKind::InvalidOperation,
                "socket",
                "options out of range: routing_id (1 to 255 bytes)",
            ));
        }
        Ok(())
    }
}
