//! How rounds of ours compare with recorded ones, and how many of a file do.

use std::collections::BTreeMap;
use std::fmt;

/// How a round of ours compares with the recorded one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Agreement {
    /// What was recorded.
    Exact,
    /// What the original decides as well, when its hash maps happen to be in another order; what is
    /// other about it.
    Alternative(&'static str),
    /// Nobody can say, and why not.
    NotComparable(&'static str),
    /// Something else, in words.
    Different(String),
}

/// How many rounds of a file compare how.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    pub(crate) exact: usize,
    pub(crate) alternative: usize,
    pub(crate) not_comparable: usize,
    pub(crate) different: usize,
    /// How many are an alternative or not comparable for each reason, by what they are.
    pub(crate) reasons: BTreeMap<(&'static str, &'static str), usize>,
    /// Of each that is different: scenario, round and what differs there.
    pub(crate) differences: Vec<String>,
}

impl Summary {
    /// Counts the rounds of one scenario.
    pub(crate) fn add(&mut self, scenario: &str, agreements: Vec<Agreement>) {
        for (round, agreement) in agreements.into_iter().enumerate() {
            match agreement {
                Agreement::Exact => self.exact += 1,
                Agreement::Alternative(why) => {
                    self.alternative += 1;
                    *self.reasons.entry(("alternative", why)).or_default() += 1;
                }
                Agreement::NotComparable(why) => {
                    self.not_comparable += 1;
                    *self.reasons.entry(("not comparable", why)).or_default() += 1;
                }
                Agreement::Different(what) => {
                    self.different += 1;
                    let difference = format!("{scenario}, round {round}: {what}");
                    self.differences.push(difference);
                }
            }
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            exact,
            alternative,
            not_comparable,
            different,
            reasons: _,
            differences: _,
        } = self;
        write!(
            f,
            "exact {exact}, alternative {alternative}, not comparable {not_comparable}, \
             different {different}"
        )
    }
}
