//! What lies in a queue, as a step machine: something happens, and what is to be done comes out. No
//! thread, no waiting, no time.

use super::batch::Batch;
use super::flow::Flow;
use super::purse::Purse;
use super::waiting::{Waiting, Woken};
use std::collections::VecDeque;

/// How far a queue's life has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Open,
    /// Nothing comes in any more; what is inside can be taken.
    Finished,
    /// Nothing is inside and nothing comes in.
    Closed,
}

/// What a put may do if there is no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Without {
    /// Nothing.
    Refuse,
    /// Come in, while the largest size has room and memory suffices for growing.
    Exceed,
    /// Come in.
    Force,
}

/// A queue's items, permits and account, and who waits for it.
pub(super) struct Inside<T> {
    pub(super) flow: Flow,
    batch: Batch,
    items: VecDeque<(T, usize)>,
    bytes: usize,
    purse: Option<Purse>,
    phase: Phase,
    pub(super) takers: Waiting,
    pub(super) batchers: Waiting,
    pub(super) putters: Waiting,
}

/// What is to be done once no lock is held.
#[derive(Debug, Default)]
pub(super) struct After {
    /// Permits that the producer's side gets.
    pub(super) granted: usize,
    /// Bytes that the limit gets back.
    pub(super) released: u64,
    pub(super) takers: Woken,
    pub(super) batchers: Woken,
    pub(super) putters: Woken,
}

impl After {
    pub(super) fn is_something(&self) -> bool {
        self.granted > 0 || self.released > 0 || self.batchers.is_somebody()
    }
}

/// What taking came to.
pub(super) enum Taken<T> {
    This(T),
    /// Nothing is there, or not enough.
    Nothing,
    /// Nothing is there and nothing will come.
    Ended,
}

impl<T> Inside<T> {
    pub(super) fn new(flow: Flow, batch: Batch, purse: Option<Purse>) -> Self {
        Self {
            flow,
            batch,
            items: VecDeque::new(),
            bytes: 0,
            purse,
            phase: Phase::Open,
            takers: Waiting::default(),
            batchers: Waiting::default(),
            putters: Waiting::default(),
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Follows the halvings of the limit, and gives way to queues that hold less.
    pub(super) fn settle(&mut self) {
        let Some(purse) = &mut self.purse else { return };
        let mut times = purse.new_halvings();
        // While more is inside than the size, the last halving is still being followed.
        if purse.gives_way() && times == 0 && self.items.len() <= self.flow.size() {
            times = 1;
        }
        if times > 0 {
            self.flow.halve(times);
            self.items.shrink_to(self.flow.size());
        }
    }

    /// Whether a put goes through, or is refused for good.
    pub(super) fn put_is_decided(&mut self) -> bool {
        self.settle();
        self.phase != Phase::Open || self.flow.held() > 0
    }

    /// Whether taking one item, or being told that none comes, is possible.
    pub(super) fn has_one(&self) -> bool {
        self.phase != Phase::Open || !self.items.is_empty()
    }

    /// Whether a batch is there: enough of it, or nothing more can come.
    pub(super) fn has_batch(&self) -> bool {
        self.phase != Phase::Open
            || self.batch.is_met(self.items.len(), self.bytes)
            || (self.flow.held() == 0 && !self.items.is_empty())
    }

    /// An item comes in, or is given back. Permits are as they were found when it was decided: the
    /// others on the limit may have taken some away since.
    pub(super) fn put(&mut self, item: T, bytes: usize, without: Without) -> Result<After, T> {
        if self.phase != Phase::Open || !(self.flow.held() > 0 || self.admits(without)) {
            return Err(item);
        }
        self.flow.put();
        self.items.push_back((item, bytes));
        self.bytes += bytes;
        if let Some(purse) = &mut self.purse {
            purse.charge(bytes as u64);
        }
        let mut after = After {
            takers: self.takers.wake(1),
            ..After::default()
        };
        if self.batchers.count() > 0 {
            if !self.batch.is_met(self.items.len(), self.bytes) {
                // Whoever waits for a batch asks on.
                self.ask(&mut after);
            }
            self.wake_batcher(&mut after);
        }
        Ok(after)
    }

    fn admits(&self, without: Without) -> bool {
        match without {
            Without::Refuse => false,
            Without::Exceed => {
                let purse = self.purse.as_ref();
                self.items.len() < self.flow.size_max()
                    && purse.is_none_or(|purse| purse.limit().may_grow())
            }
            Without::Force => true,
        }
    }

    /// The oldest item leaves; if there is none, somebody has asked for it.
    pub(super) fn take(&mut self, after: &mut After) -> Taken<T> {
        self.settle();
        let Some((item, bytes)) = self.items.pop_front() else {
            return self.miss(after);
        };
        self.left(1, bytes, after);
        Taken::This(item)
    }

    /// A batch leaves if there is one, or if `any` is to do what there is; else somebody has asked
    /// for it.
    pub(super) fn take_batch(&mut self, any: bool, after: &mut After) -> Taken<Vec<T>> {
        self.settle();
        if !self.has_batch() {
            self.ask(after);
        }
        if self.items.is_empty() && self.phase != Phase::Open {
            return Taken::Ended;
        }
        if !any && !self.has_batch() {
            return Taken::Nothing;
        }
        let count = self.batch.fill(self.items.iter().map(|(_, bytes)| *bytes));
        let taken = self.items.drain(..count);
        let mut bytes = 0;
        let batch = taken.map(|(item, weight)| {
            bytes += weight;
            item
        });
        let batch = batch.collect();
        self.left(count, bytes, after);
        self.wake_batcher(after);
        Taken::This(batch)
    }

    fn miss<R>(&mut self, after: &mut After) -> Taken<R> {
        if self.phase != Phase::Open {
            return Taken::Ended;
        }
        self.ask(after);
        Taken::Nothing
    }

    /// Somebody wants more than there is.
    fn ask(&mut self, after: &mut After) {
        let purse = self.purse.as_mut();
        let granted = self.flow.ask(|| purse.is_none_or(Purse::may_grow));
        self.granted(granted, after);
    }

    fn left(&mut self, count: usize, bytes: usize, after: &mut After) {
        self.bytes -= bytes;
        if let Some(purse) = &mut self.purse {
            after.released += purse.refund(bytes as u64);
        }
        let granted = self.flow.take(count);
        self.granted(granted, after);
    }

    fn wake_batcher(&mut self, after: &mut After) {
        if self.batchers.count() > 0 && self.has_batch() {
            after.batchers.merge(self.batchers.wake(1));
        }
    }

    /// Permits go out, unless nothing comes in any more.
    fn granted(&mut self, granted: usize, after: &mut After) {
        if granted > 0 && self.phase == Phase::Open {
            after.granted += granted;
            after.putters.merge(self.putters.wake(granted));
        }
    }

    /// Permits were used for nothing.
    pub(super) fn skip(&mut self, count: usize) -> After {
        let mut after = After::default();
        self.settle();
        let granted = self.flow.skip(count);
        self.granted(granted, &mut after);
        self.wake_batcher(&mut after);
        after
    }

    /// The producer's side starts anew.
    pub(super) fn restart(&mut self) -> After {
        let mut after = After::default();
        self.settle();
        let granted = self.flow.restart();
        self.granted(granted, &mut after);
        after
    }

    /// Nothing comes in any more.
    pub(super) fn finish(&mut self) -> After {
        if self.phase == Phase::Open {
            self.phase = Phase::Finished;
        }
        self.end(0)
    }

    /// Nothing comes in any more, and what is inside goes.
    pub(super) fn close(&mut self) -> (After, VecDeque<(T, usize)>) {
        self.phase = Phase::Closed;
        let items = std::mem::take(&mut self.items);
        let bytes = std::mem::take(&mut self.bytes);
        self.flow.take(items.len());
        (self.end(bytes), items)
    }

    /// Everyone is to look again; so many bytes have gone.
    fn end(&mut self, bytes: usize) -> After {
        let purse = self.purse.as_mut();
        After {
            released: purse.map_or(0, |purse| purse.refund(bytes as u64) + purse.end()),
            takers: self.takers.wake_all(),
            batchers: self.batchers.wake_all(),
            putters: self.putters.wake_all(),
            ..After::default()
        }
    }
}
