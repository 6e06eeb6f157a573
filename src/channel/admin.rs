//! Commands about whole namespaces and brokers as the embedder sees them.

use super::command::{Command, CommandResult};
use crate::ids::{BrokerId, Cuts, Namespace, Position, SessionToken};
use crate::pending::Pending;
use crate::protocol::Request;

/// A command about one namespace.
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
pub type NamespaceCommand<'a> = Command<'a, Namespace, Position>;

impl NamespaceCommand<'_> {
    /// Creates it, divided at `cuts`; all its bundles are free. Complete when it is there.
    pub fn create(self, cuts: Option<Cuts>) -> Pending<CommandResult> {
        let request = Request::CreateNamespace {
            namespace: self.subject,
            cuts,
            expected: self.expected,
        };
        self.channel.command(request, self.within)
    }

    /// Deletes it and all its bundles. Complete when it is gone.
    pub fn delete(self) -> Pending<CommandResult> {
        let request = Request::DeleteNamespace {
            namespace: self.subject,
            expected: self.expected,
        };
        self.channel.command(request, self.within)
    }
}

/// A command about one broker.
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
pub type BrokerCommand<'a> = Command<'a, BrokerId, SessionToken>;

impl BrokerCommand<'_> {
    /// Has it emptied: it gets no more bundles and gives away what it has, to whom placement
    /// chooses; what nobody may take becomes free. Complete when it has nothing left; if that is
    /// not in time, [`NotEmpty`](super::CommandError::NotEmpty) says what it has. So it stays until
    /// its process ends: it serves look-ups and may lead, and owns nothing.
    pub fn drain(self) -> Pending<CommandResult> {
        let request = Request::Drain {
            broker: self.subject,
            expected: self.expected,
        };
        self.channel.command(request, self.within)
    }
}
