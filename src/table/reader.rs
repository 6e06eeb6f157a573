//! A table that keeps in step with a log.

use super::error::Error;
use super::feed::{Feed, FeedItem};
use super::fold::{Applied, RowChange, Table};
use crate::clock::Tick;
use crate::ids::Position;
use crate::log::{EventLog, Member, Payload, TailItem};
use crate::state::Entry;
use std::sync::Arc;
use std::time::Duration;

/// What a [`Reader`] has just done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReaderEvent {
    /// It read an entry, which was accepted or rejected.
    Applied {
        /// The entry.
        entry: Arc<Entry>,
        /// What it did.
        applied: Applied,
    },
    /// It read of a member.
    Member {
        /// Where that stands.
        position: Position,
        /// What it says.
        member: Member,
    },
    /// It went on at a snapshot, since the entries below are no longer there. What members did in
    /// between is not told.
    Jumped {
        /// The next position to read, before.
        from: Position,
        /// The next position to read, now.
        to: Position,
        /// The net change of every row that changed in between.
        changes: Vec<RowChange>,
    },
    /// It has read everything that was there when this was asked.
    CaughtUp {
        /// The next position to read is at or after this one.
        next: Position,
    },
}

/// Follows a log and keeps its table.
///
/// # Examples
///
/// ```
/// use deedbook::clock::BootClock;
/// use deedbook::ids::LogId;
/// use deedbook::log::MemoryLog;
/// use deedbook::table::{Reader, ReaderEvent};
/// use std::sync::Arc;
///
/// let log = Arc::new(MemoryLog::new(LogId::new(1), Arc::new(BootClock)));
/// let mut reader = Reader::new(log);
/// while let Some(event) = reader.poll()? {
///     assert!(matches!(event, ReaderEvent::CaughtUp { .. }));
/// }
/// assert_eq!(reader.table().row_count(), 0);
/// # Ok::<(), deedbook::table::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader {
    feed: Feed,
    table: Table,
    /// Why it cannot go on, ever: an entry was read that must not be applied.
    fault: Option<Error>,
}

impl Reader {
    /// A reader that has read nothing yet.
    #[must_use]
    pub fn new(log: Arc<dyn EventLog>) -> Self {
        let table = Table::default();
        Self {
            feed: Feed::new(log, table.next()),
            table,
            fault: None,
        }
    }

    /// What the log says, as far as it was read.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// When it last had proof that it is attached to the log, by the clock of the log; none before
    /// the first item of a tail.
    #[must_use]
    pub fn live_at(&self) -> Option<Tick> {
        self.feed.live_at()
    }

    /// Reads on, if there is something to read now.
    ///
    /// # Errors
    ///
    /// [`Error`] if the log or its snapshot cannot be read; a later call tries again. After
    /// [`Error::NewerRules`] it stays where it is.
    pub fn poll(&mut self) -> Result<Option<ReaderEvent>, Error> {
        self.read(Feed::poll)
    }

    /// Waits until there is something to read, but no longer than `limit`, and reads it.
    ///
    /// # Errors
    ///
    /// As [`Reader::poll`].
    pub fn wait(&mut self, limit: Duration) -> Result<Option<ReaderEvent>, Error> {
        self.read(|feed| feed.wait(limit))
    }

    fn read(
        &mut self,
        ask: impl Fn(&mut Feed) -> Result<Option<FeedItem>, Error>,
    ) -> Result<Option<ReaderEvent>, Error> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        // More than one round only for an entry that was applied before.
        while let Some(item) = ask(&mut self.feed)? {
            let event = self.take_in(item);
            match event.inspect_err(|error| self.fault = Some(error.clone()))? {
                Some(event) => return Ok(Some(event)),
                None => continue,
            }
        }
        Ok(None)
    }

    fn take_in(&mut self, item: FeedItem) -> Result<Option<ReaderEvent>, Error> {
        let event = match item {
            FeedItem::Jump(table) => {
                let before = std::mem::replace(&mut self.table, *table);
                ReaderEvent::Jumped {
                    from: before.next(),
                    to: self.table.next(),
                    changes: before.difference(&self.table),
                }
            }
            FeedItem::Tail(TailItem::CaughtUp { next }) => ReaderEvent::CaughtUp { next },
            FeedItem::Tail(TailItem::Payload { position, payload }) => match payload {
                Payload::Member(member) => {
                    self.table.skip(position);
                    ReaderEvent::Member { position, member }
                }
                Payload::Entry(entry) => {
                    self.feed.prepare(&self.table);
                    match self.table.apply(position, &entry)? {
                        Some(applied) => ReaderEvent::Applied { entry, applied },
                        None => return Ok(None),
                    }
                }
            },
        };
        Ok(Some(event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::ids::{BrokerId, Epoch, Holder, LogId, Namespace, SessionToken};
    use crate::log::{Append, Guard, MemberLog, MemoryLog};
    use crate::snapshot::{BLOCK_BYTES, Writer};
    use crate::state::Body;

    fn append(log: &MemoryLog, epoch: Option<Epoch>, body: Body) -> Position {
        let entry = Arc::new(Entry {
            author: Holder::new(BrokerId::new("a").unwrap(), SessionToken::new(1)),
            counter: log.end().get(),
            epoch,
            body,
        });
        let guard = Guard::None;
        let appended = log.append(Append { entry, guard }).wait().unwrap();
        appended.unwrap().position
    }

    fn create(log: &MemoryLog, name: &str) {
        let namespace = Namespace::new(name).unwrap();
        let applied = log.end();
        let cuts = None;
        let body = Body::CreateNamespace {
            namespace,
            cuts,
            applied,
        };
        append(log, None, body);
    }

    /// A log in which `a` joined at 1 and leads since 2.
    fn log() -> (MemoryLog, Epoch) {
        let log = MemoryLog::new(LogId::new(1), Arc::new(ManualClock::default()));
        let broker = BrokerId::new("a").unwrap();
        let session = SessionToken::new(1);
        for member in [Member::Joined { broker }, Member::Elected { session }] {
            log.append_member(member).wait().unwrap().unwrap();
        }
        (log, Epoch::new(2))
    }

    fn snapshot(log: &MemoryLog, epoch: Epoch) -> Position {
        let mut reader = Reader::new(Arc::new(log.clone()));
        events(&mut reader);
        let table = reader.table();
        let sink = log.put_snapshot(table.next(), epoch).unwrap();
        let mut writer = Writer::begin(sink, table.next(), table.facts(), BLOCK_BYTES).unwrap();
        for (bundle, row) in table.rows() {
            writer.write_row(bundle, row).unwrap();
        }
        writer.seal().unwrap().commit().unwrap();
        table.next()
    }

    fn events(reader: &mut Reader) -> Vec<ReaderEvent> {
        std::iter::from_fn(|| reader.poll().unwrap()).collect()
    }

    #[test]
    fn a_reader_goes_on_at_the_snapshot_wherever_it_was() {
        let (log, epoch) = log();
        create(&log, "t/kept");
        create(&log, "t/dropped");
        let mut lagging = Reader::new(Arc::new(log.clone()));
        let read = events(&mut lagging);
        assert_eq!(read.len(), 5, "two members, two entries, and the end");
        assert_eq!(read[4], ReaderEvent::CaughtUp { next: log.end() });

        let namespace = Namespace::new("t/dropped").unwrap();
        let mark = Body::DeleteNamespace {
            namespace: namespace.clone(),
            applied: log.end(),
        };
        append(&log, Some(epoch), mark);
        append(&log, Some(epoch), Body::EndNamespace { namespace });
        let horizon = snapshot(&log, epoch);
        log.trim(horizon).unwrap();
        create(&log, "t/new");

        let mut fresh = Reader::new(Arc::new(log.clone()));
        for (reader, expected) in [(&mut lagging, 1), (&mut fresh, 1)] {
            let read = events(reader);
            let ReaderEvent::Jumped { to, changes, .. } = &read[0] else {
                panic!("{read:?}");
            };
            assert_eq!((*to, changes.len()), (horizon, expected));
            assert!(matches!(read[1], ReaderEvent::Applied { .. }));
            assert_eq!(read.len(), 3, "{read:?}");
        }
        assert_eq!(lagging.table().digest(), fresh.table().digest());
        assert_eq!(lagging.table().row_count(), 2);
    }

    #[test]
    fn a_reader_stops_for_good_before_rules_that_it_does_not_know() {
        let (log, epoch) = log();
        let raised = append(&log, Some(epoch), Body::RaiseRules { version: 2 });
        create(&log, "t/n");
        let mut reader = Reader::new(Arc::new(log));
        for _ in 0..2 {
            assert!(matches!(
                reader.poll(),
                Ok(Some(ReaderEvent::Member { .. }))
            ));
        }
        for _ in 0..3 {
            let stopped = reader.poll();
            let newer = Error::NewerRules {
                version: 2,
                known: 1,
            };
            assert_eq!(stopped, Err(newer));
            assert_eq!(reader.table().next(), raised);
        }
    }
}
