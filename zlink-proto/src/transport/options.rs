//! Options of DEALER and ROUTER sockets (spec 3 §15, spec 2 §9) and their check.

use crate::id::RoutingId;
use crate::time::round_timeout;
use crate::wire::{WEIGHT_DEFAULT, WEIGHT_MAX};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// Byte HWM of a queue whose option is unset, without automatic planning (B-32).
pub const HWM_DEFAULT: u64 = 4_096_000;

/// What happens when a second set claims a routing id (N-26).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DuplicatePolicy {
    /// The newcomer is refused.
    #[default]
    Reject,
    /// The newcomer takes the name; the older set ends.
    Handover,
}

/// Options of a socket. Checked as a whole when the socket is made.
#[derive(Clone, Debug)]
pub struct SocketOptions {
    /// Our name, 1 to 255 bytes; none = 16 random bytes (W-27).
    pub routing_id: Option<RoutingId>,
    /// See `DuplicatePolicy`.
    pub duplicate_policy: DuplicatePolicy,
    /// From the first connection of a set being up to the set being ready.
    pub handshake_limit: Duration,
    /// From an attempt to the transport being up.
    pub connect_limit: Duration,
    /// Longest time without a byte inside a frame.
    pub frame_progress_limit: Duration,
    /// Unvalidated connections per listener; the oldest goes first (N-20).
    pub unvalidated_max: u32,
    /// Ready or not yet drained sets (N-20).
    pub peers_max: u32,
    /// First reconnect delay (N-32).
    pub reconnect_first: Duration,
    /// Largest bound of a reconnect delay.
    pub reconnect_cap: Duration,
    /// A set that was ready for so long resets the count of failures (N-33).
    pub stable_after: Duration,
    /// Longest wait of a one-way send for room.
    pub send_timeout: Duration,
    /// Longest wait of a reply for room.
    pub reply_timeout: Duration,
    /// Default deadline of a request: waiting, admission and reply together.
    pub request_timeout: Duration,
    /// Completion slots: requests whose result was not taken yet (N-50, O-43).
    pub pending_requests_max: u32,
    /// Unanswered requests on one link (N-50), and live reply tokens of one peer (N-60).
    pub requests_per_link_max: u32,
    /// Sum of the charges of the unanswered requests on one link (N-51).
    pub request_work_max: u64,
    /// Bytes of requests that wait for room; one larger payload is allowed when none waits (O-44).
    pub request_waiting_bytes_max: u64,
    /// Live reply tokens of a ROUTER (N-60).
    pub reply_tokens_max: u32,
    /// Our weight, 0 to 10,000 (N-48).
    pub weight: u32,
    /// One empty data record is the first record on each new set (N-70).
    pub probe: bool,
    /// Replies need byte room only, not the peer's RUNNING (N-46).
    pub replies_pass_pause: bool,
    /// How long admitted records may still be transmitted after `close` (N-88).
    pub linger: Duration,
    /// Undrained sets (N-24).
    pub undrained_sets_max: u32,
    /// Charge of all undrained sets together (N-24).
    pub undrained_bytes_max: u64,
    /// Bytes per peer, sending; none = `HWM_DEFAULT`, 0 = unlimited.
    pub send_hwm: Option<u64>,
    /// Bytes per peer, receiving; none = `HWM_DEFAULT`, 0 = unlimited.
    pub receive_hwm: Option<u64>,
    /// Largest sum of the parts of a record; 0 = none (W-12).
    pub max_message_size: u64,
    /// Waiting operations of one family (O-22).
    pub waiters_max: u32,
    /// Bytes of the waiting operations of one family (O-22); one larger payload is allowed when none waits.
    pub waiting_bytes_max: u64,
    /// Made by the service layer: new sets are no candidates until `set_candidate`, the first record of a set may be taken
    /// before an older set of the same name is drained (N-24), and a wait for a candidate ends after `CANDIDATE_WAIT` (O-55).
    pub service_selection: bool,
}

impl Default for SocketOptions {
    fn default() -> Self {
        let second = Duration::from_secs(1);
        Self {
            routing_id: None,
            duplicate_policy: DuplicatePolicy::Reject,
            handshake_limit: second * 5,
            connect_limit: second * 5,
            frame_progress_limit: second * 30,
            unvalidated_max: 256,
            peers_max: 65_536,
            reconnect_first: Duration::from_millis(100),
            reconnect_cap: second * 5,
            stable_after: second * 5,
            send_timeout: second,
            reply_timeout: second,
            request_timeout: second * 5,
            pending_requests_max: 65_536,
            requests_per_link_max: 16_384,
            request_work_max: 33_554_432,
            request_waiting_bytes_max: 64 * 1024 * 1024,
            reply_tokens_max: 65_536,
            weight: WEIGHT_DEFAULT,
            probe: false,
            replies_pass_pause: false,
            linger: second * 30,
            undrained_sets_max: 1_024,
            undrained_bytes_max: 268_435_456,
            send_hwm: None,
            receive_hwm: None,
            max_message_size: 16_777_216,
            waiters_max: 4_096,
            waiting_bytes_max: 64 * 1024 * 1024,
            service_selection: false,
        }
    }
}

/// One option that is out of range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Name of the option, as in the spec.
    pub option: &'static str,
    /// What is allowed.
    pub allowed: &'static str,
}

/// Every option that is out of range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionsError {
    /// All of them, in the order of the table.
    pub violations: Vec<Violation>,
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("options out of range:")?;
        self.violations.iter().enumerate().try_for_each(|(index, violation)| {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma} {} ({})", violation.option, violation.allowed)
        })
    }
}

impl core::error::Error for OptionsError {}

const HOUR: Duration = Duration::from_secs(3_600);
const LIMITS: &str = "1 ms to 1 h";
const TIMEOUTS: &str = "1 ms to 2147483647 ms";
const COUNTS: &str = "at least 1";
const HWMS: &str = "0 to 2^63-1";

impl SocketOptions {
    /// Checks every option (N-92, B-34) and rounds timeouts up to milliseconds (O-10).
    ///
    /// # Errors
    /// Names each option that is out of range; nothing changed then.
    pub fn validated(mut self) -> Result<Self, OptionsError> {
        let mut violations = Vec::new();
        let mut demand = |option, allowed, is_met: bool| {
            if !is_met {
                violations.push(Violation { option, allowed });
            }
        };
        let is_limit = |limit: Duration| (Duration::from_millis(1)..=HOUR).contains(&limit);
        let is_hwm = |hwm: Option<u64>| hwm.is_none_or(|bytes| bytes <= i64::MAX as u64);
        demand("routing_id", "1 to 255 bytes", self.routing_id.as_ref().is_none_or(|id| !id.is_empty()));
        demand("handshake_limit", LIMITS, is_limit(self.handshake_limit));
        demand("connect_limit", LIMITS, is_limit(self.connect_limit));
        demand("frame_progress_limit", LIMITS, is_limit(self.frame_progress_limit));
        demand("unvalidated_max", COUNTS, self.unvalidated_max > 0);
        demand("peers_max", COUNTS, self.peers_max > 0);
        demand(
            "reconnect_first",
            "1 ms to reconnect_cap",
            is_limit(self.reconnect_first) && self.reconnect_first <= self.reconnect_cap,
        );
        demand("reconnect_cap", LIMITS, is_limit(self.reconnect_cap));
        demand("stable_after", LIMITS, is_limit(self.stable_after));
        for (option, timeout) in [
            ("send_timeout", &mut self.send_timeout),
            ("reply_timeout", &mut self.reply_timeout),
            ("request_timeout", &mut self.request_timeout),
        ] {
            let rounded = round_timeout(*timeout);
            demand(option, TIMEOUTS, rounded.is_ok());
            *timeout = rounded.unwrap_or(*timeout);
        }
        demand("pending_requests_max", COUNTS, self.pending_requests_max > 0);
        demand("requests_per_link_max", COUNTS, self.requests_per_link_max > 0);
        demand("request_work_max", COUNTS, self.request_work_max > 0);
        demand("request_waiting_bytes_max", COUNTS, self.request_waiting_bytes_max > 0);
        demand("reply_tokens_max", COUNTS, self.reply_tokens_max > 0);
        demand("weight", "0 to 10000", self.weight <= WEIGHT_MAX);
        demand("linger", "0 to 24 h", self.linger <= HOUR * 24);
        demand("undrained_sets_max", COUNTS, self.undrained_sets_max > 0);
        demand("undrained_bytes_max", COUNTS, self.undrained_bytes_max > 0);
        demand("send_hwm", HWMS, is_hwm(self.send_hwm));
        demand("receive_hwm", HWMS, is_hwm(self.receive_hwm));
        demand("max_message_size", "0 to 2^32-1", self.max_message_size <= u64::from(u32::MAX));
        demand("waiters_max", COUNTS, self.waiters_max > 0);
        demand("waiting_bytes_max", COUNTS, self.waiting_bytes_max > 0);
        demand("probe", "not with service_selection", !(self.probe && self.service_selection));
        if violations.is_empty() { Ok(self) } else { Err(OptionsError { violations }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n92_every_violation_is_named() {
        let options = SocketOptions {
            weight: 10_001,
            send_timeout: Duration::ZERO,
            reconnect_first: Duration::from_secs(6),
            send_hwm: Some(1 << 63),
            peers_max: 0,
            ..SocketOptions::default()
        };
        let error = options.validated().expect_err("five violations");
        let names: Vec<_> = error.violations.iter().map(|violation| violation.option).collect();
        assert_eq!(names, ["peers_max", "reconnect_first", "send_timeout", "weight", "send_hwm"]);
    }

    #[test]
    fn t07_timeouts_are_rounded_up() {
        let options = SocketOptions {
            send_timeout: Duration::from_nanos(1_000_100),
            reply_timeout: Duration::from_micros(200),
            ..SocketOptions::default()
        };
        let options = options.validated().expect("in range");
        assert_eq!(options.send_timeout, Duration::from_millis(2));
        assert_eq!(options.reply_timeout, Duration::from_millis(1));
        assert_eq!(options.request_timeout, Duration::from_secs(5));
    }

    #[test]
    fn b34_limits_of_the_byte_options() {
        for (hwm, is_legal) in
            [(None, true), (Some(0), true), (Some((1 << 63) - 1), true), (Some(1 << 63), false)]
        {
            let options = SocketOptions { send_hwm: hwm, receive_hwm: hwm, ..SocketOptions::default() };
            assert_eq!(options.validated().is_ok(), is_legal, "{hwm:?}");
        }
        for (max, is_legal) in [(0, true), (u64::from(u32::MAX), true), (1 << 32, false)] {
            let options = SocketOptions { max_message_size: max, ..SocketOptions::default() };
            assert_eq!(options.validated().is_ok(), is_legal, "{max}");
        }
    }
}
