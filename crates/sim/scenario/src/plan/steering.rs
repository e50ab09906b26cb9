//! Controllers of LLC ways, resolved: what each steers, and by what rule.

use crate::contract::port::WaysController;
use crate::facts::platform::Platform;
use crate::plan::layout::Layout;
use crate::scenario::{ControllerKind, Scenario, io_ways};
use controllers::{Iat, IatConfig, Threshold, ThresholdConfig, WayController};
use units::{Picos, RootPortId};
use workload::control::way_steering::{SteeringController, SteeringControllerConfig};

/// A controller and what it steers.
#[derive(Clone, Debug)]
pub(crate) struct SteeringPlan {
    steered: SteeringControllerConfig,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    Threshold(ThresholdConfig),
    Iat(IatConfig),
}

impl SteeringPlan {
    /// The controller of one root port.
    pub(crate) fn of_port(port: RootPortId, llc_ways: u32, controller: &WaysController) -> Self {
        let &WaysController { threshold, period, io_ways } = controller;
        let (ports, tenants) = (vec![port], Vec::new());
        let steered = SteeringControllerConfig { ports, tenants, llc_ways, period, io_ways };
        Self { steered, rule: Rule::Threshold(threshold) }
    }

    /// The controller of a checked scenario, if it has one, for all root ports with DDIO on.
    pub(crate) fn of_machine(
        scenario: &Scenario,
        layout: &Layout,
        platform: &Platform,
    ) -> Option<Self> {
        let keys = scenario.machine.controller.as_ref()?;
        let io_ways = *io_ways(scenario).first()?;
        let has_ddio = |tenant: usize| {
            let own = scenario.tenants().nth(tenant).and_then(|it| it.kinds.devices.port.ddio_ways);
            own.is_some_and(|ways| ways > 0)
        };
        let numbered = (0..scenario.tenants().count()).filter(|&tenant| has_ddio(tenant));
        let ports = numbered.flat_map(|tenant| layout.ports_of(tenant)).collect();
        let steered = |tenants| SteeringControllerConfig {
            ports,
            tenants,
            llc_ways: platform.llc.ways.value,
            period: Picos::from_ns(keys.period_us * 1e3),
            io_ways: io_ways.clamp(keys.min_ways, keys.max_ways),
        };
        Some(match keys.kind {
            ControllerKind::Threshold => {
                let rule = Rule::Threshold(keys.threshold());
                Self { steered: steered(Vec::new()), rule }
            }
            ControllerKind::Iat => {
                let cores = layout.tenants.iter().map(|tenant| tenant.cores.clone());
                let cores = cores.chain(layout.co_runners.iter().cloned()).collect();
                let rule = Rule::Iat(keys.iat(scenario, platform.llc.ways.value));
                Self { steered: steered(cores), rule }
            }
        })
    }

    /// Creates the controller, as it is at the start of a run.
    pub(crate) fn build(&self) -> SteeringController {
        let ways = self.steered.io_ways;
        let controller: Box<dyn WayController> = match &self.rule {
            Rule::Threshold(config) => Box::new(Threshold::new(*config, ways)),
            Rule::Iat(config) => Box::new(Iat::new(config.clone(), ways)),
        };
        SteeringController::new(self.steered.clone(), controller)
    }
}
