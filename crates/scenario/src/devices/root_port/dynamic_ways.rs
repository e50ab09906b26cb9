//! A controller that changes the number of DDIO ways by demand.

use crate::input::error::InputError;
use crate::plan::TenantInput;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Picos, RootPortId};
use workload::control::dynamic_ways::DynamicWaysConfig;

/// A controller that changes the number of ways by demand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DynamicWaysKeys {
    /// Whether it runs.
    pub enabled: bool,
    /// Time between two readings of the counters.
    pub period_us: f64,
    /// Fewest ways.
    pub min_ways: u32,
    /// Most ways.
    pub max_ways: u32,
    /// Write misses per microsecond above which it adds a way.
    pub grow_above_misses_per_us: f64,
    /// Write misses per microsecond below which it removes a way.
    pub shrink_below_misses_per_us: f64,
    /// Consecutive periods below that limit before it does.
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
    /// The controller of root port `port`, in an LLC of `llc_ways` ways.
    pub(crate) fn config(&self, port: RootPortId, llc_ways: u32) -> DynamicWaysConfig {
        DynamicWaysConfig {
            port,
            period: Picos::from_ns(self.period_us * 1e3),
            bounds: (self.min_ways, self.max_ways),
            llc_ways,
            grow_above: self.grow_above_misses_per_us,
            shrink_below: self.shrink_below_misses_per_us,
            shrink_after_periods: self.shrink_after_periods,
        }
    }

    /// Checks the keys; `off` says whether DDIO is off.
    pub(super) fn check(&self, input: &TenantInput<'_>, off: bool) -> Result<(), InputError> {
        let (check, platform) = (&input.check, input.platform);
        let ways = platform.llc.ways.value;
        check.number("dynamic_ways.period_us", self.period_us, (1.0, 1e6))?;
        check.whole("dynamic_ways.min_ways", self.min_ways, (1, ways), "ways of the LLC")?;
        let what = "ways of the LLC, no fewer than dynamic_ways.min_ways";
        check.whole("dynamic_ways.max_ways", self.max_ways, (self.min_ways, ways), what)?;
        let (grow, shrink) = (self.grow_above_misses_per_us, self.shrink_below_misses_per_us);
        check.number("dynamic_ways.grow_above_misses_per_us", grow, (0.0, 1e4))?;
        check.number("dynamic_ways.shrink_below_misses_per_us", shrink, (0.0, grow))?;
        let periods = self.shrink_after_periods;
        check.whole("dynamic_ways.shrink_after_periods", periods, (1, 64), "periods")?;
        if self.enabled && (off || platform.root_complex_buffer.is_some()) {
            let allowed =
                "needs ddio_ways above 0 and a platform without [root_complex_buffer]".into();
            return Err(check.refuse("dynamic_ways.enabled", &true, allowed));
        }
        Ok(())
    }
}
