//! A process that has a log open, and what is known of the log from outside.

use crate::files::{self, append, builder, entry, lead, put_snapshot, read_all, wide_entry};
use deedbook::ids::{Epoch, Position};
use deedbook::log::file::{Durability, FileLog, inspect};
use deedbook::log::{AppendError, Doubt, EventLog, Member, Payload, Refusal};
use deedbook::storage::MemoryStorage;

/// What a program does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// One entry, as a group of its own.
    Append,
    /// Three entries that share a write.
    Group,
    /// An entry of several sectors, which gets a segment of its own.
    Wide,
    /// A snapshot of all there is, and what it covers trimmed.
    Compact,
    /// The process ends and another one opens the log.
    Reopen,
}

pub(crate) const STEPS: [Step; 5] = [
    Step::Append,
    Step::Group,
    Step::Wide,
    Step::Compact,
    Step::Reopen,
];

/// What is known of a log from outside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// What stands there for certain, from position 1 on.
    pub(crate) certain: Vec<Payload>,
    /// What was submitted after that and not answered with a yes or a no, in order.
    pub(crate) doubtful: Vec<Payload>,
    /// The horizon of the last snapshot that was committed.
    pub(crate) committed: Position,
    counter: u64,
}

/// A process that has the log open.
pub(crate) struct Process {
    log: FileLog,
    epoch: Option<Epoch>,
}

/// Whether the process can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    GoesOn,
    MustReopen,
}

impl Known {
    /// Takes in how an append ended.
    fn note(&mut self, payload: Payload, result: Result<Position, AppendError>) -> Fate {
        match result {
            Ok(position) => {
                // What was in doubt before it is settled: it stands there, or never will.
                let next = self.certain.len() as u64 + 1;
                let between = position.get() - next;
                assert!(between <= self.doubtful.len() as u64, "{position}");
                let settled = usize::try_from(between).unwrap();
                self.certain.extend(self.doubtful.drain(..settled));
                self.doubtful.clear();
                self.certain.push(payload);
                Fate::GoesOn
            }
            Err(AppendError::Refused(Refusal::Poisoned { .. })) => Fate::MustReopen,
            Err(AppendError::Refused(_)) => Fate::GoesOn,
            Err(_) => {
                self.doubtful.push(payload);
                Fate::MustReopen
            }
        }
    }

    /// Holds what can be read against what is known, and learns what became of the doubtful.
    /// `lost` may be missing of what was certain.
    pub(crate) fn learn(&mut self, found: &[(Position, Payload)], lost: usize, case: &str) {
        let all: Vec<_> = self.certain.iter().chain(&self.doubtful).collect();
        let mut end = self.committed.get().saturating_sub(1);
        for (position, payload) in found {
            let index = usize::try_from(position.get() - 1).unwrap();
            assert_eq!(Some(&payload), all.get(index), "{case}: at {position}");
            end = position.get();
        }
        let end = usize::try_from(end).unwrap();
        let kept = self.certain.len() - lost.min(self.certain.len());
        assert!(end >= kept, "{case}: {end} of {kept} are there");
        self.certain = all[..end.min(all.len())]
            .iter()
            .map(|p| (*p).clone())
            .collect();
        self.doubtful.clear();
    }
}

/// How the log is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) durability: Durability,
    pub(crate) sector_bytes: usize,
}

impl Setting {
    pub(crate) fn storage(self) -> MemoryStorage {
        MemoryStorage::with_sector_bytes(self.sector_bytes)
    }

    /// How much of what is certain a crash may take.
    pub(crate) fn may_lose(self, known: &Known) -> usize {
        match self.durability {
            Durability::Always => 0,
            // All but what a snapshot was committed of.
            _ => known.certain.len() + 1 - usize::try_from(known.committed.get().max(1)).unwrap(),
        }
    }

    /// Opens the log as the next process, and checks what it finds there.
    pub(crate) fn open(
        self,
        storage: &MemoryStorage,
        known: &mut Known,
        lost: usize,
        case: &str,
    ) -> Option<Process> {
        let log = builder(storage).durability(self.durability).open();
        let log = match log {
            Ok(log) => log,
            Err(error) => {
                // It was stopped or failed on the way; its opening may be in the log.
                known.doubtful.push(Payload::Member(Member::Opened));
                assert!(!error.to_string().contains("damaged"), "{case}: {error}");
                return None;
            }
        };
        known.doubtful.push(Payload::Member(Member::Opened));
        let first = inspect::stat(storage);
        let first = first
            .unwrap_or_else(|error| panic!("{case}: {error}"))
            .first();
        let found = read_all(&log, first).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(
            found.last().map(|(p, _)| p.next()),
            Some(log.end()),
            "{case}"
        );
        // The opening is the last of them, acknowledged.
        let (opened, before) = found.split_last().unwrap();
        assert_eq!(opened.1, Payload::Member(Member::Opened), "{case}");
        let openings = known.doubtful.len() - 1;
        let mut learned = known.clone();
        learned.doubtful.truncate(openings);
        learned.learn(before, lost, case);
        learned.certain.push(opened.1.clone());
        *known = learned;
        let snapshot = log.snapshot().unwrap();
        let horizon = snapshot.map_or(Position::ZERO, |snapshot| snapshot.horizon());
        assert!(horizon >= known.committed, "{case}: a snapshot is gone");
        let report = inspect::verify(storage).unwrap();
        assert!(
            report.is_sound() && report.cut.is_none(),
            "{case}: {report:?}"
        );
        known.committed = horizon;
        Some(Process { log, epoch: None })
    }
}

impl Process {
    pub(crate) fn step(&mut self, step: Step, known: &mut Known) -> Fate {
        match step {
            Step::Append => self.append(known, 1, entry),
            Step::Group => self.append(known, 3, entry),
            Step::Wide => self.append(known, 1, wide_entry),
            Step::Compact => self.compact(known),
            Step::Reopen => Fate::MustReopen,
        }
    }

    fn append(
        &mut self,
        known: &mut Known,
        count: u64,
        make: fn(u64, u64) -> std::sync::Arc<deedbook::state::Entry>,
    ) -> Fate {
        let mut waiting = Vec::new();
        for _ in 0..count {
            known.counter += 1;
            let entry = make(1 << 40, known.counter);
            waiting.push((append(&self.log, &entry), entry));
        }
        while self.log.drive() {}
        let mut fate = Fate::GoesOn;
        for (pending, entry) in waiting {
            let result = pending
                .wait()
                .unwrap_or(Err(AppendError::Unknown(Doubt::NoAnswer)));
            let result = result.map(|appended| appended.position);
            if known.note(Payload::Entry(entry), result) == Fate::MustReopen {
                fate = Fate::MustReopen;
            }
        }
        fate
    }

    fn compact(&mut self, known: &mut Known) -> Fate {
        if self.epoch.is_none() {
            let before = self.log.end();
            let led = lead(&self.log);
            let found = read_all(&self.log, before).unwrap_or_default();
            for (position, payload) in found {
                known.note(payload, Ok(position));
            }
            match led {
                Ok(epoch) => self.epoch = Some(epoch),
                Err(AppendError::Refused(_)) => return Fate::GoesOn,
                Err(_) => {
                    // One of the two records may be there.
                    let session = deedbook::ids::SessionToken::at(before);
                    let joined = Member::Joined {
                        broker: files::broker(0),
                    };
                    let record = if self.log.end() == before {
                        joined
                    } else {
                        Member::Elected { session }
                    };
                    known.doubtful.push(Payload::Member(record));
                    return Fate::MustReopen;
                }
            }
        }
        let (horizon, Some(epoch)) = (self.log.end(), self.epoch) else {
            return Fate::GoesOn;
        };
        if put_snapshot(&self.log, horizon, epoch).is_ok() {
            known.committed = horizon;
            let _ = self.log.trim(horizon);
        }
        Fate::GoesOn
    }
}
