//! The cluster as its user sees it: time that passes, questions and answers, brokers that come and
//! go.

use super::builder::{Builder, Guards};
use super::checkers::{Answers, Hooks, Horizon, Orphans, Restraint, Store, Violation};
use super::dice::{Dice, Span};
use super::event::Event;
use super::failure::Failure;
use super::faults::Faults;
use super::handlers::Handlers;
use super::history::History;
use super::network::Delays;
use super::node::{Node, NodeId};
use super::trace::Trace;
use super::workload::Workload;
use super::world::World;
use crate::clock::{ManualClock, Tick};
use crate::ids::BrokerId;
use crate::log::MemberLog;
use crate::protocol::{Answer, Config, Request, Ticket};
use crate::registry::{LogRegistry, Registry};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// So many events at one moment are somebody who goes round in circles.
const EVENTS_AT_ONCE_MAX: u64 = 1_000_000;

/// How often the invariants that time alone can break are looked at.
pub(super) const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// A whole cluster in virtual time, from one seed.
///
/// # Examples
///
/// Three brokers agree on an owner, and look-ups at all of them name it.
///
/// ```
/// use deedbook::ids::BrokerId;
/// use deedbook::protocol::{Answer, Request};
/// use deedbook::sim::{Cluster, Outcome};
/// use std::time::Duration;
///
/// let brokers: [BrokerId; 3] = ["a:1", "b:1", "c:1"].map(|name| name.parse().unwrap());
/// let mut builder = Cluster::builder(42);
/// for broker in &brokers {
///     builder = builder.broker(broker.clone());
/// }
/// let mut cluster = builder.build()?;
/// cluster.advance(Duration::from_secs(5))?;
///
/// let namespace: deedbook::ids::Namespace = "acme/orders".parse().unwrap();
/// let create = Request::CreateNamespace {
///     namespace: namespace.clone(),
///     cuts: None,
///     expected: None,
/// };
/// cluster.ask(&brokers[0], create);
/// cluster.advance(Duration::from_secs(1))?;
/// let located = brokers.clone().map(|broker| {
///     cluster.ask(&broker, Request::Locate { namespace: namespace.clone(), key: 7 })
/// });
/// cluster.advance(Duration::from_secs(1))?;
/// let answers = located.map(|ticket| cluster.outcome(ticket).unwrap().clone());
/// assert!(matches!(answers[0], Outcome::Answered(Answer::Served { .. })));
/// assert!(answers.iter().all(|answer| *answer == answers[0]));
/// # Ok::<(), Box<deedbook::sim::Failure>>(())
/// ```
#[derive(Debug)]
pub struct Cluster {
    pub(super) seed: u64,
    pub(super) config: Config,
    pub(super) delays: Delays,
    pub(super) guards: Guards,
    repeat: Option<String>,
    pub(super) world: World<Event>,
    pub(super) dice: Dice,
    pub(super) log: Arc<dyn MemberLog>,
    pub(super) registry: Arc<dyn Registry>,
    /// All processes that ever ran.
    pub(super) nodes: Vec<Node>,
    /// The newest process of each broker.
    pub(super) brokers: BTreeMap<BrokerId, NodeId>,
    pub(super) history: History,
    pub(super) trace: Trace,
    pub(super) answers: Answers,
    pub(super) hooks: Hooks,
    pub(super) orphans: Orphans,
    pub(super) horizon: Horizon,
    pub(super) restraint: Restraint,
    pub(super) store: Store,
    asks: BTreeMap<Ticket, Ask>,
    ticket_count: u64,
    pub(super) handlers: Handlers,
    pub(super) hook_plans: BTreeMap<BrokerId, HookPlan>,
    pub(super) workload: Option<Workload>,
    pub(super) faults: Option<Faults>,
    pub(super) compactions: Option<Span>,
    pub(super) violation: Option<Violation>,
    pub(super) event_count: u64,
}

/// A question to a broker.
#[derive(Clone, Debug)]
struct Ask {
    outcome: Option<Outcome>,
    ended_at: Option<Tick>,
}

/// How a question ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The broker answered.
    Answered(Answer),
    /// The broker was not there, or went away before it answered.
    Lost,
}

/// How a broker's hooks behave.
#[derive(Clone, Copy, Debug)]
pub struct HookPlan {
    /// How long one takes.
    pub takes: Span,
    /// How many of a thousand fail.
    pub failing_per_mille: u64,
}

impl HookPlan {
    /// Whether brokers with such hooks cannot be expected to heal in time.
    pub(super) fn is_troubled(&self) -> bool {
        self.failing_per_mille > 0 || self.takes.max > Duration::from_secs(1)
    }
}

impl Cluster {
    /// Begins to describe a cluster. The same seed and the same calls give the same run.
    pub fn builder(seed: u64) -> Builder {
        Builder::new(seed)
    }

    pub(super) fn start(
        builder: Builder,
        clock: ManualClock,
        log: Arc<dyn MemberLog>,
    ) -> Result<Self, Box<Failure>> {
        let history = History::new(&*log).map_err(|violation| {
            Box::new(Failure {
                seed: builder.seed,
                at: Tick::ZERO,
                violation,
                repeat: builder.repeat.clone(),
                trace: Vec::new(),
            })
        })?;
        let ttl = builder.config.session_ttl;
        let registry = LogRegistry::new(Arc::clone(&log), Arc::new(clock.clone()), ttl);
        let mut cluster = Self {
            seed: builder.seed,
            config: builder.config,
            delays: builder.delays,
            guards: builder.guards,
            repeat: builder.repeat,
            world: World::new(clock),
            dice: Dice::new(builder.seed),
            log,
            registry: Arc::new(registry),
            nodes: Vec::new(),
            brokers: BTreeMap::new(),
            history,
            trace: Trace::default(),
            answers: Answers::default(),
            hooks: Hooks::default(),
            orphans: Orphans::default(),
            horizon: Horizon::default(),
            restraint: Restraint::default(),
            store: Store::default(),
            asks: BTreeMap::new(),
            ticket_count: 0,
            handlers: Handlers::new(builder.handlers),
            hook_plans: BTreeMap::new(),
            workload: builder.workload,
            faults: builder.faults,
            compactions: builder.compactions,
            violation: None,
            event_count: 0,
        };
        for broker in builder.brokers {
            cluster.start_node(&broker);
        }
        cluster.world.schedule(SWEEP_INTERVAL, Event::Sweep);
        cluster.world.schedule(Duration::ZERO, Event::Operate);
        cluster.world.schedule(Duration::ZERO, Event::Fault);
        cluster.world.schedule(Duration::ZERO, Event::Compact);
        cluster.outcome_of_run()?;
        Ok(cluster)
    }

    /// The true time, which no broker's clock shows exactly.
    #[must_use]
    pub fn now(&self) -> Tick {
        self.world.now()
    }

    /// Lets time pass and everything happen that is due in it.
    ///
    /// # Errors
    ///
    /// [`Failure`] as soon as an invariant does not hold. It stays.
    pub fn advance(&mut self, time: Duration) -> Result<(), Box<Failure>> {
        let until = self.now().after(time);
        self.run(until, |_| false).map(|_| ())
    }

    /// Lets time pass until `done` holds, but no longer than `limit`; says whether it came to hold.
    ///
    /// # Errors
    ///
    /// As [`Cluster::advance`].
    pub fn advance_until(
        &mut self,
        limit: Duration,
        done: impl FnMut(&Self) -> bool,
    ) -> Result<bool, Box<Failure>> {
        let until = self.now().after(limit);
        self.run(until, done)
    }

    fn run(
        &mut self,
        until: Tick,
        mut done: impl FnMut(&Self) -> bool,
    ) -> Result<bool, Box<Failure>> {
        let (mut moment, mut at_once) = (self.now(), 0);
        loop {
            self.hear_hooks();
            self.outcome_of_run()?;
            if done(self) {
                return Ok(true);
            }
            let Some(event) = self.world.next(until) else {
                self.world.pass(until);
                return Ok(false);
            };
            if moment != self.now() {
                (moment, at_once) = (self.now(), 0);
            }
            at_once += 1;
            if at_once > EVENTS_AT_ONCE_MAX {
                self.note(Err(Violation::TimeStandsStill { events: at_once }));
            }
            self.event_count += 1;
            self.happen(event);
        }
    }

    fn outcome_of_run(&self) -> Result<(), Box<Failure>> {
        match &self.violation {
            None => Ok(()),
            Some(violation) => Err(Box::new(self.failure(violation.clone()))),
        }
    }

    pub(super) fn failure(&self, violation: Violation) -> Failure {
        Failure {
            seed: self.seed,
            at: self.now(),
            violation,
            repeat: self.repeat.clone(),
            trace: self.trace.lines().map(str::to_owned).collect(),
        }
    }

    /// Keeps the first thing that does not hold.
    pub(super) fn note(&mut self, result: Result<(), Violation>) {
        if let Err(violation) = result {
            self.violation.get_or_insert(violation);
        }
    }

    /// Asks a broker, which waits as long as it is configured to.
    pub fn ask(&mut self, broker: &BrokerId, request: Request) -> Ticket {
        self.ask_within(broker, request, None)
    }

    /// Asks a broker, which waits for `limit`, or as long as it is configured to.
    pub fn ask_within(
        &mut self,
        broker: &BrokerId,
        request: Request,
        limit: Option<Duration>,
    ) -> Ticket {
        self.ticket_count += 1;
        let ticket = Ticket(self.ticket_count);
        let ask = Ask {
            outcome: None,
            ended_at: None,
        };
        self.asks.insert(ticket, ask);
        self.put(broker, ticket, request, limit);
        ticket
    }

    /// As [`Cluster::ask_within`], but nobody keeps the answer.
    pub(super) fn ask_and_forget(&mut self, broker: &BrokerId, request: Request) {
        self.ticket_count += 1;
        self.put(broker, Ticket(self.ticket_count), request, None);
    }

    pub(super) fn end_ask(&mut self, ticket: Ticket, outcome: Outcome) {
        let now = self.now();
        if let Some(ask) = self.asks.get_mut(&ticket) {
            ask.outcome = Some(outcome);
            ask.ended_at = Some(now);
        }
    }

    /// How a question ended; none while it has not.
    #[must_use]
    pub fn outcome(&self, ticket: Ticket) -> Option<&Outcome> {
        self.asks.get(&ticket)?.outcome.as_ref()
    }

    /// When a question ended.
    #[must_use]
    pub fn ended_at(&self, ticket: Ticket) -> Option<Tick> {
        self.asks.get(&ticket)?.ended_at
    }

    /// How many questions wait for an answer.
    #[must_use]
    pub fn waiting_count(&self) -> usize {
        self.answers.open_count()
    }
}
