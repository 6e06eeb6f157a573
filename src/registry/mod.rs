//! Who is alive and who leads.
//!
//! A broker registers and gets a session, which stays alive while it is renewed; a lost session is
//! lost for good. One session leads; its epoch fences everything that it forces. On engines whose
//! log carries members in order, [`LogRegistry`] keeps the leases and writes who comes and goes
//! into the log.

mod leases;

pub use leases::LogRegistry;

use crate::ids::{BrokerId, Epoch, SessionToken};
use crate::log::{AppendError, Members};
use std::fmt::Debug;
use std::time::Duration;

/// Why a request to the registry failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The session is over, for good. Register anew.
    #[error("session {session} is over; register anew")]
    SessionLost {
        /// The session.
        session: SessionToken,
    },
    /// The epoch is over.
    #[error("epoch {epoch} is over")]
    EpochLost {
        /// The epoch.
        epoch: Epoch,
    },
    /// The registry cannot be reached or cannot write. What was asked for may or may not have
    /// happened.
    #[error("the registry is out of reach: {0}")]
    Unavailable(#[from] AppendError),
}

/// Keeps sessions and elects leaders. Calls may wait for a disk or a network: make them from a
/// worker.
///
/// An implementation must:
///
/// - give each registration a token greater than any before it, and end earlier sessions of the
///   same broker;
/// - keep a session alive for at least [`ttl`](Registry::ttl) after the last accepted renewal was
///   *sent*;
/// - never revive a session that it has reported as over, to anybody;
/// - give each election an epoch greater than any before it, and have one leader at a time.
pub trait Registry: Send + Sync + Debug {
    /// How long a session lives without a renewal.
    fn ttl(&self) -> Duration;

    /// Begins a session.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`].
    fn register(&self, broker: &BrokerId) -> Result<SessionToken, Error>;

    /// Keeps a session alive for another [`ttl`](Registry::ttl).
    ///
    /// # Errors
    ///
    /// [`Error::SessionLost`] if it is over; [`Error::Unavailable`].
    fn renew(&self, session: SessionToken) -> Result<(), Error>;

    /// Who is alive and who leads, now.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`].
    fn members(&self) -> Result<Members, Error>;

    /// Tries to lead; none if somebody else does.
    ///
    /// # Errors
    ///
    /// [`Error::SessionLost`] if the session is over; [`Error::Unavailable`].
    fn campaign(&self, session: SessionToken) -> Result<Option<Epoch>, Error>;

    /// Makes it known that the session is about to leave: it is no destination any more.
    ///
    /// # Errors
    ///
    /// [`Error::SessionLost`] if it is over; [`Error::Unavailable`].
    fn drain(&self, session: SessionToken) -> Result<(), Error>;

    /// Gives up leading. An epoch that is over already is no error.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`].
    fn resign(&self, epoch: Epoch) -> Result<(), Error>;

    /// Ends a session, and with it its leadership. A session that is over already is no error.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`].
    fn leave(&self, session: SessionToken) -> Result<(), Error>;
}
