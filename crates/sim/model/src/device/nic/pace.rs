//! The rate at which a port's packet engine takes packets, besides the wire.
//!
//! Models: a least time between packets, and a time per packet and per byte.
//! Source: packet rates of cards (platform and device files).
//! Simplifies: the engine's internals are reduced to this pace.

use units::narrow::whole;
use units::{Bytes, Picos};

/// The pace of a port in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    /// Least time from one packet to the next, for packets of any size.
    pub least: Picos,
    /// Time of every packet besides the time of its bytes.
    pub per_packet: Picos,
    /// Time for a byte of a packet, without FCS, in ps.
    pub ps_per_byte: f64,
}

impl Pace {
    /// A pace without any limit.
    pub const NONE: Self = Self { least: Picos::ZERO, per_packet: Picos::ZERO, ps_per_byte: 0.0 };

    /// A pace of `least` for packets of any size.
    #[must_use]
    pub fn of_packets(least: Picos) -> Self {
        Self { least, ..Self::NONE }
    }

    /// Time from a packet of `bytes` to the next.
    #[must_use]
    pub fn time_for(&self, bytes: Bytes) -> Picos {
        let engine = self.per_packet + Picos(whole(bytes.0 as f64 * self.ps_per_byte));
        self.least.max(engine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_packets_take_the_least_time_and_large_ones_that_of_their_bytes() {
        let pace = Pace { least: Picos(30_000), per_packet: Picos(10_000), ps_per_byte: 200.0 };
        assert_eq!(pace.time_for(Bytes(60)), Picos(30_000));
        assert_eq!(pace.time_for(Bytes(100)), Picos(30_000));
        assert_eq!(pace.time_for(Bytes(1_000)), Picos(210_000));
        assert_eq!(Pace::NONE.time_for(Bytes(1_000)), Picos::ZERO);
    }
}
