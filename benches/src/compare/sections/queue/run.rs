//! The same work for every channel.

use std::thread;

/// Puts an item in; waits if there is no room.
pub(super) type Put = Box<dyn FnMut(u64) + Send>;

/// The two sides of a channel.
pub(super) struct Sides {
    /// Makes one more producer.
    pub(super) put: Box<dyn Fn() -> Put + Send>,
    /// Takes an item; none once all producers are gone.
    pub(super) take: Box<dyn FnMut() -> Option<u64> + Send>,
}

/// Producers put so many numbers each; the consumer takes and adds them all.
pub(super) fn hand_over(sides: Sides, producers: usize, count: usize) {
    let Sides { put, mut take } = sides;
    let puts: Vec<_> = (0..producers).map(|_| put()).collect();
    drop(put);
    let total = producers * count;
    let sum: u64 = thread::scope(|scope| {
        for mut put in puts {
            scope.spawn(move || (0..count as u64).for_each(&mut put));
        }
        (0..total).map(|_| take().unwrap()).sum()
    });
    let count = count as u64;
    assert_eq!(
        sum,
        producers as u64 * (count * count.saturating_sub(1) / 2)
    );
}
