//! What a long command shows while it runs, and how it hears that it is to stop.

use crate::Error;
use crate::interrupt::{self, Flag};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};

/// A progress bar, hidden unless standard error is a terminal, and Ctrl-C.
pub(crate) struct Watch {
    bar: ProgressBar,
    interrupted: &'static Flag,
}

impl Watch {
    /// Over records, by their positions.
    pub(crate) fn records(end: u64) -> Self {
        Self::new(
            "{wide_bar} {human_pos} of {human_len} records, {eta} left",
            end,
        )
    }

    /// Over records that go to standard output: hidden if that is the terminal itself.
    pub(crate) fn printed_records(end: u64) -> Self {
        let watch = Self::records(end);
        if io::stdout().is_terminal() {
            watch.bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        watch
    }

    /// Over bytes.
    pub(crate) fn bytes(bytes: u64) -> Self {
        Self::new("{wide_bar} {bytes} of {total_bytes}, {eta} left", bytes)
    }

    fn new(style: &str, length: u64) -> Self {
        let bar = ProgressBar::new(length);
        Self {
            bar: match ProgressStyle::with_template(style) {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            },
            interrupted: interrupt::flag(),
        }
    }

    /// So much is done.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] if somebody asked to stop.
    pub(crate) fn at(&self, done: u64) -> Result<(), Error> {
        self.bar.set_position(done);
        if self.interrupted.is_set() {
            return Err(Error::Interrupted);
        }
        Ok(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
