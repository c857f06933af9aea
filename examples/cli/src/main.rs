//! `zlink`, the command: demo, serve, send, request, decode.
//!
//! Exit codes: 0 it did what it was asked for (for `send` and `request`: it ran to its end; the summary tells what came of it), 1 it
//! did not, 2 wrong arguments.

mod args;
mod decode;
mod demo;
mod histogram;
mod ledger;
mod load;
mod report;
mod request;
mod send;
mod serve;
mod signals;
mod status;
mod units;

use args::{Cli, Command};
use clap::Parser;
use clap::error::ErrorKind;
use std::process::ExitCode;

/// Why a command did not do what it was asked for: one line.
pub(crate) type Failed = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return wrong_arguments(&error),
    };
    let done = match cli.command {
        Command::Demo(arguments) => block_on(demo::run(&arguments)),
        Command::Serve(arguments) => block_on(serve::run(&arguments)),
        Command::Send(arguments) => block_on(send::run(&arguments)),
        Command::Request(arguments) => block_on(request::run(&arguments)),
        Command::Decode(arguments) => decode::run(&arguments),
    };
    done.unwrap_or_else(|error| {
        eprintln!("zlink: {error}");
        ExitCode::FAILURE
    })
}

/// Runs a command on a runtime of its own.
fn block_on(command: impl Future<Output = Result<ExitCode, Failed>>) -> Result<ExitCode, Failed> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(command)
}

/// Help goes where it was asked to go; anything else is one line.
fn wrong_arguments(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A closed pipe is no failure of ours.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(2)
        }
        _ => {
            eprintln!("zlink: {}", one_line(&error.to_string()));
            ExitCode::from(2)
        }
    }
}

/// What is wrong, without the usage and the tips that clap puts below it.
fn one_line(text: &str) -> String {
    let lines = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    let line = lines.collect::<Vec<_>>().join(" ");
    line.strip_prefix("error: ").unwrap_or(&line).to_string()
}
