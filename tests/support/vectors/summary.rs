//! How rounds of ours compare with recorded ones, and how many of a file do.

use std::fmt;

/// How a round of ours compares with the recorded one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Agreement {
    /// What was recorded.
    Exact,
    /// What the original decides as well, when its hash maps happen to be in another order.
    Alternative,
    /// Nobody can say: the original's state depends on the order of its hash maps from here on, or
    /// too much ties for all alternatives to be known.
    NotComparable,
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
    /// Of each that is different: scenario, round and what differs there.
    pub(crate) differences: Vec<String>,
}

impl Summary {
    /// Counts the rounds of one scenario.
    pub(crate) fn add(&mut self, scenario: &str, agreements: Vec<Agreement>) {
        for (round, agreement) in agreements.into_iter().enumerate() {
            match agreement {
                Agreement::Exact => self.exact += 1,
                Agreement::Alternative => self.alternative += 1,
                Agreement::NotComparable => self.not_comparable += 1,
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
            differences: _,
        } = self;
        write!(
            f,
            "exact {exact}, alternative {alternative}, not comparable {not_comparable}, \
             different {different}"
        )
    }
}
