//! Allocations a message and side: prints `NAME VALUE` lines.
//!
//! Sender and receiver have a thread each with a one-thread runtime, over TCP on loopback; what a thread allocates while it
//! moves its messages is counted on it alone, the driver's tasks included.

mod hosts;
mod sockets;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Messages of each run.
const MESSAGES: u64 = 100_000;
/// Messages before, so that buffers have their size.
const WARM_UP: u64 = 10_000;
/// Requests under way in W3.
const OUTSTANDING: u64 = 100;
const SIZE: usize = 64;

/// The workloads of the benchmarks that are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Workload {
    /// One-way.
    W1,
    /// Requests, one under way.
    W2,
    /// Requests, `OUTSTANDING` under way.
    W3,
}

impl Workload {
    const ALL: [Self; 3] = [Self::W1, Self::W2, Self::W3];

    const fn name(self) -> &'static str {
        match self {
            Self::W1 => "w1",
            Self::W2 => "w2",
            Self::W3 => "w3",
        }
    }

    /// Requests under way at once; none for one-way messages.
    const fn outstanding(self) -> u64 {
        match self {
            Self::W1 => 0,
            Self::W2 => 1,
            Self::W3 => OUTSTANDING,
        }
    }
}

/// One side of a run: made on its runtime, then moves messages as often as it is told.
trait Side: Sized {
    /// A server that listens at the endpoint that it returns.
    async fn server(workload: Workload) -> (Self, String);
    /// A client that is ready to send.
    async fn client(workload: Workload, endpoint: &str) -> Self;
    /// Moves this many messages.
    async fn run(&mut self, messages: u64);
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("runtime")
}

/// Lets the tasks of the driver run.
fn rest(runtime: &Runtime, ms: u64) {
    runtime.block_on(async { tokio::time::sleep(Duration::from_millis(ms)).await });
}

/// Allocations a message.
fn counted(runtime: &Runtime, side: &mut impl Side) -> f64 {
    runtime.block_on(side.run(WARM_UP));
    let info = allocation_counter::measure(|| runtime.block_on(side.run(MESSAGES)));
    info.count_total as f64 / MESSAGES as f64
}

fn measure<S: Side>(level: &str) {
    for workload in Workload::ALL {
        let (tell, endpoint) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let server = thread::spawn(move || {
            let runtime = runtime();
            let (mut side, endpoint) = runtime.block_on(S::server(workload));
            tell.send(endpoint).expect("a client");
            let count = counted(&runtime, &mut side);
            // The last replies are written while the client still wants them.
            while ended.try_recv() == Err(mpsc::TryRecvError::Empty) {
                rest(&runtime, 5);
            }
            count
        });
        let runtime = runtime();
        let endpoint = endpoint.recv().expect("a server");
        let mut side = runtime.block_on(S::client(workload, &endpoint));
        let sender = counted(&runtime, &mut side);
        if workload == Workload::W1 {
            // The receiver gets what is still queued.
            rest(&runtime, 200);
        }
        drop(end);
        let receiver = server.join().expect("no panic of the server");
        println!("{level}.{}.sender {sender}", workload.name());
        println!("{level}.{}.receiver {receiver}", workload.name());
    }
}

fn main() {
    measure::<sockets::Sockets>("socket");
    measure::<hosts::Hosts>("host");
}
