//! Random worlds of DEALERs and ROUTERs against a model: order, exactly once, nothing left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use zlink_proto::id::{OperationId, RoutingId};
use zlink_proto::transport::{Outcome, Received, ReplyToken, SocketOptions, Submitted, Target};
use zlink_proto::wire::{Flow, Kind, SocketType};
use zlink_testkit::pair::{Net, NodeId};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// What the application knows.
#[derive(Default)]
struct Model {
    next: u64,
    /// Per sender: numbers that were accepted, and those that wait.
    accepted: BTreeMap<NodeId, BTreeSet<u64>>,
    waiting: BTreeMap<(NodeId, OperationId), u64>,
    /// Requests without their end.
    requests: BTreeMap<(NodeId, OperationId), u64>,
    /// Numbers received, by receiver and sender, in order.
    received: BTreeMap<(NodeId, NodeId), Vec<u64>>,
    answered: BTreeSet<u64>,
    tokens: Vec<(NodeId, u64, ReplyToken)>,
    was_cut: bool,
    /// Canary: the application loses one received record.
    loses_one: bool,
}

struct World {
    net: Net,
    random: Random,
    model: Model,
    routers: Vec<NodeId>,
    dealers: Vec<NodeId>,
    serial: u64,
}

fn record(sender: NodeId, number: u64, size: usize) -> Vec<u8> {
    let mut body = (sender as u64).to_be_bytes().to_vec();
    body.extend(number.to_be_bytes());
    body.resize(16 + size, 0x5a);
    body
}

fn parse(received: &Received) -> (NodeId, u64) {
    let part = received.record.part(0).expect("a part");
    let word = |at: usize| u64::from_be_bytes(part[at..at + 8].try_into().expect("eight bytes"));
    (word(0) as NodeId, word(8))
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut net = Net::new();
        net.pipe_bytes = 200 + random.below(8_000) as usize;
        net.read_bytes = 1 + random.below(9_000) as usize;
        let hwm = |random: &mut Random| Some([0, 500, 3_000, 60_000][random.below(4) as usize]);
        let mut options = |name: String| SocketOptions {
            routing_id: RoutingId::new(name.into_bytes()).ok(),
            send_hwm: hwm(&mut random),
            receive_hwm: hwm(&mut random),
            requests_per_link_max: 1 + random.below(20) as u32,
            reply_tokens_max: 1 + random.below(20) as u32,
            replies_pass_pause: random.below(2) == 0,
            waiters_max: 1 + random.below(50) as u32,
            ..SocketOptions::default()
        };
        let routers: Vec<_> =
            (0..2).map(|index| net.node(SocketType::Router, options(format!("r{index}")))).collect();
        let dealers: Vec<_> =
            (0..3).map(|index| net.node(SocketType::Dealer, options(format!("d{index}")))).collect();
        for (index, router) in routers.iter().enumerate() {
            net.listen(*router, &format!("tcp://router:{}", index + 1));
        }
        for dealer in &dealers {
            for index in 0..routers.len() {
                net.connect(*dealer, &format!("tcp://router:{}", index + 1));
            }
        }
        Self { net, random, model: Model::default(), routers, dealers, serial: 0 }
    }

    fn any(&mut self, nodes: &[NodeId]) -> NodeId {
        nodes[self.random.below(nodes.len() as u64) as usize]
    }

    fn size(&mut self) -> usize {
        let bound = [1, 100, 2_000, 20_000][self.random.below(4) as usize];
        self.random.below(bound) as usize
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..=29 => self.send(),
            30..=49 => self.request(),
            50..=69 => self.receive(),
            70..=81 => self.reply(),
            82..=84 => self.cancel(),
            85..=88 => self.pause(),
            89..=90 => self.silence(),
            91 => match self.random.below(4) {
                0 => self.cut(),
                1 => self.finish_one(),
                _ => self.reserve(),
            },
            92 => self.change(),
            93..=97 => self.net.run(),
            _ => {
                let step = self.random.below(700);
                self.net.run_for(Duration::from_millis(step));
            }
        }
        self.collect();
        for node in &self.net.nodes {
            node.socket.check_invariants();
        }
    }

    fn send(&mut self) {
        let nodes: Vec<_> = self.dealers.iter().chain(&self.routers).copied().collect();
        let node = self.any(&nodes);
        let (number, size) = (self.model.next, self.size());
        let now = self.net.now;
        let body = record(node, number, size);
        let set = {
            let sets = self.net.ready_sets(node);
            if sets.is_empty() { None } else { Some(sets[self.random.below(sets.len() as u64) as usize]) }
        };
        let target = match set {
            Some(set) if self.routers.contains(&node) => Target::Set(set),
            None if self.routers.contains(&node) => return,
            Some(_) | None => Target::Any,
        };
        match self.net.socket(node).send(target, &mut body.as_slice(), None, || now) {
            Ok(Submitted::Admitted) => {
                self.model.accepted.entry(node).or_default().insert(number);
            }
            Ok(Submitted::Waiting(operation)) => {
                self.model.waiting.insert((node, operation), number);
            }
            Err(_) => {}
        }
        self.model.next += 1;
    }

    fn request(&mut self) {
        let dealers = self.dealers.clone();
        let node = self.any(&dealers);
        let (number, size, timeout) = (self.model.next, self.size(), 1 + self.random.below(3_000));
        let now = self.net.now;
        let body = record(node, number, size);
        let timeout = Some(Duration::from_millis(timeout));
        if let Ok(operation) = self.net.socket(node).request(Target::Any, &mut body.as_slice(), timeout, now)
        {
            self.model.requests.insert((node, operation), number);
        }
        self.model.next += 1;
    }

    fn receive(&mut self) {
        let nodes: Vec<_> = self.dealers.iter().chain(&self.routers).copied().collect();
        let node = self.any(&nodes);
        let max = 1 + self.random.below(20) as usize;
        self.receive_at(node, max);
    }

    fn receive_at(&mut self, node: NodeId, max: usize) {
        for one in self.net.receive(node, max) {
            let (sender, number) = parse(&one);
            match one.record.kind() {
                Kind::Data if std::mem::take(&mut self.model.loses_one) => {}
                Kind::Data => self.model.received.entry((node, sender)).or_default().push(number),
                Kind::Request => {
                    let token = one.token.expect("a request has a token");
                    self.model.tokens.push((node, number, token));
                }
                Kind::Reply | Kind::ErrorReply => panic!("replies never appear as received records"),
            }
        }
    }

    fn reply(&mut self) {
        if self.model.tokens.is_empty() {
            return;
        }
        let place = self.random.below(self.model.tokens.len() as u64) as usize;
        let (node, number, token) = self.model.tokens.swap_remove(place);
        if self.random.below(5) == 0 {
            self.net.socket(node).drop_token(token);
            return;
        }
        let now = self.net.now;
        let size = self.size();
        let body = record(node, number, size);
        if let Ok(Submitted::Waiting(operation)) =
            self.net.socket(node).reply(token, &mut body.as_slice(), || now)
        {
            self.model.waiting.insert((node, operation), u64::MAX);
        }
    }

    fn cancel(&mut self) {
        let now = self.net.now;
        let operations: Vec<_> =
            self.model.waiting.keys().chain(self.model.requests.keys()).copied().collect();
        if operations.is_empty() {
            return;
        }
        let (node, operation) = operations[self.random.below(operations.len() as u64) as usize];
        if self.net.socket(node).cancel(operation, now) {
            self.model.waiting.remove(&(node, operation));
            self.model.requests.remove(&(node, operation));
        }
    }

    fn pause(&mut self) {
        let nodes: Vec<_> = self.dealers.iter().chain(&self.routers).copied().collect();
        let node = self.any(&nodes);
        let state = if self.random.below(2) == 0 { Flow::Paused } else { Flow::Running };
        self.serial += 1;
        let (serial, now) = (self.serial, self.net.now);
        self.net.socket(node).set_flow(state, serial, now);
    }

    fn silence(&mut self) {
        let nodes: Vec<_> = self.dealers.iter().chain(&self.routers).copied().collect();
        let node = self.any(&nodes);
        self.net.nodes[node].is_deaf = !self.net.nodes[node].is_deaf;
    }

    fn cut(&mut self) {
        self.model.was_cut = true;
        self.net.cut();
    }

    /// Limits and weights change while records flow.
    fn change(&mut self) {
        let nodes: Vec<_> = self.dealers.iter().chain(&self.routers).copied().collect();
        let node = self.any(&nodes);
        let hwm = Some([0, 200, 5_000, 100_000][self.random.below(4) as usize]);
        let (what, weight) = (self.random.below(3), self.random.below(3) as u32 * 50);
        let socket = self.net.socket(node);
        match what {
            0 => socket.set_send_hwm(hwm).expect("legal"),
            1 => socket.set_receive_hwm(hwm).expect("legal"),
            _ => socket.set_weight(weight).expect("legal"),
        }
    }

    /// A set ends in order: what it had admitted arrives, what comes in while it ends may not.
    fn finish_one(&mut self) {
        let nodes: Vec<_> = self.dealers.iter().chain(&self.routers).copied().collect();
        let node = self.any(&nodes);
        let sets = self.net.ready_sets(node);
        if sets.is_empty() {
            return;
        }
        self.model.was_cut = true;
        let set = sets[self.random.below(sets.len() as u64) as usize];
        let now = self.net.now;
        let reason = zlink_proto::transport::EndReason::Service("soak");
        self.net.socket(node).finish_set(set, reason, Duration::from_millis(100), now);
    }

    /// Reservations, used, dropped or left to their deadline.
    fn reserve(&mut self) {
        let dealers = self.dealers.clone();
        let node = self.any(&dealers);
        let (number, size, how) = (self.model.next, self.size(), self.random.below(3));
        self.model.next += 1;
        let now = self.net.now;
        let bytes = self.random.below(3_000);
        let Ok(reservation) = self.net.socket(node).reserve(Target::Any, bytes, None, || now) else { return };
        if !reservation.is_granted || how == 0 {
            self.net.socket(node).release_reservation(reservation.operation, now);
            return;
        }
        if how == 1 {
            return;
        }
        let body = record(node, number, size);
        match self.net.socket(node).send_reserved(reservation.operation, &mut body.as_slice(), now) {
            Ok(()) => {
                self.model.accepted.entry(node).or_default().insert(number);
            }
            Err(_) => self.net.socket(node).release_reservation(reservation.operation, now),
        }
    }

    fn collect(&mut self) {
        for node in 0..self.net.nodes.len() {
            for settled in self.net.settled(node) {
                let key = (node, settled.operation);
                if let Some(number) = self.model.requests.remove(&key) {
                    if let Outcome::Reply(reply) = settled.outcome {
                        let part = reply.part(0).expect("a part");
                        let of = u64::from_be_bytes(part[8..16].try_into().expect("eight bytes"));
                        assert_eq!(of, number, "the reply of another request");
                        assert!(self.model.answered.insert(number), "answered twice");
                    }
                    continue;
                }
                let number = self.model.waiting.remove(&key).expect("one end for each operation");
                if number != u64::MAX && matches!(settled.outcome, Outcome::Sent) {
                    self.model.accepted.entry(node).or_default().insert(number);
                }
            }
        }
    }

    /// Lets everything finish: everybody reads, everything is taken, every request ends.
    fn finish(mut self) {
        let now = self.net.now;
        for node in 0..self.net.nodes.len() {
            self.net.nodes[node].is_deaf = false;
            self.serial += 1;
            let serial = self.serial;
            self.net.socket(node).set_flow(Flow::Running, serial, now);
        }
        for _ in 0..100 {
            self.net.run_for(Duration::from_millis(100));
            for node in 0..self.net.nodes.len() {
                self.receive_at(node, 1_000);
            }
            while !self.model.tokens.is_empty() {
                self.reply();
            }
            self.collect();
        }
        assert!(self.model.waiting.is_empty() && self.model.requests.is_empty(), "everything has ended");
        self.check_order();
        for node in &self.net.nodes {
            let status = node.socket.snapshot();
            assert_eq!((status.accounted, status.completion_slots, status.reply_tokens), (0, 0, 0));
        }
    }

    /// What arrived was accepted, once and in order; without a cut everything arrived.
    fn check_order(&self) {
        let mut arrived: BTreeMap<NodeId, BTreeSet<u64>> = BTreeMap::new();
        for ((_, sender), numbers) in &self.model.received {
            // Numbers of one sender towards one receiver grow: lines and queues are first in, first out. A ROUTER names its set,
            // and a DEALER may have waited on another peer's line, so that only neighbours on one link are compared.
            assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "out of order: {numbers:?}");
            let set = arrived.entry(*sender).or_default();
            for number in numbers {
                assert!(set.insert(*number), "{number} arrived twice");
            }
        }
        for (sender, numbers) in &arrived {
            let accepted = self.model.accepted.get(sender).cloned().unwrap_or_default();
            assert!(numbers.is_subset(&accepted), "something arrived that was never accepted");
            assert!(self.model.was_cut || *numbers == accepted, "something accepted was lost");
        }
    }
}

fn run(seed: u64, steps: usize) {
    let mut world = World::new(seed);
    for _ in 0..steps {
        world.step();
    }
    world.finish();
}

#[test]
fn o30_random_worlds_end_everything_once_and_lose_nothing() {
    let seeds = std::env::var("ZLINK_SOAK_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(60);
    for seed in 0..seeds {
        println!("seed {seed}");
        run(seed, 400);
    }
}

#[test]
#[should_panic(expected = "something accepted was lost")]
fn canary_a_lost_record_is_noticed() {
    let mut world = World::new(1);
    world.model.loses_one = true;
    for _ in 0..20 {
        world.send();
    }
    world.finish();
}

#[test]
#[should_panic(expected = "something arrived that was never accepted")]
fn canary_a_record_that_nobody_accepted_is_noticed() {
    let mut world = World::new(1);
    for _ in 0..20 {
        world.send();
    }
    for numbers in world.model.accepted.values_mut() {
        numbers.pop_last();
    }
    world.finish();
}
