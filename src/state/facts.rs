//! What the fold knows beside rows.

use super::resolve::{Fact, Phase};
use crate::ids::{BrokerId, Epoch, Holder, Namespace, Position, SessionToken};
use std::collections::BTreeMap;

/// The state of the fold beside its rows. All of it is in every snapshot and in the digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The namespaces that exist, and where each is in its life.
    pub namespaces: BTreeMap<Namespace, Phase>,
    /// The newest session in which each broker has spoken.
    pub sessions: BTreeMap<BrokerId, SessionToken>,
    /// The newest epoch in which a leader has spoken.
    pub epoch: Epoch,
    /// The position of the last accepted removal.
    pub floor: Position,
    /// The version of the rules in force.
    pub rules_version: u32,
}

impl Default for Facts {
    /// Before the first entry: nothing exists, and the first version of the rules is in force.
    fn default() -> Self {
        Self {
            namespaces: BTreeMap::new(),
            sessions: BTreeMap::new(),
            epoch: Epoch::default(),
            floor: Position::ZERO,
            rules_version: 1,
        }
    }
}

impl Facts {
    /// Remembers that an author spoke, so that its older sessions and epochs are not heard any
    /// more. What is stale itself is not remembered.
    pub fn note_author(&mut self, author: &Holder, epoch: Option<Epoch>) {
        match self.sessions.get_mut(&author.broker) {
            Some(highest) if *highest > author.session => return,
            Some(highest) => *highest = author.session,
            None => _ = self.sessions.insert(author.broker.clone(), author.session),
        }
        self.epoch = self.epoch.max(epoch.unwrap_or_default());
    }

    /// Takes in what an accepted entry at `position` changes beside rows: the fact that it states,
    /// and that it removes a row, if it does.
    pub fn apply(&mut self, position: Position, fact: Option<&Fact>, removes: bool) {
        if removes {
            self.floor = position;
        }
        match fact {
            Some(Fact::NamespaceCreated(namespace)) => {
                self.namespaces.insert(namespace.clone(), Phase::Live);
            }
            Some(Fact::NamespaceMarked(namespace)) => {
                self.namespaces
                    .insert(namespace.clone(), Phase::BeingDeleted);
            }
            Some(Fact::NamespaceEnded(namespace)) => _ = self.namespaces.remove(namespace),
            Some(Fact::RulesRaised(version)) => self.rules_version = *version,
            Some(Fact::LeaderStarted(_)) | None => {}
        }
    }
}
