//! Logs and stores that others have built, each as its documentation says to use it.

use super::{MANY, MRECORDLOG, OKAYWAL, RAFT_ENGINE, Work, one_by_one, subject, threads};
use crate::compare::{Figure, Setting, Stopwatch, Subject};
use std::path::Path;

const FJALL: &str = "fjall";
const REDB: &str = "redb";
const SQLITE: &str = "SQLite (WAL)";

/// When an append returns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sync {
    /// Once it would survive a loss of power.
    Always,
    /// Once the store has it.
    Never,
}

/// Something that records are appended to, from several threads.
trait Store: Send + std::marker::Sync {
    /// Appends records together, on the thread of this number.
    fn append(&self, thread: usize, records: &[&[u8]]);
}

type Open = fn(&Path, Sync) -> Box<dyn Store>;

/// Those that make each append durable.
const DURABLE: [(&str, Open); 5] = [
    (RAFT_ENGINE, |dir, sync| {
        Box::new(raft_engine::Log::open(dir, sync))
    }),
    (OKAYWAL, |dir, _| Box::new(okaywal::Log::open(dir))),
    (FJALL, |dir, sync| Box::new(fjall::Log::open(dir, sync))),
    (REDB, |dir, sync| Box::new(redb::Log::open(dir, sync))),
    (SQLITE, |dir, sync| Box::new(sqlite::Log::open(dir, sync))),
];

pub(super) fn one_at_a_time(setting: &Setting, work: &Work) -> Vec<Subject> {
    durable(setting, work, 1, |store, work| {
        one_by_one(&work.encoded[0], |record| store.append(0, &[record]))
    })
}

pub(super) fn many_threads(setting: &Setting, work: &Work) -> Vec<Subject> {
    durable(setting, work, 10, |store, work| {
        threads(&work.encoded, |thread, record| {
            store.append(thread, &[record]);
        })
    })
}

/// None has appends in flight that nobody waits for: this is what many threads do.
pub(super) fn in_flight(setting: &Setting) -> Vec<Subject> {
    let work = Work::new(setting.count(1500, 2), MANY);
    let mut subjects = many_threads(setting, &work);
    subjects.retain(|subject| [RAFT_ENGINE, OKAYWAL].contains(&subject.name));
    subjects
}

pub(super) fn batches(setting: &Setting, work: &Work, size: usize) -> Vec<Subject> {
    durable(setting, work, 1, move |store, work| {
        let watch = Stopwatch::start();
        for batch in work.encoded[0].chunks(size) {
            let batch: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
            store.append(0, &batch);
        }
        vec![watch.rate("rate", work.count())]
    })
}

pub(super) fn unsynced(setting: &Setting, work: &Work) -> Vec<Subject> {
    let mrecordlog: (&str, Open) = (MRECORDLOG, |dir, _| Box::new(mrecordlog::Log::open(dir)));
    let others = DURABLE.into_iter().filter(|(name, _)| *name != OKAYWAL);
    let run = |store: &dyn Store, work: &Work| {
        let watch = Stopwatch::start();
        for record in &work.encoded[0] {
            store.append(0, &[record]);
        }
        vec![watch.rate("rate", work.count())]
    };
    std::iter::once(mrecordlog)
        .chain(others)
        .map(|peer| {
            on(
                peer,
                setting,
                &work.part(part(peer.0, 10)),
                Sync::Never,
                run,
            )
        })
        .collect()
}

/// What each that makes appends durable does with the work; slow ones get a part of it.
fn durable(
    setting: &Setting,
    work: &Work,
    parts: usize,
    run: impl Fn(&dyn Store, &Work) -> Vec<Figure> + Copy + 'static,
) -> Vec<Subject> {
    let subjects = DURABLE.into_iter().map(|peer| {
        let work = work.part(part(peer.0, parts));
        on(peer, setting, &work, Sync::Always, run)
    });
    subjects.collect()
}

/// How much of the work one gets, so that those do not take minutes that have no group commit.
fn part(name: &str, parts: usize) -> usize {
    let is_slow = [FJALL, REDB, SQLITE].contains(&name);
    if is_slow { parts } else { 1 }
}

/// What a peer does with the work, each time in a new directory.
fn on(
    (name, open): (&'static str, Open),
    setting: &Setting,
    work: &Work,
    sync: Sync,
    run: impl Fn(&dyn Store, &Work) -> Vec<Figure> + 'static,
) -> Subject {
    subject(name, setting, work, move |setting, work| {
        let dir = setting.scratch();
        let store = open(dir.path(), sync);
        run(&*store, work)
    })
}

mod raft_engine {
    use super::{Path, Store, Sync};
    use protobuf::well_known_types::BytesValue;
    use raft_engine::{Config, Engine, LogBatch, MessageExt};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A log of its own for each thread, since each numbers its entries without a gap.
    pub(super) struct Log {
        engine: Engine,
        is_synced: bool,
        next: Vec<AtomicU64>,
    }

    /// Entries that say their number in their first bytes.
    #[derive(Clone)]
    struct Numbered;

    const NUMBER_BYTES: usize = 8;

    impl MessageExt for Numbered {
        type Entry = BytesValue;

        fn index(entry: &BytesValue) -> u64 {
            let number = entry.value.first_chunk::<NUMBER_BYTES>();
            u64::from_le_bytes(*number.unwrap())
        }
    }

    impl Log {
        pub(super) fn open(dir: &Path, sync: Sync) -> Self {
            let config = Config {
                dir: dir.to_str().unwrap().to_owned(),
                recovery_threads: 2,
                batch_compression_threshold: raft_engine::ReadableSize(0),
                ..Config::default()
            };
            Self {
                engine: Engine::open(config).unwrap(),
                is_synced: sync == Sync::Always,
                next: (0..super::MANY).map(|_| AtomicU64::new(1)).collect(),
            }
        }
    }

    impl Store for Log {
        fn append(&self, thread: usize, records: &[&[u8]]) {
            let first = self.next[thread].fetch_add(records.len() as u64, Ordering::Relaxed);
            let entries: Vec<_> = (first..)
                .zip(records)
                .map(|(number, record)| {
                    let mut entry = BytesValue::new();
                    entry.set_value([&number.to_le_bytes(), *record].concat());
                    entry
                })
                .collect();
            let mut batch = LogBatch::with_capacity(256);
            let added = batch.add_entries::<Numbered>(thread as u64 + 1, &entries);
            added.unwrap();
            self.engine.write(&mut batch, self.is_synced).unwrap();
        }
    }
}

mod okaywal {
    use super::{Path, Store};
    use okaywal::{LogVoid, WriteAheadLog};

    /// It syncs every entry.
    pub(super) struct Log(WriteAheadLog);

    impl Log {
        pub(super) fn open(dir: &Path) -> Self {
            Self(WriteAheadLog::recover(dir, LogVoid).unwrap())
        }
    }

    impl Store for Log {
        fn append(&self, _: usize, records: &[&[u8]]) {
            let mut entry = self.0.begin_entry().unwrap();
            for record in records {
                entry.write_chunk(record).unwrap();
            }
            entry.commit().unwrap();
        }
    }
}

mod mrecordlog {
    use super::{Path, Store};
    use mrecordlog::{MultiRecordLog, SyncPolicy};
    use parking_lot::Mutex;
    use std::time::Duration;
    use tokio::runtime::{Builder, Runtime};

    /// It flushes to the operating system and syncs never.
    pub(super) struct Log(Mutex<(Runtime, MultiRecordLog)>);

    const QUEUE: &str = "queue";

    impl Log {
        pub(super) fn open(dir: &Path) -> Self {
            let runtime = Builder::new_current_thread().build().unwrap();
            let seldom = SyncPolicy::OnDelay(Duration::from_secs(3600));
            let opened = runtime.block_on(MultiRecordLog::open_with_prefs(dir, seldom));
            let mut log = opened.unwrap();
            runtime.block_on(log.create_queue(QUEUE)).unwrap();
            Self(Mutex::new((runtime, log)))
        }
    }

    impl Store for Log {
        fn append(&self, _: usize, records: &[&[u8]]) {
            let (runtime, log) = &mut *self.0.lock();
            let records = records.iter().copied();
            runtime
                .block_on(log.append_records(QUEUE, None, records))
                .unwrap();
        }
    }
}

mod fjall {
    use super::{Path, Store, Sync};
    use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A keyspace by number.
    pub(super) struct Log {
        database: Database,
        keyspace: Keyspace,
        persist: Option<PersistMode>,
        next: AtomicU64,
    }

    impl Log {
        pub(super) fn open(dir: &Path, sync: Sync) -> Self {
            let database = Database::builder(dir).open().unwrap();
            let keyspace = database.keyspace("log", KeyspaceCreateOptions::default);
            Self {
                keyspace: keyspace.unwrap(),
                database,
                persist: (sync == Sync::Always).then_some(PersistMode::SyncData),
                next: AtomicU64::new(0),
            }
        }
    }

    impl Store for Log {
        fn append(&self, _: usize, records: &[&[u8]]) {
            let mut batch = self.database.batch().durability(self.persist);
            for record in records {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                batch.insert(&self.keyspace, number.to_be_bytes(), *record);
            }
            batch.commit().unwrap();
        }
    }
}

mod redb {
    use super::{Path, Store, Sync};
    use redb::{Database, Durability, TableDefinition};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A table by number.
    pub(super) struct Log {
        database: Database,
        is_synced: bool,
        next: AtomicU64,
    }

    const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");

    impl Log {
        pub(super) fn open(dir: &Path, sync: Sync) -> Self {
            Self {
                database: Database::create(dir.join("redb")).unwrap(),
                is_synced: sync == Sync::Always,
                next: AtomicU64::new(0),
            }
        }
    }

    impl Store for Log {
        fn append(&self, _: usize, records: &[&[u8]]) {
            let mut transaction = self.database.begin_write().unwrap();
            if !self.is_synced {
                transaction.set_durability(Durability::None).unwrap();
            }
            let mut table = transaction.open_table(TABLE).unwrap();
            for record in records {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                table.insert(number, *record).unwrap();
            }
            drop(table);
            transaction.commit().unwrap();
        }
    }
}

mod sqlite {
    use super::{Path, Store, Sync};
    use parking_lot::Mutex;
    use rusqlite::Connection;

    /// A table by number, with a write-ahead log.
    pub(super) struct Log(Mutex<Connection>);

    impl Log {
        pub(super) fn open(dir: &Path, sync: Sync) -> Self {
            let connection = Connection::open(dir.join("sqlite")).unwrap();
            let synchronous = match sync {
                Sync::Always => "FULL",
                Sync::Never => "OFF",
            };
            let set_up = format!(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous};
                 CREATE TABLE log (number INTEGER PRIMARY KEY, record BLOB NOT NULL);"
            );
            connection.execute_batch(&set_up).unwrap();
            Self(Mutex::new(connection))
        }
    }

    impl Store for Log {
        fn append(&self, _: usize, records: &[&[u8]]) {
            let mut connection = self.0.lock();
            let transaction = connection.transaction().unwrap();
            let insert = "INSERT INTO log (record) VALUES (?1)";
            let mut statement = transaction.prepare_cached(insert).unwrap();
            for record in records {
                statement.execute([record]).unwrap();
            }
            drop(statement);
            transaction.commit().unwrap();
        }
    }
}
