//! The disk behind the storage in memory: what processes see beside what a crash would leave.

use std::collections::{BTreeMap, BTreeSet};

/// How many bytes a disk writes in one step.
const SECTOR_BYTES: usize = 512;

/// Something that was done and not synced, which a crash may or may not have carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsynced<'a> {
    /// New bytes of one sector of a file.
    Sector {
        /// The name under which the file was created.
        file: &'a str,
        /// Where the sector begins.
        offset: u64,
    },
    /// A new size of a file, in bytes.
    Size {
        /// The name under which the file was created.
        file: &'a str,
        /// The new size.
        bytes: u64,
    },
    /// A file that was created, renamed or removed.
    Name {
        /// The name that it had or got.
        name: &'a str,
    },
}

/// A file's bytes, as they are seen and as they are durable.
#[derive(Clone, Debug, Default)]
struct Inode {
    created_as: String,
    live: Vec<u8>,
    durable: Vec<u8>,
    /// Sectors that the next sync will make durable. A failed sync forgets them: the operating
    /// system has marked them clean, and only writing them again brings them back.
    dirty: BTreeSet<usize>,
    size_is_dirty: bool,
}

/// A change of the directory that was not synced.
#[derive(Clone, Debug)]
enum NameChange {
    Set { name: String, inode: u64 },
    Rename { from: String, to: String },
    Remove { name: String },
}

/// Directory and files. Plain data: who may use it, and what goes wrong, is decided above.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk {
    inodes: BTreeMap<u64, Inode>,
    inode_count: u64,
    live: BTreeMap<String, u64>,
    durable: BTreeMap<String, u64>,
    unsynced: Vec<NameChange>,
}

impl Inode {
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        if self.live.len() < end {
            self.resize(end);
        }
        if let Some(target) = self.live.get_mut(offset..end) {
            target.copy_from_slice(bytes);
        }
        self.dirty.extend(sectors(offset, end));
    }

    fn resize(&mut self, bytes: usize) {
        let old = self.live.len();
        self.live.resize(bytes, 0);
        self.size_is_dirty = true;
        // Bytes between the old end and the new one are zeroes, on the disk too.
        self.dirty.extend(sectors(old.min(bytes), bytes));
    }

    fn sync(&mut self) {
        for sector in std::mem::take(&mut self.dirty) {
            self.make_durable(sector);
        }
        if std::mem::take(&mut self.size_is_dirty) {
            self.durable.resize(self.live.len(), 0);
        }
    }

    fn make_durable(&mut self, sector: usize) {
        let start = sector * SECTOR_BYTES;
        let end = (start + SECTOR_BYTES).min(self.live.len());
        let Some(source) = self.live.get(start..end) else {
            return;
        };
        if self.durable.len() < end {
            self.durable.resize(end, 0);
        }
        if let Some(target) = self.durable.get_mut(start..end) {
            target.copy_from_slice(source);
        }
    }

    fn crash(&mut self, keep: &mut dyn FnMut(Unsynced<'_>) -> bool) {
        let file = self.created_as.clone();
        for sector in std::mem::take(&mut self.dirty) {
            let offset = (sector * SECTOR_BYTES) as u64;
            if keep(Unsynced::Sector {
                file: &file,
                offset,
            }) {
                self.make_durable(sector);
            }
        }
        let bytes = self.live.len() as u64;
        if std::mem::take(&mut self.size_is_dirty) && keep(Unsynced::Size { file: &file, bytes }) {
            self.durable.resize(self.live.len(), 0);
        }
        self.live.clone_from(&self.durable);
    }
}

fn sectors(start: usize, end: usize) -> std::ops::Range<usize> {
    start / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES)
}

impl NameChange {
    fn name(&self) -> &str {
        match self {
            Self::Set { name, .. } | Self::Remove { name } => name,
            Self::Rename { to, .. } => to,
        }
    }

    fn apply(&self, names: &mut BTreeMap<String, u64>) {
        match self {
            Self::Set { name, inode } => _ = names.insert(name.clone(), *inode),
            Self::Rename { from, to } => {
                if let Some(inode) = names.remove(from) {
                    names.insert(to.clone(), inode);
                }
            }
            Self::Remove { name } => _ = names.remove(name),
        }
    }
}

impl Disk {
    pub(super) fn names(&self) -> Vec<String> {
        self.live.keys().cloned().collect()
    }

    pub(super) fn find(&self, name: &str) -> Option<u64> {
        self.live.get(name).copied()
    }

    pub(super) fn create(&mut self, name: &str) -> u64 {
        self.inode_count += 1;
        let inode = self.inode_count;
        let created_as = name.to_owned();
        self.inodes.insert(
            inode,
            Inode {
                created_as,
                ..Inode::default()
            },
        );
        self.change_names(NameChange::Set {
            name: name.to_owned(),
            inode,
        });
        inode
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.change_names(NameChange::Rename { from, to });
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.change_names(NameChange::Remove {
            name: name.to_owned(),
        });
    }

    fn change_names(&mut self, change: NameChange) {
        change.apply(&mut self.live);
        self.unsynced.push(change);
    }

    pub(super) fn sync_names(&mut self) {
        self.unsynced.clear();
        self.durable.clone_from(&self.live);
    }

    /// What a failed sync of the directory leaves: nobody knows any more what is to be synced.
    pub(super) fn forget_names(&mut self) {
        self.unsynced.clear();
    }

    pub(super) fn size(&self, inode: u64) -> usize {
        self.inodes.get(&inode).map_or(0, |inode| inode.live.len())
    }

    /// The bytes of all files that have a name.
    pub(super) fn used(&self) -> usize {
        self.live.values().map(|inode| self.size(*inode)).sum()
    }

    pub(super) fn read(&self, inode: u64, offset: usize, buffer: &mut [u8]) -> usize {
        let bytes = self.inodes.get(&inode).map_or(&[][..], |file| &file.live);
        let rest = bytes.get(offset..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(rest) {
            *to = *from;
        }
        count
    }

    pub(super) fn write(&mut self, inode: u64, offset: usize, bytes: &[u8]) {
        if let Some(inode) = self.inodes.get_mut(&inode) {
            inode.write(offset, bytes);
        }
    }

    pub(super) fn resize(&mut self, inode: u64, bytes: usize) {
        if let Some(inode) = self.inodes.get_mut(&inode) {
            inode.resize(bytes);
        }
    }

    pub(super) fn sync(&mut self, inode: u64) {
        if let Some(inode) = self.inodes.get_mut(&inode) {
            inode.sync();
        }
    }

    pub(super) fn forget_dirty(&mut self, inode: u64) {
        if let Some(inode) = self.inodes.get_mut(&inode) {
            inode.dirty.clear();
            inode.size_is_dirty = false;
        }
    }

    /// Leaves only what is durable, and of the rest what `keep` says.
    pub(super) fn crash(&mut self, keep: &mut dyn FnMut(Unsynced<'_>) -> bool) {
        for change in std::mem::take(&mut self.unsynced) {
            if keep(Unsynced::Name {
                name: change.name(),
            }) {
                change.apply(&mut self.durable);
            }
        }
        self.live.clone_from(&self.durable);
        let named: BTreeSet<u64> = self.durable.values().copied().collect();
        self.inodes.retain(|number, _| named.contains(number));
        for inode in self.inodes.values_mut() {
            inode.crash(keep);
        }
    }
}
