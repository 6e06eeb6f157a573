//! The command `deedbook`: arguments in, data on one stream, diagnostics on another, a status out.
//!
//! The binary hands its own streams to [`run`]; tests hand in buffers. A command is a module of
//! `commands`: its arguments, and what it finds as a value that displays as text and serializes to
//! JSON. The conventions that all of them keep stand in docs/cli.md.

mod commands;
mod error;
mod folder;
pub mod history;
mod interrupt;
mod load;
mod output;
mod scenario;
mod watch;

pub use commands::import::{LINE_BYTES_MAX, LISTED_MAX};
pub use error::Error;
pub use load::{REPORT_BYTES_MAX, parse_report};

use clap::Parser;
use clap::error::ErrorKind;
use commands::Command;
use output::{Format, Output};
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

/// How a run ended: the exit status of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum Status {
    /// What was asked was done, or is so.
    Good = 0,
    /// What was checked is not so.
    False = 1,
    /// Wrong use, or something that cannot be read or written.
    Unusable = 2,
    /// Stopped by whoever started it.
    Interrupted = 130,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// Brokers agree on who owns which bundle; this command plans and inspects that.
#[derive(Debug, Parser)]
#[command(name = "deedbook", version, max_term_width = 100)]
struct Arguments {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

/// Runs the command that `args` call for, the name of the program first.
///
/// Data goes to `out`, progress and diagnostics go to `err`.
pub fn run<A: Into<OsString> + Clone>(
    args: impl IntoIterator<Item = A>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Status {
    let arguments = match Arguments::try_parse_from(args) {
        Ok(arguments) => arguments,
        Err(error) => return answer(&error, out, err),
    };
    let format = if arguments.json {
        Format::Json
    } else {
        Format::Text
    };
    let mut output = Output::new(format, out);
    match arguments.command.run(&mut output, err) {
        Ok(status) => status,
        // Whoever reads our output has seen enough of it.
        Err(Error::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Status::Good,
        Err(error) => {
            // If nobody listens there, the status still tells.
            let _ = writeln!(err, "error: {error}");
            match error {
                Error::Interrupted => Status::Interrupted,
                _ => Status::Unusable,
            }
        }
    }
}

/// What the parser of arguments has to say: help and the version are data, the rest is wrong use.
fn answer(error: &clap::Error, out: &mut dyn Write, err: &mut dyn Write) -> Status {
    let text = error.render();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = write!(out, "{text}");
            Status::Good
        }
        _ => {
            let _ = write!(err, "{text}");
            Status::Unusable
        }
    }
}
