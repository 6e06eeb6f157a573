//! The commands. A new one is a module here, a variant of [`Command`] and an arm of its `run`.

mod plan;

use crate::output::Output;
use crate::{Error, Status};
use clap::Subcommand;
use std::io::Write;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Plan(plan::Plan),
}

impl Command {
    /// Runs the command: data to `output`, progress and diagnostics to `err`.
    pub(crate) fn run(
        &self,
        output: &mut Output<'_>,
        err: &mut dyn Write,
    ) -> Result<Status, Error> {
        match self {
            Self::Plan(command) => command.run(output, err),
        }
    }
}
