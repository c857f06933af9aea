//! Joins the harness of the reference peers: `zlink-peer PEER srv|cli WORKLOAD PORT SIZE SECS`.
//!
//! Peers: `zlink` (raw sockets, one thread), `zlinkmt` (raw sockets, 2 workers), `zlinkhost` and `zlinkhostmt` (channels).
//! The server prints `READY` when it listens; each side ends with one line `R key=value …`.

mod harness;
mod host;
mod meters;
mod sockets;

use harness::Args;
use std::process::ExitCode;
use tokio::runtime::Builder;

async fn run(args: Args) {
    if args.is_host {
        host::run(args).await;
    } else {
        sockets::run(args).await;
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let args = match Args::parse(&arguments) {
        Ok(args) => args,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    harness::raise_file_limit();
    let mut builder = match args.is_multi_thread {
        true => Builder::new_multi_thread(),
        false => Builder::new_current_thread(),
    };
    let runtime = builder.worker_threads(2).enable_all().build().expect("runtime");
    // In a task, as an application's work is: waking the future of `block_on` costs tokio one more look at its driver.
    runtime.block_on(async { tokio::spawn(run(args)).await.expect("no panic in the run") });
    // As the reference peers do: what still runs ends with the process, no figure is taken after the last line.
    std::process::exit(0)
}
