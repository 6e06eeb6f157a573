//! What strategies would do if a load lasted, without a cluster that waits for it.

use super::{
    BrokerVerdict, ClusterLoad, Constraints, Effect, Error, PairVerdict, Plan, Settings, Shedder,
    Stopped,
};
use std::collections::BTreeMap;
use std::fmt;

/// A strategy that is shown the same load round after round, until something moves or nothing is
/// left to wait for.
pub struct Rehearsal {
    settings: Settings,
    shedder: Box<dyn Shedder>,
    rounds: u32,
    rounds_max: u32,
    told: Plan,
}

/// What a strategy would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Rehearsed {
    /// Which strategy, and how it decides.
    pub settings: Settings,
    /// How many rounds saw the load; something moves in the last one, or nothing ever does.
    pub rounds: u32,
    /// What it decided in the end. What stopped a broker in a round of its turn stands here rather
    /// than that it has to wait for its next one.
    pub plan: Plan,
    /// What that comes to.
    pub effect: Effect,
}

/// What each of several strategies would do about a load, in the order in which they are given.
///
/// # Errors
///
/// [`Error::OutOfRange`] if settings hold a number that a strategy cannot work with.
///
/// # Examples
///
/// ```
/// use deedbook::planner::{ClusterLoad, Constraints, Mode, Resource, Strategy, compare};
///
/// let mut load = ClusterLoad::default();
/// for (name, percent) in [("a", 50.0), ("b", 42.0)] {
///     let broker = load.brokers.entry(name.parse()?).or_default();
///     broker.cpu = Some(Resource::new(percent, 100.0));
/// }
/// let all = Strategy::ALL.map(|strategy| strategy.settings(Mode::Safe));
/// for found in compare(&load, &Constraints::default(), all)? {
///     assert!(found.plan.moves.is_empty());
///     assert!(found.plan.brokers[&"a".parse()?].stopped.is_some());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compare(
    load: &ClusterLoad,
    constraints: &Constraints,
    strategies: impl IntoIterator<Item = Settings>,
) -> Result<Vec<Rehearsed>, Error> {
    let strategies = strategies.into_iter();
    let rehearsed = strategies.map(|settings| {
        let mut rehearsal = Rehearsal::new(settings)?;
        while rehearsal.round(load, constraints) {}
        Ok(rehearsal.finish(load))
    });
    rehearsed.collect()
}

impl Rehearsal {
    /// A strategy that has seen nothing yet.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the settings hold a number that it cannot work with.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        Ok(Self {
            shedder: settings.clone().build()?,
            rounds: 0,
            // One round more than the longest wait: nothing is left to wait for then.
            rounds_max: settings.rounds_waited().saturating_add(1),
            told: Plan::default(),
            settings,
        })
    }

    /// Shows it the load once more; whether another round may show something new.
    ///
    /// What it finds replaces what the one before found, unless it merely says that the waiting
    /// began anew: what stopped somebody when its time had come tells more.
    pub fn round(&mut self, load: &ClusterLoad, constraints: &Constraints) -> bool {
        self.rounds += 1;
        let plan = self.shedder.plan(load, constraints);
        let earlier = std::mem::replace(&mut self.told, plan);
        for (broker, verdict) in earlier.brokers {
            if let Some(later) = self.told.brokers.get_mut(&broker)
                && waits(later)
                && !waits(&verdict)
            {
                *later = verdict;
            }
        }
        let key = |pair: &PairVerdict| (pair.hot.clone(), pair.cold.clone());
        let earlier = earlier.pairs.into_iter().filter(PairVerdict::is_due);
        let mut due: BTreeMap<_, _> = earlier.map(|pair| (key(&pair), pair)).collect();
        for later in self.told.pairs.iter_mut().filter(|pair| !pair.is_due()) {
            if let Some(pair) = due.remove(&key(later)) {
                *later = pair;
            }
        }
        let moves = !self.told.moves.is_empty() || !self.told.unloads.is_empty();
        !moves && self.rounds < self.rounds_max && self.told.brokers.values().any(waits)
    }

    /// What it came to, for the load that it saw.
    #[must_use]
    pub fn finish(self, load: &ClusterLoad) -> Rehearsed {
        Rehearsed {
            settings: self.settings,
            rounds: self.rounds,
            effect: self.told.effect(load),
            plan: self.told,
        }
    }
}

impl fmt::Debug for Rehearsal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rehearsal")
            .field("settings", &self.settings)
            .field("rounds", &self.rounds)
            .finish_non_exhaustive()
    }
}

/// Whether somebody is left alone only because what is too much has not lasted long enough.
fn waits(verdict: &BrokerVerdict) -> bool {
    matches!(
        verdict.stopped,
        Some(Stopped::TooFewHits { .. } | Stopped::NotUnevenForLong(_))
    )
}
