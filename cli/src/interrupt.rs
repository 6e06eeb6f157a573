//! Ctrl-C: asked once, a command stops at the next good moment and keeps what it has; asked twice,
//! at once.

use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit status of a command that was interrupted.
const INTERRUPTED: i32 = 130;

/// Whether somebody asked to stop.
#[derive(Debug)]
pub(crate) struct Flag(AtomicBool);

impl Flag {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The flag, which Ctrl-C sets from the first call on.
pub(crate) fn flag() -> &'static Flag {
    static FLAG: OnceLock<Flag> = OnceLock::new();
    let mut is_new = false;
    let flag = FLAG.get_or_init(|| {
        is_new = true;
        Flag(AtomicBool::new(false))
    });
    if is_new {
        // Without a handler Ctrl-C ends the process at once, which is no worse.
        let _ = ctrlc::set_handler(|| {
            if FLAG
                .get()
                .is_none_or(|flag| flag.0.swap(true, Ordering::AcqRel))
            {
                process::exit(INTERRUPTED);
            }
        });
    }
    flag
}
