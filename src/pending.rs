//! Results that are not there yet: to wait for on a thread, to poll, or to `.await` on any runtime.
//!
//! One side holds a [`Completer`], the other any number of clones of a [`Pending`]. A completer
//! that is dropped without an answer is an answer too: [`Abandoned`], which means that the outcome
//! is unknown.

use crate::sync::{Condvar, Mutex};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The side that answered went away without an answer: what was asked for may or may not have
/// happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("whoever was to answer went away; the outcome is unknown")]
pub struct Abandoned;

/// An answer that comes later. Cheap to clone; every clone gets the answer.
///
/// Giving up waiting takes nothing back: what was asked for may still happen.
///
/// # Examples
///
/// ```
/// use deedbook::pending::{self, Abandoned};
///
/// let (completer, pending) = pending::channel();
/// assert_eq!(pending.get(), None);
/// completer.complete(7);
/// assert_eq!(pending.wait(), Ok(7));
///
/// let (completer, pending) = pending::channel::<u32>();
/// drop(completer);
/// assert_eq!(pending.wait(), Err(Abandoned));
/// ```
#[must_use = "an answer that nobody waits for is lost"]
pub struct Pending<T>(Arc<Shared<T>>);

/// The side that gives the answer, once.
pub struct Completer<T>(Option<Arc<Shared<T>>>);

struct Shared<T> {
    /// Guards the answer and who waits for it; nothing else is locked while it is held, and nobody
    /// is woken under it.
    state: Mutex<State<T>>,
    /// There is an answer, or a waiter is called upon.
    changed: Condvar,
    driver: Option<Arc<dyn Driver>>,
}

struct State<T> {
    answer: Option<Result<T, Abandoned>>,
    wakers: Vec<Waker>,
    /// How many threads wait that can take the driver's lead.
    helpers: usize,
    /// One of them is to take it.
    is_called: bool,
}

/// Work that leads to answers, of which one thread at a time has the lead. Whoever waits for an
/// answer may be that thread, instead of sleeping while another one is woken to do the work.
pub(crate) trait Driver: Send + Sync {
    /// Takes the lead; false if somebody has it.
    fn try_lead(&self) -> bool;

    /// Does a part of the work and gives the lead away: to a waiter by [`Completer::call`], to a
    /// thread of its own, or to nobody if nothing is left. Only for who has the lead.
    fn lead(&self);

    /// Somebody wants an answer who cannot do the work.
    fn urge(&self);
}

/// A question and the place for its answer.
pub fn channel<T>() -> (Completer<T>, Pending<T>) {
    channel_with(None)
}

/// As [`channel`]; who waits for the answer helps to bring it about.
pub(crate) fn driven_channel<T>(driver: Arc<dyn Driver>) -> (Completer<T>, Pending<T>) {
    channel_with(Some(driver))
}

fn channel_with<T>(driver: Option<Arc<dyn Driver>>) -> (Completer<T>, Pending<T>) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            answer: None,
            wakers: Vec::new(),
            helpers: 0,
            is_called: false,
        }),
        changed: Condvar::new(),
        driver,
    });
    (Completer(Some(Arc::clone(&shared))), Pending(shared))
}

/// An answer that is there already.
pub fn ready<T>(answer: T) -> Pending<T> {
    let (completer, pending) = channel();
    completer.complete(answer);
    pending
}

impl<T> Completer<T> {
    /// Gives the answer and wakes all who wait for it.
    pub fn complete(mut self, answer: T) {
        if let Some(shared) = self.0.take() {
            shared.answer(Ok(answer));
        }
    }

    /// Gives the driver's lead to a thread that waits for this answer; false if none does.
    pub(crate) fn call(&self) -> bool {
        let Some(shared) = &self.0 else { return false };
        let mut state = shared.state.lock();
        if state.helpers == 0 {
            return false;
        }
        state.is_called = true;
        drop(state);
        shared.changed.notify_all();
        true
    }
}

impl<T> Drop for Completer<T> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            shared.answer(Err(Abandoned));
        }
    }
}

impl<T> Shared<T> {
    fn answer(&self, answer: Result<T, Abandoned>) {
        let wakers = {
            let mut state = self.state.lock();
            state.answer = Some(answer);
            std::mem::take(&mut state.wakers)
        };
        self.changed.notify_all();
        for waker in wakers {
            waker.wake();
        }
    }

    fn urge(&self) {
        if let Some(driver) = &self.driver {
            driver.urge();
        }
    }
}

impl<T: Clone> Shared<T> {
    /// Waits until there is an answer.
    fn sleep(&self) -> Result<T, Abandoned> {
        let mut state = self.state.lock();
        loop {
            if let Some(answer) = &state.answer {
                return answer.clone();
            }
            self.changed.wait(&mut state);
        }
    }

    /// Waits until there is an answer, and takes the lead where nobody has it or when called.
    fn help(&self, driver: &dyn Driver) -> Result<T, Abandoned> {
        {
            let mut state = self.state.lock();
            if let Some(answer) = &state.answer {
                return answer.clone();
            }
            // From here on it may be called: said before it is seen whether somebody leads, so
            // that a leader who gives the lead away meanwhile finds it.
            state.helpers += 1;
        }
        if driver.try_lead() {
            driver.lead();
        }
        let mut state = self.state.lock();
        loop {
            if std::mem::take(&mut state.is_called) {
                drop(state);
                driver.lead();
                state = self.state.lock();
            } else if let Some(answer) = &state.answer {
                let answer = answer.clone();
                state.helpers -= 1;
                return answer;
            } else {
                self.changed.wait(&mut state);
            }
        }
    }
}

impl<T: Clone> Pending<T> {
    /// The answer, if it is there.
    #[must_use]
    pub fn get(&self) -> Option<Result<T, Abandoned>> {
        self.0.state.lock().answer.clone()
    }

    /// Waits for the answer, however long it takes. The thread may do what leads to it meanwhile,
    /// as the writing of a log.
    ///
    /// # Errors
    ///
    /// [`Abandoned`] if the other side went away.
    pub fn wait(&self) -> Result<T, Abandoned> {
        match &self.0.driver {
            Some(driver) => self.0.help(&**driver),
            None => self.0.sleep(),
        }
    }

    /// Waits for the answer, but no longer than `limit`; `None` if it did not come in time.
    #[must_use]
    pub fn wait_for(&self, limit: Duration) -> Option<Result<T, Abandoned>> {
        if let Some(answer) = self.get() {
            return Some(answer);
        }
        self.0.urge();
        let mut state = self.0.state.lock();
        let waits = |state: &mut State<T>| state.answer.is_none();
        self.0.changed.wait_while_for(&mut state, waits, limit);
        state.answer.clone()
    }
}

impl<T: Clone> Future for Pending<T> {
    type Output = Result<T, Abandoned>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.state.lock();
        if let Some(answer) = &state.answer {
            return Poll::Ready(answer.clone());
        }
        if !state
            .wakers
            .iter()
            .any(|waker| waker.will_wake(context.waker()))
        {
            state.wakers.push(context.waker().clone());
            drop(state);
            self.0.urge();
        }
        Poll::Pending
    }
}

impl<T> Clone for Pending<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answered = self.0.state.lock().answer.is_some();
        f.debug_struct("Pending")
            .field("answered", &answered)
            .finish()
    }
}

impl<T> fmt::Debug for Completer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Completer")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;
    use std::thread;

    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn every_clone_gets_the_answer_on_every_thread() {
        let (completer, pending) = channel();
        let waiters: Vec<_> = (0..4)
            .map(|_| {
                let pending = pending.clone();
                thread::spawn(move || pending.wait())
            })
            .collect();
        completer.complete(3);
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap(), Ok(3));
        }
        assert_eq!(pending.wait_for(Duration::ZERO), Some(Ok(3)));
    }

    #[test]
    fn a_task_is_woken_once_however_often_it_polled() {
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        let (completer, mut pending) = channel::<u8>();
        for _ in 0..3 {
            assert!(Pin::new(&mut pending).poll(&mut context).is_pending());
        }
        drop(completer);
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert_eq!(
            Pin::new(&mut pending).poll(&mut context),
            Poll::Ready(Err(Abandoned))
        );
    }

    #[test]
    fn waiting_in_vain_says_so() {
        let (_completer, pending) = channel::<u8>();
        assert_eq!(pending.wait_for(Duration::ZERO), None);
        assert_eq!(pending.get(), None);
    }
}
