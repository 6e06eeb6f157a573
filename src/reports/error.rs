//! Why something is no usable load report.

use crate::ids;

/// Why something is no usable load report, or why reports make no cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing in it is of a load report.
    #[error(
        "it has none of the fields of a load report (cpu, msgRateIn, lastStats, \
         systemResourceUsage, bundleStats, ...)"
    )]
    NoReport,
    /// It does not say whose load it is.
    #[error("it does not say whose load it is: `webServiceUrl` and `name` are missing or empty")]
    NoBroker,
    /// What it calls its broker is no name.
    #[error("it names its broker by something that is no name: {0}")]
    BadBroker(#[source] ids::Error),
    /// More bundles than [`REPORT_BUNDLES_MAX`](super::REPORT_BUNDLES_MAX).
    #[error("it names {count} bundles; at most {max} are read from one report")]
    TooManyBundles {
        /// How many it names.
        count: usize,
        /// The limit.
        max: usize,
    },
    /// More brokers than [`BROKERS_MAX`](super::BROKERS_MAX).
    #[error("there are more reports than the {max} that one cluster may have")]
    TooManyBrokers {
        /// The limit.
        max: usize,
    },
}

/// Why a report could not be read: the format's own complaint, or what it holds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError<E> {
    /// The text is not of its format, or not of the form of a report.
    #[error("{0}")]
    Format(E),
    /// It is well-formed, but no usable report.
    #[error(transparent)]
    Report(#[from] Error),
}
