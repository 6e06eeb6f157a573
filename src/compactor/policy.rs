//! When it is worth to compact.

use crate::clock::Tick;
use std::time::Duration;

/// When to compact. Pure: whoever follows the log keeps the [`Counters`] and asks.
///
/// A removed row is in no snapshot. It weighs on newcomers only until the next one, which comes
/// after [`interval_max`](Policy::interval_max) even if the removal is all that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// Compact once so many entries follow the snapshot. Default 100,000: a newcomer replays them
    /// in a fraction of a second.
    pub entries_max: u64,
    /// Compact once the entries that follow take so many bytes. Default 64 MiB.
    pub bytes_max: u64,
    /// Compact once so many percent of what a newcomer reads (the snapshot's rows and the entries
    /// that follow) are of no use to it. Default 50.
    pub dead_percent_min: u8,
    /// With fewer entries than this the share of dead ones says nothing. Default 10,000.
    pub dead_entries_min: u64,
    /// Compact after this time if anything at all follows the snapshot. Default 1 hour.
    pub interval_max: Duration,
    /// Leave this time between attempts, failed ones included. Default 10 seconds.
    pub interval_min: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            entries_max: 100_000,
            bytes_max: 64 << 20,
            dead_percent_min: 50,
            dead_entries_min: 10_000,
            interval_max: Duration::from_secs(3_600),
            interval_min: Duration::from_secs(10),
        }
    }
}

/// What [`Policy::due`] decides by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Entries that follow the newest snapshot, those about members included.
    pub entries: u64,
    /// The bytes they take, where that is known.
    pub bytes: Option<u64>,
    /// Rows in the newest snapshot.
    pub snapshot_rows: u64,
    /// Rows in the table now.
    pub rows: u64,
    /// When the last attempt ended, well or not; before the first one, when counting began.
    pub last_attempt: Tick,
}

/// Why it is worth to compact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// [`Policy::entries_max`] is reached.
    Entries,
    /// [`Policy::bytes_max`] is reached.
    Bytes,
    /// [`Policy::dead_percent_min`] is reached.
    Dead,
    /// [`Policy::interval_max`] is over.
    Interval,
}

impl Policy {
    /// Why it is worth to compact now; none if it is not.
    #[must_use]
    pub fn due(&self, counters: &Counters, now: Tick) -> Option<Reason> {
        let idle = now.since(counters.last_attempt);
        if counters.entries == 0 || idle < self.interval_min {
            None
        } else if counters.entries >= self.entries_max {
            Some(Reason::Entries)
        } else if counters.bytes.is_some_and(|bytes| bytes >= self.bytes_max) {
            Some(Reason::Bytes)
        } else if counters.entries >= self.dead_entries_min && self.is_dead(counters) {
            Some(Reason::Dead)
        } else if idle >= self.interval_max {
            Some(Reason::Interval)
        } else {
            None
        }
    }

    fn is_dead(&self, counters: &Counters) -> bool {
        let read = u128::from(counters.snapshot_rows) + u128::from(counters.entries);
        let dead = read.saturating_sub(u128::from(counters.rows));
        dead * 100 >= read * u128::from(self.dead_percent_min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    /// An hour less a second after the last attempt.
    fn due(counters: Counters) -> Option<Reason> {
        let now = Tick::ZERO.after(HOUR - Duration::from_secs(1));
        Policy::default().due(&counters, now)
    }

    #[test]
    fn each_limit_is_reached_exactly_at_its_value() {
        let base = Counters {
            rows: 1_000_000,
            snapshot_rows: 1_000_000,
            ..Counters::default()
        };
        let entries = |entries| due(Counters { entries, ..base });
        assert_eq!(entries(99_999), None);
        assert_eq!(entries(100_000), Some(Reason::Entries));
        let bytes = |bytes| {
            due(Counters {
                entries: 1,
                bytes: Some(bytes),
                ..base
            })
        };
        assert_eq!(bytes((64 << 20) - 1), None);
        assert_eq!(bytes(64 << 20), Some(Reason::Bytes));
    }

    #[test]
    fn the_dead_are_what_a_newcomer_reads_in_vain() {
        let dead = |snapshot_rows, entries, rows| {
            due(Counters {
                entries,
                snapshot_rows,
                rows,
                ..Counters::default()
            })
        };
        // 10,000 rows and 10,000 changes of them: every second item read is of no use.
        assert_eq!(dead(10_000, 10_000, 10_000), Some(Reason::Dead));
        assert_eq!(dead(10_001, 10_000, 10_001), None);
        // All of them removed: nothing is of use.
        assert_eq!(dead(10_000, 10_000, 0), Some(Reason::Dead));
        assert_eq!(dead(0, 9_999, 0), None, "too few to tell");
        // One entry may bring many rows.
        assert_eq!(dead(0, 10_000, 1_000_000), None);
    }

    /// However little happens, a removed row is gone from what newcomers read after the interval.
    #[test]
    fn a_lone_removal_is_compacted_away_after_the_interval() {
        let counters = Counters {
            entries: 1,
            snapshot_rows: 5,
            rows: 4,
            last_attempt: Tick::ZERO.after(HOUR),
            ..Counters::default()
        };
        let policy = Policy::default();
        let at = |wait| policy.due(&counters, Tick::ZERO.after(HOUR + wait));
        assert_eq!(at(HOUR - Duration::from_nanos(1)), None);
        assert_eq!(at(HOUR), Some(Reason::Interval));
        let nothing = Counters {
            entries: 0,
            ..counters
        };
        assert_eq!(policy.due(&nothing, Tick::ZERO.after(HOUR * 100)), None);
    }

    #[test]
    fn attempts_keep_their_distance() {
        let counters = Counters {
            entries: 1 << 40,
            last_attempt: Tick::ZERO.after(HOUR),
            ..Counters::default()
        };
        let at = |wait| Policy::default().due(&counters, Tick::ZERO.after(HOUR + wait));
        assert_eq!(at(Duration::from_millis(9_999)), None);
        assert_eq!(at(Duration::from_secs(10)), Some(Reason::Entries));
    }
}
