//! The numbers of a status as metrics: one table of names, and the samples to go with it.

use super::status::Status;
use crate::protocol::HookTimes;
use std::collections::BTreeMap;
use std::fmt;

/// Whether a metric only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows, from 0 when the channel starts.
    Counter,
    /// It goes up and down.
    Gauge,
}

impl fmt::Display for MetricKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        })
    }
}

/// One metric: what it is called and what it says. docs/observability.md lists them all.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metric {
    /// Its name, the same in every release; the unit stands in it.
    pub name: &'static str,
    /// Whether it only grows.
    pub kind: MetricKind,
    /// By what its samples are told apart; none if there is one sample.
    pub label: Option<&'static str>,
    /// What it says.
    pub help: &'static str,
}

/// One number of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Of which metric.
    pub metric: &'static Metric,
    /// The value of its label, if it has one.
    pub label: Option<String>,
    /// The number.
    pub value: f64,
}

/// Defines each metric as a constant, and the table of all of them.
macro_rules! define {
    ($($constant:ident = $kind:ident $name:literal $(by $label:literal)?: $help:literal;)*) => {
        $(static $constant: Metric = Metric {
            name: $name,
            kind: MetricKind::$kind,
            label: define!(@label $($label)?),
            help: $help,
        };)*

        /// All metrics, in the order of the samples.
        pub static METRICS: &[&Metric] = &[$(&$constant),*];
    };
    (@label) => { None };
    (@label $label:literal) => { Some($label) };
}

define! {
    READY = Gauge "deedbook_ready": "1 while commands are taken";
    OWNED = Gauge "deedbook_owned_bundles": "bundles that this broker holds";
    IN_FLIGHT = Gauge "deedbook_in_flight_bundles" by "state":
        "bundles of the whole cluster that are in flight";
    LOOK_UPS = Counter "deedbook_look_ups_total" by "outcome": "look-ups that have ended";
    DEFERRED = Counter "deedbook_look_ups_deferred_total":
        "look-ups that could not be answered at once";
    COMMANDS = Counter "deedbook_commands_total" by "outcome":
        "commands that have ended, the balancer's among them";
    CONFLICTS = Counter "deedbook_conflicts_total" by "reason":
        "entries, of anybody, that were read and did not count";
    OVERRIDES = Counter "deedbook_overrides_total":
        "forced changes of this broker, as leader, that count";
    CLEAN_UPS = Counter "deedbook_clean_ups_total":
        "rows that this broker, as leader, took out of the table";
    HOOKS = Counter "deedbook_hooks_total" by "kind": "hooks that have ended";
    HOOKS_FAILED = Counter "deedbook_hooks_failed_total" by "kind": "those of them that failed";
    HOOK_MILLIS = Counter "deedbook_hook_milliseconds_total" by "kind":
        "the time that hooks took, all together";
    HOOK_LONGEST = Gauge "deedbook_hook_longest_seconds" by "kind":
        "the time that the longest one took";
    POSITION = Gauge "deedbook_log_position": "the next position that the table waits for";
    UNAPPLIED = Gauge "deedbook_log_unapplied_positions":
        "positions that were read and are not in the table yet";
    LAG = Gauge "deedbook_log_lag_seconds":
        "how long ago the log had last been read to its end; absent before that";
    LEADS = Gauge "deedbook_leads": "1 while this broker leads";
    WAITS = Gauge "deedbook_leader_waits":
        "as leader: dead sessions whose bundles it does not take yet";
    SESSION_AGE = Gauge "deedbook_session_age_seconds":
        "how long the session has lived; absent without one";
    PLANNED = Gauge "deedbook_balance_planned_moves": "moves that are planned and not begun";
    UNDER_WAY = Gauge "deedbook_balance_moves_under_way": "moves that have begun and not ended";
    MOVES = Counter "deedbook_balance_moves_total" by "outcome": "moves that have ended";
}

impl Status {
    /// Its numbers, in the order of [`METRICS`]. What has not occurred yet, or is not known, is
    /// left out.
    ///
    /// # Examples
    ///
    /// ```
    /// use deedbook::channel::Channel;
    ///
    /// let broker = Channel::builder("broker-1:8080".parse()?).start()?;
    /// for sample in broker.status().samples() {
    ///     let label = sample.label.as_deref().unwrap_or_default();
    ///     println!("{} {label} {}", sample.metric.name, sample.value);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn samples(&self) -> Vec<Sample> {
        let mut samples = Samples(Vec::new());
        samples.of_bundles(self);
        samples.of_questions(self);
        samples.of_hooks(self);
        samples.of_log_and_lead(self);
        samples.of_balancing(self);
        samples.0
    }

    /// Hands its numbers to the recorder of the crate `metrics` that is installed, with the
    /// broker's name as label `broker`. Call it as often as numbers are to be fresh.
    #[cfg(feature = "metrics")]
    pub fn record(&self) {
        for Sample {
            metric,
            label,
            value,
        } in self.samples()
        {
            let mut labels = vec![metrics::Label::new("broker", self.broker.to_string())];
            if let Some((key, label)) = metric.label.zip(label) {
                labels.push(metrics::Label::new(key, label));
            }
            match metric.kind {
                MetricKind::Counter => {
                    metrics::counter!(metric.name, labels).absolute(value as u64);
                }
                MetricKind::Gauge => metrics::gauge!(metric.name, labels).set(value),
            }
        }
    }
}

/// The samples so far.
struct Samples(Vec<Sample>);

impl Samples {
    fn add(&mut self, metric: &'static Metric, value: f64) {
        self.0.push(Sample {
            metric,
            label: None,
            value,
        });
    }

    fn add_by<L: fmt::Display>(
        &mut self,
        metric: &'static Metric,
        values: impl Iterator<Item = (L, f64)>,
    ) {
        self.0.extend(values.map(|(label, value)| Sample {
            metric,
            label: Some(label.to_string()),
            value,
        }));
    }

    fn add_counts(&mut self, metric: &'static Metric, counts: &BTreeMap<&'static str, u64>) {
        let counts = counts.iter();
        self.add_by(metric, counts.map(|(label, count)| (label, *count as f64)));
    }

    fn of_bundles(&mut self, status: &Status) {
        self.add(&READY, f64::from(u8::from(status.ready)));
        self.add(&OWNED, status.held as f64);
        let in_flight = status.in_flight.iter();
        self.add_by(&IN_FLIGHT, in_flight.map(|(state, n)| (state, *n as f64)));
    }

    fn of_questions(&mut self, status: &Status) {
        let counters = &status.counters;
        self.add_counts(&LOOK_UPS, &counters.look_ups);
        self.add(&DEFERRED, counters.look_ups_deferred as f64);
        self.add_counts(&COMMANDS, &counters.commands);
        self.add_counts(&CONFLICTS, &counters.conflicts);
        self.add(&OVERRIDES, counters.overrides as f64);
        self.add(&CLEAN_UPS, counters.clean_ups as f64);
    }

    fn of_hooks(&mut self, status: &Status) {
        let hooks = &status.counters.hooks;
        self.add_times(&HOOKS, hooks, |times| times.count as f64);
        self.add_times(&HOOKS_FAILED, hooks, |times| times.failed as f64);
        self.add_times(&HOOK_MILLIS, hooks, |times| times.total.as_millis() as f64);
        self.add_times(&HOOK_LONGEST, hooks, |times| times.longest.as_secs_f64());
    }

    fn add_times(
        &mut self,
        metric: &'static Metric,
        hooks: &BTreeMap<&'static str, HookTimes>,
        number: impl Fn(&HookTimes) -> f64,
    ) {
        let hooks = hooks.iter();
        self.add_by(metric, hooks.map(|(kind, times)| (kind, number(times))));
    }

    fn of_log_and_lead(&mut self, status: &Status) {
        self.add(&POSITION, status.next.get() as f64);
        self.add(&UNAPPLIED, status.unapplied as f64);
        if let Some(lag) = status.lag {
            self.add(&LAG, lag.as_secs_f64());
        }
        self.add(&LEADS, f64::from(u8::from(status.epoch.is_some())));
        self.add(&WAITS, status.waits.len() as f64);
        if let Some(age) = status.session_age {
            self.add(&SESSION_AGE, age.as_secs_f64());
        }
    }

    fn of_balancing(&mut self, status: &Status) {
        if let Some(balancing) = &status.balancing {
            self.add(&PLANNED, balancing.planned as f64);
            self.add(&UNDER_WAY, balancing.under_way.len() as f64);
            self.add_counts(&MOVES, &balancing.moves);
        }
    }
}
