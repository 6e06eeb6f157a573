//! Bundles' names in other spellings than the one that names have here.

use crate::ids::{self, BundleId, KeyRange, NAME_BYTES_MAX, Namespace};

/// The longest text that is looked at: a namespace, and a range with room for odd spellings.
const BUNDLE_BYTES_MAX: usize = NAME_BYTES_MAX + 45;

/// How a bundle's name was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// As names are written here.
    Canonical,
    /// With upper-case digits, fewer or more than eight of them, or white space around it.
    Other,
}

/// Reads a bundle's name, in whatever spelling leaves no doubt which one is meant.
pub(super) fn read_bundle(text: &str) -> Result<(BundleId, Spelling), ids::Error> {
    if text.len() > BUNDLE_BYTES_MAX {
        return Err(ids::Error::TooLong {
            what: "bundle",
            bytes: text.len(),
            max: BUNDLE_BYTES_MAX,
        });
    }
    let error = match text.parse::<BundleId>() {
        Ok(bundle) => return Ok((bundle, Spelling::Canonical)),
        Err(error) => error,
    };
    let bounds = |(namespace, range): (&str, &str)| {
        let (lower, upper) = range.split_once('_')?;
        Some((namespace.to_owned(), read_bound(lower)?, read_bound(upper)?))
    };
    match text.trim().rsplit_once('/').and_then(bounds) {
        Some((namespace, lower, upper)) => {
            let bundle = BundleId::new(Namespace::new(namespace)?, KeyRange::new(lower, upper)?);
            Ok((bundle, Spelling::Other))
        }
        None => Err(error),
    }
}

/// Reads `0x` and hexadecimal digits, of either case and in any number.
fn read_bound(text: &str) -> Option<u32> {
    let digits = text
        .strip_prefix("0x")
        .or_else(|| text.strip_prefix("0X"))?;
    // The parser of numbers would take a sign as well.
    if digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        u32::from_str_radix(digits, 16).ok()
    } else {
        None
    }
}
