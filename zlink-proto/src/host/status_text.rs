//! A status as text, for people: first what waits, then the rest (M-11). Names are those of the fields.

use super::diagnostics::Dropped;
use super::status::{HostStatus, JobQueueStatus, OperationsStatus, OwnersStatus, TransportStatus};
use crate::wire::Flow;
use alloc::string::ToString;
use core::fmt;

/// First what waits, then the rest (M-11).
impl fmt::Display for HostStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.waiting {
            writeln!(f, "{line}")?;
        }
        if self.waiting.is_empty() {
            writeln!(f, "waiting: nothing")?;
        }
        let ready = if self.is_ready { "ready" } else { "not ready" };
        writeln!(f, "host: {}, {ready}, up {:?}, epoch {}", self.state, self.uptime, self.epoch)?;
        write!(f, "{}{}", self.job_queue, self.owners)?;
        for socket in &self.flow_sockets {
            let applied = socket.applied.map_or("unknown", flow_name);
            let (index, sequence, peers) =
                (socket.socket.index(), socket.sequence, socket.peers_that_paused_us);
            writeln!(
                f,
                "flow socket {index}: applied {applied}, sequence {sequence}, paused by {peers} peers"
            )?;
        }
        let dropped = &self.dropped;
        if dropped.total() > 0 {
            let Dropped { no_handler, decode_error, backpressure, stale_target, shutdown } = dropped;
            writeln!(
                f,
                "dropped: no_handler {no_handler}, decode_error {decode_error}, backpressure {backpressure}, \
                 stale_target {stale_target}, shutdown {shutdown}"
            )?;
        }
        write!(f, "{}{}", self.transport, self.operations)
    }
}

const fn flow_name(flow: Flow) -> &'static str {
    match flow {
        Flow::Running => "RUNNING",
        Flow::Paused => "PAUSED",
    }
}

impl fmt::Display for JobQueueStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "jobs: in_use {} = reserved {} + queued {}, limit {} ({}), pause {}, resume {}, peak {}",
            self.in_use,
            self.reserved,
            self.queued,
            self.maximum,
            self.maximum_origin,
            self.pause_permits,
            self.resume_permits,
            self.peak_in_use
        )?;
        let manual = self.manual_maximum.map_or_else(|| "unset".to_string(), |maximum| maximum.to_string());
        writeln!(
            f,
            "jobs configured: profile {}, maximum {manual}, pause {} %, resume {} %, processors {}",
            self.profile, self.pause_percent, self.resume_percent, self.effective_processor_count
        )?;
        writeln!(
            f,
            "pressure: {}, sequence {}, current pause {:?}, cumulative {:?}, transitions running {} paused {}, \
             flow state failures {}",
            flow_name(self.pressure_state),
            self.pressure_sequence,
            self.current_pause,
            self.cumulative_pause,
            self.transitions_running,
            self.transitions_paused,
            self.flow_state_failures
        )?;
        writeln!(
            f,
            "capacity waits: {} waiting, {} in this epoch, {:?} together",
            self.capacity_waiters, self.capacity_waits, self.capacity_wait_duration
        )
    }
}

impl fmt::Display for OwnersStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "owners: {} channels, {} items ({} queued, {} running), {} bytes, parked sources {}, owner waits {}, \
             refused local {} remote {}",
            self.channels,
            self.items,
            self.queued_items,
            self.running_handlers,
            self.bytes,
            self.parked_sources,
            self.owner_waits,
            self.structural_rejections_local,
            self.structural_rejections_remote
        )?;
        if let Some((name, queued)) = &self.largest_queue {
            writeln!(f, "largest queue: {name}, {queued} jobs")?;
        }
        if let Some((kind, name, ran)) = &self.longest_running_turn {
            writeln!(f, "longest running turn: {kind} {name}, {ran:?}")?;
        }
        Ok(())
    }
}

impl fmt::Display for TransportStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "transport: accounted {} (peak {}) of applied HWM {}, budget {}, blocked {} ppm, queues send {} receive {}, \
             remote paused {}",
            self.accounted,
            self.accounted_peak,
            self.applied_hwm,
            self.effective_budget,
            self.blocked_ratio_ppm,
            self.active_send_queues,
            self.active_receive_queues,
            self.remote_paused_peers
        )
    }
}

impl fmt::Display for OperationsStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, family) in [("client", &self.client), ("reply", &self.reply)] {
            writeln!(
                f,
                "operations {name}: {} of {} waiting, {} of {} bytes, waiters_full {}, deadlines {}",
                family.waiters,
                family.waiters_max,
                family.waiting_bytes,
                family.waiting_bytes_max,
                family.waiters_full,
                family.deadline_not_submitted
            )?;
        }
        write!(
            f,
            "requests: {} outstanding, slots {} of {}, waiting bytes {}, replies {}, timeouts {}",
            self.requests_outstanding,
            self.completion_slots,
            self.completion_slots_max,
            self.request_waiting_bytes,
            self.replies,
            self.request_timeouts
        )
    }
}
