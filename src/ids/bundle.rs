//! Slices of a namespace's key space.

use super::{Error, Namespace};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The key of a topic or of anything else with a name: CRC-32 (IEEE) of its UTF-8 bytes, as Apache
/// Pulsar does it.
///
/// # Examples
///
/// ```
/// assert_eq!(deedbook::ids::key_of("123456789"), 0xcbf4_3926); // the check value of CRC-32
/// ```
#[must_use]
pub fn key_of(name: &str) -> u32 {
    crc32fast::hash(name.as_bytes())
}

/// A slice of a key space: lower bound inclusive, upper bound exclusive, except that `0xffffffff`
/// as upper bound is inclusive.
///
/// Its text form is `0xLLLLLLLL_0xUUUUUUUU`, eight lower-case digits each; no other spelling is
/// accepted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyRange {
    lower: u32,
    upper: u32,
}

impl KeyRange {
    /// The whole key space.
    pub const FULL: Self = Self {
        lower: 0,
        upper: u32::MAX,
    };

    /// Makes a range from its bounds.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyRange`] unless `lower < upper`.
    pub const fn new(lower: u32, upper: u32) -> Result<Self, Error> {
        if lower < upper {
            Ok(Self { lower, upper })
        } else {
            Err(Error::EmptyRange { lower, upper })
        }
    }

    /// The first key inside.
    #[must_use]
    pub const fn lower(self) -> u32 {
        self.lower
    }

    /// The first key behind it, or `0xffffffff`, which is inside.
    #[must_use]
    pub const fn upper(self) -> u32 {
        self.upper
    }

    /// Whether the key belongs to this range.
    #[must_use]
    pub const fn contains(self, key: u32) -> bool {
        self.lower <= key && (key < self.upper || self.upper == u32::MAX)
    }

    /// How many keys it holds, from 1 to 2^32.
    #[must_use]
    pub const fn width(self) -> u64 {
        let last_is_inside = if self.upper == u32::MAX { 1 } else { 0 };
        (self.upper - self.lower) as u64 + last_is_inside
    }

    /// Whether any key belongs to both.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.lower < other.upper && other.lower < self.upper
    }

    /// Whether a cut at `key` leaves keys on both sides.
    #[must_use]
    pub const fn can_be_cut_at(self, key: u32) -> bool {
        self.lower < key && key < self.upper
    }

    /// The key in the middle, at which two halves of equal width meet; none if the range is too
    /// narrow to cut.
    #[must_use]
    pub const fn middle(self) -> Option<u32> {
        let middle = self.lower + (self.upper - self.lower) / 2;
        if self.can_be_cut_at(middle) {
            Some(middle)
        } else {
            None
        }
    }
}

impl fmt::Display for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}_{:#010x}", self.lower, self.upper)
    }
}

impl fmt::Debug for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for KeyRange {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let form = || Error::Form {
            what: "key range",
            text: text.to_owned(),
            expected: "0xLLLLLLLL_0xUUUUUUUU with eight lower-case digits each",
        };
        let (lower, upper) = text.split_once('_').ok_or_else(form)?;
        let lower = parse_bound(lower).ok_or_else(form)?;
        let upper = parse_bound(upper).ok_or_else(form)?;
        Self::new(lower, upper)
    }
}

/// Reads `0x` and exactly eight lower-case digits.
fn parse_bound(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x")?;
    let plain = digits.len() == 8
        && digits
            .bytes()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if plain {
        u32::from_str_radix(digits, 16).ok()
    } else {
        None
    }
}

/// The inner boundaries that divide a range into two or more: at least one, strictly increasing.
///
/// A cut belongs to the part above it. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cuts(Arc<Box<[u32]>>);

impl Cuts {
    /// Checks boundaries and keeps them.
    ///
    /// # Errors
    ///
    /// [`Error::Cuts`] if there are none or they do not grow strictly.
    pub fn new(cuts: impl Into<Box<[u32]>>) -> Result<Self, Error> {
        let cuts = cuts.into();
        let grows = cuts.iter().zip(cuts.iter().skip(1)).all(|(a, b)| a < b);
        if cuts.is_empty() || !grows {
            return Err(Error::Cuts {
                cuts: cuts.to_vec(),
            });
        }
        Ok(Self(Arc::new(cuts)))
    }

    /// The boundaries that divide `range` into `parts` of equal width, as far as whole keys allow;
    /// none if there is nothing to divide or the range is too narrow.
    #[must_use]
    pub fn even(range: KeyRange, parts: u32) -> Option<Self> {
        let width = range.width();
        if parts < 2 || u64::from(parts) > width {
            return None;
        }
        let cut = |i: u64| range.lower + u32::try_from(width * i / u64::from(parts)).unwrap_or(0);
        let cuts = Self::new((1..u64::from(parts)).map(cut).collect::<Vec<_>>()).ok()?;
        // The key 0xffffffff cannot stand alone: as an upper bound it is inside.
        cuts.divide(range).then_some(cuts)
    }

    /// The boundaries.
    #[must_use]
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    /// How many parts they make.
    #[must_use]
    pub fn part_count(&self) -> usize {
        self.0.len() + 1
    }

    /// Whether all of them lie inside `range`, so that they partition it exactly.
    #[must_use]
    pub fn divide(&self, range: KeyRange) -> bool {
        // They grow: the outermost two answer for all.
        let inside = |cut: Option<&u32>| cut.is_some_and(|&cut| range.can_be_cut_at(cut));
        inside(self.0.first()) && inside(self.0.last())
    }

    /// The parts of `range`, in order. Meaningful only if the cuts [divide](Self::divide) it.
    pub fn parts(&self, range: KeyRange) -> impl Iterator<Item = KeyRange> + '_ {
        let lowers = std::iter::once(range.lower).chain(self.0.iter().copied());
        let uppers = self.0.iter().copied().chain(std::iter::once(range.upper));
        lowers
            .zip(uppers)
            .map(|(lower, upper)| KeyRange { lower, upper })
    }
}

/// A bundle, the unit that brokers own: `tenant/namespace/0xLLLLLLLL_0xUUUUUUUU`. Cheap to clone.
///
/// The full name is its identity, never the range alone.
///
/// # Examples
///
/// ```
/// use deedbook::ids::BundleId;
///
/// let bundle: BundleId = "acme/orders/0x00000000_0x80000000".parse()?;
/// assert!(bundle.range().contains(0x7fff_ffff));
/// assert!(!bundle.range().contains(0x8000_0000));
/// // One spelling, so that one bundle cannot have two names.
/// assert!("acme/orders/0x0_0x80000000".parse::<BundleId>().is_err());
/// # Ok::<(), deedbook::ids::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BundleId {
    namespace: Namespace,
    range: KeyRange,
}

impl BundleId {
    /// Names a slice of a namespace.
    #[must_use]
    pub const fn new(namespace: Namespace, range: KeyRange) -> Self {
        Self { namespace, range }
    }

    /// Whose key space it is a slice of.
    #[must_use]
    pub const fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Which keys it holds.
    #[must_use]
    pub const fn range(&self) -> KeyRange {
        self.range
    }

    /// Whether any key belongs to both.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.namespace == other.namespace && self.range.overlaps(other.range)
    }

    /// The bundles that `cuts` make of this one, in order.
    pub fn children<'a>(&'a self, cuts: &'a Cuts) -> impl Iterator<Item = BundleId> + 'a {
        cuts.parts(self.range).map(|range| Self {
            namespace: self.namespace.clone(),
            range,
        })
    }
}

impl fmt::Display for BundleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.range)
    }
}

impl fmt::Debug for BundleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for BundleId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (namespace, range) = text.rsplit_once('/').ok_or_else(|| Error::Form {
            what: "bundle",
            text: text.to_owned(),
            expected: "tenant/namespace/0xLLLLLLLL_0xUUUUUUUU",
        })?;
        Ok(Self {
            namespace: namespace.parse()?,
            range: range.parse()?,
        })
    }
}

impl TryFrom<String> for BundleId {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<BundleId> for String {
    fn from(bundle: BundleId) -> String {
        bundle.to_string()
    }
}

/// A topic, found in the key space by its name: `domain://tenant/namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Topic {
    namespace: Namespace,
    key: u32,
}

impl Topic {
    /// Whose key space holds it.
    #[must_use]
    pub const fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Its key: [`key_of`] the full name.
    #[must_use]
    pub const fn key(&self) -> u32 {
        self.key
    }
}

impl FromStr for Topic {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let form = || Error::Form {
            what: "topic",
            text: text.to_owned(),
            expected: "domain://tenant/namespace/name",
        };
        let (_, path) = text.split_once("://").ok_or_else(form)?;
        let (tenant, rest) = path.split_once('/').ok_or_else(form)?;
        let (namespace, local) = rest.split_once('/').ok_or_else(form)?;
        if local.is_empty() {
            return Err(form());
        }
        Ok(Self {
            namespace: Namespace::new(format!("{tenant}/{namespace}"))?,
            key: key_of(text),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(lower: u32, upper: u32) -> KeyRange {
        KeyRange::new(lower, upper).unwrap()
    }

    #[test]
    fn one_spelling_only() {
        assert_eq!(
            "0x0000000a_0xffffffff".parse::<KeyRange>().unwrap(),
            range(10, u32::MAX)
        );
        for bad in [
            "0x0000000A_0xffffffff",
            "0xa_0xffffffff",
            "0000000a_ffffffff",
            "0x0000000a-0xffffffff",
            "0x+000000a_0xffffffff",
            "0x0000000a_0x0000000a",
            "0x0000000b_0x0000000a",
        ] {
            assert!(bad.parse::<KeyRange>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_last_key_belongs_to_the_last_range() {
        assert!(range(5, u32::MAX).contains(u32::MAX));
        assert!(!range(5, u32::MAX - 1).contains(u32::MAX - 1));
        assert!(!range(0, 5).overlaps(range(5, 9)));
        assert!(range(0, 6).overlaps(range(5, 9)));
    }

    #[test]
    fn cuts_partition_exactly() {
        let whole = range(0, 8);
        let cuts = Cuts::new(vec![2, 5]).unwrap();
        assert!(cuts.divide(whole));
        assert_eq!(
            cuts.parts(whole).collect::<Vec<_>>(),
            [range(0, 2), range(2, 5), range(5, 8)]
        );
        assert!(!Cuts::new(vec![0, 5]).unwrap().divide(whole));
        assert!(!Cuts::new(vec![2, 8]).unwrap().divide(whole));
        for bad in [vec![], vec![3, 3], vec![3, 2]] {
            assert!(Cuts::new(bad).is_err());
        }
    }

    #[test]
    fn the_narrowest_range_cannot_be_cut() {
        assert_eq!(range(7, 8).middle(), None);
        assert_eq!(Cuts::even(range(7, 8), 2), None);
        assert_eq!(Cuts::even(range(u32::MAX - 1, u32::MAX), 2), None);
        assert_eq!(range(7, 9).middle(), Some(8));
        assert_eq!(
            Cuts::even(KeyRange::FULL, 4).unwrap().as_slice(),
            [0x4000_0000, 0x8000_0000, 0xc000_0000]
        );
    }

    #[test]
    fn a_topic_names_its_namespace_and_key() {
        let name = "persistent://acme/orders/eu/north";
        let topic: Topic = name.parse().unwrap();
        assert_eq!(topic.namespace().as_str(), "acme/orders");
        assert_eq!(topic.key(), key_of(name));
        for bad in [
            "acme/orders/x",
            "persistent://acme/orders",
            "persistent://acme/orders/",
        ] {
            assert!(bad.parse::<Topic>().is_err(), "{bad}");
        }
    }
}
