//! Real processes follow a log while this one writes, rotates, compacts and trims it. One runs
//! freely, one is given so little time that it is overtaken again and again. Each table that they
//! tell of is the one that the writer had at that position.

use crate::files::{broker, lead};
use deedbook::compactor::{Attempt, Config, End};
use deedbook::ids::{BundleId, Cuts, Epoch, Holder, KeyRange, Namespace};
use deedbook::ids::{Position, SessionToken};
use deedbook::log::file::{Durability, FileLog};
use deedbook::log::{Append, EventLog, Guard, Member, MemberLog};
use deedbook::state::{Body, Change, Entry, Record, Row};
use deedbook::table::{Reader, ReaderEvent, RowChange};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Tells a process that it is to follow, and where.
const DIR: &str = "DEEDBOOK_FOLLOWED_DIR";
/// Small, so that many are filled.
const SEGMENT_BYTES: u64 = 1 << 10;
const BUNDLES: u32 = 8;
/// How often the log is compacted.
const ROUNDS: u32 = 60;
const ENTRIES_A_ROUND: usize = 40;

// ---- the process that follows

#[test]
#[ignore = "a process that follows; the other test starts it"]
fn follow_on_demand() {
    let Some(dir) = std::env::var_os(DIR) else {
        return;
    };
    let log = FileLog::open_read_only(Path::new(&dir)).unwrap();
    let mut reader = Reader::new(Arc::new(log));
    let end = namespace("t/end");
    let mut rows = BTreeMap::new();
    // Each line allows for one thing to be read.
    for _ in io::stdin().lock().lines() {
        let how = match reader.wait(Duration::from_millis(10)).unwrap() {
            Some(ReaderEvent::Applied { .. } | ReaderEvent::Member { .. }) => "read",
            Some(ReaderEvent::CaughtUp { .. }) => "caught-up",
            Some(ReaderEvent::Jumped { changes, .. }) => {
                check_difference(&rows, &reader, &changes);
                "jumped"
            }
            None => "waited",
        };
        let table = reader.table();
        rows = table
            .rows()
            .map(|(b, row)| (b.clone(), row.clone()))
            .collect();
        let line = format!("{how} {} {}\n", table.next(), table.digest());
        io::stderr().write_all(line.as_bytes()).unwrap();
        if table.facts().namespaces.contains_key(&end) {
            return;
        }
    }
}

/// The changes lead from the rows of before to those of now, and each is one.
fn check_difference(before: &BTreeMap<BundleId, Row>, reader: &Reader, changes: &[RowChange]) {
    let mut rows = before.clone();
    for change in changes {
        assert_eq!(rows.get(&change.bundle), change.before.as_ref());
        assert_ne!(change.before, change.after);
        match &change.after {
            Some(row) => rows.insert(change.bundle.clone(), row.clone()),
            None => rows.remove(&change.bundle),
        };
    }
    assert!(rows.iter().eq(reader.table().rows()));
}

// ---- the process that writes

struct Writer {
    log: FileLog,
    author: Holder,
    epoch: Epoch,
    counter: u64,
    reader: Reader,
    /// The digest of the table at each next position.
    digests: BTreeMap<u64, String>,
}

fn namespace(name: &str) -> Namespace {
    Namespace::new(name).unwrap()
}

impl Writer {
    fn new(dir: &Path) -> Self {
        let log = FileLog::builder(dir)
            .segment_bytes(SEGMENT_BYTES)
            .durability(Durability::Never)
            .open()
            .unwrap();
        let broker = broker(0);
        let joined = Member::Joined {
            broker: broker.clone(),
        };
        let joined = log.append_member(joined).wait().unwrap().unwrap();
        let author = Holder::new(broker, SessionToken::at(joined.position));
        let mut writer = Self {
            epoch: lead(&log).unwrap(),
            reader: Reader::new(Arc::new(log.clone())),
            log,
            author,
            counter: 0,
            digests: BTreeMap::new(),
        };
        writer.create("t/n");
        writer
    }

    fn write(&mut self, body: Body) {
        self.counter += 1;
        let entry = Arc::new(Entry {
            author: self.author.clone(),
            counter: self.counter,
            epoch: None,
            body,
        });
        let guard = Guard::None;
        let appended = self.log.append(Append { entry, guard }).wait().unwrap();
        let next = appended.unwrap().position.next();
        while self.reader.table().next() < next {
            self.reader.poll().unwrap();
            let table = self.reader.table();
            let digest = table.digest().to_string();
            self.digests.insert(table.next().get(), digest);
        }
    }

    fn create(&mut self, name: &str) {
        self.write(Body::CreateNamespace {
            namespace: namespace(name),
            cuts: Cuts::even(KeyRange::FULL, BUNDLES),
            applied: Position::new(u64::MAX),
        });
    }

    /// Takes the bundle that changed first to its next state.
    fn go_on(&mut self) {
        let rows = self.reader.table().rows();
        let (bundle, row) = rows.min_by_key(|(_, row)| row.version).unwrap();
        let next = match &row.record {
            Record::Free => Record::Assigning {
                destination: self.author.broker.clone(),
            },
            Record::Assigning { .. } => Record::Owned {
                owner: self.author.clone(),
            },
            Record::Owned { owner } => Record::Releasing {
                source: owner.clone(),
                destination: None,
            },
            _ => Record::Free,
        };
        let change = Change {
            bundle: bundle.clone(),
            expected: row.version,
            next: Some(next),
        };
        self.write(Body::Changes(vec![change]));
    }

    fn compact(&self) {
        let log = Arc::new(self.log.clone());
        let attempt = Attempt::new(log, self.epoch, End::CaughtUp, Config::default());
        attempt.run().unwrap();
    }
}

/// A process that follows, and what it told of: how it came there, where it was, what it saw.
struct Follower {
    process: Child,
    told: Vec<(String, u64, String)>,
    output: BufReader<std::process::ChildStderr>,
}

impl Follower {
    fn start(dir: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "processes::follow_on_demand",
                "--nocapture",
            ])
            .env(DIR, dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stderr.take().unwrap());
        Self {
            process,
            told: Vec::new(),
            output,
        }
    }

    /// Lets it read so many things, without waiting for it.
    fn allow(&mut self, count: usize) {
        let stdin = self.process.stdin.as_mut().unwrap();
        // One that has seen the end is gone.
        let _ = stdin.write_all("\n".repeat(count).as_bytes());
    }

    /// Waits until it has told of so many things, or has ended.
    fn listen(&mut self, count: usize) -> usize {
        let mut heard = 0;
        let mut line = String::new();
        while heard < count && self.output.read_line(&mut line).unwrap() > 0 {
            let words: Vec<_> = line.split_whitespace().collect();
            let [how, next, digest] = words[..] else {
                panic!("the follower failed: {line}");
            };
            let next = next.parse().unwrap();
            self.told.push((how.to_owned(), next, digest.to_owned()));
            line.clear();
            heard += 1;
        }
        heard
    }
}

#[test]
fn real_processes_follow_a_log_that_is_written_and_trimmed() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(dir.path());
    let (mut free, mut slow) = (Follower::start(dir.path()), Follower::start(dir.path()));
    for _ in 0..ROUNDS {
        (0..ENTRIES_A_ROUND).for_each(|_| writer.go_on());
        // While it reads these, the log is compacted and trimmed.
        free.allow(2 * ENTRIES_A_ROUND);
        slow.allow(3);
        writer.compact();
        slow.listen(3);
    }
    writer.create("t/end");
    for follower in [&mut free, &mut slow] {
        loop {
            follower.allow(16);
            if follower.listen(16) < 16 {
                break;
            }
        }
        assert!(follower.process.wait().unwrap().success());
        let end = writer.reader.table().next().get();
        let (_, next, _) = follower.told.last().unwrap();
        assert_eq!(*next, end, "it came to the end");
        for (how, next, digest) in &follower.told {
            let expected = writer.digests.get(next);
            assert!(
                expected == Some(digest) || *next == 1,
                "{how} at {next}: {digest}, not {expected:?}"
            );
        }
        let nexts = follower.told.iter().map(|(_, next, _)| *next);
        assert!(nexts.is_sorted(), "it only goes forward");
    }
    let jumps = slow.told.iter().filter(|(how, ..)| how == "jumped").count();
    assert!(jumps >= 5, "the slow one was overtaken {jumps} times");
}
