//! Connections between real sockets over pipes that cut the stream anywhere: the same results however the bytes are cut (W-03),
//! and nothing is lost, doubled or kept where the pipe is narrow.

use std::time::Duration;
use zlink_proto::id::RoutingId;
use zlink_proto::transport::{SocketOptions, SocketOutput, Submitted, Target};
use zlink_proto::wire::{Flow, SocketType};
use zlink_testkit::pair::{Net, NodeId, describe};

/// What both sides saw, in order.
#[derive(PartialEq, Eq, Debug, Default)]
struct Transcript {
    at_router: Vec<String>,
    at_dealer: Vec<String>,
    results: Vec<String>,
    ends: (usize, usize),
}

struct World {
    net: Net,
    dealer: NodeId,
    router: NodeId,
    seen: Transcript,
}

fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.len() <= 16 => text.into(),
        _ => {
            format!("{}x{:02x}", bytes.len(), bytes.iter().fold(0u8, |sum, byte| sum.wrapping_mul(31) ^ byte))
        }
    }
}

impl World {
    fn new(read_bytes: usize, pipe_bytes: usize, hwm: u64) -> Self {
        let options = |name: &'static str| SocketOptions {
            routing_id: RoutingId::new(name.as_bytes()).ok(),
            send_hwm: Some(hwm),
            receive_hwm: Some(hwm),
            ..SocketOptions::default()
        };
        let mut net = Net::new();
        (net.read_bytes, net.pipe_bytes) = (read_bytes, pipe_bytes);
        let router = net.node(SocketType::Router, options("router"));
        let dealer = net.node(SocketType::Dealer, options("dealer"));
        net.listen(router, "tcp://router:1");
        net.connect(dealer, "tcp://router:1");
        Self { net, dealer, router, seen: Transcript::default() }
    }

    fn send(&mut self, parts: Vec<Vec<u8>>) {
        let mut record: Vec<bytes::Bytes> = parts.into_iter().map(Into::into).collect();
        let now = self.net.now;
        let submitted =
            self.net.socket(self.dealer).send(Target::Any, &mut record, None, || now).expect("accepted");
        assert!(matches!(submitted, Submitted::Admitted | Submitted::Waiting(_)));
    }

    fn request(&mut self, body: &[u8]) {
        let now = self.net.now;
        self.net.socket(self.dealer).request(Target::Any, &mut { body }, None, now).expect("accepted");
    }

    /// The ROUTER takes everything and answers requests with what they said, doubled.
    fn serve(&mut self) {
        loop {
            self.net.run();
            let received = self.net.receive(self.router, 3);
            if received.is_empty() {
                return;
            }
            for mut one in received {
                let parts: Vec<String> = one.record.parts().map(text).collect();
                self.seen.at_router.push(format!("{:?} {}", one.record.kind(), parts.join("+")));
                let now = self.net.now;
                if let Some(token) = one.token.take() {
                    let body = one.record.part(0).expect("a part").repeat(2);
                    let _ = self
                        .net
                        .socket(self.router)
                        .reply(token, &mut body.as_slice(), || now)
                        .expect("alive");
                }
            }
        }
    }

    fn settle(&mut self) {
        self.serve();
        for received in self.net.receive(self.dealer, 1_000) {
            self.seen.at_dealer.push(text(received.record.part(0).expect("a part")));
        }
        let results = self.net.settled(self.dealer);
        self.seen.results.extend(results.iter().map(|one| describe(&one.outcome)));
        self.net.run();
    }

    fn lost(&self, node: NodeId) -> usize {
        self.net.nodes[node].outputs.iter().filter(|one| matches!(one, SocketOutput::PeerLost { .. })).count()
    }
}

/// One of everything, in both directions.
fn run(read_bytes: usize, pipe_bytes: usize, hwm: u64, is_large: bool) -> Transcript {
    let mut world = World::new(read_bytes, pipe_bytes, hwm);
    for number in 0..12u8 {
        world.send(vec![vec![number; usize::from(number) * 5]]);
        world.send(vec![b"a".to_vec(), vec![], vec![number; 90]]);
    }
    world.request(b"ping");
    if is_large {
        world.send(vec![vec![1; 9_000], b"tail".to_vec()]);
        world.send(vec![vec![2; 70_000]]);
        world.request(&vec![3; 40_000]);
        world.send((0..200u8).map(|number| vec![number; 500]).collect());
    }
    world.settle();
    let now = world.net.now;
    world.net.socket(world.router).set_flow(Flow::Paused, 1, now);
    world.net.run();
    world.send(vec![b"held".to_vec()]);
    world.settle();
    assert_ne!(world.seen.at_router.last().map(|line| &**line), Some("Data held"), "PAUSED came through");
    world.net.socket(world.router).set_flow(Flow::Running, 2, now);
    world.settle();
    let name = RoutingId::new(&b"dealer"[..]).expect("short");
    let back = world.net.socket(world.router).send(Target::Named(&name), &mut &b"back"[..], None, || now);
    assert_eq!(back, Ok(Submitted::Admitted));
    world.settle();
    world.send(vec![b"last".to_vec()]);
    world.net.socket(world.dealer).close(None, now);
    world.settle();
    world.net.run_for(Duration::from_millis(2_000));
    assert!(world.net.socket(world.dealer).is_closed());
    assert_eq!(world.net.link_count(), 0, "no connection is left");
    world.seen.ends = (world.lost(world.dealer), world.lost(world.router));
    world.seen
}

#[test]
fn w03_any_cut_of_the_streams_between_two_sockets_gives_the_same() {
    let whole = run(65_536, 65_536, 4_096_000, false);
    assert_eq!(whole.at_router.len(), 27);
    assert_eq!(whole.at_dealer, ["back"]);
    assert_eq!(whole.at_router.last().map(|line| &**line), Some("Data last"));
    assert_eq!(whole.ends, (1, 1));
    for read_bytes in (1..=40).chain([63, 64, 65, 127, 256, 1_000]) {
        assert_eq!(run(read_bytes, 65_536, 4_096_000, false), whole, "reads of {read_bytes}");
    }
    for pipe_bytes in (1..=40).chain([63, 64, 65, 127, 256, 1_000]) {
        assert_eq!(run(65_536, pipe_bytes, 4_096_000, false), whole, "pipes of {pipe_bytes}");
    }
    for bytes in 1..=20 {
        assert_eq!(run(bytes, bytes + 3, 4_096_000, false), whole, "reads of {bytes}");
    }
}

#[test]
fn w03_b07_cuts_and_small_queues_together_give_the_same_records() {
    let whole = run(65_536, 65_536, 4_096_000, true);
    for (read_bytes, pipe_bytes, hwm) in [
        (65_536, 65_536, 1_000),
        (65_536, 65_536, 300),
        (65_536, 777, 300),
        (4_099, 65_536, 1),
        (61, 10_007, 500),
        (1_000, 64, 5_000),
        (17, 65_536, 4_096_000),
    ] {
        let cut = run(read_bytes, pipe_bytes, hwm, true);
        let what = format!("reads of {read_bytes}, pipes of {pipe_bytes}, queues of {hwm}");
        assert_eq!(cut.at_router, whole.at_router, "{what}");
        assert_eq!(cut.at_dealer, whole.at_dealer, "{what}");
        let replies = |seen: &Transcript| {
            seen.results.iter().filter(|one| one.starts_with("reply")).cloned().collect::<Vec<_>>()
        };
        assert_eq!(replies(&cut), replies(&whole), "{what}");
        assert_eq!(replies(&cut), ["reply 8", "reply 80000"], "{what}");
        assert!(
            cut.results.iter().all(|one| one == "sent" || one.starts_with("reply")),
            "{what}: {:?}",
            cut.results
        );
        assert_eq!(cut.ends, (1, 1), "{what}");
    }
}
