//! The rule sets by their names.

use crate::state::pulsar::{
    PIP_192, PIP_192_FIRST_DRAFT, PIP_192_SECOND_DRAFT, PULSAR_METADATA_STORE, PULSAR_SYSTEM_TOPIC,
    Rules,
};
use std::fmt;
use std::str::FromStr;

/// Rules by which foreign records can be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RuleSet {
    /// Those of this library.
    Native,
    /// Apache Pulsar's of today, over the system topic.
    PulsarSystemTopic,
    /// Apache Pulsar's of today, over the metadata store.
    PulsarMetadataStore,
    /// The first form that ran.
    Pip192,
    /// The second draft of that.
    Pip192SecondDraft,
    /// The first draft of that.
    Pip192FirstDraft,
}

/// A name of no rule set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are no rules {name:?}; there are {known}", known = RuleSet::names())]
pub struct UnknownRuleSet {
    /// The name.
    pub name: String,
}

impl RuleSet {
    /// All of them, the newest first.
    pub const ALL: [Self; 6] = [
        Self::Native,
        Self::PulsarSystemTopic,
        Self::PulsarMetadataStore,
        Self::Pip192,
        Self::Pip192SecondDraft,
        Self::Pip192FirstDraft,
    ];

    /// A stable short name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::PulsarSystemTopic => "pulsar-system-topic",
            Self::PulsarMetadataStore => "pulsar-metadata-store",
            Self::Pip192 => "pip-192",
            Self::Pip192SecondDraft => "pip-192-second-draft",
            Self::Pip192FirstDraft => "pip-192-first-draft",
        }
    }

    /// Its table and what versions mean to it; none for the native rules, which have tables of
    /// their own kind ([`state::rules`](crate::state::rules)).
    #[must_use]
    pub const fn rules(self) -> Option<&'static Rules> {
        match self {
            Self::Native => None,
            Self::PulsarSystemTopic => Some(&PULSAR_SYSTEM_TOPIC),
            Self::PulsarMetadataStore => Some(&PULSAR_METADATA_STORE),
            Self::Pip192 => Some(&PIP_192),
            Self::Pip192SecondDraft => Some(&PIP_192_SECOND_DRAFT),
            Self::Pip192FirstDraft => Some(&PIP_192_FIRST_DRAFT),
        }
    }

    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for RuleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for RuleSet {
    type Err = UnknownRuleSet;

    fn from_str(name: &str) -> Result<Self, UnknownRuleSet> {
        let found = Self::ALL.into_iter().find(|set| set.name() == name);
        found.ok_or_else(|| UnknownRuleSet {
            name: name.to_owned(),
        })
    }
}
