//! The receive turn and the drain, a record each; the transport's half is not in it.

use crate::measured;
use zlink_proto::host::{HeadInfo, Host, HostOptions, NewJob, OwnerConfig, OwnerId, OwnerKind, SourceId};
use zlink_proto::id::SetId;
use zlink_proto::time::Timestamp;

const NOW: Timestamp = Timestamp::from_millis(1_000);

/// A host with one channel and one peer.
struct Bench {
    host: Host<u64>,
    owner: OwnerId,
    source: SourceId,
}

impl Bench {
    fn new() -> Self {
        // Room for a whole rotation, as a driver has it that drains between two turns.
        let options = HostOptions { max_queued_jobs: Some(1_000), ..HostOptions::default() };
        let mut host = Host::new(options, Timestamp::ZERO).expect("legal options");
        let config = OwnerConfig { kind: OwnerKind::Channel, name: "bench".into(), concurrency: 1 };
        let owner = host.add_owner(config);
        let socket = host.add_socket();
        while let Some(apply) = host.flow_due() {
            host.applied(apply, true, Timestamp::ZERO);
        }
        let source = SourceId { socket, set: SetId { generation: 1, slot: 0 } };
        host.add_source(source, NOW);
        Self { host, owner, source }
    }

    /// One turn of as many records as it takes; returns how many.
    fn turn(&mut self, heads: &[HeadInfo]) -> usize {
        self.host.readable(self.source, NOW);
        let mut turn = self.host.begin_turn(NOW).expect("a readable source and free permits");
        let taken = self.host.room(&mut turn, heads);
        for number in 0..taken as u64 {
            let job = NewJob { owner: self.owner, bytes: 64, is_request: false, payload: number };
            self.host.attach(&mut turn, job).expect("room was reserved");
        }
        self.host.end_turn(turn, true, NOW);
        // The rotation is over: nothing is left of its share.
        while let Some(turn) = self.host.begin_turn(NOW) {
            self.host.end_turn(turn, false, NOW);
        }
        taken
    }

    fn drain(&mut self) -> usize {
        let mut jobs = 0;
        while let Some(drain) = self.host.poll_ready() {
            let mut next = self.host.start(drain, || NOW);
            while let Some(job) = next {
                jobs += 1;
                next = self.host.next(job.running, || NOW);
            }
        }
        jobs
    }
}

fn heads(owner: OwnerId) -> [HeadInfo; 64] {
    [HeadInfo { owner: Some(owner), bytes: 64, charge: 192, is_request: false }; 64]
}

/// H1, H2 and H3 of a receive turn.
pub(crate) fn turn(count: usize) {
    let mut bench = Bench::new();
    let heads = heads(bench.owner);
    let mut done = 0;
    while done < count {
        done += measured(|| bench.turn(&heads));
        bench.drain();
    }
}

/// Claim, start and terminal of a job.
pub(crate) fn drain(count: usize) {
    let mut bench = Bench::new();
    let heads = heads(bench.owner);
    let mut done = 0;
    while done < count {
        let taken = bench.turn(&heads);
        let drained = measured(|| bench.drain());
        assert_eq!(taken, drained, "every job is drained");
        done += taken;
    }
}
