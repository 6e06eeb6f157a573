//! The handle that an embedder holds.

use super::admin::{BrokerCommand, NamespaceCommand};
use super::balancing::Balancing;
use super::builder::Builder;
use super::command::{BundleCommand, CommandResult, LookUpError, LookUpResult};
use super::core::{Interest, Mail, Shared};
use super::status::Status;
use super::subscription::{Subscription, SubscriptionConfig};
use crate::balance::{LoadStore, Switch};
use crate::ids::{BrokerId, BundleId, Cuts, Namespace, Position, Topic};
use crate::pending::{self, Pending};
use crate::planner::{BrokerLoad, Plan};
use crate::protocol::{CloseReport, Input, Mine, Refused, Request, Ticket};
use crate::state::Row;
use crate::sync::Mutex;
use crate::table::Table;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A broker's ownership channel. Cheap to clone; the broker ends with [`close`](Channel::close), or
/// abruptly, as if its process had died, when the last handle is dropped.
///
/// # Examples
///
/// ```
/// use deedbook::channel::{Channel, Cluster};
/// use deedbook::ids::Cuts;
/// use deedbook::ids::KeyRange;
/// use std::time::Duration;
///
/// let broker = Channel::builder("broker-1:8080".parse()?).cluster(Cluster::memory()).start()?;
/// broker.wait_ready(Duration::from_secs(10));
///
/// let namespace = "acme/orders".parse()?;
/// broker.create_namespace(&namespace, Cuts::even(KeyRange::FULL, 4)).wait()??;
/// let owner = broker.locate(&"persistent://acme/orders/eu".parse()?,
/// Duration::from_secs(5)).wait()??; assert_eq!(owner.broker, Some("broker-1:8080".parse()?));
///
/// broker.close(Duration::from_secs(5)).wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Channel {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    core: Mutex<Option<JoinHandle<()>>>,
    loads: Arc<dyn LoadStore>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let _ = self.shared.inbox.send(Mail::Stop);
        let core = self.core.lock().take();
        // The last handle may be dropped by a hook or a listener, which run on threads of the
        // channel.
        if let Some(core) = core.filter(|core| core.thread().id() != thread::current().id()) {
            let _ = core.join();
        }
    }
}

impl Channel {
    /// Begins to set up a broker.
    pub fn builder(broker: BrokerId) -> Builder {
        Builder::new(broker)
    }

    pub(super) fn new(
        shared: Arc<Shared>,
        core: JoinHandle<()>,
        loads: Arc<dyn LoadStore>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                shared,
                core: Mutex::new(Some(core)),
                loads,
            }),
        }
    }

    /// Creates a namespace, divided at `cuts`; all its bundles are free. Complete when it is there.
    pub fn create_namespace(
        &self,
        namespace: &Namespace,
        cuts: Option<Cuts>,
    ) -> Pending<CommandResult> {
        self.on_namespace(namespace).create(cuts)
    }

    /// Deletes a namespace and all its bundles. Complete when it is gone.
    pub fn delete_namespace(&self, namespace: &Namespace) -> Pending<CommandResult> {
        self.on_namespace(namespace).delete()
    }

    /// A command about one namespace: create, delete.
    pub fn on_namespace(&self, namespace: &Namespace) -> NamespaceCommand<'_> {
        NamespaceCommand::new(self, namespace.clone())
    }

    /// Has a broker emptied: it gets no more bundles, and gives away what it has. Complete when it
    /// has nothing left.
    pub fn drain(&self, broker: &BrokerId) -> Pending<CommandResult> {
        self.on_broker(broker).drain()
    }

    /// A command about one broker: drain.
    pub fn on_broker(&self, broker: &BrokerId) -> BrokerCommand<'_> {
        BrokerCommand::new(self, broker.clone())
    }

    /// The version of a namespace: that of its bundle that changed last, [`Position::ZERO`] if it
    /// is absent.
    #[must_use]
    pub fn version_of(&self, namespace: &Namespace) -> Position {
        self.inner.shared.protocol.read().version_of(namespace)
    }

    /// A command about one bundle: assign, transfer, unload, split.
    pub fn on(&self, bundle: &BundleId) -> BundleCommand<'_> {
        BundleCommand::new(self, bundle.clone())
    }

    /// Gives a free bundle to whom placement chooses.
    pub fn assign(&self, bundle: &BundleId) -> Pending<CommandResult> {
        self.on(bundle).place()
    }

    /// Moves an owned bundle to another broker.
    pub fn transfer(&self, bundle: &BundleId, destination: &BrokerId) -> Pending<CommandResult> {
        self.on(bundle).transfer(destination.clone())
    }

    /// Takes a bundle from its owner and leaves it free.
    pub fn unload(&self, bundle: &BundleId) -> Pending<CommandResult> {
        self.on(bundle).unload()
    }

    /// Divides an owned bundle at `cuts`.
    pub fn split(&self, bundle: &BundleId, cuts: Cuts) -> Pending<CommandResult> {
        self.on(bundle).split(cuts)
    }

    /// Who serves a bundle, now or as soon as that is known. If it is known now, nothing waits for
    /// the channel's own thread.
    pub fn owner(&self, bundle: &BundleId) -> Pending<LookUpResult> {
        if let Some(answer) = self.inner.shared.served_now(bundle) {
            return pending::ready(answer);
        }
        self.look_up(
            Request::Owner {
                bundle: bundle.clone(),
            },
            None,
        )
    }

    /// Who serves a topic. Assigns nothing.
    pub fn owner_of(&self, topic: &Topic) -> Pending<LookUpResult> {
        let bundle = self.read(|table| {
            table
                .at_key(topic.namespace(), topic.key())
                .map(|(bundle, _)| bundle.clone())
        });
        match bundle {
            Some(bundle) => self.owner(&bundle),
            None => {
                let namespace = topic.namespace().clone();
                let refused = Refused::UnknownNamespace { namespace };
                pending::ready(Err(LookUpError::Refused(refused)))
            }
        }
    }

    /// Who serves a topic; assigns its bundle if nobody does. Thousands of callers cost one log
    /// entry.
    pub fn locate(&self, topic: &Topic, within: Duration) -> Pending<LookUpResult> {
        self.locate_key(topic.namespace(), topic.key(), within)
    }

    /// As [`locate`](Channel::locate), by a key.
    pub fn locate_key(
        &self,
        namespace: &Namespace,
        key: u32,
        within: Duration,
    ) -> Pending<LookUpResult> {
        self.look_up(
            Request::Locate {
                namespace: namespace.clone(),
                key,
            },
            Some(within),
        )
    }

    /// Whether the bundle is this broker's, now, with the fence to hand to storage. Never "yes" on
    /// doubt; waits for no hook, listener or log, at most for the step that the core is in.
    #[must_use]
    pub fn is_mine(&self, bundle: &BundleId) -> Mine {
        if !self.inner.shared.is_running() {
            return Mine::Unknown;
        }
        let protocol = self.inner.shared.protocol.read();
        protocol.is_mine(self.inner.shared.clock.now(), bundle)
    }

    /// The bundles that this broker holds, in order.
    #[must_use]
    pub fn owned(&self) -> Vec<BundleId> {
        let protocol = self.inner.shared.protocol.read();
        protocol.held().map(|(bundle, _)| bundle.clone()).collect()
    }

    /// What the book says of a bundle, as far as it has been read.
    #[must_use]
    pub fn row(&self, bundle: &BundleId) -> Option<Row> {
        self.read(|table| table.get(bundle).cloned())
    }

    /// Reads several things of one table: no entry is applied meanwhile. Be brief.
    pub fn read<T>(&self, read: impl FnOnce(&Table) -> T) -> T {
        read(self.inner.shared.protocol.read().table())
    }

    /// A copy of the whole table.
    #[must_use]
    pub fn snapshot(&self) -> Table {
        self.read(Clone::clone)
    }

    /// Hears of each change of any row, in log order, after the table has it; after a jump to a
    /// snapshot, of each net change once. Called on the channel's own thread: be brief, and wait
    /// for nothing of this channel.
    pub fn listen(&self, mut listener: impl FnMut(&BundleId, Option<&Row>) + Send + 'static) {
        self.inner.shared.listen(Box::new(move |change| {
            listener(&change.bundle, change.after.as_ref());
            Interest::Stays
        }));
    }

    /// The changes of the table from now on, for whoever reads them at its own pace, with the usual
    /// maximum: however slow that is, it holds up neither the channel nor others.
    #[must_use = "dropped, it ends"]
    pub fn subscribe(&self) -> Subscription {
        self.subscribe_with(&SubscriptionConfig::default())
    }

    /// As [`subscribe`](Self::subscribe), with a maximum and a memory limit.
    #[must_use = "dropped, it ends"]
    pub fn subscribe_with(&self, config: &SubscriptionConfig) -> Subscription {
        let (subscription, mut feeder) = Subscription::new(config);
        self.inner.shared.listen(Box::new(move |change| {
            if feeder.tell(change) {
                Interest::Stays
            } else {
                Interest::Goes
            }
        }));
        subscription
    }

    /// Waits until the row of a bundle is as `wanted`, which sees it now and at each change; the
    /// answer is the row then, none if it was absent.
    pub fn wait_until(
        &self,
        bundle: &BundleId,
        wanted: impl Fn(Option<&Row>) -> bool + Send + 'static,
    ) -> Pending<Option<Row>> {
        let (completer, pending) = pending::channel();
        let watched = bundle.clone();
        // No entry is applied while this is held: between looking and listening nothing is missed.
        let protocol = self.inner.shared.protocol.read();
        let row = protocol.table().get(bundle);
        if wanted(row) {
            completer.complete(row.cloned());
            return pending;
        }
        let mut completer = Some(completer);
        self.inner.shared.listen(Box::new(move |change| {
            let row = change.after.as_ref();
            if change.bundle != watched || !wanted(row) {
                return Interest::Stays;
            }
            if let Some(completer) = completer.take() {
                completer.complete(row.cloned());
            }
            Interest::Goes
        }));
        pending
    }

    /// Completes once the table has what stands at a position of the log, whatever came of it: also
    /// an entry that was rejected has been applied. Abandoned if the channel ends before.
    ///
    /// A listener may ask for the position that it hears of, which the table has already, but not
    /// wait for a later one: nothing is applied while it is called.
    #[must_use = "it completes later"]
    pub fn refresh(&self, position: Position) -> Pending<()> {
        let (completer, pending) = pending::channel();
        self.inner.shared.ask_applied(position, completer);
        pending
    }

    /// Waits until commands are taken: the session is certain and the log has been read to its end.
    /// Says whether that came in time.
    #[must_use]
    pub fn wait_ready(&self, limit: Duration) -> bool {
        self.inner.shared.wait_ready(limit)
    }

    /// Whether commands are taken.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.inner.shared.is_ready()
    }

    /// The broker's state in one value.
    #[must_use]
    pub fn status(&self) -> Status {
        let shared = &self.inner.shared;
        let ready = self.is_ready();
        let balancing = self.balancing();
        let now = shared.clock.now();
        let lag = shared.tail.at_end().map(|at| now.since(at));
        let read_error = shared.read_error.lock().clone();
        let protocol = shared.protocol.read();
        let next = protocol.table().next();
        Status {
            broker: protocol.broker().clone(),
            session: protocol.session().map(|holder| holder.session),
            ready,
            epoch: protocol.epoch(),
            next,
            unapplied: shared.tail.next().get().saturating_sub(next.get()),
            lag,
            balancing,
            held: protocol.held().count(),
            in_flight: protocol.in_flight(),
            counters: protocol.counters().clone(),
            waits: protocol.waits(),
            session_age: (protocol.session_since()).map(|since| now.since(since)),
            leader: protocol
                .members()
                .and_then(|members| members.leader_holder())
                .map(|(_, holder)| holder.broker),
            read_error,
            apply_error: protocol.stopped().cloned(),
            poisoned: shared.poisoned.load(std::sync::atomic::Ordering::Acquire),
        }
    }

    /// Reports what this broker bears, in place of its last report. The leader balances by reports
    /// that are fresh.
    ///
    /// # Examples
    ///
    /// ```
    /// use deedbook::channel::Channel;
    /// use deedbook::planner::{BrokerLoad, Resource};
    ///
    /// let broker = Channel::builder("broker-1:8080".parse()?).start()?;
    /// broker.report_load(BrokerLoad {
    ///     cpu: Some(Resource::new(35.0, 100.0)),
    ///     ..BrokerLoad::default()
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn report_load(&self, load: BrokerLoad) {
        let protocol = self.inner.shared.protocol.read();
        let broker = protocol.broker().clone();
        drop(protocol);
        self.inner.loads.publish(&broker, load);
    }

    /// Turns balancing by this broker on or off, or has it wait: no round begins and no move is
    /// chosen once this has returned. Says whether it balances at all when it leads
    /// ([`Builder::balance`]).
    pub fn switch_balancing(&self, switch: Switch) -> bool {
        let desk = self.inner.shared.desk.as_ref();
        desk.inspect(|desk| desk.switch(switch)).is_some()
    }

    /// What the next round of balancing would move, and why it leaves the rest; moves nothing and
    /// leaves no trace, whoever leads and whether or not balancing is on. None if this broker has
    /// no balancer.
    ///
    /// # Examples
    ///
    /// ```
    /// use deedbook::balance::{Balancer, Config, Pace, Rounds};
    /// use deedbook::channel::Channel;
    /// use deedbook::planner::{Constraints, Mode, Strategy};
    ///
    /// let shedder = Strategy::Avg.settings(Mode::Safe).build()?;
    /// let balancer = Balancer::new(shedder, Constraints::default(), Config::default());
    /// let broker = Channel::builder("broker-1:8080".parse()?)
    ///     .balance(Rounds::new(balancer, Pace::default()))
    ///     .start()?;
    /// let plan = broker.rehearse_balancing().unwrap();
    /// assert!(plan.moves.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn rehearse_balancing(&self) -> Option<Plan> {
        let desk = self.inner.shared.desk.as_ref()?;
        Some(desk.rehearse(&self.inner.shared))
    }

    /// What balancing by this broker has come to; none if it has no balancer. While a round is
    /// planned, what it had come to before.
    #[must_use]
    pub fn balancing(&self) -> Option<Balancing> {
        let desk = self.inner.shared.desk.as_ref()?;
        Some(desk.state())
    }

    /// Leaves in order: is no destination any more, hands over or frees what it owns, gives up the
    /// lead, ends its session; within the time, of which a part is kept for the last two. The
    /// report lists what was left.
    pub fn close(&self, within: Duration) -> Pending<CloseReport> {
        let (completer, pending) = pending::channel();
        self.inner.shared.ask_close(completer);
        let deadline = self.inner.shared.clock.now().after(within);
        let _ = self
            .inner
            .shared
            .inbox
            .send(Mail::Input(Input::Close { deadline }));
        pending
    }

    pub(super) fn command(
        &self,
        request: Request,
        within: Option<Duration>,
    ) -> Pending<CommandResult> {
        let (completer, pending) = pending::channel();
        let ticket = self.inner.shared.ask_command(completer);
        self.submit(ticket, request, within);
        pending
    }

    fn look_up(&self, request: Request, within: Option<Duration>) -> Pending<LookUpResult> {
        let (completer, pending) = pending::channel();
        let ticket = self.inner.shared.ask_look_up(completer);
        self.submit(ticket, request, within);
        pending
    }

    /// Hands a question to the core, unless that has ended and the answer was given.
    fn submit(&self, ticket: Option<Ticket>, request: Request, within: Option<Duration>) {
        let Some(ticket) = ticket else { return };
        let deadline = within.map(|within| self.inner.shared.clock.now().after(within));
        let ask = Input::Ask {
            ticket,
            request,
            deadline,
        };
        let _ = self.inner.shared.inbox.send(Mail::Input(ask));
    }
}
