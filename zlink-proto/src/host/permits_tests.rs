//! Small worlds of permits, explored completely.

use super::*;
use crate::wire::Flow;
use alloc::collections::{BTreeSet, VecDeque};

#[derive(Clone, Copy, Debug)]
enum Step {
    Request(u32),
    Fetch,
    Attach(u32),
    ReleaseOne(u32),
    ReleaseHeld(u32),
    ReleaseJob,
    Withdraw(u32),
    CloseSource(u32),
    CloseHost,
}

/// (state, handed, held) of each source; who waits; who was granted; jobs; closed.
type Key = (Vec<(u8, bool, u32)>, Vec<u32>, Vec<u32>, u32, bool);

#[derive(Clone)]
struct World {
    permits: Permits,
    jobs: u32,
}

impl World {
    fn new(limit: u32, sources: u32) -> Self {
        let mut permits = Permits::new(limit, Pressure::new(limit, 0, Timestamp::ZERO));
        (0..sources).for_each(|source| permits.open_source(source));
        Self { permits, jobs: 0 }
    }

    fn release_job(&mut self) {
        self.jobs -= 1;
        self.permits.release(Permit { _booked: () }, || Timestamp::ZERO);
    }

    fn take(&mut self, step: Step) {
        let now = Timestamp::ZERO;
        match step {
            Step::Request(source) => drop(self.permits.request(source, now)),
            Step::Fetch => drop(self.permits.fetch_handed()),
            Step::Attach(source) => self.jobs += u32::from(self.permits.attach(source).is_some()),
            Step::ReleaseOne(source) => self.permits.release_one(source, now),
            Step::ReleaseHeld(source) => self.permits.release_held(source, now),
            Step::ReleaseJob if self.jobs > 0 => self.release_job(),
            Step::ReleaseJob => {}
            Step::Withdraw(source) => self.permits.withdraw(source, now),
            Step::CloseSource(source) => self.permits.close_source(source, now),
            Step::CloseHost => drop(self.permits.close(now)),
        }
    }

    /// Everything that the future depends on.
    fn key(&self) -> Key {
        let sources = &self.permits.sources;
        (
            sources.iter().map(|source| (source.state as u8, source.is_handed, source.held)).collect(),
            self.permits.waiting.iter(sources).collect(),
            self.permits.handed.iter(sources).collect(),
            self.jobs,
            self.permits.is_closed,
        )
    }

    fn check(&self) {
        self.permits.check_invariants();
        assert_eq!(self.permits.queued, self.jobs, "each queued permit belongs to one job");
    }

    /// From here on everything ends: nothing may be lost or doubled.
    fn end(mut self) {
        for source in 0..self.permits.sources.len() as u32 {
            self.permits.close_source(source, Timestamp::ZERO);
            self.check();
        }
        while self.jobs > 0 {
            self.release_job();
            self.check();
        }
        assert_eq!(self.permits.in_use(), 0);
        assert_eq!(self.permits.pressure().state(), Flow::Running);
    }
}

fn explore(limit: u32, sources: u32) -> usize {
    let mut steps = alloc::vec![Step::Fetch, Step::ReleaseJob, Step::CloseHost];
    for source in 0..sources {
        steps.extend([
            Step::Request(source),
            Step::Attach(source),
            Step::ReleaseOne(source),
            Step::ReleaseHeld(source),
            Step::Withdraw(source),
            Step::CloseSource(source),
        ]);
    }
    let first = World::new(limit, sources);
    let mut seen = BTreeSet::from([first.key()]);
    let mut open = VecDeque::from([first]);
    while let Some(world) = open.pop_front() {
        for &step in &steps {
            let mut next = world.clone();
            next.take(step);
            next.check();
            if seen.insert(next.key()) {
                next.clone().end();
                open.push_back(next);
            }
        }
    }
    seen.len()
}

#[test]
fn t14_every_interleaving_of_grant_withdraw_close_and_release() {
    let states = explore(1, 2);
    assert!(states > 30, "the exploration reaches the interesting states: {states}");
    assert!(explore(2, 3) > 200);
}

#[test]
fn t13_a_grant_that_meets_a_withdrawal_moves_on_once() {
    let mut world = World::new(1, 3);
    world.take(Step::Request(2));
    world.take(Step::Attach(2));
    world.take(Step::Request(0));
    world.take(Step::Request(1));
    world.take(Step::ReleaseJob);
    // Source 0 was granted and did not fetch it yet.
    world.take(Step::Withdraw(0));
    world.check();
    assert_eq!(world.permits.fetch_handed(), Some(1));
    assert_eq!((world.permits.in_use(), world.permits.fetch_handed()), (1, None));
}

#[test]
fn m43_a_wait_that_crosses_a_reset_adds_nothing() {
    let mut world = World::new(1, 2);
    world.take(Step::Request(0));
    world.take(Step::Attach(0));
    world.take(Step::Request(1));
    world.permits.reset(Timestamp::from_millis(10));
    world.permits.release(Permit { _booked: () }, || Timestamp::from_millis(20));
    world.jobs -= 1;
    let counts = world.permits.counts();
    assert_eq!((counts.waits, counts.wait_duration), (0, Duration::ZERO));
    world.check();
}

#[test]
fn m22_a_wait_counts_when_it_begins_and_adds_its_time_when_it_ends() {
    let mut world = World::new(1, 2);
    world.take(Step::Request(0));
    world.take(Step::Attach(0));
    world.permits.request(1, Timestamp::from_millis(5));
    assert_eq!((world.permits.counts().waits, world.permits.counts().wait_duration), (1, Duration::ZERO));
    world.permits.release(Permit { _booked: () }, || Timestamp::from_millis(12));
    assert_eq!(world.permits.counts().wait_duration, Duration::from_millis(7));
}

#[test]
fn h23_after_the_host_closed_releases_grant_nobody() {
    let mut world = World::new(1, 2);
    world.take(Step::Request(0));
    world.take(Step::Attach(0));
    world.take(Step::Request(1));
    assert_eq!(world.permits.close(Timestamp::ZERO), 1);
    world.take(Step::ReleaseJob);
    assert_eq!((world.permits.in_use(), world.permits.fetch_handed()), (0, None));
    assert_eq!(world.permits.request(1, Timestamp::ZERO), Requested::Closed);
}
