//! A status as JSON, group by group under the names of the specification, and the few numbers of it that people are shown.

use serde_json::{Value, json};
use std::time::Duration;
use zlink::{ShutdownReport, Status};
use zlink_proto::host::{
    FamilyStatus, HostStatus, JobQueueStatus, OperationsStatus, OwnersStatus, TransportStatus, Waiting,
};
use zlink_proto::transport::{PeerInfo, QueueStatus, SocketStatus};
use zlink_proto::wire::Flow;

/// The name of a flow state.
pub(crate) fn flow_name(flow: Flow) -> &'static str {
    match flow {
        Flow::Running => "RUNNING",
        Flow::Paused => "PAUSED",
    }
}

/// Charge of everything that was received and not taken.
pub(crate) fn receive_bytes(status: &Status) -> u64 {
    peers(status).map(|peer| peer.receive.used).sum()
}

/// Charge of everything that was accepted and not taken by the network.
pub(crate) fn send_bytes(status: &Status) -> u64 {
    peers(status).map(|peer| peer.send.used).sum()
}

/// Faults of peers: in their bytes, or in the records that they sent.
pub(crate) fn protocol_errors(status: &Status) -> u64 {
    let faults: u64 = status.sockets.iter().map(|socket| socket.counts.faults).sum();
    faults + status.host.dropped.decode_error
}

fn peers(status: &Status) -> impl Iterator<Item = &PeerInfo> {
    status.sockets.iter().flat_map(|socket| &socket.peers)
}

/// Adds the groups of the status to an object.
pub(crate) fn add(into: &mut Value, status: &Status) {
    let host = &status.host;
    into["host"] = json!({
        "state": host.state.to_string(),
        "is_ready": host.is_ready,
        "uptime_s": host.uptime.as_secs_f64(),
        "epoch": host.epoch,
    });
    into["waiting"] = host.waiting.iter().map(waiting).collect();
    into["job_queue"] = job_queue(&host.job_queue);
    into["transport"] = transport(&host.transport);
    into["operations"] = operations(&host.operations);
    into["owners"] = owners(&host.owners);
    into["dropped"] = dropped(host);
    into["flow_sockets"] = host
        .flow_sockets
        .iter()
        .map(|socket| {
            json!({
                "socket": socket.socket.index(),
                "applied": socket.applied.map_or("unknown", flow_name),
                "sequence": socket.sequence,
                "peers_that_paused_us": socket.peers_that_paused_us,
            })
        })
        .collect();
    into["peers"] = peers(status).map(peer).collect();
    into["protocol_errors"] = protocol_errors(status).into();
    into["faults"] = status.sockets.iter().map(faults).collect();
}

fn seconds(duration: Option<Duration>) -> Value {
    duration.map_or(Value::Null, |duration| duration.as_secs_f64().into())
}

fn waiting(line: &Waiting) -> Value {
    json!({"place": line.place.name(), "count": line.count, "whom": line.whom, "since_s": seconds(line.since)})
}

fn job_queue(jobs: &JobQueueStatus) -> Value {
    json!({
        "profile": jobs.profile.to_string(),
        "manual_maximum": jobs.manual_maximum,
        "pause_percent": jobs.pause_percent,
        "resume_percent": jobs.resume_percent,
        "effective_processor_count": jobs.effective_processor_count,
        "maximum": jobs.maximum,
        "maximum_origin": jobs.maximum_origin.to_string(),
        "pause_permits": jobs.pause_permits,
        "resume_permits": jobs.resume_permits,
        "reserved": jobs.reserved,
        "queued": jobs.queued,
        "in_use": jobs.in_use,
        "pressure_state": flow_name(jobs.pressure_state),
        "pressure_sequence": jobs.pressure_sequence,
        "current_pause_s": jobs.current_pause.as_secs_f64(),
        "capacity_waiters": jobs.capacity_waiters,
        "oldest_waiter_age_s": seconds(jobs.oldest_waiter_age),
        "peak_in_use": jobs.peak_in_use,
        "capacity_waits": jobs.capacity_waits,
        "capacity_wait_duration_s": jobs.capacity_wait_duration.as_secs_f64(),
        "transitions": {"running": jobs.transitions_running, "paused": jobs.transitions_paused},
        "cumulative_pause_s": jobs.cumulative_pause.as_secs_f64(),
        "flow_state_failures": jobs.flow_state_failures,
    })
}

fn transport(transport: &TransportStatus) -> Value {
    json!({
        "memory_limit": transport.memory_limit,
        "manual_budget": transport.manual_budget,
        "profile": transport.profile.to_string(),
        "effective_budget": transport.effective_budget,
        "applied_hwm": transport.applied_hwm,
        "accounted": {"now": transport.accounted, "peak": transport.accounted_peak},
        "completion_accounted": {
            "now": transport.completion_accounted, "peak": transport.completion_accounted_peak,
        },
        "completion_pending": transport.completion_pending,
        "blocked_ratio_ppm": transport.blocked_ratio_ppm,
        "active_send_queues": transport.active_send_queues,
        "active_receive_queues": transport.active_receive_queues,
        "active_completion_queues": transport.active_completion_queues,
        "remote_paused_peers": transport.remote_paused_peers,
    })
}

fn family(family: &FamilyStatus) -> Value {
    json!({
        "waiters": {"now": family.waiters, "max": family.waiters_max},
        "waiting_bytes": {"now": family.waiting_bytes, "max": family.waiting_bytes_max},
        "oldest_age_s": seconds(family.oldest_age),
        "waiters_full": family.waiters_full,
        "deadline_not_submitted": family.deadline_not_submitted,
    })
}

fn operations(operations: &OperationsStatus) -> Value {
    json!({
        "client": family(&operations.client),
        "reply": family(&operations.reply),
        "requests_outstanding": operations.requests_outstanding,
        "completion_slots": {"used": operations.completion_slots, "max": operations.completion_slots_max},
        "request_waiting_bytes": operations.request_waiting_bytes,
        "replies": operations.replies,
        "request_timeouts": operations.request_timeouts,
    })
}

fn owners(owners: &OwnersStatus) -> Value {
    let longest = owners.longest_running_turn.as_ref();
    json!({
        "channels": owners.channels,
        "queued_items": owners.queued_items,
        "items": owners.items,
        "bytes": owners.bytes,
        "largest_queue": owners.largest_queue.as_ref().map(|(name, items)| json!({"owner": name, "items": items})),
        "structural_rejections": {
            "local": owners.structural_rejections_local, "remote": owners.structural_rejections_remote,
        },
        "running_handlers": owners.running_handlers,
        "longest_running_turn": longest.map(|(kind, name, ran)| {
            json!({"kind": kind.to_string(), "owner": name, "ran_s": ran.as_secs_f64()})
        }),
        "parked_sources": owners.parked_sources,
        "oldest_parked_s": seconds(owners.oldest_parked),
        "owner_waits": owners.owner_waits,
    })
}

fn dropped(host: &HostStatus) -> Value {
    let dropped = &host.dropped;
    json!({
        "no_handler": dropped.no_handler,
        "decode_error": dropped.decode_error,
        "backpressure": dropped.backpressure,
        "stale_target": dropped.stale_target,
        "shutdown": dropped.shutdown,
    })
}

fn queue(queue: &QueueStatus) -> Value {
    json!({"bytes": queue.used, "hwm": queue.applied, "records": queue.records, "is_full": queue.is_full})
}

fn peer(peer: &PeerInfo) -> Value {
    let state = match (peer.is_ready, peer.is_ended) {
        (_, true) => "not_connected",
        (true, false) => "ready",
        (false, false) => "connecting",
    };
    json!({
        "state": state,
        "generation": peer.set.generation,
        "send": queue(&peer.send),
        "receive": queue(&peer.receive),
        "blockers": {
            "hold": peer.blockers.hold,
            "remote_paused": peer.blockers.remote_paused,
            "bytes": peer.blockers.bytes,
            "ending": peer.blockers.ending,
        },
        "outstanding_requests": peer.unanswered,
    })
}

fn faults(socket: &SocketStatus) -> Value {
    let counts = &socket.counts;
    json!({
        "faults": counts.faults,
        "peer_errors": counts.peer_errors,
        "ignored_frames": counts.ignored_frames,
        "late_replies": counts.late_replies,
        "unsolicited_replies": counts.unsolicited_replies,
    })
}

/// The report of a shutdown.
pub(crate) fn shutdown(report: &ShutdownReport) -> Value {
    let counts = &report.counts;
    json!({
        "outcome": format!("{:?}", report.outcome),
        "reason": format!("{:?}", report.reason),
        "duration_s": report.duration.as_secs_f64(),
        "operations_waiting": counts.operations_waiting,
        "requests_outstanding": counts.requests_outstanding,
        "records_unsent": counts.records_unsent,
        "bytes_unsent": counts.bytes_unsent,
        "items_queued": counts.items_queued,
        "handlers_running": counts.handlers_running,
        "sessions_open": counts.sessions_open,
        "multicasts_running": counts.multicasts_running,
        "inbound_refused": counts.inbound_refused,
        "connections_forced": counts.connections_forced,
    })
}
