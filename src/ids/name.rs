//! Names that people give: brokers and namespaces.

use super::Error;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

/// The longest name of a broker or a namespace, in bytes.
pub const NAME_BYTES_MAX: usize = 255;

/// The stable name of a broker, such as `host:port`. Cheap to clone.
///
/// It names the place, not the process: a restarted broker has the same name and a new
/// [`SessionToken`](super::SessionToken).
///
/// # Examples
///
/// ```
/// use deedbook::ids::BrokerId;
///
/// let broker: BrokerId = "broker-1:8080".parse()?;
/// assert_eq!(broker.as_str(), "broker-1:8080");
/// assert!("".parse::<BrokerId>().is_err());
/// # Ok::<(), deedbook::ids::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BrokerId(Name);

/// A key space that its bundles partition completely: `tenant/namespace`. Cheap to clone.
///
/// # Examples
///
/// ```
/// use deedbook::ids::Namespace;
///
/// let namespace: Namespace = "acme/orders".parse()?;
/// assert_eq!(namespace.to_string(), "acme/orders");
/// assert!("acme".parse::<Namespace>().is_err());
/// # Ok::<(), deedbook::ids::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Namespace(Name);

/// A text that was checked, shared by all its clones, with its hash: most names that meet are
/// clones of one, and then nobody looks at the text.
#[derive(Clone)]
struct Name(Arc<Text>);

struct Text {
    /// Differs from process to process, so that nobody can choose names that collide.
    hash: u64,
    text: Box<str>,
}

impl Name {
    fn new(text: &str) -> Self {
        static KEYS: OnceLock<RandomState> = OnceLock::new();
        let hash = KEYS.get_or_init(RandomState::new).hash_one(text);
        let text = text.into();
        Self(Arc::new(Text { hash, text }))
    }

    fn as_str(&self) -> &str {
        &self.0.text
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.hash == other.0.hash && self.0.text == other.0.text)
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.0.hash);
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ordering::Equal;
        }
        self.0.text.cmp(&other.0.text)
    }
}

impl BrokerId {
    /// Checks a name and keeps it.
    ///
    /// # Errors
    ///
    /// [`Error`] if it is empty, longer than [`NAME_BYTES_MAX`], or holds white space or control
    /// characters.
    pub fn new(name: impl AsRef<str>) -> Result<Self, Error> {
        let name = name.as_ref();
        check("broker", name, name)?;
        Ok(Self(Name::new(name)))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl Namespace {
    /// Checks a name of the form `tenant/namespace` and keeps it.
    ///
    /// # Errors
    ///
    /// [`Error`] if it does not have exactly two non-empty parts, is longer than
    /// [`NAME_BYTES_MAX`], or holds white space or control characters.
    pub fn new(name: impl AsRef<str>) -> Result<Self, Error> {
        let name = name.as_ref();
        let form = || Error::Form {
            what: "namespace",
            text: name.to_owned(),
            expected: "tenant/namespace",
        };
        let (tenant, local) = name.split_once('/').ok_or_else(form)?;
        if local.contains('/') {
            return Err(form());
        }
        check("namespace", name, tenant)?;
        check("namespace", name, local)?;
        check("namespace", name, name)?;
        Ok(Self(Name::new(name)))
    }

    /// The whole name, `tenant/namespace`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The part before the slash.
    #[must_use]
    pub fn tenant(&self) -> &str {
        self.as_str()
            .split_once('/')
            .map_or("", |(tenant, _)| tenant)
    }
}

/// Checks one `part` of a `name`; the error shows the whole.
fn check(what: &'static str, name: &str, part: &str) -> Result<(), Error> {
    if part.is_empty() {
        return Err(Error::Empty {
            what,
            text: name.to_owned(),
        });
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(Error::TooLong {
            what,
            bytes: name.len(),
            max: NAME_BYTES_MAX,
        });
    }
    match part.chars().find(|c| c.is_whitespace() || c.is_control()) {
        Some(found) => Err(Error::Character {
            what,
            text: name.to_owned(),
            found,
        }),
        None => Ok(()),
    }
}

/// The traits that both names share; a macro because Rust has no other way to say it once.
macro_rules! name_traits {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
        impl FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self, Error> {
                Self::new(text)
            }
        }
        impl TryFrom<String> for $name {
            type Error = Error;
            fn try_from(text: String) -> Result<Self, Error> {
                Self::new(text)
            }
        }
        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.as_str().to_owned()
            }
        }
    };
}

name_traits!(BrokerId);
name_traits!(Namespace);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_part_by_part() {
        assert!(Namespace::new("a/b").is_ok());
        for bad in ["", "a", "a/", "/b", "a/b/c", "a /b", "a/b\n"] {
            assert!(Namespace::new(bad).is_err(), "{bad:?}");
        }
        assert!(BrokerId::new("h:1").is_ok());
        for bad in ["", "a b", "a\0"] {
            assert!(BrokerId::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_longest_name_fits_and_one_more_byte_does_not() {
        assert!(BrokerId::new("x".repeat(NAME_BYTES_MAX)).is_ok());
        assert!(matches!(
            BrokerId::new("x".repeat(NAME_BYTES_MAX + 1)),
            Err(Error::TooLong { bytes: 256, .. })
        ));
        assert!(Namespace::new(format!("a/{}", "x".repeat(NAME_BYTES_MAX - 1))).is_err());
    }
}
