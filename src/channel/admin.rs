//! Commands about whole namespaces and brokers as the embedder sees them.

use super::command::CommandResult;
use super::handle::Channel;
use crate::ids::{BrokerId, Cuts, Namespace, Position, SessionToken};
use crate::pending::Pending;
use crate::protocol::Request;
use std::time::Duration;

/// A command about one namespace, with what it expects and how long it waits.
///
/// # Examples
///
/// ```
/// use deedbook::channel::{Channel, CommandError};
/// use deedbook::ids::Position;
/// use deedbook::protocol::Refused;
/// use std::time::Duration;
///
/// let broker = Channel::builder("broker-1:8080".parse()?).start()?;
/// assert!(broker.wait_ready(Duration::from_secs(10)));
/// let namespace = "acme/orders".parse()?;
/// broker.on_namespace(&namespace).expecting(Position::ZERO).create(None).wait()??;
///
/// // It is there by now.
/// let again = broker.on_namespace(&namespace).expecting(Position::ZERO).create(None).wait()?;
/// assert!(matches!(again, Err(CommandError::Refused(Refused::StaleNamespace { .. }))));
///
/// let seen = broker.version_of(&namespace);
/// let limit = Duration::from_secs(5);
/// broker.on_namespace(&namespace).expecting(seen).within(limit).delete().wait()??;
/// assert_eq!(broker.version_of(&namespace), Position::ZERO);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is asked before one of the commands is called"]
pub struct NamespaceCommand<'a> {
    channel: &'a Channel,
    namespace: Namespace,
    expected: Option<Position>,
    within: Option<Duration>,
}

impl<'a> NamespaceCommand<'a> {
    pub(super) fn new(channel: &'a Channel, namespace: Namespace) -> Self {
        Self {
            channel,
            namespace,
            expected: None,
            within: None,
        }
    }

    /// Only if this is its [version](Channel::version_of), [`Position::ZERO`] standing for a
    /// namespace that is absent; else it is refused. Default: whatever its version.
    pub fn expecting(mut self, version: Position) -> Self {
        self.expected = Some(version);
        self
    }

    /// How long to wait for completion. Default:
    /// [`Config::command_limit`](crate::protocol::Config::command_limit).
    pub fn within(mut self, limit: Duration) -> Self {
        self.within = Some(limit);
        self
    }

    /// Creates it, divided at `cuts`; all its bundles are free. Complete when it is there.
    pub fn create(self, cuts: Option<Cuts>) -> Pending<CommandResult> {
        let request = Request::CreateNamespace {
            namespace: self.namespace,
            cuts,
            expected: self.expected,
        };
        self.channel.command(request, self.within)
    }

    /// Deletes it and all its bundles. Complete when it is gone.
    pub fn delete(self) -> Pending<CommandResult> {
        let request = Request::DeleteNamespace {
            namespace: self.namespace,
            expected: self.expected,
        };
        self.channel.command(request, self.within)
    }
}

/// A command about one broker, with what it expects and how long it waits.
///
/// # Examples
///
/// Whoever is drained gives away what it has; the others take it.
///
/// ```
/// use deedbook::channel::{Channel, Cluster};
/// use deedbook::ids::{BundleId, KeyRange};
/// use std::time::Duration;
///
/// let cluster = Cluster::memory();
/// let start = |name: &str| {
///     Channel::builder(name.parse().unwrap()).cluster(cluster.clone()).start()
/// };
/// let (a, b) = (start("a:8080")?, start("b:8080")?);
/// let limit = Duration::from_secs(10);
/// assert!(a.wait_ready(limit) && b.wait_ready(limit));
/// let namespace: deedbook::ids::Namespace = "acme/orders".parse()?;
/// a.create_namespace(&namespace, None).wait()??;
/// let bundle = BundleId::new(namespace, KeyRange::FULL);
/// a.on(&bundle).assign("a:8080".parse()?).wait()??;
///
/// b.on_broker(&"a:8080".parse()?).within(limit).drain().wait()??;
/// assert!(b.row(&bundle).is_some_and(|row| row.record.holder().is_none_or(|of| {
///     of.broker.as_str() == "b:8080"
/// })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is asked before one of the commands is called"]
pub struct BrokerCommand<'a> {
    channel: &'a Channel,
    broker: BrokerId,
    expected: Option<SessionToken>,
    within: Option<Duration>,
}

impl<'a> BrokerCommand<'a> {
    pub(super) fn new(channel: &'a Channel, broker: BrokerId) -> Self {
        Self {
            channel,
            broker,
            expected: None,
            within: None,
        }
    }

    /// Only if this is the broker's session; else it is refused. Default: whichever it has.
    pub fn expecting(mut self, session: SessionToken) -> Self {
        self.expected = Some(session);
        self
    }

    /// How long to wait for completion. Default:
    /// [`Config::command_limit`](crate::protocol::Config::command_limit).
    pub fn within(mut self, limit: Duration) -> Self {
        self.within = Some(limit);
        self
    }

    /// Has it emptied: it gets no more bundles and gives away what it has, to whom placement
    /// chooses; what nobody may take becomes free. Complete when it has nothing left; if that is
    /// not in time, [`NotEmpty`](super::CommandError::NotEmpty) says what it has. So it stays until
    /// its process ends: it serves look-ups and may lead, and owns nothing.
    pub fn drain(self) -> Pending<CommandResult> {
        let request = Request::Drain {
            broker: self.broker,
            expected: self.expected,
        };
        self.channel.command(request, self.within)
    }
}
