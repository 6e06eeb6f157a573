//! Virtual time, and what is going to happen in it.

use crate::clock::{Clock, ManualClock, Tick};
use std::collections::BTreeMap;
use std::time::Duration;

/// The one queue of everything that is going to happen. What is due at the same moment happens in
/// the order in which it was scheduled, so that a run depends on nothing but its seed.
#[derive(Debug)]
pub(super) struct World<E> {
    clock: ManualClock,
    queue: BTreeMap<(Tick, u64), E>,
    scheduled: u64,
}

impl<E> World<E> {
    pub(super) fn new(clock: ManualClock) -> Self {
        Self {
            clock,
            queue: BTreeMap::new(),
            scheduled: 0,
        }
    }

    /// The true time, which no broker's clock shows exactly.
    pub(super) fn now(&self) -> Tick {
        self.clock.now()
    }

    pub(super) fn schedule(&mut self, after: Duration, event: E) {
        self.schedule_at(self.now().after(after), event);
    }

    /// Lets something happen at `at`, or now if that is past.
    pub(super) fn schedule_at(&mut self, at: Tick, event: E) {
        self.scheduled += 1;
        let at = at.max(self.now());
        self.queue.insert((at, self.scheduled), event);
    }

    /// What happens next, at the latest at `until`; time goes on to that moment.
    pub(super) fn next(&mut self, until: Tick) -> Option<E> {
        let (&(at, _), _) = self.queue.first_key_value()?;
        if at > until {
            return None;
        }
        self.clock.set(at);
        self.queue.pop_first().map(|(_, event)| event)
    }

    /// Lets time go on to `until` although nothing happens.
    pub(super) fn pass(&mut self, until: Tick) {
        self.clock.set(until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_as_they_were_scheduled() {
        let mut world = World::new(ManualClock::default());
        world.schedule(Duration::from_secs(2), 'c');
        world.schedule(Duration::from_secs(1), 'a');
        world.schedule(Duration::from_secs(1), 'b');
        let until = Tick::ZERO.after(Duration::from_secs(1));
        assert_eq!(world.next(until), Some('a'));
        assert_eq!(world.next(until), Some('b'));
        assert_eq!(world.next(until), None);
        assert_eq!(world.now(), until);
        world.schedule_at(Tick::ZERO, 'd');
        assert_eq!(world.next(until), Some('d'), "the past is now");
    }
}
