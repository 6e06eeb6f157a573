//! The segment to be used next: a file of durable zeroes, made ahead of its use.
//!
//! Overwriting zeroes costs a write and a flush; letting a file grow costs a change of the file
//! system's own journal on top, with each flush. A retired segment is used again, since its blocks
//! are there already; it is filled with zeroes first, so that behind the last frame of a segment
//! there is never anything but zeroes, or what one torn write left.

use super::directory::{SPARE_RAW, SPARE_READY, segment_name};
use crate::ids::Position;
use crate::storage::{self, Access, File, Storage, write_zeroes};
use crate::sync::{Condvar, Mutex};
use std::sync::Arc;

/// Makes segments and retires them.
#[derive(Debug)]
pub(super) struct Spare {
    storage: Arc<dyn Storage>,
    segment_bytes: u64,
    /// Held while the files `spare.*` change.
    state: Mutex<State>,
    /// What the worker is to do; nothing else is locked while it is held.
    order: Mutex<Order>,
    ordered: Condvar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Nothing,
    Prepare,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing is known about the files.
    Unknown,
    /// `spare.ready` is there.
    Ready,
}

impl Spare {
    pub(super) fn new(storage: Arc<dyn Storage>, segment_bytes: u64) -> Self {
        Self {
            storage,
            segment_bytes,
            state: Mutex::new(State::Unknown),
            order: Mutex::new(Order::Nothing),
            ordered: Condvar::new(),
        }
    }

    /// Lets the worker make the next segment. Without a worker it is made when it is needed.
    pub(super) fn order(&self) {
        let mut order = self.order.lock();
        if *order == Order::Nothing {
            *order = Order::Prepare;
            self.ordered.notify_one();
        }
    }

    /// Lets the worker end.
    pub(super) fn end(&self) {
        *self.order.lock() = Order::End;
        self.ordered.notify_one();
    }

    /// The worker: makes segments as they are ordered.
    pub(super) fn work(&self) {
        loop {
            let mut order = self.order.lock();
            self.ordered
                .wait_while(&mut order, |order| *order == Order::Nothing);
            if *order == Order::End {
                return;
            }
            *order = Order::Nothing;
            drop(order);
            // Whoever needs the segment tries again and hears of the error.
            let _ = self.prepare();
        }
    }

    /// Makes the next segment, unless it is there.
    ///
    /// A crash leaves `spare.raw`, which is filled anew, or `spare.ready`, whose zeroes were synced
    /// before it got that name.
    pub(super) fn prepare(&self) -> Result<(), storage::Error> {
        self.make(&mut self.state.lock())
    }

    fn make(&self, state: &mut State) -> Result<(), storage::Error> {
        if *state == State::Ready {
            return Ok(());
        }
        let names = self.storage.list()?;
        let has = |name| names.iter().any(|other| other == name);
        if has(SPARE_READY) {
            let size = self.storage.open(SPARE_READY, Access::Read)?.size()?;
            if size == self.segment_bytes {
                *state = State::Ready;
                return Ok(());
            }
            // An earlier opening asked for another size.
            self.storage.remove(SPARE_READY)?;
        }
        let file = if has(SPARE_RAW) {
            // Its old name must be gone for good before its old content is.
            self.storage.sync()?;
            self.storage.open(SPARE_RAW, Access::Write)?
        } else {
            self.storage.create(SPARE_RAW)?
        };
        let filled = write_zeroes(&*file, 0, self.segment_bytes)
            .and_then(|()| file.set_size(self.segment_bytes))
            .and_then(|()| file.sync());
        if let Err(error) = filled {
            // Its room is needed elsewhere, perhaps by whoever is to make room.
            let _ = self.storage.remove(SPARE_RAW);
            return Err(error);
        }
        self.storage.rename(SPARE_RAW, SPARE_READY)?;
        *state = State::Ready;
        Ok(())
    }

    /// Turns the spare segment into the one that begins at `first`, with `header`, for at least
    /// `bytes` bytes.
    ///
    /// A crash before the name is synced leaves the spare, whose first bytes are overwritten when
    /// it is used; a crash after it leaves a segment with its header and without a frame.
    pub(super) fn take(
        &self,
        first: Position,
        header: &[u8],
        bytes: u64,
    ) -> Result<(Arc<dyn File>, u64), TakeError> {
        let mut state = self.state.lock();
        self.make(&mut state)?;
        // Whatever fails from here on: look again before the spare is used.
        *state = State::Unknown;
        let file = self.storage.open(SPARE_READY, Access::Write)?;
        let size = bytes.max(self.segment_bytes);
        let filled = write_zeroes(&*file, self.segment_bytes, size)
            .and_then(|()| file.write_at(0, header))
            .and_then(|()| file.sync())
            .and_then(|()| self.storage.rename(SPARE_READY, &segment_name(first)));
        if let Err(error) = filled {
            let _ = self.storage.remove(SPARE_READY);
            return Err(error.into());
        }
        self.storage.sync().map_err(TakeError::Names)?;
        // What goes wrong from here on names the segment.
        let named = self.storage.open(&segment_name(first), Access::Write);
        Ok((named.unwrap_or(file), size))
    }

    /// Gives the room of the spare segment back, finished or not, to whoever needs it more. The
    /// next one is made when it is ordered, or needed.
    pub(super) fn give_up(&self) {
        // One that is being made right now is waited for: it may be what fills the disk.
        let mut state = self.state.lock();
        *state = State::Unknown;
        for name in [SPARE_READY, SPARE_RAW] {
            // It may not be there.
            let _ = self.storage.remove(name);
        }
    }

    /// Keeps a segment that was trimmed for later use, or removes it.
    pub(super) fn retire(&self, first: Position) -> Result<(), storage::Error> {
        let _state = self.state.lock();
        let name = segment_name(first);
        let has_raw = self.storage.list()?.iter().any(|name| name == SPARE_RAW);
        let size = self.storage.open(&name, Access::Read)?.size()?;
        if has_raw || size != self.segment_bytes {
            self.storage.remove(&name)
        } else {
            self.storage.rename(&name, SPARE_RAW)
        }
    }
}

/// Why there is no further segment.
#[derive(Debug)]
pub(super) enum TakeError {
    /// It could not be made; the log is as it was.
    Make(storage::Error),
    /// It has its name, and it is unknown whether the name is durable.
    Names(storage::Error),
}

impl From<storage::Error> for TakeError {
    fn from(error: storage::Error) -> Self {
        Self::Make(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{MemoryStorage, Unsynced};

    const BYTES: u64 = 2048;

    /// Storage with a segment that begins at 1 and is full of something, all of it durable.
    fn storage() -> (MemoryStorage, Position) {
        let storage = MemoryStorage::new();
        let first = Position::new(1);
        let file = storage.create(&segment_name(first)).unwrap();
        file.write_at(0, &[7; BYTES as usize]).unwrap();
        file.sync().unwrap();
        storage.sync().unwrap();
        (storage, first)
    }

    fn bytes(storage: &MemoryStorage, name: &str) -> Vec<u8> {
        let file = storage.open(name, Access::Read).unwrap();
        let mut bytes = vec![9; usize::try_from(file.size().unwrap()).unwrap()];
        file.read_at(0, &mut bytes).unwrap();
        bytes
    }

    fn spare(storage: &MemoryStorage) -> Spare {
        Spare::new(Arc::new(storage.clone()), BYTES)
    }

    #[test]
    fn a_retired_segment_keeps_its_content_until_its_name_is_gone_for_good() {
        let (storage, first) = storage();
        let spare = spare(&storage);
        spare.retire(first).unwrap();
        spare.prepare().unwrap();
        // All the zeroes reach the disk, and no name does that was not synced.
        let after = storage.crash(|change| !matches!(change, Unsynced::Name { .. }));
        let segment = segment_name(first);
        if after.list().unwrap().contains(&segment) {
            assert_eq!(bytes(&after, &segment), [7; BYTES as usize]);
        }
    }

    #[test]
    fn whatever_a_crash_leaves_of_it_the_next_segment_is_all_zeroes() {
        for keep_names in [Keep::Names, Keep::Bytes, Keep::Nothing] {
            let (storage, first) = storage();
            let spare_before = spare(&storage);
            spare_before.retire(first).unwrap();
            storage.sync().unwrap();
            spare_before.prepare().unwrap();
            let storage = storage.crash(|change| match change {
                Unsynced::Name { .. } => keep_names == Keep::Names,
                _ => keep_names == Keep::Bytes,
            });
            let next = Position::new(9);
            spare(&storage).take(next, b"header", 0).unwrap();
            let found = bytes(&storage.crash(|_| false), &segment_name(next));
            assert_eq!(found.len() as u64, BYTES);
            assert_eq!(&found[..6], b"header");
            assert!(found[6..].iter().all(|&byte| byte == 0), "{keep_names:?}");
        }
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Keep {
        Names,
        Bytes,
        Nothing,
    }

    #[test]
    fn a_spare_of_another_size_is_not_used() {
        let (storage, _) = storage();
        spare(&storage).prepare().unwrap();
        let larger = Spare::new(Arc::new(storage.clone()), 2 * BYTES);
        larger.take(Position::new(9), b"header", 0).unwrap();
        let found = bytes(&storage, &segment_name(Position::new(9)));
        assert_eq!(found.len() as u64, 2 * BYTES);
    }

    #[test]
    fn a_full_disk_keeps_no_half_made_spare() {
        let (storage, _) = storage();
        storage.set_capacity(Some(BYTES + 100));
        assert!(spare(&storage).prepare().is_err());
        assert_eq!(storage.list().unwrap(), [segment_name(Position::new(1))]);
        storage.set_capacity(None);
        spare(&storage).prepare().unwrap();
    }
}
