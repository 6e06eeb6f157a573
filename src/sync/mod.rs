//! The only importer of locks: everything else takes them from here, so that a checker of thread
//! schedules can be put in their place.
//!
//! With `--cfg shuttle` the locks and threads are those of the checker, and work within its tests
//! alone (`tests/concurrency.rs`).

#[cfg(shuttle)]
mod checked;

#[cfg(shuttle)]
pub(crate) use checked::{Condvar, Mutex, MutexGuard, RwLock, atomic, thread};
#[cfg(not(shuttle))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
#[cfg(not(shuttle))]
pub(crate) use std::{sync::atomic, thread};
