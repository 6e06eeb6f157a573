//! Numbers as brokers write them: as numbers, as text, or not at all.

use super::note::shorten;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// What stands in a number's place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Number {
    /// Nothing, or null.
    #[default]
    Missing,
    /// A finite number.
    Plain(f64),
    /// A finite number, written as text.
    Text(f64),
    /// Something else, such as the text `NaN`.
    Other(String),
}

impl Number {
    /// The number, however it was written.
    pub(super) const fn value(&self) -> Option<f64> {
        match self {
            Self::Plain(value) | Self::Text(value) => Some(*value),
            Self::Missing | Self::Other(_) => None,
        }
    }

    fn from_f64(value: f64) -> Self {
        if value.is_finite() {
            Self::Plain(value)
        } else {
            Self::Other(value.to_string())
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
        Ok(Number::from_f64(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
        Ok(Number::Plain(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
        Ok(Number::Plain(value as f64))
    }

    fn visit_str<E>(self, text: &str) -> Result<Number, E> {
        Ok(match text.trim().parse::<f64>() {
            Ok(value) if value.is_finite() => Number::Text(value),
            _ => Number::Other(format!("{:?}", shorten(text))),
        })
    }

    fn visit_bool<E>(self, value: bool) -> Result<Number, E> {
        Ok(Number::Other(value.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Number, E> {
        Ok(Number::Missing)
    }

    fn visit_none<E>(self) -> Result<Number, E> {
        Ok(Number::Missing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Number, D::Error> {
        Number::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Number, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Number::Other("a list".to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Number, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Number::Other("an object".to_owned()))
    }
}
