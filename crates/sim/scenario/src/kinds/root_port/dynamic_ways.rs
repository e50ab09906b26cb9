//! A controller that changes the number of DDIO ways by demand.

use crate::contract::input::TenantInput;
use crate::contract::port::WaysController;
use crate::facts::platform::MOST_LLC_WAYS;
use crate::text::error::InputError;
use controllers::ThresholdConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Picos;

pub(crate) const PERIOD_US: (f64, f64) = (1.0, 1e6);
pub(crate) const MISSES_PER_US: (f64, f64) = (0.0, 1e4);
pub(crate) const PERIODS: (u32, u32) = (1, 64);

/// A controller that changes the number of ways by demand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct DynamicWaysKeys {
    /// Whether the controller runs.
    pub enabled: bool,
    /// Time between two readings of the counters.
    #[schemars(range(min = PERIOD_US.0, max = PERIOD_US.1))]
    pub period_us: f64,
    /// Smallest number of ways that the controller sets.
    #[schemars(range(min = 1, max = MOST_LLC_WAYS))]
    pub min_ways: u32,
    /// Largest number of ways that the controller sets.
    #[schemars(range(min = 1, max = MOST_LLC_WAYS))]
    pub max_ways: u32,
    /// Write misses per microsecond above which it adds a way.
    #[schemars(range(min = MISSES_PER_US.0, max = MISSES_PER_US.1))]
    pub grow_above_misses_per_us: f64,
    /// Write misses per microsecond below which it removes a way.
    #[schemars(range(min = MISSES_PER_US.0, max = MISSES_PER_US.1))]
    pub shrink_below_misses_per_us: f64,
    /// Consecutive periods below that limit after which it removes a way.
    #[schemars(range(min = PERIODS.0, max = PERIODS.1))]
    pub shrink_after_periods: u32,
}

impl Default for DynamicWaysKeys {
    fn default() -> Self {
        Self {
            enabled: true,
            period_us: 100.0,
            min_ways: 1,
            max_ways: 6,
            grow_above_misses_per_us: 1.0,
            shrink_below_misses_per_us: 0.1,
            shrink_after_periods: 3,
        }
    }
}

impl DynamicWaysKeys {
    /// Resolves the controller of a root port that begins with `ways` DDIO ways.
    pub(super) fn plan(&self, ways: u32) -> WaysController {
        WaysController {
            threshold: ThresholdConfig {
                bounds: (self.min_ways, self.max_ways),
                grow_above_per_s: 1e6 * self.grow_above_misses_per_us,
                shrink_below_per_s: 1e6 * self.shrink_below_misses_per_us,
                shrink_after_periods: self.shrink_after_periods,
            },
            period: Picos::from_ns(self.period_us * 1e3),
            io_ways: ways.clamp(self.min_ways, self.max_ways),
        }
    }

    /// Checks the keys; `off` is whether DDIO is off.
    ///
    /// # Errors
    /// Names the first value that is out of range, or `dynamic_ways.enabled` if the controller cannot run.
    pub(super) fn check(&self, input: &TenantInput<'_>, off: bool) -> Result<(), InputError> {
        let (check, platform) = (&input.check, input.platform);
        let ways = platform.llc.ways.value;
        check.number("dynamic_ways.period_us", self.period_us, PERIOD_US)?;
        check.whole("dynamic_ways.min_ways", self.min_ways, (1, ways), "ways of the LLC")?;
        let what = "ways of the LLC, no fewer than dynamic_ways.min_ways";
        check.whole("dynamic_ways.max_ways", self.max_ways, (self.min_ways, ways), what)?;
        let (grow, shrink) = (self.grow_above_misses_per_us, self.shrink_below_misses_per_us);
        check.number("dynamic_ways.grow_above_misses_per_us", grow, MISSES_PER_US)?;
        check.number("dynamic_ways.shrink_below_misses_per_us", shrink, (MISSES_PER_US.0, grow))?;
        let periods = self.shrink_after_periods;
        check.whole("dynamic_ways.shrink_after_periods", periods, PERIODS, "periods")?;
        if self.enabled && (off || platform.root_complex_buffer.is_some()) {
            let allowed =
                "needs ddio_ways above 0 and a platform without [root_complex_buffer]".into();
            return Err(check.refuse("dynamic_ways.enabled", &true, allowed));
        }
        Ok(())
    }
}
