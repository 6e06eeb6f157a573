//! Short ways to spell names, records and entries in tests.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]
#![allow(dead_code, reason = "not every test uses every one")]

pub(crate) mod book;
pub(crate) mod fences;
pub(crate) mod history;
pub(crate) mod model;
mod spoil;

use deedbook::ids::{
    BrokerId, BundleId, Cuts, Epoch, Fence, Holder, KeyRange, Namespace, Position, SessionToken,
};
use deedbook::state::{Body, Change, Entry, Record, Row};

pub(crate) fn broker(name: &str) -> BrokerId {
    BrokerId::new(name).unwrap()
}

/// `a5` is broker `a` in its session 5.
pub(crate) fn holder(text: &str) -> Holder {
    let (name, session) = text.split_at(1);
    Holder::new(broker(name), SessionToken::new(session.parse().unwrap()))
}

pub(crate) fn namespace(name: &str) -> Namespace {
    Namespace::new(name).unwrap()
}

/// A bundle of the namespace `t/n`.
pub(crate) fn bundle(lower: u32, upper: u32) -> BundleId {
    bundle_of("t/n", lower, upper)
}

pub(crate) fn bundle_of(name: &str, lower: u32, upper: u32) -> BundleId {
    BundleId::new(namespace(name), KeyRange::new(lower, upper).unwrap())
}

pub(crate) fn cuts(cuts: &[u32]) -> Cuts {
    Cuts::new(cuts).unwrap()
}

pub(crate) fn at(position: u64) -> Position {
    Position::new(position)
}

pub(crate) fn free() -> Record {
    Record::Free
}

pub(crate) fn assigning(destination: &str) -> Record {
    Record::Assigning {
        destination: broker(destination),
    }
}

pub(crate) fn owned(owner: &str) -> Record {
    Record::Owned {
        owner: holder(owner),
    }
}

pub(crate) fn releasing(source: &str, destination: Option<&str>) -> Record {
    Record::Releasing {
        source: holder(source),
        destination: destination.map(broker),
    }
}

pub(crate) fn splitting(source: Option<&str>, at: &[u32]) -> Record {
    Record::Splitting {
        source: source.map(holder),
        cuts: cuts(at),
    }
}

pub(crate) fn row(record: Record, version: u64, fence: u64) -> Row {
    Row {
        record,
        version: at(version),
        fence: Fence::new(fence),
    }
}

pub(crate) fn change(bundle: &BundleId, expected: u64, next: Option<Record>) -> Change {
    Change {
        bundle: bundle.clone(),
        expected: at(expected),
        next,
    }
}

pub(crate) fn entry(author: &str, epoch: Option<u64>, body: Body) -> Entry {
    Entry {
        author: holder(author),
        counter: 1,
        epoch: epoch.map(Epoch::new),
        body,
    }
}

/// The creation of a namespace by an author that had read up to `applied`.
pub(crate) fn create(name: &str, at_cuts: &[u32], applied: u64) -> Body {
    Body::CreateNamespace {
        namespace: namespace(name),
        cuts: (!at_cuts.is_empty()).then(|| cuts(at_cuts)),
        applied: at(applied),
    }
}

/// The deletion of a namespace by an author that had read everything.
pub(crate) fn delete(name: &str) -> Body {
    Body::DeleteNamespace {
        namespace: namespace(name),
        applied: at(u64::MAX),
    }
}

pub(crate) fn end(name: &str) -> Body {
    Body::EndNamespace {
        namespace: namespace(name),
    }
}
