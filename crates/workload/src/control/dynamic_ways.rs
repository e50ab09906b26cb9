//! A feedback loop that adapts a device's number of DDIO ways to its misses.
//!
//! Models: a daemon that reads a port's write misses each period, adds a way while they are many and
//! removes one when they have been few for several periods.
//! Source: IAT ("Don't forget the I/O when allocating your LLC", ISCA'21): one way per interval, bounds
//! of 1 and 6 ways, a miss rate of 1 M/s as threshold (recalled).
//! Simplifies: the daemon takes no core time, reads exact counters, and does not change the ways of
//! cores (no shuffling of tenants); a way whose removal was followed by misses is kept longer.

use model::fabric::Fabric;
use model::machine::Controller;
use model::root_complex::ddio::Ddio;
use model::tracer::Tracer;
use units::{Picos, RootPortId};

/// Largest number of periods with few misses before a way is removed.
const MOST_PATIENCE: u32 = 64;

/// Parameters of the loop.
#[derive(Clone, Copy, Debug)]
pub struct DynamicWaysConfig {
    /// The root port.
    pub port: RootPortId,
    /// Time between two readings.
    pub period: Picos,
    /// Fewest and most ways.
    pub bounds: (u32, u32),
    /// Ways of the LLC.
    pub llc_ways: u32,
    /// Write misses per microsecond above which it adds a way.
    pub grow_above: f64,
    /// Write misses per microsecond below which it removes a way.
    pub shrink_below: f64,
    /// Consecutive periods below that limit before it does.
    pub shrink_after_periods: u32,
}

/// The loop.
#[derive(Clone, Debug)]
pub struct DynamicWays {
    config: DynamicWaysConfig,
    misses: u64,
    ways: u32,
    quiet_periods: u32,
    patience: u32,
    /// Whether the last move removed a way.
    has_shrunk: bool,
    started: bool,
}

impl DynamicWays {
    /// A loop with `ways` ways at the start.
    #[must_use]
    pub fn new(config: DynamicWaysConfig, ways: u32) -> Self {
        let ways = ways.clamp(config.bounds.0, config.bounds.1);
        let patience = config.shrink_after_periods;
        let (misses, quiet_periods, has_shrunk, started) = (0, 0, false, false);
        Self { config, misses, ways, quiet_periods, patience, has_shrunk, started }
    }

    /// Number of ways after a period with this many misses per microsecond.
    fn decide(&mut self, misses_per_us: f64) -> u32 {
        let (fewest, most) = self.config.bounds;
        if misses_per_us > self.config.grow_above {
            if self.has_shrunk {
                self.patience = (2 * self.patience).min(MOST_PATIENCE);
            }
            (self.quiet_periods, self.has_shrunk) = (0, false);
            return (self.ways + 1).min(most);
        }
        let quiet = misses_per_us < self.config.shrink_below;
        self.quiet_periods = if quiet { self.quiet_periods + 1 } else { 0 };
        if self.quiet_periods < self.patience || self.ways == fewest {
            return self.ways;
        }
        (self.quiet_periods, self.has_shrunk) = (0, true);
        self.ways - 1
    }
}

impl<T: Tracer> Controller<T> for DynamicWays {
    fn step(&mut self, fabric: &mut Fabric<T>, now: Picos) -> Picos {
        let misses = fabric.root_port(self.config.port).counters().write_misses;
        if self.started {
            let period_us = self.config.period.as_ns() / 1e3;
            self.ways = self.decide((misses - self.misses) as f64 / period_us);
        }
        self.started = true;
        self.misses = misses;
        let ddio = Ddio::top_ways(self.ways, self.config.llc_ways);
        let mut policy = *fabric.root_port(self.config.port).policy();
        if policy.payload != ddio {
            (policy.payload, policy.descriptors) = (ddio, ddio);
            fabric.set_io_policy(self.config.port, policy);
        }
        now + self.config.period
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controller() -> DynamicWays {
        let config = DynamicWaysConfig {
            port: RootPortId(0),
            period: Picos(100_000_000),
            bounds: (1, 4),
            llc_ways: 11,
            grow_above: 1.0,
            shrink_below: 0.1,
            shrink_after_periods: 2,
        };
        DynamicWays::new(config, 2)
    }

    fn after(controller: &mut DynamicWays, misses_per_us: &[f64]) -> u32 {
        for &misses in misses_per_us {
            controller.ways = controller.decide(misses);
        }
        controller.ways
    }

    #[test]
    fn many_misses_add_a_way_per_period_up_to_the_bound() {
        let mut controller = controller();
        assert_eq!(after(&mut controller, &[50.0]), 3);
        assert_eq!(after(&mut controller, &[50.0, 50.0, 50.0]), 4);
    }

    #[test]
    fn few_misses_give_ways_back_after_a_while_down_to_the_bound() {
        let mut controller = controller();
        assert_eq!(after(&mut controller, &[0.0]), 2);
        assert_eq!(after(&mut controller, &[0.0]), 1);
        assert_eq!(after(&mut controller, &[0.0; 9]), 1);
    }

    #[test]
    fn misses_between_the_thresholds_change_nothing() {
        assert_eq!(after(&mut controller(), &[0.5; 20]), 2);
    }

    #[test]
    fn a_way_that_is_missed_after_it_was_given_back_is_kept_longer() {
        let mut controller = controller();
        assert_eq!(after(&mut controller, &[0.0, 0.0]), 1);
        assert_eq!(after(&mut controller, &[9.0]), 2);
        assert_eq!(after(&mut controller, &[0.0, 0.0, 0.0]), 2, "twice as patient");
        assert_eq!(after(&mut controller, &[0.0]), 1);
    }
}
