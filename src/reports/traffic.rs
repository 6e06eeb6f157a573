//! What passes through a broker or a bundle.

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::Add;

/// Messages and bytes that pass in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// Messages a second from producers.
    pub message_rate_in: f64,
    /// Messages a second to consumers.
    pub message_rate_out: f64,
    /// Bytes a second from producers.
    pub throughput_in: f64,
    /// Bytes a second to consumers.
    pub throughput_out: f64,
}

impl Traffic {
    /// Messages a second, both ways together.
    #[must_use]
    pub fn messages(&self) -> f64 {
        self.message_rate_in + self.message_rate_out
    }

    /// Bytes a second, both ways together.
    #[must_use]
    pub fn bytes(&self) -> f64 {
        self.throughput_in + self.throughput_out
    }

    /// Whether all numbers are finite and none is negative.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let sound = |number: f64| number.is_finite() && number >= 0.0;
        sound(self.message_rate_in)
            && sound(self.message_rate_out)
            && sound(self.throughput_in)
            && sound(self.throughput_out)
            && self.messages().is_finite()
            && self.bytes().is_finite()
    }
}

impl Add for Traffic {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            message_rate_in: self.message_rate_in + other.message_rate_in,
            message_rate_out: self.message_rate_out + other.message_rate_out,
            throughput_in: self.throughput_in + other.throughput_in,
            throughput_out: self.throughput_out + other.throughput_out,
        }
    }
}

impl Sum for Traffic {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traffic_with_a_bad_number_is_not_sound() {
        assert!(Traffic::default().is_sound());
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            let traffic = Traffic {
                throughput_out: bad,
                ..Traffic::default()
            };
            assert!(!traffic.is_sound(), "{bad}");
        }
        let overflowing = Traffic {
            message_rate_in: f64::MAX,
            message_rate_out: f64::MAX,
            ..Traffic::default()
        };
        assert!(!overflowing.is_sound());
    }
}
