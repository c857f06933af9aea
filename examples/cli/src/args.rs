//! The command line.

use crate::units;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// Messaging in which load never loses an accepted message: see it, measure it, look into its bytes.
#[derive(Parser, Debug)]
#[command(name = "zlink", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Watch a fast sender being slowed down by a slow handler; exits 0 only if nothing was lost
    Demo(Demo),
    /// Serve a channel: take sends, answer requests
    Serve(Serve),
    /// Send messages to a channel
    Send(Send),
    /// Make requests to a channel
    Request(Request),
    /// Show the frames and records in a byte string, or check vector files
    Decode(Decode),
}

/// `zlink demo`.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// How long the sender sends
    #[arg(long = "for", value_name = "D", default_value = "5s", value_parser = units::some_duration)]
    pub(crate) duration: Duration,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// `zlink serve`.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// Name of the channel
    #[arg(long, value_name = "C")]
    pub(crate) channel: String,
    /// Where to listen: tcp://ADDRESS:PORT, port 0 for a free one
    #[arg(long, value_name = "E")]
    pub(crate) bind: String,
    /// How long each handler takes
    #[arg(long, value_name = "D", default_value = "0s", value_parser = units::duration)]
    pub(crate) handler_delay: Duration,
    /// Handlers that may run at once; above 1 their order is free
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub(crate) concurrency: u32,
    /// Jobs that may be accepted and not started (permits) [default: by the processors]
    #[arg(long, value_name = "N")]
    pub(crate) max_jobs: Option<u64>,
    /// Permits in use, in percent, at which peers are told PAUSED
    #[arg(long, value_name = "P", default_value_t = 80)]
    pub(crate) pause_percent: u32,
    /// Permits in use, in percent, at which peers are told RUNNING again
    #[arg(long, value_name = "R", default_value_t = 60)]
    pub(crate) resume_percent: u32,
    /// Bytes a peer's send queue may hold (replies); 0: no limit
    #[arg(long, value_name = "B", value_parser = units::bytes)]
    pub(crate) send_hwm: Option<u64>,
    /// Bytes a peer's receive queue may hold; 0: no limit
    #[arg(long, value_name = "B", value_parser = units::bytes)]
    pub(crate) recv_hwm: Option<u64>,
    /// Largest message that is taken; 0: no limit
    #[arg(long, value_name = "B", value_parser = units::bytes)]
    pub(crate) max_message_size: Option<u64>,
    /// Answer requests with so many bytes in place of an echo
    #[arg(long, value_name = "B", value_parser = units::bytes)]
    pub(crate) reply_size: Option<u64>,
    /// End after this time
    #[arg(long = "for", value_name = "D", value_parser = units::some_duration)]
    pub(crate) duration: Option<Duration>,
    /// End when so many messages were handled
    #[arg(long, value_name = "N")]
    pub(crate) until_handled: Option<u64>,
    /// Longest graceful shutdown; a second signal cuts it short
    #[arg(long, value_name = "D", default_value = "30s", value_parser = units::some_duration)]
    pub(crate) shutdown: Duration,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `send` and `request` have in common.
#[derive(Args, Clone, Debug)]
pub(crate) struct Load {
    /// Name of the channel
    #[arg(long, value_name = "C")]
    pub(crate) channel: String,
    /// Where the server is: tcp://HOST:PORT; several, with commas between them, for several servers
    #[arg(long, value_name = "E", required = true, value_delimiter = ',')]
    pub(crate) connect: Vec<String>,
    /// How many in all [default: 1, or as many as --for allows]
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
    /// Bytes of a payload; from 16 on it begins with the sender's id and a sequence, both u64, big endian
    #[arg(long, value_name = "B", default_value = "64", value_parser = units::bytes)]
    pub(crate) size: u64,
    /// Most messages a second in all
    #[arg(long, value_name = "R", value_parser = units::rate)]
    pub(crate) rate: Option<f64>,
    /// How many at once; each has a sender's id and a sequence of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) concurrency: u32,
    /// How long one may take [default: 1s to be accepted, 30s to be answered]
    #[arg(long, value_name = "D", value_parser = units::some_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Bytes that the queue to a server may hold; 0: no limit
    #[arg(long, value_name = "B", value_parser = units::bytes)]
    pub(crate) send_hwm: Option<u64>,
    /// End after this time
    #[arg(long = "for", value_name = "D", value_parser = units::some_duration)]
    pub(crate) duration: Option<Duration>,
    /// Longest graceful shutdown; a second signal cuts it short
    #[arg(long, value_name = "D", default_value = "30s", value_parser = units::some_duration)]
    pub(crate) shutdown: Duration,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

impl Load {
    /// How many to attempt at most.
    pub(crate) fn count(&self) -> u64 {
        match (self.count, self.duration) {
            (Some(count), _) => count,
            (None, Some(_)) => u64::MAX,
            (None, None) => 1,
        }
    }
}

/// `zlink send`.
#[derive(Args, Debug)]
pub(crate) struct Send {
    #[command(flatten)]
    pub(crate) load: Load,
}

/// `zlink request`.
#[derive(Args, Debug)]
pub(crate) struct Request {
    #[command(flatten)]
    pub(crate) load: Load,
}

/// `zlink decode`.
#[derive(Args, Debug)]
pub(crate) struct Decode {
    /// Bytes in hexadecimal; `-` reads them from standard input. `|` between parts shows a service record
    #[arg(value_name = "HEX|-", allow_hyphen_values = true, required_unless_present = "check")]
    pub(crate) hex: Option<String>,
    /// Run vector files; list every vector whose result differs and exit with 1 if there is one
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "hex")]
    pub(crate) check: Vec<PathBuf>,
    /// Type of the socket that receives the bytes [default: one that fits]
    #[arg(long, value_name = "TYPE", value_parser = crate::decode::socket_type)]
    pub(crate) local: Option<zlink_proto::wire::SocketType>,
    /// MaxMessageSize of that socket; 0: no limit
    #[arg(long, value_name = "B", default_value = "0", value_parser = units::bytes)]
    pub(crate) max_message_size: u64,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}
