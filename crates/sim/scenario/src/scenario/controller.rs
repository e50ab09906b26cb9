//! A controller that changes ways of the LLC while the machine runs.

use super::Scenario;
use crate::facts::platform::{MOST_LLC_WAYS, Platform};
use crate::kinds::root_port::{MISSES_PER_US, PERIOD_US, PERIODS};
use crate::text::check::Check;
use crate::text::error::InputError;
use controllers::{IatConfig, ThresholdConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const PERCENT: (f64, f64) = (0.0, 100.0);
const SHRINK_BELOW_MISSES_PER_US: f64 = 0.1;
const SHRINK_AFTER_PERIODS: u32 = 3;
const STABLE_PERCENT: f64 = 3.0;

/// Rule by which a controller changes the ways of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ControllerKind {
    /// A way more for devices while they miss often, one less when they have missed seldom for a while.
    Threshold,
    /// As IAT of ISCA'21 (recalled): also ways of cores change, and who shares them with devices.
    Iat,
}

/// A controller of the ways of all devices with DDIO on, as one register of a socket holds them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ControllerKeys {
    /// Rule by which the controller changes the ways.
    pub kind: ControllerKind,
    /// Time between two readings of the counters.
    #[serde(default = "period_us")]
    #[schemars(range(min = PERIOD_US.0, max = PERIOD_US.1))]
    pub period_us: f64,
    /// Least number of ways of devices.
    #[serde(default = "min_ways")]
    #[schemars(range(min = 1, max = MOST_LLC_WAYS))]
    pub min_ways: u32,
    /// Greatest number of ways of devices.
    #[serde(default = "max_ways")]
    #[schemars(range(min = 1, max = MOST_LLC_WAYS))]
    pub max_ways: u32,
    /// Write misses per microsecond above which devices lack ways.
    #[serde(default = "grow_above")]
    #[schemars(range(min = MISSES_PER_US.0, max = MISSES_PER_US.1))]
    pub grow_above_misses_per_us: f64,
    /// Threshold: write misses per microsecond below which a period is quiet. 0.1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MISSES_PER_US.0, max = MISSES_PER_US.1))]
    pub shrink_below_misses_per_us: Option<f64>,
    /// Threshold: quiet periods in a row before it removes a way. 3 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = PERIODS.0, max = PERIODS.1))]
    pub shrink_after_periods: Option<u32>,
    /// IAT: change of a counter, in percent, below which it is the same. 3 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = PERCENT.0, max = PERCENT.1))]
    pub stable_percent: Option<f64>,
    /// IAT: tenants, or co-runners by their number (`co_runner.0`), that share ways with devices first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub best_effort: Vec<String>,
}

fn period_us() -> f64 {
    100.0
}

fn min_ways() -> u32 {
    1
}

fn max_ways() -> u32 {
    6
}

fn grow_above() -> f64 {
    1.0
}

impl ControllerKeys {
    /// The keys as parameters of the threshold rule.
    pub(crate) fn threshold(&self) -> ThresholdConfig {
        let below = self.shrink_below_misses_per_us.unwrap_or(SHRINK_BELOW_MISSES_PER_US);
        ThresholdConfig {
            bounds: (self.min_ways, self.max_ways),
            grow_above_per_s: 1e6 * self.grow_above_misses_per_us,
            shrink_below_per_s: 1e6 * below.min(self.grow_above_misses_per_us),
            shrink_after_periods: self.shrink_after_periods.unwrap_or(SHRINK_AFTER_PERIODS),
        }
    }

    /// The rule of IAT for the tenants, and the co-runners after them.
    pub(crate) fn iat(&self, scenario: &Scenario, llc_ways: u32) -> IatConfig {
        let ways = |mask: Option<u32>| mask.map_or(llc_ways, u32::count_ones);
        let masks = scenario.tenants().map(|tenant| tenant.keys.core_way_mask);
        let masks = masks.chain(scenario.machine.co_runner.iter().map(|keys| keys.way_mask));
        let is_best_effort = |name: &String| self.best_effort.contains(name);
        let names = names(scenario);
        IatConfig {
            llc_ways,
            bounds: (self.min_ways, self.max_ways),
            miss_low_per_s: 1e6 * self.grow_above_misses_per_us,
            stable_share: self.stable_percent.unwrap_or(STABLE_PERCENT) / 100.0,
            tenants: masks.map(ways).zip(names.iter().map(is_best_effort)).collect(),
        }
    }

    /// Checks the keys.
    ///
    /// # Errors
    /// Names the first value that is out of range or contradicts another.
    pub(crate) fn check(
        &self,
        scenario: &Scenario,
        check: &Check<'_>,
        platform: &Platform,
    ) -> Result<(), InputError> {
        let ways = platform.llc.ways.value;
        check.number("controller.period_us", self.period_us, PERIOD_US)?;
        check.whole("controller.min_ways", self.min_ways, (1, ways), "ways of the LLC")?;
        let what = "ways of the LLC, no fewer than controller.min_ways";
        check.whole("controller.max_ways", self.max_ways, (self.min_ways, ways), what)?;
        let grow = self.grow_above_misses_per_us;
        check.number("controller.grow_above_misses_per_us", grow, MISSES_PER_US)?;
        if let Some(shrink) = self.shrink_below_misses_per_us {
            let key = "controller.shrink_below_misses_per_us";
            check.number(key, shrink, (MISSES_PER_US.0, grow))?;
        }
        if let Some(periods) = self.shrink_after_periods {
            check.whole("controller.shrink_after_periods", periods, PERIODS, "periods")?;
        }
        if let Some(percent) = self.stable_percent {
            check.number("controller.stable_percent", percent, PERCENT)?;
        }
        self.check_kind(check)?;
        self.check_names(scenario, check)?;
        self.check_machine(scenario, check, platform)
    }

    /// Keys of one kind have no effect on the other.
    fn check_kind(&self, check: &Check<'_>) -> Result<(), InputError> {
        use ControllerKind::{Iat, Threshold};
        let stated = [
            ("shrink_below_misses_per_us", self.shrink_below_misses_per_us.is_some(), Threshold),
            ("shrink_after_periods", self.shrink_after_periods.is_some(), Threshold),
            ("stable_percent", self.stable_percent.is_some(), Iat),
            ("best_effort", !self.best_effort.is_empty(), Iat),
        ];
        for (key, is_stated, kind) in stated {
            if is_stated && self.kind != kind {
                let name = if kind == Iat { "iat" } else { "threshold" };
                let allowed = format!("only with controller.kind = \"{name}\"");
                return Err(check.refuse(&format!("controller.{key}"), &"set", allowed));
            }
        }
        Ok(())
    }

    fn check_names(&self, scenario: &Scenario, check: &Check<'_>) -> Result<(), InputError> {
        let names = names(scenario);
        match self.best_effort.iter().find(|name| !names.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let allowed = format!("allowed: {}", names.join(", "));
                Err(check.refuse("controller.best_effort", name, allowed))
            }
        }
    }

    /// One register for all devices of a socket, and nothing else that changes it.
    fn check_machine(
        &self,
        scenario: &Scenario,
        check: &Check<'_>,
        platform: &Platform,
    ) -> Result<(), InputError> {
        let refuse = |allowed: &str| Err(check.refuse("controller.kind", &"set", allowed.into()));
        if platform.root_complex_buffer.is_some() {
            return refuse("needs a platform without [root_complex_buffer]");
        }
        if scenario.uses_other_socket() {
            return refuse("steers one socket: leave the other one unused");
        }
        if scenario.tenants().any(|tenant| tenant.kinds.devices.port.changes_ways_itself()) {
            return refuse("a tenant has [dynamic_ways]: one of the two decides");
        }
        if scenario.machine.event.iter().any(|event| event.ddio_ways.is_some()) {
            return refuse("an event changes ddio_ways: one of the two decides");
        }
        match io_ways(scenario)[..] {
            [_] => Ok(()),
            [] => refuse("needs devices with ddio_ways above 0"),
            _ => refuse("tenants have different ddio_ways: the register has one number for all"),
        }
    }
}

/// Ways of devices with DDIO on at first: one number if all have the same.
pub(crate) fn io_ways(scenario: &Scenario) -> Vec<u32> {
    let ways = scenario.tenants().filter_map(|tenant| tenant.kinds.devices.port.ddio_ways);
    let mut on: Vec<u32> = ways.filter(|&ways| ways > 0).collect();
    on.dedup();
    on
}

/// Names of the tenants, then of the co-runners.
fn names(scenario: &Scenario) -> Vec<String> {
    let tenants = scenario.tenants().map(|tenant| tenant.keys.name.clone());
    let co_runners = (0..scenario.machine.co_runner.len()).map(|it| format!("co_runner.{it}"));
    tenants.chain(co_runners).collect()
}
