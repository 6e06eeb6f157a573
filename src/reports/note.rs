//! What was left out of a report or repaired in it.

use crate::ids::{self, BrokerId, BundleId};
use std::fmt;
use std::time::Duration;

/// Something that was left out of a report or repaired in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// Whose report it is about.
    pub broker: BrokerId,
    /// What was done, and to what.
    pub what: What,
}

/// A number of a report: its name there, and the bundle if it is one of a bundle's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name, as it stands in the report; `cpu.limit` is the limit within `cpu`.
    pub name: &'static str,
    /// The bundle whose number it is; none for a number of the broker as a whole.
    pub bundle: Option<BundleId>,
}

/// What was left out or repaired.
///
/// Texts that come from the report are shortened beyond 100 characters, with a mark that says so.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum What {
    /// A number is missing.
    Missing {
        /// Which one.
        field: Field,
    },
    /// A number is written as text; it was read all the same.
    NumberAsText {
        /// Which one.
        field: Field,
    },
    /// A number is none, or none that can be meant; it is unknown.
    NotANumber {
        /// Which one.
        field: Field,
        /// What stands there.
        found: String,
    },
    /// A number that cannot be negative is; it is unknown.
    Negative {
        /// Which one.
        field: Field,
        /// What stands there.
        found: f64,
    },
    /// A total of the broker is unknown; the sum over its bundles was taken.
    Summed {
        /// Which one.
        field: Field,
    },
    /// A resource has no known limit; it was left out.
    UnknownLimit {
        /// The name of the resource in the report.
        resource: &'static str,
    },
    /// The report does not say when it was made; it counts as the oldest.
    NoTime,
    /// A field that no known shape has; it was left out.
    UnknownField {
        /// Its name.
        name: String,
    },
    /// Further unknown fields, beyond those that have a note each.
    MoreUnknownFields {
        /// How many.
        count: usize,
    },
    /// The list of owned bundles is missing; those with load count as owned.
    NoBundleList,
    /// A bundle's name is spelled in another way than the one that names have here.
    Respelled {
        /// As it stands in the report.
        found: String,
        /// What it was taken for.
        bundle: BundleId,
    },
    /// Something in a bundle's place has no bundle's name; it was left out.
    BadBundle {
        /// As it stands in the report.
        found: String,
        /// What is wrong with it.
        reason: ids::Error,
    },
    /// A bundle has load twice; this one was left out.
    RepeatedBundle {
        /// As it stands in the report.
        found: String,
        /// What it was taken for.
        bundle: BundleId,
    },
    /// A bundle has load, but is not among those that the broker owns; it was left out.
    NotOwned {
        /// Which one.
        bundle: BundleId,
    },
    /// The broker owns a bundle whose load is unknown.
    NoData {
        /// Which one.
        bundle: BundleId,
    },
    /// Another report claims this bundle and is newer; it was left out of this one.
    ClaimedBy {
        /// Which one.
        bundle: BundleId,
        /// The broker whose report counts.
        broker: BrokerId,
    },
    /// There is another report of the same broker which is not older; this one was left out.
    Superseded {
        /// How much older it is than the one that counts.
        age: Duration,
    },
    /// The report is too old; it was left out with all its bundles.
    Stale {
        /// How much older it is than the newest of the cluster.
        age: Duration,
        /// The limit that was asked for.
        max: Duration,
    },
}

impl What {
    /// A short word for it, the same in every release, such as `not_owned`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "missing",
            Self::NumberAsText { .. } => "number_as_text",
            Self::NotANumber { .. } => "not_a_number",
            Self::Negative { .. } => "negative",
            Self::Summed { .. } => "summed",
            Self::UnknownLimit { .. } => "unknown_limit",
            Self::NoTime => "no_time",
            Self::UnknownField { .. } => "unknown_field",
            Self::MoreUnknownFields { .. } => "more_unknown_fields",
            Self::NoBundleList => "no_bundle_list",
            Self::Respelled { .. } => "respelled",
            Self::BadBundle { .. } => "bad_bundle",
            Self::RepeatedBundle { .. } => "repeated_bundle",
            Self::NotOwned { .. } => "not_owned",
            Self::NoData { .. } => "no_data",
            Self::ClaimedBy { .. } => "claimed_by",
            Self::Superseded { .. } => "superseded",
            Self::Stale { .. } => "stale",
        }
    }

    /// The bundle that it is about, if it is about one.
    #[must_use]
    pub const fn bundle(&self) -> Option<&BundleId> {
        match self {
            Self::Missing { field }
            | Self::NumberAsText { field }
            | Self::NotANumber { field, .. }
            | Self::Negative { field, .. }
            | Self::Summed { field } => field.bundle.as_ref(),
            Self::Respelled { bundle, .. }
            | Self::RepeatedBundle { bundle, .. }
            | Self::NotOwned { bundle }
            | Self::NoData { bundle }
            | Self::ClaimedBy { bundle, .. } => Some(bundle),
            _ => None,
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.bundle {
            Some(bundle) => write!(f, "{} of {bundle}", self.name),
            None => f.write_str(self.name),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { field } => write!(f, "{field} is missing"),
            Self::NumberAsText { field } => write!(f, "{field} is a number written as text"),
            Self::NotANumber { field, found } => {
                write!(
                    f,
                    "{field} is {found}, no number that can be meant; taken as unknown"
                )
            }
            Self::Negative { field, found } => {
                write!(f, "{field} is {found}, below zero; taken as unknown")
            }
            Self::Summed { field } => {
                write!(f, "{field} is unknown; the sum over the bundles was taken")
            }
            Self::UnknownLimit { resource } => {
                write!(
                    f,
                    "the limit of {resource} is unknown; {resource} does not count"
                )
            }
            Self::NoTime => f.write_str("the time of the report is missing; taken as the oldest"),
            Self::UnknownField { name } => write!(f, "the field {name:?} is unknown; left out"),
            Self::MoreUnknownFields { count } => {
                write!(f, "{count} more fields are unknown; left out")
            }
            Self::NoBundleList => {
                f.write_str("the list of owned bundles is missing; all with load taken as owned")
            }
            Self::Respelled { found, bundle } => write!(f, "{found:?} was read as {bundle}"),
            Self::BadBundle { found, reason } => write!(f, "{found:?} left out: {reason}"),
            Self::RepeatedBundle { found, bundle } => {
                write!(f, "{bundle} has load twice; that under {found:?} left out")
            }
            Self::NotOwned { bundle } => {
                write!(f, "{bundle} has load, but is not owned any more; left out")
            }
            Self::NoData { bundle } => {
                write!(
                    f,
                    "{bundle} is owned, but its load is unknown; it cannot be moved"
                )
            }
            Self::ClaimedBy { bundle, broker } => {
                write!(
                    f,
                    "{bundle} is also claimed by {broker}, whose report counts; left out"
                )
            }
            Self::Superseded { age } => write!(
                f,
                "another report of this broker counts; this one, {} s older, left out",
                age.as_secs_f64()
            ),
            Self::Stale { age, max } => write!(
                f,
                "the report is {} s older than the newest one, more than {} s; left out",
                age.as_secs_f64(),
                max.as_secs_f64()
            ),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.broker, self.what)
    }
}

/// The text, or its beginning and a mark that says that there is more.
pub(super) fn shorten(text: &str) -> String {
    const CHARACTERS_MAX: usize = 100;
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((cut, _)) => {
            let head = text.get(..cut).unwrap_or_default();
            format!("{head}... ({} bytes)", text.len())
        }
        None => text.to_owned(),
    }
}
