//! Status: the host's part from one instant, each socket's part from one instant (M-10).

use super::shared::HostShared;
use crate::runtime::Runtime;
use std::fmt;
use std::sync::Arc;
use zlink_proto::host::{HostStatus, Place, Waiting};
use zlink_proto::transport::{PeerInfo, SocketStatus};

/// What a socket of a host is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SocketName {
    /// It serves the channel; else it calls it.
    pub is_server: bool,
    /// The channel.
    pub channel: String,
}

impl fmt::Display for SocketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_server { "server" } else { "client" };
        write!(f, "{kind} of {}", self.channel)
    }
}

/// Everything about a host. `Display` says first what waits, where, for whom and since when (M-11).
#[derive(Clone, Debug)]
pub struct Status {
    /// Jobs, owners, and the sums over all sockets.
    pub host: HostStatus,
    /// Each socket with its peers.
    pub sockets: Vec<(SocketName, SocketStatus)>,
}

pub(super) fn status<R: Runtime>(shared: &Arc<HostShared<R>>) -> Status {
    let now = shared.runtime.now();
    let mut host = shared.section(|locked| locked.side.host().status(now));
    let mut sockets = Vec::new();
    let (mut attempts, mut blocked) = (0, 0);
    for (name, socket) in shared.named_sockets() {
        let (status, slots_max) = socket.section(|locked| {
            let options = locked.socket.options();
            let maxima = (options.pending_requests_max, options.waiters_max, options.waiting_bytes_max);
            (locked.socket.snapshot(), maxima)
        });
        attempts += status.statistics.attempts;
        blocked += status.statistics.blocked;
        add(&mut host, &name, &status, slots_max);
        sockets.push((name, status));
    }
    let ratio = u128::from(blocked) * 1_000_000;
    let ratio = ratio.checked_div(u128::from(attempts)).unwrap_or(0);
    host.transport.blocked_ratio_ppm = u32::try_from(ratio).unwrap_or(u32::MAX);
    Status { host, sockets }
}

/// Adds the figures of one socket to the sums (M-14: a copy, never an input of a decision).
fn add(host: &mut HostStatus, name: &SocketName, status: &SocketStatus, maxima: (u32, u32, u64)) {
    let (slots_max, waiters_max, waiting_bytes_max) = maxima;
    let count = |has: fn(&PeerInfo) -> bool| status.peers.iter().filter(|peer| has(peer)).count() as u64;
    let transport = &mut host.transport;
    transport.accounted += status.accounted;
    transport.applied_hwm +=
        status.peers.iter().map(|peer| peer.send.applied + peer.receive.applied).sum::<u64>();
    transport.active_send_queues += count(|peer| peer.send.used > 0);
    transport.active_receive_queues += count(|peer| peer.receive.used > 0);
    transport.remote_paused_peers += count(|peer| peer.blockers.remote_paused);
    let operations = &mut host.operations;
    operations.client.waiters += u64::from(status.waiting_sends);
    operations.client.waiting_bytes += status.waiting_send_bytes;
    operations.client.waiters_full += status.counts.waiters_full;
    operations.reply.waiters += u64::from(status.waiting_replies);
    operations.reply.waiting_bytes += status.waiting_reply_bytes;
    if name.is_server {
        operations.reply.waiters_max += u64::from(waiters_max);
        operations.reply.waiting_bytes_max += waiting_bytes_max;
    } else {
        operations.client.waiters_max += u64::from(waiters_max);
        operations.client.waiting_bytes_max += waiting_bytes_max;
        operations.completion_slots_max += u64::from(slots_max);
    }
    operations.requests_outstanding += u64::from(status.pending_requests);
    operations.completion_slots += u64::from(status.completion_slots);
    operations.request_waiting_bytes += status.waiting_request_bytes;
    let places = [
        (Place::WaitingOperations, u64::from(status.waiting_sends) + u64::from(status.waiting_replies)),
        (Place::SendQueue, status.peers.iter().map(|peer| peer.send.records).sum()),
        (Place::ReceiveQueue, status.peers.iter().map(|peer| peer.receive.records).sum()),
    ];
    for (place, count) in places {
        if count > 0 {
            host.waiting.push(Waiting { place, count, whom: name.to_string(), since: None });
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.host)?;
        for (name, socket) in &self.sockets {
            writeln!(f, "{name}: {} ready peers, {} bytes accounted", socket.ready_peers, socket.accounted)?;
            for peer in &socket.peers {
                peer_line(f, peer)?;
            }
        }
        Ok(())
    }
}

fn peer_line(f: &mut fmt::Formatter<'_>, peer: &PeerInfo) -> fmt::Result {
    let state = if peer.is_ready { "ready" } else { "not ready" };
    write!(
        f,
        "  peer {} generation {}: {state}, send {}/{}, receive {}/{}",
        peer.routing_id,
        peer.set.generation,
        peer.send.used,
        peer.send.applied,
        peer.receive.used,
        peer.receive.applied,
    )?;
    let blockers = &peer.blockers;
    for (holds, name) in [
        (blockers.hold, "hold"),
        (blockers.remote_paused, "remote PAUSED"),
        (blockers.bytes, "bytes"),
        (blockers.ending, "ending"),
    ] {
        if holds {
            write!(f, ", blocked by {name}")?;
        }
    }
    if peer.waiting > 0 {
        write!(f, ", {} operations wait", peer.waiting)?;
    }
    writeln!(f)
}
