//! From plans to commands: which planned moves are made now, and what became of them.
//!
//! Below it are the planner, which knows loads and no log, and the protocol, which makes moves and
//! knows no loads. [`Balancer`] turns one plan after another into transfers, a few at a time.
//! [`Splitter`] has bundles split that stay too big. [`Rounds`] is the leader's loop around both:
//! when a round is due, which reports still count, and whether anything is wanted at all; an owner
//! may have a splitter of its own. All are step machines: they are told the time, the load and the
//! table, and say what to ask of the protocol. A planned move is a transfer, with the version that
//! the plan saw, so that a bundle that has changed since is left alone. A [`LoadStore`] is where
//! brokers report their load and the leader finds it.

mod balancer;
mod load_store;
mod recent;
mod rounds;
mod split;

pub use balancer::{Balancer, Config, MoveReport, Transfer};
pub use load_store::{LoadStore, MemoryLoadStore, Reported};
pub use recent::Recent;
pub use rounds::{Order, Pace, Picture, Round, Rounds, Switch};
pub use split::{SplitOrder, SplitReport, Splitter, find_cuts};

use crate::ids::{BrokerId, BundleId};
use crate::state::{Record, Row};
use crate::table::Table;

/// The row of a bundle, if this broker owns it.
fn owned<'a>(table: &'a Table, broker: &BrokerId, bundle: &BundleId) -> Option<&'a Row> {
    let row = table.get(bundle)?;
    matches!(&row.record, Record::Owned { owner } if owner.broker == *broker).then_some(row)
}
