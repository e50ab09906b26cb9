//! A bidirectional ring on which every stop carries a core and the slice of the same number.
//!
//! Models: the ring of Haswell-EP with its polarity: slices an even number of stops away are reached in
//! one direction, those an odd number away in the other, which adds a constant.
//! Source: EuroSys'19 (latencies from one core of an E5-2667 v3, to which all values are fitted).
//! Simplifies: the medians of core 0 would be the same if the stops lay in the order 0 2 4 6 7 5 3 1
//! along an open chain; other cores are assumed to see the ring as core 0 does, rotated by their
//! number. Processors with two rings are one ring with all stops.

use super::{SliceLatency, TopologyError, check_cycles};
use units::{Cycles, SliceId};

/// Stops and hops of a ring.
#[derive(Clone, Debug, PartialEq)]
pub struct RingConfig {
    /// Stops, in order; each carries a core and a slice of its number.
    pub stops: u16,
    /// Cycles of a hit in the core's clock.
    pub latency_core_cycles: f64,
    /// Cycles of a hit in the uncore's clock on the core's own stop.
    pub latency_uncore_cycles: f64,
    /// From one stop to the next.
    pub hop_uncore_cycles: f64,
    /// Latency of slices an odd number of stops away beyond their hops.
    pub odd_extra_uncore_cycles: f64,
}

/// A ring whose stops and latencies have been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct RingInterconnect {
    config: RingConfig,
}

impl RingInterconnect {
    /// The ring of `config`.
    ///
    /// # Errors
    /// If there are no stops, more than 256, or a latency is negative.
    pub fn new(config: RingConfig) -> Result<Self, TopologyError> {
        match config.stops {
            0 => return Err(TopologyError::Empty),
            1..=256 => {}
            _ => return Err(TopologyError::TooMany),
        }
        check_cycles("latency_core_cycles", config.latency_core_cycles)?;
        check_cycles("latency_uncore_cycles", config.latency_uncore_cycles)?;
        check_cycles("hop_uncore_cycles", config.hop_uncore_cycles)?;
        check_cycles("odd_extra_uncore_cycles", config.odd_extra_uncore_cycles)?;
        Ok(Self { config })
    }

    /// Number of stops, which is that of cores and of slices.
    #[must_use]
    pub fn stops(&self) -> u16 {
        self.config.stops
    }

    /// Load-to-use latency of a hit of `core` in `slice`.
    pub(super) fn latency(&self, core: u8, slice: SliceId) -> SliceLatency {
        let config = &self.config;
        let (from, to) = (u16::from(core), slice.0);
        assert!(from < config.stops && to < config.stops);
        let onward = (config.stops + to - from) % config.stops;
        let (hops, extra) = if onward.is_multiple_of(2) {
            (onward, 0.0)
        } else {
            (config.stops - onward, config.odd_extra_uncore_cycles)
        };
        let way = f64::from(hops) * config.hop_uncore_cycles + extra;
        SliceLatency {
            core: Cycles(config.latency_core_cycles),
            uncore: Cycles(config.latency_uncore_cycles + way),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::narrow::fit;

    fn config() -> RingConfig {
        RingConfig {
            stops: 8,
            latency_core_cycles: 12.0,
            latency_uncore_cycles: 20.0,
            hop_uncore_cycles: 1.0,
            odd_extra_uncore_cycles: 10.0,
        }
    }

    fn ways(core: u8) -> [f64; 8] {
        let ring = RingInterconnect::new(config()).expect("is valid");
        std::array::from_fn(|slice| ring.latency(core, SliceId(fit(slice))).uncore.0 - 20.0)
    }

    #[test]
    fn even_stops_are_reached_onward_and_odd_ones_the_other_way_round() {
        assert_eq!(ways(0), [0.0, 17.0, 2.0, 15.0, 4.0, 13.0, 6.0, 11.0]);
    }

    #[test]
    fn each_core_sees_the_ring_turned_by_its_number() {
        for core in 0..8 {
            let mut turned = ways(core);
            turned.rotate_left(usize::from(core));
            assert_eq!(turned, ways(0), "core {core}");
        }
    }

    #[test]
    fn what_is_no_ring_is_refused_with_the_reason() {
        let fault = |config| RingInterconnect::new(config).expect_err("must be refused");
        assert_eq!(fault(RingConfig { stops: 0, ..config() }), TopologyError::Empty);
        assert_eq!(fault(RingConfig { stops: 257, ..config() }), TopologyError::TooMany);
        let text = fault(RingConfig { hop_uncore_cycles: -0.5, ..config() }).to_string();
        assert_eq!(text, "`hop_uncore_cycles` = -0.5; allowed: 0 or more");
        let nothing = fault(RingConfig { latency_uncore_cycles: f64::NAN, ..config() });
        assert!(nothing.to_string().starts_with("`latency_uncore_cycles` = NaN"));
    }
}
