//! A DEALER and a ROUTER whose connections are joined by memory: what a driver does, step by step.

use crate::{batches, measured};
use std::hint::black_box;
use zlink_proto::id::ConnectionNumber;
use zlink_proto::time::Timestamp;
use zlink_proto::transport::{
    Connection, Outcome, Received, Settled, Socket, SocketOptions, SocketOutput, Target,
};
use zlink_proto::wire::SocketType;

const PAYLOAD: [u8; 64] = [7; 64];
const NOW: Timestamp = Timestamp::from_millis(1_000);

/// The part of a message's way that is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// `Socket::send`, admitted at once.
    Send,
    /// `Socket::request`, admitted at once.
    Request,
    /// The sender's exchange, `transmit` and `transmitted`.
    Write,
    /// `Connection::received`: decoding.
    Receive,
    /// The receiver's exchange: charge, queue, allowance; at the requester also its replies.
    Deliver,
    /// `Socket::receive`, and the record's end.
    Take,
    /// `Socket::reply`.
    Reply,
    /// `Socket::take_settled` and `collected`.
    Settle,
}

/// One side.
struct End {
    socket: Socket,
    connection: Connection,
}

impl End {
    fn exchange(&mut self) {
        self.connection.exchange(&mut self.socket, NOW);
    }
}

/// Both sides and what is measured of them.
struct Pair {
    dealer: End,
    router: End,
    measured: Step,
    wire: Vec<u8>,
    received: Vec<Received>,
    settled: Vec<Settled>,
}

impl Pair {
    fn new(measured: Step) -> Self {
        let mut dealer = Socket::new(SocketType::Dealer, SocketOptions::default(), 1).expect("legal options");
        let mut router = Socket::new(SocketType::Router, SocketOptions::default(), 2).expect("legal options");
        dealer.connect("tcp://127.0.0.1:1", NOW).expect("well-formed endpoint");
        let number = connect_order(&mut dealer);
        let near = dealer.handle_connected(number, NOW).expect("an attempt under way");
        let listener = router.add_listener();
        let far = router.handle_accepted(listener, NOW).expect("an open listener");
        let mut pair = Self {
            dealer: End { socket: dealer, connection: near },
            router: End { socket: router, connection: far },
            measured,
            wire: Vec::new(),
            received: Vec::new(),
            settled: Vec::new(),
        };
        while pair.carry_once(true) | pair.carry_once(false) {}
        assert!(std::iter::from_fn(|| pair.dealer.socket.poll_output()).any(is_ready), "the peers are ready");
        while pair.router.socket.poll_output().is_some() {}
        pair
    }

    /// Carries what one side has to write to the other; false if there was nothing.
    fn carry_once(&mut self, to_router: bool) -> bool {
        let measured = self.measured;
        let (from, to) = match to_router {
            true => (&mut self.dealer, &mut self.router),
            false => (&mut self.router, &mut self.dealer),
        };
        self.wire.clear();
        let count = step(measured, Step::Write, || {
            if from.connection.needs_exchange() || from.socket.poll_wake().is_some() {
                from.exchange();
            }
            let mut pieces = [&[][..]; 16];
            let count = from.connection.transmit(&mut pieces);
            black_box(pieces).len().min(count)
        });
        let mut pieces = [&[][..]; 16];
        from.connection.transmit(&mut pieces);
        pieces.iter().take(count).for_each(|piece| self.wire.extend_from_slice(piece));
        let length = self.wire.len();
        if length > 0 {
            step(measured, Step::Write, || from.connection.transmitted(length, NOW));
        }
        let mut rest = &self.wire[..];
        while !rest.is_empty() {
            let space = to.connection.receive_space();
            assert!(!space.is_empty(), "the reader follows");
            let (now, later) = rest.split_at(rest.len().min(space.len()));
            space[..now.len()].copy_from_slice(now);
            rest = later;
            step(measured, Step::Receive, || to.connection.received(now.len(), NOW));
            while to.connection.needs_exchange() {
                step(measured, Step::Deliver, || to.exchange());
                // Decodes what the last turn left.
                step(measured, Step::Receive, || to.connection.receive_space().len());
            }
        }
        length > 0
    }

    fn take(&mut self) -> usize {
        let Self { router, received, .. } = self;
        step(self.measured, Step::Take, || {
            let count = router.socket.receive(usize::MAX, received, NOW);
            if received.iter().all(|received| black_box(received).token.is_none()) {
                received.clear();
            }
            count
        })
    }
}

fn connect_order(socket: &mut Socket) -> ConnectionNumber {
    std::iter::from_fn(|| socket.poll_output())
        .find_map(|output| match output {
            SocketOutput::Connect { number, .. } => Some(number),
            _ => None,
        })
        .expect("an order to connect")
}

fn is_ready(output: SocketOutput) -> bool {
    matches!(output, SocketOutput::PeerReady { .. })
}

fn step<R>(measured_step: Step, this: Step, work: impl FnOnce() -> R) -> R {
    if measured_step == this { measured(work) } else { work() }
}

/// One-way records of one part.
pub(crate) fn one_way(which: Step, count: usize) {
    let mut pair = Pair::new(which);
    for size in batches(count) {
        let socket = &mut pair.dealer.socket;
        step(which, Step::Send, || {
            for _ in 0..size {
                let sent = socket.send(Target::Any, &mut black_box(&PAYLOAD[..]), None, || NOW);
                assert!(sent.is_ok(), "room for a batch");
            }
        });
        while pair.carry_once(true) {}
        assert_eq!(pair.take(), size, "all arrived");
        while pair.carry_once(false) {}
    }
}

/// Requests of one part and their replies.
pub(crate) fn request(which: Step, count: usize) {
    let mut pair = Pair::new(which);
    for size in batches(count) {
        let socket = &mut pair.dealer.socket;
        step(which, Step::Request, || {
            for _ in 0..size {
                let asked = socket.request(Target::Any, &mut black_box(&PAYLOAD[..]), None, NOW);
                assert!(asked.is_ok(), "room for a batch");
            }
        });
        while pair.carry_once(true) {}
        assert_eq!(pair.take(), size, "all arrived");
        let Pair { router, received, .. } = &mut pair;
        step(which, Step::Reply, || {
            for Received { token, .. } in received.drain(..) {
                let token = token.expect("a request's token");
                let replied = router.socket.reply(token, &mut black_box(&PAYLOAD[..]), || NOW);
                assert!(replied.is_ok(), "room for a batch");
            }
        });
        while pair.carry_once(false) {}
        let Pair { dealer, settled, .. } = &mut pair;
        let replies = step(which, Step::Settle, || {
            dealer.socket.take_settled(settled);
            let mut replies = 0;
            for Settled { operation, outcome } in settled.drain(..) {
                dealer.socket.collected(operation);
                replies += usize::from(matches!(outcome, Outcome::Reply(_)));
            }
            replies
        });
        assert_eq!(replies, size, "all were answered");
        while pair.carry_once(true) {}
    }
}
