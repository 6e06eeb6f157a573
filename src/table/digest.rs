//! One number that says whether two tables are the same.

use crate::ids::{BundleId, Holder};
use crate::state::{Facts, Phase, Record, Row};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::fmt;
use std::hash::{Hash, Hasher};

/// A hash of the whole fold that does not depend on the order in which it is computed. The same in
/// every build and on every machine; not a defence against forgery.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Digest(u128);

impl Digest {
    /// The digest of the facts and rows together.
    pub(super) fn of<'a>(
        facts: &Facts,
        rows: impl Iterator<Item = (&'a BundleId, &'a Row)>,
    ) -> Self {
        let rows = rows.map(|(bundle, row)| hash_row(bundle, row));
        Self(rows.fold(hash_facts(facts), u128::wrapping_add))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Feeds values of fixed width, little-endian: `std::hash` would feed the machine's own.
struct Feed(SipHasher13);

impl Feed {
    fn new(kind: u8) -> Self {
        let mut feed = Self(SipHasher13::new());
        kind.hash(&mut feed.0);
        feed
    }

    fn number(&mut self, number: u64) -> &mut Self {
        self.0.write(&number.to_le_bytes());
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.number(u64::try_from(text.len()).unwrap_or(u64::MAX));
        self.0.write(text.as_bytes());
        self
    }

    fn holder(&mut self, holder: Option<&Holder>) -> &mut Self {
        match holder {
            None => self.number(0),
            Some(holder) => self
                .number(1)
                .text(holder.broker.as_str())
                .number(holder.session.get()),
        }
    }

    fn finish(&self) -> u128 {
        self.0.finish128().as_u128()
    }
}

fn hash_row(bundle: &BundleId, row: &Row) -> u128 {
    let mut feed = Feed::new(1);
    let range = bundle.range();
    feed.text(bundle.namespace().as_str());
    feed.number(range.lower().into())
        .number(range.upper().into());
    feed.number(row.version.get()).number(row.fence.get());
    feed.text(match row.record.state() {
        crate::state::State::Init => "init",
        crate::state::State::Free => "free",
        crate::state::State::Assigning => "assigning",
        crate::state::State::Owned => "owned",
        crate::state::State::Releasing => "releasing",
        crate::state::State::Splitting => "splitting",
        crate::state::State::Deleted => "deleted",
    });
    feed.holder(row.record.holder());
    feed.text(
        row.record
            .destination()
            .map_or("", |destination| destination.as_str()),
    );
    if let Record::Splitting { cuts, .. } = &row.record {
        for &cut in cuts.as_slice() {
            feed.number(cut.into());
        }
    }
    feed.finish()
}

fn hash_facts(facts: &Facts) -> u128 {
    let mut feed = Feed::new(2);
    feed.number(facts.epoch.get())
        .number(facts.floor.get())
        .number(facts.rules_version.into());
    for (namespace, phase) in &facts.namespaces {
        feed.text(namespace.as_str()).number(match phase {
            Phase::Live => 0,
            Phase::BeingDeleted => 1,
        });
    }
    for (broker, session) in &facts.sessions {
        feed.text(broker.as_str()).number(session.get());
    }
    feed.finish()
}
