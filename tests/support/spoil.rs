//! Ways to make an entry wrong.

use super::history::{BROKERS, NAMESPACES, Step, World, release, to_record};
use super::{at, broker, cuts, namespace};
use deedbook::ids::{BundleId, Epoch, Holder, KeyRange, SessionToken};
use deedbook::state::{Body, Change, Entry, Record};

impl World {
    /// Makes an entry wrong in one of many ways; some of them may turn out to be right.
    pub(crate) fn spoil(&self, step: &Step, entry: &mut Entry) {
        let kind = usize::from(step.spoil) * 7 + step.detail;
        let name = NAMESPACES[step.detail % 2];
        if let (Body::Changes(changes), 0..=9) = (&mut entry.body, kind % 16) {
            spoil_changes(kind % 16, step, changes);
            if let (9, Some(last)) = (kind % 16, changes.last_mut()) {
                // What it is already, said once more.
                last.next = self.model.bundles.get(&last.bundle).map(to_record);
                entry.epoch = step.act.is_multiple_of(2).then(|| Epoch::new(self.epoch));
            }
            return;
        }
        match kind % 16 {
            10 => entry.author.session = SessionToken::new(entry.author.session.get() - 1),
            11 => entry.author = self.now(BROKERS[step.act % 3]),
            12 => {
                let epoch = entry.epoch.map_or(Some(self.epoch), |_| None);
                entry.epoch = epoch.map(Epoch::new);
            }
            13 => entry.epoch = Some(Epoch::new(self.epoch - 1)),
            14 if !self.written.is_empty() => {
                // A command that was on its way for long.
                *entry = self.written[step.pick % self.written.len()].clone();
            }
            _ => {
                entry.body = match step.act % 6 {
                    0 => Body::EndNamespace {
                        namespace: namespace(name),
                    },
                    1 => Body::DeleteNamespace {
                        namespace: namespace(name),
                        applied: at(self
                            .model
                            .floor
                            .saturating_sub(u64::from(step.act % 12 < 6))),
                    },
                    2 => self.create(step, name),
                    3 => super::create(name, &[0, 7], self.position),
                    4 => super::create(name, &[], self.model.floor.saturating_sub(1)),
                    _ => Body::RaiseRules { version: 1 },
                };
            }
        }
    }
}

/// Makes the changes of an entry wrong.
fn spoil_changes(kind: usize, step: &Step, changes: &mut Vec<Change>) {
    let Some(last) = changes.last_mut() else {
        return;
    };
    let version = last.expected.get();
    let somebody = || {
        let session = SessionToken::new(u64::try_from(step.act % 9).unwrap());
        Holder::new(broker(BROKERS[step.detail / 7 % 3]), session)
    };
    let wild = || match step.detail / 32 % 7 {
        0 => None,
        1 => Some(Record::Free),
        2 => Some(super::assigning(BROKERS[step.act % 3])),
        3 => Some(Record::Owned { owner: somebody() }),
        4 => Some(release(&somebody(), Some(BROKERS[step.act % 3]))),
        5 => Some(Record::Splitting {
            source: Some(somebody()),
            cuts: cuts(&[u32::MAX - 1]),
        }),
        _ => Some(Record::Deleted),
    };
    match kind {
        0 => last.expected = at(0),
        1 => last.expected = at(version.saturating_sub(1)),
        2 => last.expected = at(version + 1),
        3 => {
            let twin = last.clone();
            changes.push(twin);
        }
        4 => changes.clear(),
        5 => last.bundle = BundleId::new(namespace("t/o"), last.bundle.range()),
        6 => {
            let narrower = last.bundle.range().middle();
            let upper = narrower.unwrap_or(u32::MAX);
            let range = KeyRange::new(last.bundle.range().lower(), upper).unwrap();
            last.bundle = BundleId::new(last.bundle.namespace().clone(), range);
            last.expected = at(0);
        }
        _ => last.next = wild(),
    }
}
