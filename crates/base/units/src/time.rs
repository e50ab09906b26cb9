//! Simulated time. The tick is one picosecond: 64 bits last 213 days.

use crate::narrow::whole;
use std::ops::{Add, AddAssign, Sub};

/// A point in simulated time, or a span of it, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Picos(pub u64);

impl Picos {
    /// The start of the simulation.
    pub const ZERO: Self = Self(0);
    /// Latest time of a packet: simulated time ends after 106 days, because hosts convert fractional
    /// times through signed numbers of 64 bits.
    pub const LATEST: Self = Self(i64::MAX.cast_unsigned());
    /// Later than every event: the next time of an agent that waits for another agent to wake it.
    pub const NEVER: Self = Self(u64::MAX);

    /// Converts nanoseconds, rounded to the nearest picosecond. Negative input becomes zero.
    #[must_use]
    pub fn from_ns(ns: f64) -> Self {
        // This rounds without a call; every packet uses it.
        Self(whole(ns * 1e3 + 0.5))
    }

    /// The time in nanoseconds.
    #[must_use]
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// The time in seconds.
    #[must_use]
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// This much later; [`Self::NEVER`] if the sum exceeds it.
    #[must_use]
    pub fn saturating_add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The span from `earlier` to this time, zero if `earlier` is later.
    #[must_use]
    pub fn saturating_sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Picos {
    type Output = Self;
    fn add(self, span: Self) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign for Picos {
    fn add_assign(&mut self, span: Self) {
        self.0 += span.0;
    }
}

impl Sub for Picos {
    type Output = Self;
    fn sub(self, earlier: Self) -> Self {
        Self(self.0 - earlier.0)
    }
}

/// A clock frequency in GHz.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Gigahertz(pub f64);

/// A number of clock cycles; fractions are allowed because costs per packet are averages.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Cycles(pub f64);

impl Cycles {
    /// How long these cycles last at `clock`.
    #[must_use]
    pub fn at(self, clock: Gigahertz) -> Picos {
        Picos::from_ns(self.0 / clock.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_at_a_clock_last_their_quotient() {
        assert_eq!(Cycles(300.0).at(Gigahertz(3.0)), Picos(100_000));
    }

    #[test]
    fn a_span_into_the_past_is_zero() {
        assert_eq!(Picos(5).saturating_sub(Picos(9)), Picos::ZERO);
    }
}
