//! The only importer of locks: everything else takes them from here, so that a checker of thread
//! schedules can be put in their place.

pub(crate) use parking_lot::{Condvar, Mutex, RwLock};
