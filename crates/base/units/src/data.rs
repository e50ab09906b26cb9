//! Amounts of data and their rates.

use crate::Picos;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A data rate in gigabits (10^9 bits) per second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct GbitPerSec(pub f64);

impl GbitPerSec {
    /// How long `bytes` take at this rate.
    #[must_use]
    pub fn time_for(self, bytes: Bytes) -> Picos {
        Picos::from_ns(bytes.0 as f64 * 8.0 / self.0)
    }

    /// The rate at which `bytes` pass in `span`; zero for an empty span.
    #[must_use]
    pub fn from_transfer(bytes: Bytes, span: Picos) -> Self {
        if span == Picos::ZERO {
            return Self(0.0);
        }
        Self(bytes.0 as f64 * 8.0 / span.as_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_frame_at_100_gbps_takes_its_6_72_ns() {
        assert_eq!(GbitPerSec(100.0).time_for(Bytes(84)), Picos(6_720));
    }

    #[test]
    fn a_rate_and_its_time_are_inverse() {
        let rate = GbitPerSec(40.0);
        let span = rate.time_for(Bytes(1_000_000));
        assert!((GbitPerSec::from_transfer(Bytes(1_000_000), span).0 - 40.0).abs() < 1e-9);
    }
}
