//! Commands and look-ups as the embedder sees them.

use super::handle::Channel;
use crate::balance::find_cuts;
use crate::ids::{BrokerId, BundleId, Cuts, Fence, Position};
use crate::pending::{self, Pending};
use crate::planner::split::{SplitStrategy, TopicLoad};
use crate::protocol::{Action, Answer, Refused, Request};
use crate::state::{Rejection, Row};
use std::time::Duration;

/// How a command ended: what it came to, or why it did not complete.
pub type CommandResult = Result<Completed, CommandError>;

/// What a command came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The position of the entry that completed it.
    pub position: Position,
    /// The fencing token of the ownership that came of it: of assignments and transfers.
    pub fence: Option<Fence>,
}

/// How a look-up ended.
pub type LookUpResult = Result<Owner, LookUpError>;

/// Why a command did not complete.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// Somebody else's change came first.
    #[error("somebody else's change came first: {rejection}")]
    Conflict {
        /// Why this one did not count.
        rejection: Rejection,
        /// The row that won; none if the bundle is gone or the conflict is not about one.
        row: Option<Row>,
    },
    /// It counted, but something else took over before it was complete.
    #[error("something else took over before it was complete")]
    Superseded {
        /// The row as it is.
        row: Option<Row>,
    },
    /// Nothing was written.
    #[error("nothing was written: {0}")]
    Refused(#[from] Refused),
    /// It did not complete in time. It may still happen.
    #[error("it did not complete in time; it may still happen")]
    TimedOut {
        /// The row as it was then.
        last_seen: Option<Row>,
    },
    /// The broker that was to be emptied had not given everything away in time. It goes on.
    #[error("it still held {} bundles when the time was over; it goes on", left.len())]
    NotEmpty {
        /// What it still held or was promised, in order.
        left: Vec<BundleId>,
    },
    /// The broker lost its session meanwhile. It may have happened.
    #[error("the broker lost its session meanwhile; it may have happened")]
    Unknown {
        /// The row as it was then.
        last_seen: Option<Row>,
    },
    /// The channel was closed before the answer was known. It may have happened.
    #[error("the channel was closed before the answer was known")]
    Closed,
}

/// Who serves a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The bundle that was asked for, or that holds the key that was.
    pub bundle: BundleId,
    /// The broker that serves it or is about to; none if nobody does.
    pub broker: Option<BrokerId>,
}

/// Why a look-up has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookUpError {
    /// It cannot be answered.
    #[error("the look-up cannot be answered: {0}")]
    Refused(#[from] Refused),
    /// The bundle could not be assigned: somebody else's change came first.
    #[error("the bundle could not be assigned: {rejection}")]
    Conflict {
        /// Why.
        rejection: Rejection,
    },
    /// The answer was not known in time.
    #[error("the owner was not known in time")]
    TimedOut {
        /// The row as it was then.
        last_seen: Option<Row>,
    },
    /// The broker lost its session meanwhile, or reads the log no more.
    #[error("the broker is not certain of anything now")]
    Unknown,
    /// The channel was closed.
    #[error("the channel is closed")]
    Closed,
}

pub(crate) fn command_result(answer: Answer) -> CommandResult {
    match answer {
        Answer::Done { position, fence } => Ok(Completed { position, fence }),
        Answer::Conflict { rejection, row } => Err(CommandError::Conflict { rejection, row }),
        Answer::Superseded { row } => Err(CommandError::Superseded { row }),
        Answer::Refused(refused) => Err(CommandError::Refused(refused)),
        Answer::TimedOut { last_seen } => Err(CommandError::TimedOut { last_seen }),
        Answer::NotEmpty { left } => Err(CommandError::NotEmpty { left }),
        Answer::Unknown { last_seen } => Err(CommandError::Unknown { last_seen }),
        Answer::Closed => Err(CommandError::Closed),
        // Answers of look-ups, which no command gets.
        Answer::Served { .. } | Answer::Nobody { .. } => {
            Err(CommandError::Unknown { last_seen: None })
        }
    }
}

pub(crate) fn look_up_result(answer: Answer) -> LookUpResult {
    match answer {
        Answer::Served { bundle, broker } => Ok(Owner {
            bundle,
            broker: Some(broker),
        }),
        Answer::Nobody { bundle } => Ok(Owner {
            bundle,
            broker: None,
        }),
        Answer::Refused(refused) => Err(LookUpError::Refused(refused)),
        Answer::Conflict { rejection, .. } => Err(LookUpError::Conflict { rejection }),
        Answer::TimedOut { last_seen } => Err(LookUpError::TimedOut { last_seen }),
        Answer::Closed => Err(LookUpError::Closed),
        // The last three are answers of commands, which no look-up gets.
        Answer::Unknown { .. }
        | Answer::Superseded { .. }
        | Answer::Done { .. }
        | Answer::NotEmpty { .. } => Err(LookUpError::Unknown),
    }
}

/// A command about one subject, with what it expects of it and how long it waits.
#[derive(Debug)]
#[must_use = "nothing is asked before one of the commands is called"]
pub struct Command<'a, Subject, Seen> {
    pub(super) channel: &'a Channel,
    pub(super) subject: Subject,
    pub(super) expected: Option<Seen>,
    pub(super) within: Option<Duration>,
}

impl<'a, Subject, Seen> Command<'a, Subject, Seen> {
    pub(super) fn new(channel: &'a Channel, subject: Subject) -> Self {
        Self {
            channel,
            subject,
            expected: None,
            within: None,
        }
    }

    /// Only if this is what its subject has, else it is refused: the version of a bundle, that is
    /// the position of its last change; the [version](Channel::version_of) of a namespace,
    /// [`Position::ZERO`] standing for one that is absent; the session of a broker. Default:
    /// whatever it has.
    pub fn expecting(mut self, seen: Seen) -> Self {
        self.expected = Some(seen);
        self
    }

    /// How long to wait for completion. Default:
    /// [`Config::command_limit`](crate::protocol::Config::command_limit).
    pub fn within(mut self, limit: Duration) -> Self {
        self.within = Some(limit);
        self
    }
}

/// A command about one bundle.
///
/// # Examples
///
/// ```no_run
/// # fn f(channel: deedbook::channel::Channel, bundle: deedbook::ids::BundleId) {
/// use std::time::Duration;
///
/// let version = channel.row(&bundle).map(|row| row.version).unwrap_or_default();
/// let unloaded = channel.on(&bundle).expecting(version).within(Duration::from_secs(5)).unload();
/// # let _ = unloaded.wait();
/// # }
/// ```
pub type BundleCommand<'a> = Command<'a, BundleId, Position>;

impl BundleCommand<'_> {
    /// Gives a free bundle to a broker. Complete when that broker owns it.
    pub fn assign(self, destination: BrokerId) -> Pending<CommandResult> {
        self.submit(Action::Assign {
            destination: Some(destination),
        })
    }

    /// Gives a free bundle to whom placement chooses. Complete when that broker owns it.
    pub fn place(self) -> Pending<CommandResult> {
        self.submit(Action::Assign { destination: None })
    }

    /// Moves an owned bundle to another broker. Complete when that broker owns it.
    pub fn transfer(self, destination: BrokerId) -> Pending<CommandResult> {
        self.submit(Action::Transfer { destination })
    }

    /// Takes a bundle from its owner. Complete when it is free.
    pub fn unload(self) -> Pending<CommandResult> {
        self.submit(Action::Unload)
    }

    /// Divides an owned bundle at `cuts`. Complete when its children are there, owned by its owner.
    pub fn split(self, cuts: Cuts) -> Pending<CommandResult> {
        self.submit(Action::Split { cuts })
    }

    /// Divides an owned bundle where the strategy cuts it, by what is known of its topics, whether
    /// or not it is too big. Its owner knows them best; a strategy that
    /// [cuts in the middle](crate::planner::split::cut_in_the_middle) needs none. Complete when its
    /// children are there, owned by its owner. A bundle that changes meanwhile is left alone.
    ///
    /// # Examples
    ///
    /// A bundle with three topics, so that two and one can be parted.
    ///
    /// ```
    /// use deedbook::channel::Channel;
    /// use deedbook::ids::{BundleId, KeyRange};
    /// use deedbook::planner::split::{Config, SplitAlgorithm, SplitStrategy, TopicLoad};
    /// use std::time::Duration;
    ///
    /// let broker = Channel::builder("broker-1:8080".parse()?).start()?;
    /// assert!(broker.wait_ready(Duration::from_secs(10)));
    /// let namespace: deedbook::ids::Namespace = "acme/orders".parse()?;
    /// broker.create_namespace(&namespace, None).wait()??;
    /// let bundle = BundleId::new(namespace.clone(), KeyRange::FULL);
    /// broker.assign(&bundle).wait()??;
    ///
    /// let strategy = SplitStrategy::new(Config {
    ///     algorithm: SplitAlgorithm::TopicCountEquallyDivide,
    ///     ..Config::default()
    /// })?;
    /// let topics = [10, 20, 4_000].map(|key| TopicLoad { key, ..TopicLoad::default() });
    /// broker.on(&bundle).split_by(&strategy, &topics).wait()??;
    /// let children = broker.owned();
    /// assert_eq!(children[0].range(), KeyRange::new(0, 15)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn split_by(
        self,
        strategy: &SplitStrategy,
        topics: &[TopicLoad],
    ) -> Pending<CommandResult> {
        let channel = self.channel;
        let found = channel.read(|table| find_cuts(strategy, &self.subject, topics, table));
        match found {
            Ok((version, cuts)) => {
                let expected = self.expected.unwrap_or(version);
                self.expecting(expected).split(cuts)
            }
            Err(refused) => pending::ready(Err(refused.into())),
        }
    }

    fn submit(self, action: Action) -> Pending<CommandResult> {
        let request = Request::Bundle {
            bundle: self.subject,
            expected: self.expected,
            action,
        };
        self.channel.command(request, self.within)
    }
}
