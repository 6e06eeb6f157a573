//! Typed names and positions: what every other layer calls things.
//!
//! Bottom layer. Nothing here does arithmetic between kinds: a position, a session token, an epoch
//! and a fence are all numbers of the log's one order, and mixing them up is how a former owner
//! gets to write.

mod bundle;
mod error;
mod map;
mod name;
mod number;

pub use bundle::{BundleId, Cuts, KeyRange, Topic, key_of};
pub use error::Error;
pub(crate) use map::{IdMap, id_hash};
pub use name::{BrokerId, NAME_BYTES_MAX, Namespace};
pub use number::{EntryId, Epoch, Fence, LogId, Position, SessionToken};

use serde::{Deserialize, Serialize};
use std::fmt;

/// A broker in one of its lives: its stable name and the token of the session it had then.
///
/// Two sessions of one broker are two different parties: the later one takes over what the earlier
/// one held, and nothing that the earlier one still says is heard.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Holder {
    /// The stable name.
    pub broker: BrokerId,
    /// The registration this life began with.
    pub session: SessionToken,
}

impl Holder {
    /// Names a broker's session.
    #[must_use]
    pub fn new(broker: BrokerId, session: SessionToken) -> Self {
        Self { broker, session }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.broker, self.session)
    }
}
