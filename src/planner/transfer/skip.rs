//! Why a whole round decides nothing.

use std::fmt;

/// Why nothing was decided in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Skip {
    /// No broker has reported.
    NoReports,
    /// All reports are too old.
    OldReports,
    /// A broker has not reported yet.
    ReportMissing,
    /// A bundle has just been taken from a broker.
    CoolDown,
    /// The cluster is even, or was not uneven for long enough.
    NotForLong,
    /// Of the brokers that should give some have reported no bundles.
    BundlesUnknown,
    /// The brokers that should give have no bundle that may move.
    NoBundles,
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoReports => "no broker has reported",
            Self::OldReports => "all reports are too old",
            Self::ReportMissing => "a broker has not reported yet",
            Self::CoolDown => "a bundle has just been taken from a broker",
            Self::NotForLong => "the cluster is even, or was not uneven for long enough",
            Self::BundlesUnknown => "brokers that should give have reported no bundles",
            Self::NoBundles => "brokers that should give have no bundle that may move",
        })
    }
}
