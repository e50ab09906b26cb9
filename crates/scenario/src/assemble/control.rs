//! What steers the machine of a scenario: its events, its tenants' controllers, its bandwidth limits.

use super::{Plan, hardware};
use crate::scenario::{DynamicWaysKeys, EventKeys};
use model::core::bandwidth_limit::BandwidthLimit;
use model::machine::Controller;
use model::tracer::Tracer;
use units::Picos;
use workload::control::dynamic_ways::{DynamicWays, DynamicWaysConfig};
use workload::control::schedule::{Change, Schedule};

impl Plan<'_> {
    /// Everything that changes settings while the machine runs.
    pub(super) fn controllers<T: Tracer>(&self) -> Vec<Box<dyn Controller<T>>> {
        let mut controllers: Vec<Box<dyn Controller<T>>> = Vec::new();
        let changes = self.changes();
        if !changes.is_empty() {
            controllers.push(Box::new(Schedule::new(changes)));
        }
        for (number, tenant) in self.scenario.tenants().enumerate() {
            let Some(keys) = tenant.dynamic_ways.as_ref().filter(|keys| keys.enabled) else {
                continue;
            };
            for port in self.layout.ports_of(number) {
                let config = self.dynamic_ways(keys, port);
                let ways = tenant.ddio_ways.unwrap_or(keys.min_ways);
                controllers.push(Box::new(DynamicWays::new(config, ways)));
            }
        }
        controllers
    }

    fn dynamic_ways(&self, keys: &DynamicWaysKeys, port: usize) -> DynamicWaysConfig {
        DynamicWaysConfig {
            port,
            period: Picos::from_ns(keys.period_us * 1e3),
            bounds: (keys.min_ways, keys.max_ways),
            llc_ways: self.platform.llc.ways.value,
            grow_above: keys.grow_above_misses_per_us,
            shrink_below: keys.shrink_below_misses_per_us,
            shrink_after_periods: keys.shrink_after_periods,
        }
    }

    /// The policies that the scenario's events set.
    fn changes(&self) -> Vec<Change> {
        self.scenario.machine.event.iter().flat_map(|event| self.changes_of(event)).collect()
    }

    fn changes_of(&self, event: &EventKeys) -> Vec<Change> {
        let mut tenants = self.scenario.tenants().enumerate();
        let (number, tenant) =
            tenants.find(|(_, tenant)| tenant.name == event.tenant).expect("events are checked");
        let mut tenant = tenant.clone();
        tenant.ddio_ways = Some(event.ddio_ways);
        tenant.ddio_keeps_descriptors = event.ddio_keeps_descriptors;
        let policy = hardware::port(&tenant, self.platform, &self.server(number)).policy;
        let at = Picos::from_ns(event.at_us * 1e3);
        self.layout.ports_of(number).map(|port| Change { at, port, policy }).collect()
    }

    /// What a core may move beyond its L2.
    pub(super) fn bandwidth_limit(&self, core: u8) -> BandwidthLimit {
        let tenants = self.scenario.tenants().map(|tenant| tenant.mba_percent);
        let co_runners = self.scenario.machine.co_runner.iter().map(|keys| keys.mba_percent);
        let cores = self.layout.tenants.iter().map(|tenant| &tenant.cores);
        let mut all = tenants.chain(co_runners).zip(cores.chain(&self.layout.co_runners));
        let own = all.find(|(_, cores)| cores.contains(&core));
        own.map_or(BandwidthLimit::NONE, |(percent, _)| BandwidthLimit::percent(percent))
    }
}
