//! The disk behind the storage in memory: what processes see beside what a crash would leave.

use std::collections::{BTreeMap, BTreeSet};

/// How many bytes a disk writes in one step, if nothing else is asked for.
pub(super) const SECTOR_BYTES: usize = 512;

/// How many older contents of a sector are remembered.
const OLDER_MAX: usize = 8;

/// Something that was done and not synced, which a crash may or may not have carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsynced<'a> {
    /// New bytes of one sector of a file, as they were after one of the writes to it. Asked for
    /// each write, the oldest first; the last one that is kept stands.
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
    /// Sectors whose live content may not be durable.
    dirty: BTreeMap<usize, Dirty>,
    size_is_dirty: bool,
}

/// What a crash may leave of a sector beside its durable content.
#[derive(Clone, Debug)]
struct Dirty {
    /// What it was after writes before the last one.
    older: Vec<Vec<u8>>,
    /// Whether the next sync makes it durable. A failed sync ends that: the operating system has
    /// marked it clean, and only writing it again brings it back.
    is_syncable: bool,
}

/// A change of the directory that was not synced.
#[derive(Clone, Debug)]
enum NameChange {
    Set { name: String, inode: u64 },
    Rename { from: String, to: String },
    Remove { name: String },
}

/// Directory and files. Plain data: who may use it, and what goes wrong, is decided above.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    sector_bytes: usize,
    inodes: BTreeMap<u64, Inode>,
    inode_count: u64,
    live: BTreeMap<String, u64>,
    durable: BTreeMap<String, u64>,
    unsynced: Vec<NameChange>,
}

impl Inode {
    fn write(&mut self, sector_bytes: usize, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        if self.live.len() < end {
            self.resize(sector_bytes, end);
        }
        self.touch(sector_bytes, offset, end);
        if let Some(target) = self.live.get_mut(offset..end) {
            target.copy_from_slice(bytes);
        }
    }

    fn resize(&mut self, sector_bytes: usize, bytes: usize) {
        let old = self.live.len();
        // Bytes between the old end and the new one are zeroes, on the disk too.
        self.touch(sector_bytes, old.min(bytes), bytes);
        self.live.resize(bytes, 0);
        self.size_is_dirty = true;
    }

    /// Something is about to change between the two.
    fn touch(&mut self, sector_bytes: usize, start: usize, end: usize) {
        for sector in start / sector_bytes..end.div_ceil(sector_bytes) {
            let now = content(&self.live, sector_bytes, sector);
            let dirty = self.dirty.entry(sector);
            let dirty = dirty.and_modify(|dirty| dirty.supersede(now));
            dirty.or_insert_with(Dirty::new).is_syncable = true;
        }
    }

    fn sync(&mut self, sector_bytes: usize) {
        for (sector, dirty) in std::mem::take(&mut self.dirty) {
            if dirty.is_syncable {
                let now = content(&self.live, sector_bytes, sector).to_vec();
                self.make_durable(sector_bytes, sector, &now);
            } else {
                self.dirty.insert(sector, dirty);
            }
        }
        if std::mem::take(&mut self.size_is_dirty) {
            self.durable.resize(self.live.len(), 0);
        }
    }

    /// A sync failed: what it was to save may be on the disk or not, and none that follows will
    /// save it.
    fn fail_sync(&mut self) {
        for dirty in self.dirty.values_mut() {
            dirty.is_syncable = false;
        }
        self.size_is_dirty = false;
    }

    /// A sync failed when every other sector was saved, and what is on the disk is seen from now
    /// on.
    fn fail_sync_and_drop(&mut self, sector_bytes: usize) {
        for (index, sector) in std::mem::take(&mut self.dirty).into_keys().enumerate() {
            let now = content(&self.live, sector_bytes, sector).to_vec();
            if index % 2 == 0 {
                self.make_durable(sector_bytes, sector, &now);
                continue;
            }
            let start = sector * sector_bytes;
            let mut seen = content(&self.durable, sector_bytes, sector).to_vec();
            seen.resize(now.len(), 0);
            if let Some(live) = self.live.get_mut(start..start + now.len()) {
                live.copy_from_slice(&seen);
            }
        }
        self.durable.resize(self.live.len(), 0);
        self.size_is_dirty = false;
    }

    fn make_durable(&mut self, sector_bytes: usize, sector: usize, content: &[u8]) {
        let start = sector * sector_bytes;
        let end = start + content.len();
        if self.durable.len() < end {
            self.durable.resize(end, 0);
        }
        if let Some(target) = self.durable.get_mut(start..end) {
            target.copy_from_slice(content);
        }
    }

    fn crash(&mut self, sector_bytes: usize, keep: &mut dyn FnMut(Unsynced<'_>) -> bool) {
        let file = self.created_as.clone();
        for (sector, dirty) in std::mem::take(&mut self.dirty) {
            let offset = (sector * sector_bytes) as u64;
            let now = content(&self.live, sector_bytes, sector).to_vec();
            for written in dirty.older.iter().chain([&now]) {
                let file = &file;
                if keep(Unsynced::Sector { file, offset }) {
                    self.make_durable(sector_bytes, sector, written);
                }
            }
        }
        let bytes = self.live.len() as u64;
        if std::mem::take(&mut self.size_is_dirty) && keep(Unsynced::Size { file: &file, bytes }) {
            self.durable.resize(self.live.len(), 0);
        }
        self.live.clone_from(&self.durable);
    }
}

impl Dirty {
    fn new() -> Self {
        Self {
            older: Vec::new(),
            is_syncable: true,
        }
    }

    /// What stood there until now is an older content.
    fn supersede(&mut self, content: &[u8]) {
        if self.older.len() == OLDER_MAX {
            self.older.remove(0);
        }
        self.older.push(content.to_vec());
    }
}

/// The bytes of a sector, as far as the file goes.
fn content(bytes: &[u8], sector_bytes: usize, sector: usize) -> &[u8] {
    let start = (sector * sector_bytes).min(bytes.len());
    let end = (start + sector_bytes).min(bytes.len());
    bytes.get(start..end).unwrap_or_default()
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
    pub(super) fn new(sector_bytes: usize) -> Self {
        Self {
            sector_bytes: sector_bytes.max(1),
            inodes: BTreeMap::new(),
            inode_count: 0,
            live: BTreeMap::new(),
            durable: BTreeMap::new(),
            unsynced: Vec::new(),
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.live.keys().cloned().collect()
    }

    pub(super) fn find(&self, name: &str) -> Option<u64> {
        self.live.get(name).copied()
    }

    pub(super) fn is_named(&self, inode: u64) -> bool {
        self.live.values().any(|named| *named == inode)
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
            inode.write(self.sector_bytes, offset, bytes);
        }
    }

    pub(super) fn resize(&mut self, inode: u64, bytes: usize) {
        if let Some(inode) = self.inodes.get_mut(&inode) {
            inode.resize(self.sector_bytes, bytes);
        }
    }

    pub(super) fn sync(&mut self, inode: u64) {
        if let Some(inode) = self.inodes.get_mut(&inode) {
            inode.sync(self.sector_bytes);
        }
    }

    /// A sync of the file failed; `drops` says whether what was not saved is seen no more.
    pub(super) fn fail_sync(&mut self, inode: u64, drops: bool) {
        match self.inodes.get_mut(&inode) {
            Some(inode) if drops => inode.fail_sync_and_drop(self.sector_bytes),
            Some(inode) => inode.fail_sync(),
            None => {}
        }
    }

    /// Flips a bit of a file, as it is seen and as it is durable; false if it has no such bit.
    pub(super) fn flip(&mut self, name: &str, bit: usize) -> bool {
        let inode = self.live.get(name).copied();
        let Some(inode) = inode.and_then(|inode| self.inodes.get_mut(&inode)) else {
            return false;
        };
        let mut is_there = false;
        for bytes in [&mut inode.live, &mut inode.durable] {
            if let Some(byte) = bytes.get_mut(bit / 8) {
                *byte ^= 1 << (bit % 8);
                is_there = true;
            }
        }
        is_there
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
            inode.crash(self.sector_bytes, keep);
        }
    }
}
