//! A log to look into: two brokers, one namespace in two halves, and what happens to the halves.

use deedbook::compactor::{Attempt, Config, End};
use deedbook::ids::{BundleId, Epoch, Holder, Position, SessionToken};
use deedbook::log::file::FileLog;
use deedbook::log::{Append, EventLog, Guard, Member, MemberLog};
use deedbook::state::{Body, Change, Entry, Record};
use deedbook::table::{Reader, ReaderEvent};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

pub(crate) const LOWER: &str = "t/n/0x00000000_0x80000000";
pub(crate) const UPPER: &str = "t/n/0x80000000_0xffffffff";

/// A few entries each.
const SEGMENT_BYTES: u64 = 512;

/// The log, open for writing as a broker has it.
pub(crate) struct Book {
    folder: TempDir,
    pub(crate) log: FileLog,
    a: Holder,
    b: Holder,
    epoch: Epoch,
    counter: u64,
}

impl Book {
    /// Up to position 5: opened, a and b joined, a leads with epoch 4, the namespace is there.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = FileLog::builder(folder.path().join("log"))
            .segment_bytes(SEGMENT_BYTES)
            .open()
            .unwrap();
        let member = |member| log.append_member(member).wait().unwrap().unwrap().position;
        let join = |name: &str| {
            let broker = format!("{name}:1")
                .parse::<deedbook::ids::BrokerId>()
                .unwrap();
            let session = member(Member::Joined {
                broker: broker.clone(),
            });
            Holder::new(broker, SessionToken::at(session))
        };
        let (a, b) = (join("a"), join("b"));
        let session = a.session;
        let epoch = Epoch::at(member(Member::Elected { session }));
        let mut book = Self {
            folder,
            log,
            a,
            b,
            epoch,
            counter: 0,
        };
        let create = Body::CreateNamespace {
            namespace: "t/n".parse().unwrap(),
            cuts: Some(deedbook::ids::Cuts::new(&[0x8000_0000][..]).unwrap()),
            applied: Position::new(4),
        };
        book.write('a', create);
        book
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn dir(&self) -> String {
        self.place("log")
    }

    /// A path beside the log.
    pub(crate) fn place(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&mut self, author: char, body: Body) -> u64 {
        self.counter += 1;
        let author = if author == 'a' { &self.a } else { &self.b };
        let entry = Arc::new(Entry {
            author: author.clone(),
            counter: self.counter,
            epoch: None,
            body,
        });
        let guard = Guard::None;
        let appended = self.log.append(Append { entry, guard }).wait().unwrap();
        appended.unwrap().position.get()
    }

    /// "This bundle, last changed at `expected`, becomes this record."
    pub(crate) fn change(
        &mut self,
        author: char,
        bundle: &str,
        expected: u64,
        next: Record,
    ) -> u64 {
        let change = Change {
            bundle: bundle.parse::<BundleId>().unwrap(),
            expected: Position::new(expected),
            next: Some(next),
        };
        self.write(author, Body::Changes(vec![change]))
    }

    pub(crate) fn assigning(&self, to: char) -> Record {
        Record::Assigning {
            destination: self.holder(to).broker.clone(),
        }
    }

    pub(crate) fn owned(&self, by: char) -> Record {
        Record::Owned {
            owner: self.holder(by).clone(),
        }
    }

    pub(crate) fn releasing(&self, from: char, to: char) -> Record {
        Record::Releasing {
            source: self.holder(from).clone(),
            destination: Some(self.holder(to).broker.clone()),
        }
    }

    fn holder(&self, name: char) -> &Holder {
        if name == 'a' { &self.a } else { &self.b }
    }

    /// Positions 6 to 11: a gets the lower half, b asks for it too late and is to get it in the
    /// end; the upper half is promised to b, which a cannot take in b's name.
    pub(crate) fn quarrel(&mut self) {
        assert_eq!(self.change('b', LOWER, 5, self.assigning('a')), 6);
        self.change('a', LOWER, 6, self.owned('a'));
        self.change('b', LOWER, 5, self.assigning('b'));
        self.change('a', UPPER, 5, self.assigning('b'));
        self.change('a', LOWER, 7, self.releasing('a', 'b'));
        assert_eq!(self.change('a', UPPER, 9, self.owned('b')), 11);
    }

    /// Gives the lower half, which `from` owns since `version`, to the other; its version then.
    pub(crate) fn transfer(&mut self, from: char, version: u64) -> u64 {
        let to = if from == 'a' { 'b' } else { 'a' };
        let version = self.change(from, LOWER, version, self.releasing(from, to));
        let version = self.change(from, LOWER, version, self.assigning(to));
        self.change(to, LOWER, version, self.owned(to))
    }

    /// A log whose beginning was trimmed, with two snapshots and entries behind them.
    pub(crate) fn trimmed() -> Self {
        let mut book = Self::new();
        let version = book.change('b', LOWER, 5, book.assigning('a'));
        let mut version = book.change('a', LOWER, version, book.owned('a'));
        for round in 1..=12 {
            version = book.transfer('a', version);
            version = book.transfer('b', version);
            if round % 3 == 0 && round < 12 {
                book.compact();
            }
        }
        book
    }

    /// As the leader does.
    pub(crate) fn compact(&self) {
        let log = Arc::new(self.log.clone());
        let attempt = Attempt::new(log, self.epoch, End::CaughtUp, Config::default());
        attempt.run().unwrap();
    }

    /// The digests of the table after each record, by position, from `from` on.
    pub(crate) fn digests(&self) -> Vec<(u64, String)> {
        let log = FileLog::open_read_only(self.dir()).unwrap();
        let stat = deedbook::log::file::inspect::stat(&self.storage()).unwrap();
        let mut reader = Reader::new(Arc::new(log.with_snapshots_up_to(stat.rebuilt_from())));
        let mut digests = Vec::new();
        loop {
            match reader.poll().unwrap() {
                None | Some(ReaderEvent::CaughtUp { .. }) => return digests,
                Some(_) => {
                    let position = reader.table().next().get() - 1;
                    digests.push((position, reader.table().digest().to_string()));
                }
            }
        }
    }

    pub(crate) fn storage(&self) -> deedbook::storage::FsStorage {
        deedbook::storage::FsStorage::existing(self.dir()).unwrap()
    }

    /// Closes the log and gives the folder that holds it.
    pub(crate) fn close(self) -> TempDir {
        self.log.close();
        self.folder
    }
}
