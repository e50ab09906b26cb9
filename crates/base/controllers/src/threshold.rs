//! One way more while devices miss often, one less when they have missed seldom for a while.
//!
//! This is the rule that an operator would write first; no publication describes it. A way whose removal
//! was followed by misses is kept longer, so that it does not come and go.

use crate::{PeriodCounters, WayController, Ways};

/// Largest number of quiet periods before a way is removed.
const MOST_PATIENCE: u32 = 64;

/// Parameters of [`Threshold`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdConfig {
    /// Fewest and most ways for devices.
    pub bounds: (u32, u32),
    /// Write misses in a second above which it adds a way.
    pub grow_above_per_s: f64,
    /// Write misses in a second below which a period is quiet.
    pub shrink_below_per_s: f64,
    /// Quiet periods in a row before it removes a way.
    pub shrink_after_periods: u32,
}

/// The threshold controller, with the ways of devices and the count of quiet periods.
#[derive(Clone, Debug)]
pub struct Threshold {
    config: ThresholdConfig,
    ways: u32,
    quiet_periods: u32,
    patience: u32,
    /// Whether the last move removed a way.
    has_shrunk: bool,
}

impl Threshold {
    /// Begins with `ways` ways, or the nearest number within the bounds.
    #[must_use]
    pub fn new(config: ThresholdConfig, ways: u32) -> Self {
        let ways = ways.clamp(config.bounds.0, config.bounds.1);
        let patience = config.shrink_after_periods;
        Self { config, ways, quiet_periods: 0, patience, has_shrunk: false }
    }

    /// The number of ways that it wants now.
    #[must_use]
    pub fn ways(&self) -> u32 {
        self.ways
    }

    fn next(&mut self, misses_per_s: f64) -> u32 {
        let (fewest, most) = self.config.bounds;
        if misses_per_s > self.config.grow_above_per_s {
            if self.has_shrunk {
                self.patience = (2 * self.patience).min(MOST_PATIENCE);
            }
            (self.quiet_periods, self.has_shrunk) = (0, false);
            return (self.ways + 1).min(most);
        }
        let quiet = misses_per_s < self.config.shrink_below_per_s;
        self.quiet_periods = if quiet { self.quiet_periods + 1 } else { 0 };
        if self.quiet_periods < self.patience || self.ways == fewest {
            return self.ways;
        }
        (self.quiet_periods, self.has_shrunk) = (0, true);
        self.ways - 1
    }
}

impl WayController for Threshold {
    fn decide(&mut self, seen: &PeriodCounters) -> Ways {
        self.ways = self.next(seen.io_misses_per_s());
        Ways { io: self.ways, tenants: Vec::new() }
    }

    fn keep_io_ways(&mut self, io: u32) {
        // A way that was not taken back cannot have been missed.
        if io > self.ways {
            self.has_shrunk = false;
        }
        self.ways = io.clamp(self.config.bounds.0, self.config.bounds.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controller() -> Threshold {
        let config = ThresholdConfig {
            bounds: (1, 4),
            grow_above_per_s: 1e6,
            shrink_below_per_s: 1e5,
            shrink_after_periods: 2,
        };
        Threshold::new(config, 2)
    }

    fn after(controller: &mut Threshold, misses_per_us: &[u64]) -> u32 {
        for &misses in misses_per_us {
            let seen = PeriodCounters {
                period_s: 1e-4,
                io_write_misses: 100 * misses,
                ..PeriodCounters::default()
            };
            controller.decide(&seen);
        }
        controller.ways()
    }

    #[test]
    fn many_misses_add_a_way_per_period_up_to_the_bound() {
        let mut controller = controller();
        assert_eq!(after(&mut controller, &[50]), 3);
        assert_eq!(after(&mut controller, &[50, 50, 50]), 4);
    }

    #[test]
    fn few_misses_give_ways_back_after_a_while_down_to_the_bound() {
        let mut controller = controller();
        assert_eq!(after(&mut controller, &[0]), 2);
        assert_eq!(after(&mut controller, &[0]), 1);
        assert_eq!(after(&mut controller, &[0; 9]), 1);
    }

    #[test]
    fn misses_between_the_thresholds_change_nothing() {
        let mut controller = controller();
        let seen =
            PeriodCounters { period_s: 1e-4, io_write_misses: 50, ..PeriodCounters::default() };
        for _ in 0..20 {
            assert_eq!(controller.decide(&seen).io, 2);
        }
    }

    #[test]
    fn a_way_that_is_missed_after_it_was_given_back_is_kept_longer() {
        let mut controller = controller();
        assert_eq!(after(&mut controller, &[0, 0]), 1);
        assert_eq!(after(&mut controller, &[9]), 2);
        assert_eq!(after(&mut controller, &[0, 0, 0]), 2, "twice as patient");
        assert_eq!(after(&mut controller, &[0]), 1);
    }

    #[test]
    fn a_way_that_was_not_taken_back_does_not_make_it_more_patient() {
        let mut controller = controller();
        assert_eq!(after(&mut controller, &[0, 0]), 1);
        controller.keep_io_ways(2);
        assert_eq!(after(&mut controller, &[9]), 3);
        assert_eq!(after(&mut controller, &[0, 0]), 2, "as patient as at first");
    }

    #[test]
    fn a_change_that_was_not_made_is_asked_for_again() {
        let mut controller = controller();
        assert_eq!(after(&mut controller, &[50]), 3);
        controller.keep_io_ways(2);
        assert_eq!(after(&mut controller, &[50]), 3);
    }
}
