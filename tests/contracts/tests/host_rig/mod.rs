//! A host and the transport's receive queues around it: what a composition does, in one thread, with a virtual clock.
#![allow(dead_code, unreachable_pub)] // Each test file uses its part of the rig.

use std::collections::VecDeque;
use std::time::Duration;
use zlink_proto::host::*;
use zlink_proto::id::SetId;
use zlink_proto::time::Timestamp;

/// A record in a receive queue, and what a handler gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Note {
    pub source: usize,
    pub number: usize,
    /// `None`: control or malformed.
    pub owner: Option<OwnerId>,
    pub bytes: u64,
    pub is_request: bool,
}

pub struct Rig {
    pub host: Host<Note>,
    pub now: Timestamp,
    pub socket: SocketKey,
    pub sources: Vec<SourceId>,
    /// What each source has received and nobody has taken.
    pub queues: Vec<VecDeque<Note>>,
    /// (source, records) of each turn, in order.
    pub turns: Vec<(usize, usize)>,
    /// Records that came to an end without a handler.
    pub refused: Vec<(Note, Refusal)>,
    pub controls: Vec<Note>,
    /// Time that taking one record costs.
    pub take_time: Duration,
    count: usize,
}

pub fn ms(milliseconds: u64) -> Timestamp {
    Timestamp::from_millis(milliseconds)
}

pub fn jobs(limit: u64) -> HostOptions {
    HostOptions { max_queued_jobs: Some(limit), ..HostOptions::default() }
}

impl Rig {
    /// A host with `limit` permits and `sources` sources on one socket that was told RUNNING.
    pub fn new(limit: u64, sources: usize) -> Self {
        Self::with(jobs(limit), sources)
    }

    pub fn with(options: HostOptions, sources: usize) -> Self {
        let mut host = Host::new(options, Timestamp::ZERO).expect("valid options");
        let socket = host.add_socket();
        let apply = host.flow_due().expect("first apply");
        assert_eq!(host.applied(apply, true, Timestamp::ZERO), Applied::Started);
        let mut rig = Self {
            host,
            now: Timestamp::ZERO,
            socket,
            sources: Vec::new(),
            queues: Vec::new(),
            turns: Vec::new(),
            refused: Vec::new(),
            controls: Vec::new(),
            take_time: Duration::ZERO,
            count: 0,
        };
        for _ in 0..sources {
            rig.add_source();
        }
        rig
    }

    pub fn add_source(&mut self) -> usize {
        let slot = self.sources.len() as u32;
        let set = SetId { generation: u64::from(slot) + 1, slot };
        let source = SourceId { socket: self.socket, set };
        self.host.add_source(source, self.now);
        self.sources.push(source);
        self.queues.push(VecDeque::new());
        self.sources.len() - 1
    }

    pub fn remove_source(&mut self, source: usize) {
        self.queues[source].clear();
        self.host.remove_source(self.sources[source], self.now);
        self.check();
    }

    pub fn owner(&mut self, name: &str) -> OwnerId {
        self.owner_of(name, 1)
    }

    pub fn owner_of(&mut self, name: &str, concurrency: u32) -> OwnerId {
        let config = OwnerConfig { kind: OwnerKind::Channel, name: name.to_string(), concurrency };
        self.host.config().validate_owner(&config).expect("valid owner");
        self.host.add_owner(config)
    }

    /// `count` one-way records of 64 bytes arrive.
    pub fn arrive(&mut self, source: usize, owner: OwnerId, count: usize) {
        for _ in 0..count {
            self.arrive_one(source, Some(owner), 64, false);
        }
    }

    pub fn arrive_one(&mut self, source: usize, owner: Option<OwnerId>, bytes: u64, is_request: bool) {
        self.count += 1;
        let note = Note { source, number: self.count, owner, bytes, is_request };
        self.queues[source].push_back(note);
        if self.queues[source].len() == 1 {
            self.host.readable(self.sources[source], self.now);
            self.check();
        }
    }

    /// One turn as a composition does it. Returns how many records were taken, or `None` if the rotation ended.
    pub fn turn(&mut self) -> Option<usize> {
        let mut turn = self.host.begin_turn(self.now)?;
        self.check();
        let source = self.sources.iter().position(|id| *id == turn.source()).expect("known source");
        let head = |note: &Note| HeadInfo {
            owner: note.owner,
            bytes: note.bytes,
            charge: note.bytes,
            is_request: note.is_request,
        };
        let heads: Vec<HeadInfo> = self.queues[source].iter().take(turn.look()).map(head).collect();
        let count = self.host.room(&mut turn, &heads);
        self.check();
        let mut taken = Vec::new();
        while taken.len() < count {
            for _ in 0..ROTATION_RECORDS_PER_LOOK.min(count - taken.len()) {
                taken.push(self.queues[source].pop_front().expect("as many as were looked at"));
                self.now = self.now.saturating_add(self.take_time);
            }
            if self.now >= turn.deadline() {
                break;
            }
        }
        let more = !self.queues[source].is_empty();
        self.turns.push((source, taken.len()));
        let records = taken.len();
        for note in taken {
            self.attach(&mut turn, note);
        }
        self.host.end_turn(turn, more, self.now);
        self.check();
        Some(records)
    }

    fn attach(&mut self, turn: &mut Turn, note: Note) {
        match note.owner {
            None => {
                self.host.finish_control(turn);
                self.controls.push(note);
            }
            Some(owner) => {
                let Note { bytes, is_request, .. } = note;
                if let Err(refused) =
                    self.host.attach(turn, NewJob { owner, bytes, is_request, payload: note })
                {
                    self.refused.push((refused.payload, refused.reason));
                }
            }
        }
        self.check();
    }

    /// One rotation. Returns its turns.
    pub fn rotation(&mut self) -> Vec<(usize, usize)> {
        let first = self.turns.len();
        while self.turn().is_some() {}
        self.turns[first..].to_vec()
    }

    /// Rotations until nothing can be received.
    pub fn receive(&mut self) {
        while self.host.needs_turn() {
            self.rotation();
        }
        self.check();
    }

    /// Starts one job of the owner that is ready longest; its handler ends when the result is given to `end`.
    pub fn start(&mut self) -> Option<Job<Note>> {
        let drain = self.host.poll_ready()?;
        self.check();
        let now = self.now;
        let job = self.host.start(drain, || now);
        self.check();
        job
    }

    /// The handler's terminal; the next job of its drain starts.
    pub fn end(&mut self, running: Running) -> Option<Job<Note>> {
        let now = self.now;
        let job = self.host.next(running, || now);
        self.check();
        job
    }

    /// Receives and runs everything; handlers end at once. Returns the notes in the order of their starts.
    pub fn run(&mut self) -> Vec<Note> {
        let mut ran = Vec::new();
        loop {
            self.receive();
            let Some(mut job) = self.start() else {
                if self.host.needs_turn() {
                    continue;
                }
                return ran;
            };
            loop {
                ran.push(job.payload);
                self.receive();
                match self.end(job.running) {
                    Some(next) => job = next,
                    None => break,
                }
            }
        }
    }

    pub fn status(&self) -> HostStatus {
        self.host.status(self.now)
    }

    pub fn in_use(&self) -> u32 {
        self.status().job_queue.in_use
    }

    pub fn check(&self) {
        self.host.check_invariants();
    }
}
