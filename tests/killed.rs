//! What was acknowledged survives the end of a process (I8): a real one, on real files, that
//! appends through many threads and compacts meanwhile, is killed with SIGKILL at a random moment.
//! The next one finds every acknowledged entry at its place, nothing that was never appended, and
//! the same table from any snapshot (I1).
//!
//! `DEEDBOOK_KILLS=n` kills so many, `DEEDBOOK_SEED=n` repeats a run as far as the machine's own
//! timing allows.
#![cfg(unix)]
#![cfg(test)]

mod files;

use deedbook::compactor::{Compactor, Config, End};
use deedbook::ids::{BundleId, Cuts, EntryId, Epoch, Holder, KeyRange, Namespace};
use deedbook::ids::{Position, SessionToken};
use deedbook::log::file::{Durability, FileLog};
use deedbook::log::{AppendResult, EventLog, Member, MemberLog, Payload, ReadError};
use deedbook::pending::Pending;
use deedbook::state::{Body, Change, Entry, Record};
use deedbook::table::{Reader, ReaderEvent, Table};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

/// How many processes are killed, unless said otherwise.
const KILLS: u64 = 25;
/// How many lines a process may write, at most, before it is killed.
const LINES_MAX: u64 = 400;
/// Threads that append.
const THREADS: u64 = 6;
/// Bundles of each thread.
const BUNDLES: usize = 4;
/// How many appends the last thread has in flight; the others wait for each.
const WINDOW: usize = 8;
/// Small, so that a process fills many.
const SEGMENT_BYTES: u64 = 4 << 10;

/// Tells a process that it is the one to be killed, and where.
const DIR: &str = "DEEDBOOK_KILLED_DIR";
/// How many snapshots it keeps.
const KEPT: &str = "DEEDBOOK_KILLED_KEPT";

/// What each thread does, one entry after the other: it creates a namespace of its own and takes
/// each bundle round and round.
struct Script {
    author: Holder,
    namespace: Namespace,
    /// Where each bundle's last entry stands, or will.
    versions: [Position; BUNDLES],
}

impl Script {
    fn new(thread: u64, session: SessionToken) -> Self {
        Self {
            author: Holder::new(files::broker(thread), session),
            namespace: Namespace::new(format!("t/n-{session}")).unwrap(),
            versions: [Position::ZERO; BUNDLES],
        }
    }

    /// The bundle that the entry with this number changes; none for the first, which makes all.
    fn bundle_of(counter: u64) -> Option<usize> {
        let index = counter.checked_sub(2)?;
        Some(usize::try_from(index).unwrap() % BUNDLES)
    }

    /// The number of the entry that the one with this number follows; none for the first.
    fn before(counter: u64) -> Option<u64> {
        let last_round = counter.saturating_sub(BUNDLES as u64);
        (counter > 1).then_some(if last_round > 1 { last_round } else { 1 })
    }

    fn bundle(&self, index: usize) -> BundleId {
        let cuts = Cuts::even(KeyRange::FULL, BUNDLES as u32).unwrap();
        let range = cuts.parts(KeyRange::FULL).nth(index).unwrap();
        BundleId::new(self.namespace.clone(), range)
    }

    /// Takes note that the entry with this number stands there.
    fn stands(&mut self, counter: u64, position: Position) {
        match Self::bundle_of(counter) {
            Some(index) => self.versions[index] = position,
            None => self.versions = [position; BUNDLES],
        }
    }

    /// The entry with this number, which follows what stands so far.
    fn entry(&self, counter: u64) -> Arc<Entry> {
        let body = match Self::bundle_of(counter) {
            None => Body::CreateNamespace {
                namespace: self.namespace.clone(),
                cuts: Cuts::even(KeyRange::FULL, BUNDLES as u32),
                applied: Position::new(self.author.session.get()),
            },
            Some(index) => Body::Changes(vec![Change {
                bundle: self.bundle(index),
                expected: self.versions[index],
                next: Some(self.record((counter - 2) / BUNDLES as u64)),
            }]),
        };
        Arc::new(Entry {
            author: self.author.clone(),
            counter,
            epoch: None,
            body,
        })
    }

    /// What a bundle becomes in this round.
    fn record(&self, round: u64) -> Record {
        let own = || self.author.clone();
        match round % 4 {
            0 => Record::Assigning {
                destination: self.author.broker.clone(),
            },
            1 => Record::Owned { owner: own() },
            2 => Record::Releasing {
                source: own(),
                destination: None,
            },
            _ => Record::Free,
        }
    }
}

// ---- the process that is killed

#[test]
#[ignore = "the process that is killed; the other test starts it"]
fn victim() {
    let Some(dir) = std::env::var_os(DIR) else {
        return;
    };
    let kept = std::env::var(KEPT).unwrap().parse().unwrap();
    let log = open(Path::new(&dir), kept);
    say("opened");
    let epoch = lead(&log);
    let log = &log;
    thread::scope(|scope| {
        for thread in 1..=THREADS {
            let window = if thread == THREADS { WINDOW } else { 1 };
            scope.spawn(move || append_for_ever(log, thread, window));
        }
        compact_for_ever(log, epoch);
    });
}

fn open(dir: &Path, kept: usize) -> FileLog {
    FileLog::builder(dir)
        .segment_bytes(SEGMENT_BYTES)
        .snapshots_kept(kept)
        .durability(Durability::Always)
        .open()
        .unwrap()
}

fn member(log: &FileLog, member: Member) -> Position {
    log.append_member(member).wait().unwrap().unwrap().position
}

fn lead(log: &FileLog) -> Epoch {
    let broker = files::broker(0);
    let session = SessionToken::at(member(log, Member::Joined { broker }));
    Epoch::at(member(log, Member::Elected { session }))
}

fn append_for_ever(log: &FileLog, thread: u64, window: usize) {
    let broker = files::broker(thread);
    let session = SessionToken::at(member(log, Member::Joined { broker }));
    let mut script = Script::new(thread, session);
    say(&format!("joined {thread} {session}"));
    let mut waiting: VecDeque<(u64, Pending<AppendResult>)> = VecDeque::new();
    for counter in 1.. {
        // An entry follows the last one of its bundle, and all follow the first.
        let bundle = Script::bundle_of(counter);
        let follows = |(other, _): &(u64, _)| {
            let other = Script::bundle_of(*other);
            other.is_none() || other == bundle
        };
        while waiting.len() >= window || waiting.iter().any(follows) {
            let (counter, pending) = waiting.pop_front().unwrap();
            let position = pending.wait().unwrap().unwrap().position;
            script.stands(counter, position);
            say(&format!("stands {session} {counter} {position}"));
        }
        let pending = files::append(log, &script.entry(counter));
        waiting.push_back((counter, pending));
    }
}

fn compact_for_ever(log: &FileLog, epoch: Epoch) {
    let log: Arc<dyn EventLog> = Arc::new(log.clone());
    let compactor = Compactor::start(log, Config::default()).unwrap();
    loop {
        let report = compactor.request(epoch, End::CaughtUp).wait().unwrap();
        say(&format!("compacted {}", report.unwrap().horizon_after));
    }
}

/// One write for a line, so that a line is said or not.
fn say(line: &str) {
    io::stderr()
        .write_all(format!("{line}\n").as_bytes())
        .unwrap();
}

// ---- the process that kills

/// What processes said before they were killed.
#[derive(Debug, Default)]
struct Said {
    /// Which thread had which session.
    threads: BTreeMap<SessionToken, u64>,
    stands: BTreeMap<EntryId, Position>,
    compacted: Position,
}

impl Said {
    fn note(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |index: usize| words[index].parse::<u64>().unwrap();
        match words[0] {
            "joined" => _ = self.threads.insert(SessionToken::new(number(2)), number(1)),
            "stands" => {
                let (session, counter) = (SessionToken::new(number(1)), number(2));
                let id = EntryId { session, counter };
                self.stands.insert(id, Position::new(number(3)));
            }
            "compacted" => self.compacted = Position::new(number(1)),
            "opened" => {}
            _ => panic!("the process to be killed failed: {line}"),
        }
    }
}

#[test]
fn a_killed_process_leaves_all_that_it_acknowledged() {
    let number = |name, usual| {
        let text = std::env::var(name).ok();
        text.map_or(usual, |text| text.parse::<u64>().expect(name))
    };
    let seed = number("DEEDBOOK_SEED", 1);
    let kills = number("DEEDBOOK_KILLS", KILLS);
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    // One log keeps everything, so that it can be folded from its beginning; one trims.
    let logs = [usize::MAX, 2].map(|kept| (kept, tempfile::tempdir().unwrap()));
    let mut said = [Said::default(), Said::default()];
    let mut entry_count = 0;
    for kill in 0..kills {
        let index = usize::from(kill % 2 == 1);
        let (kept, dir) = &logs[index];
        let lines = dice.next_u64() % LINES_MAX;
        let case = format!("kill {kill} after {lines} lines; DEEDBOOK_SEED={seed}");
        run_and_kill(dir.path(), *kept, lines, &mut said[index]);
        entry_count += check(dir.path(), *kept, &said[index], &case);
    }
    assert!(entry_count as u64 > kills, "the processes did something");
    println!("{kills} processes killed, {entry_count} entries found by those who looked");
}

/// Lets a process work and kills it once it has said so many lines.
fn run_and_kill(dir: &Path, kept: usize, lines: u64, said: &mut Said) {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "victim", "--nocapture"])
        .env(DIR, dir)
        .env(KEPT, kept.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(process.stderr.take().unwrap()).lines();
    for line in output.by_ref().take(usize::try_from(lines).unwrap()) {
        said.note(&line.unwrap());
    }
    process.kill().unwrap();
    process.wait().unwrap();
    // What it had said in time and nobody had read yet.
    output.for_each(|line| said.note(&line.unwrap()));
}

/// What a log holds.
struct Found {
    /// The first position that is retained.
    first: Position,
    /// All entries from there on.
    entries: Vec<(Position, Arc<Entry>)>,
    by_id: BTreeMap<EntryId, Position>,
}

impl Found {
    fn of(log: &FileLog, case: &str) -> Self {
        let first = match log.tail(Position::ZERO) {
            Ok(_) => Position::ZERO,
            Err(ReadError::Trimmed { horizon }) => horizon,
            Err(error) => panic!("{case}: {error}"),
        };
        let payloads = files::read_all(log, first).unwrap_or_else(|e| panic!("{case}: {e}"));
        let entry = |(position, payload)| match payload {
            Payload::Entry(entry) => Some((position, entry)),
            Payload::Member(_) => None,
        };
        let entries: Vec<_> = payloads.into_iter().filter_map(entry).collect();
        let by_id: BTreeMap<_, _> = entries
            .iter()
            .map(|(at, entry)| (entry.id(), *at))
            .collect();
        assert_eq!(by_id.len(), entries.len(), "{case}: an entry stands twice");
        Self {
            first,
            entries,
            by_id,
        }
    }
}

/// Opens the log and checks what is in it; how many entries that is.
fn check(dir: &Path, kept: usize, said: &Said, case: &str) -> usize {
    let log = open(dir, kept);
    let horizon = log
        .snapshot()
        .unwrap()
        .map_or(Position::ZERO, |s| s.horizon());
    assert!(horizon >= said.compacted, "{case}: a snapshot is gone");
    let found = Found::of(&log, case);
    for (id, position) in said.stands.iter().filter(|(_, at)| **at >= found.first) {
        assert_eq!(
            found.by_id.get(id),
            Some(position),
            "{case}: {id} was acknowledged"
        );
    }
    let strange = found
        .by_id
        .keys()
        .find(|id| !said.threads.contains_key(&id.session));
    assert_eq!(strange, None, "{case}: nobody appended it");
    let mut reader = Reader::new(Arc::new(log.clone()));
    while !matches!(reader.poll().unwrap(), Some(ReaderEvent::CaughtUp { .. })) {}
    for (session, thread) in &said.threads {
        let script = Script::new(*thread, *session);
        check_thread(script, *thread, said, &found, reader.table(), case);
    }
    if found.first == Position::ZERO {
        let digest = fold(&log).digest();
        assert_eq!(
            digest,
            reader.table().digest(),
            "{case}: from its beginning or from a snapshot"
        );
    }
    found.entries.len()
}

/// The entries of a thread are those of its script, one after the other, none but those in flight
/// behind the last that was acknowledged; and all of them count.
fn check_thread(
    mut script: Script,
    thread: u64,
    said: &Said,
    found: &Found,
    table: &Table,
    case: &str,
) {
    let session = script.author.session;
    let id = |counter| EntryId { session, counter };
    let last_said = said.stands.range(id(0)..=id(u64::MAX)).next_back();
    let last_said = last_said.map_or(0, |(id, _)| id.counter);
    let position = |counter| {
        let known = said.stands.get(&id(counter));
        known.or(found.by_id.get(&id(counter))).copied()
    };
    let own = found
        .entries
        .iter()
        .filter(|(_, entry)| entry.id().session == session);
    let mut counters = Vec::new();
    for (_, entry) in own {
        let counter = entry.counter;
        counters.push(counter);
        // What stands before it may be trimmed, and was not said in time.
        let before = Script::before(counter).map(&position);
        if let (Some(before), Some(index)) = (before, Script::bundle_of(counter)) {
            script.versions[index] = before.unwrap_or(entry.changes()[0].expected);
        }
        assert_eq!(**entry, *script.entry(counter), "{case}");
    }
    assert!(
        counters.windows(2).all(|pair| pair[0] + 1 == pair[1]),
        "{case}: {counters:?}"
    );
    let last = counters.last().copied().unwrap_or(last_said);
    let in_flight = if thread == THREADS { WINDOW as u64 } else { 1 };
    assert!(
        last <= last_said + in_flight,
        "{case}: {last} was not appended yet"
    );
    for counter in (last.saturating_sub(BUNDLES as u64 - 1)..=last).filter(|count| *count > 1) {
        let index = Script::bundle_of(counter).unwrap();
        let version = table
            .get(&script.bundle(index))
            .expect("it was created")
            .version;
        // A later one of the same bundle may be trimmed, and was not said in time.
        let is_later = Some(version) > position(counter) && version < found.first;
        let counts = is_later || Some(version) == position(counter);
        assert!(
            counts,
            "{case}: entry {counter} counts, not the one at {version}"
        );
    }
}

/// The fold of all that was ever appended.
fn fold(log: &FileLog) -> Table {
    let mut table = Table::default();
    for (position, payload) in files::read_all(log, Position::ZERO).unwrap() {
        match payload {
            Payload::Entry(entry) => _ = table.apply(position, &entry).unwrap(),
            Payload::Member(_) => table.skip(position),
        }
    }
    table
}
