//! The commands. A new one is a module here, a variant of [`Command`] and an arm of its `run`.

mod export;
pub(crate) mod import;
mod log;
mod plan;
mod queue;
mod simulate;

use crate::output::Output;
use crate::{Error, Status};
use clap::Subcommand;
use std::io::Write;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Export(export::Export),
    Import(import::Import),
    Log(log::Log),
    Plan(Box<plan::Plan>),
    Simulate(simulate::Simulate),
}

impl Command {
    /// Runs the command: data to `output`, progress and diagnostics to `err`.
    pub(crate) fn run(
        &self,
        output: &mut Output<'_>,
        err: &mut dyn Write,
    ) -> Result<Status, Error> {
        match self {
            Self::Export(command) => command.run(output, err),
            Self::Import(command) => command.run(output, err),
            Self::Log(command) => command.run(output, err),
            Self::Plan(command) => command.run(output, err),
            Self::Simulate(command) => command.run(output, err),
        }
    }
}
