//! The thread that compacts when it is asked to.

use super::attempt::{Attempt, Config, End, Progress, Report};
use super::error::Error;
use crate::ids::Epoch;
use crate::log::EventLog;
use crate::pending::{self, Completer, Pending};
use crate::sync::{Condvar, Mutex};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long a log may have nothing to say before the thread looks whether it is to stop.
const WAIT: Duration = Duration::from_millis(50);

/// A thread that runs one [`Attempt`] at a time.
///
/// # Examples
///
/// ```
/// use deedbook::clock::BootClock;
/// use deedbook::compactor::{Compactor, Config, End};
/// use deedbook::ids::{Epoch, LogId, SessionToken};
/// use deedbook::log::{Member, MemberLog, MemoryLog};
/// use std::sync::Arc;
///
/// let log = Arc::new(MemoryLog::new(LogId::new(1), Arc::new(BootClock)));
/// let session = SessionToken::new(1);
/// log.append_member(Member::Joined { broker: "b:1".parse().unwrap() });
/// log.append_member(Member::Elected { session });
///
/// let compactor = Compactor::start(log.clone(), Config::default())?;
/// let report = compactor.request(Epoch::new(2), End::CaughtUp).wait().unwrap()?;
/// assert_eq!(report.horizon_after, log.end());
/// compactor.stop();
/// # Ok::<(), deedbook::compactor::Error>(())
/// ```
#[derive(Debug)]
pub struct Compactor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    log: Arc<dyn EventLog>,
    config: Config,
    /// Guards what was asked of the thread. Nothing else is locked while it is held, and no step is
    /// done under it.
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queued: Option<Request>,
    paused: bool,
    /// Why nothing more is done.
    ended: Option<Error>,
}

#[derive(Debug)]
struct Request {
    epoch: Epoch,
    end: End,
    completer: Completer<Result<Report, Error>>,
    pending: Pending<Result<Report, Error>>,
}

impl Compactor {
    /// Starts the thread, which waits to be asked.
    ///
    /// # Errors
    ///
    /// [`Error::NoThread`] if the system gives none.
    pub fn start(log: Arc<dyn EventLog>, config: Config) -> Result<Self, Error> {
        let shared = Arc::new(Shared {
            log,
            config,
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
        });
        let thread = thread::Builder::new().name("deedbook-compactor".to_owned());
        let worker = Arc::clone(&shared);
        let thread = thread.spawn(move || worker.run());
        let thread = thread.map_err(|error| Error::NoThread { kind: error.kind() })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Asks for an attempt in the name of the leader of `epoch`, after the one that runs. If one
    /// waits already, both requests share it, with the later one's epoch and end.
    pub fn request(&self, epoch: Epoch, end: End) -> Pending<Result<Report, Error>> {
        let mut state = self.shared.state.lock();
        if let Some(error) = &state.ended {
            return pending::ready(Err(error.clone()));
        }
        let pending = match &mut state.queued {
            Some(queued) => {
                (queued.epoch, queued.end) = (epoch, end);
                queued.pending.clone()
            }
            queued => {
                let (completer, pending) = pending::channel();
                *queued = Some(Request {
                    epoch,
                    end,
                    completer,
                    pending: pending.clone(),
                });
                pending
            }
        };
        drop(state);
        self.shared.changed.notify_all();
        pending
    }

    /// Does nothing more until [`resume`](Self::resume), except for the step that is being done.
    pub fn pause(&self) {
        self.shared.state.lock().paused = true;
    }

    /// Goes on where it was paused.
    pub fn resume(&self) {
        self.shared.state.lock().paused = false;
        self.shared.changed.notify_all();
    }

    /// Ends the thread after the step that is being done, and waits for its end. What is not done
    /// is answered with [`Error::Stopped`]. Dropping does the same.
    pub fn stop(self) {}
}

impl Drop for Compactor {
    fn drop(&mut self) {
        self.shared.end(Error::Stopped);
        if let Some(thread) = self.thread.take() {
            // A panic was caught and reported inside.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self) {
        while let Some(request) = self.take() {
            let ran = catch_unwind(AssertUnwindSafe(|| self.compact(&request)));
            let result = ran.unwrap_or_else(|_| {
                self.end(Error::Panicked);
                Err(Error::Panicked)
            });
            request.completer.complete(result);
        }
    }

    /// The next request, as soon as there is one that may be worked on; none at the end.
    fn take(&self) -> Option<Request> {
        let mut state = self.state.lock();
        loop {
            if state.ended.is_some() {
                return None;
            }
            if !state.paused
                && let Some(request) = state.queued.take()
            {
                return Some(request);
            }
            self.changed.wait(&mut state);
        }
    }

    fn compact(&self, request: &Request) -> Result<Report, Error> {
        let log = Arc::clone(&self.log);
        let mut attempt = Attempt::new(log, request.epoch, request.end, self.config.clone());
        loop {
            self.check_in()?;
            if let Progress::Done(report) = attempt.step(WAIT)? {
                return Ok(report);
            }
        }
    }

    /// Stands still while paused.
    fn check_in(&self) -> Result<(), Error> {
        let mut state = self.state.lock();
        loop {
            match &state.ended {
                Some(error) => return Err(error.clone()),
                None if !state.paused => return Ok(()),
                None => self.changed.wait(&mut state),
            }
        }
    }

    /// Nothing more is done, for the first reason given.
    fn end(&self, error: Error) {
        let mut state = self.state.lock();
        let reason = state.ended.get_or_insert(error).clone();
        let queued = state.queued.take();
        drop(state);
        self.changed.notify_all();
        if let Some(request) = queued {
            request.completer.complete(Err(reason));
        }
    }
}
