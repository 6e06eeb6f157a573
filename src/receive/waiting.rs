//! Threads and tasks that wait for a queue.

use std::collections::VecDeque;
use std::task::Waker;

/// Names a task that waits.
pub(super) type Key = u64;

/// Who waits for one thing. Threads wait on a condition beside it and are counted here; tasks leave
/// a waker.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    threads: usize,
    tasks: VecDeque<(Key, Waker)>,
    next_key: Key,
}

/// Whom to wake once no lock is held.
#[derive(Debug, Default)]
pub(super) struct Woken {
    pub(super) threads: usize,
    pub(super) tasks: Vec<Waker>,
}

impl Woken {
    pub(super) fn is_somebody(&self) -> bool {
        self.threads > 0 || !self.tasks.is_empty()
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.threads += other.threads;
        self.tasks.extend(other.tasks);
    }
}

impl Waiting {
    /// How many wait.
    pub(super) fn count(&self) -> usize {
        self.threads + self.tasks.len()
    }

    pub(super) fn thread_comes(&mut self) {
        self.threads += 1;
    }

    pub(super) fn thread_goes(&mut self) {
        self.threads -= 1;
    }

    /// A task waits, or goes on waiting under the key that it has.
    pub(super) fn task_comes(&mut self, key: Option<Key>, waker: &Waker) -> Key {
        let known = self.tasks.iter_mut().find(|(known, _)| Some(*known) == key);
        if let Some((key, known)) = known {
            known.clone_from(waker);
            return *key;
        }
        let key = self.next_key;
        self.next_key += 1;
        self.tasks.push_back((key, waker.clone()));
        key
    }

    /// A task waits no more. Says whether it still did: if not, it has been woken.
    pub(super) fn task_goes(&mut self, key: Key) -> bool {
        let before = self.tasks.len();
        self.tasks.retain(|(known, _)| *known != key);
        self.tasks.len() < before
    }

    /// Wakes so many of each kind: which of them comes first is not known, and who comes in vain
    /// waits again.
    pub(super) fn wake(&mut self, count: usize) -> Woken {
        if self.count() == 0 {
            return Woken::default();
        }
        let tasks = self.tasks.len().min(count);
        Woken {
            threads: self.threads.min(count),
            tasks: self.tasks.drain(..tasks).map(|(_, waker)| waker).collect(),
        }
    }

    pub(super) fn wake_all(&mut self) -> Woken {
        self.wake(usize::MAX)
    }
}
