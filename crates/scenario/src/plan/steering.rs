//! Controllers of LLC ways, resolved: what each steers, and by what rule.

use crate::input::check::Check;
use crate::input::error::InputError;
use crate::layout::Layout;
use crate::platform::Platform;
use crate::scenario::{ControllerKind, Scenario};
use controllers::{Iat, IatConfig, Threshold, ThresholdConfig, WayController};
use units::Picos;
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
    /// One that looks at devices alone.
    pub fn threshold(steered: SteeringControllerConfig, config: ThresholdConfig) -> Self {
        Self { steered, rule: Rule::Threshold(config) }
    }

    /// The controller of the scenario, if it has one, for all root ports with DDIO on.
    ///
    /// # Errors
    /// Names the key that the machine contradicts.
    pub fn of_machine(
        scenario: &Scenario,
        layout: &Layout,
        platform: &Platform,
        check: &Check<'_>,
    ) -> Result<Option<Self>, InputError> {
        let Some(keys) = &scenario.machine.controller else { return Ok(None) };
        let io_ways = keys.check(scenario, check, platform)?;
        let has_ddio = |tenant: usize| {
            let own = scenario.tenants().nth(tenant).and_then(|it| it.devices.port.ddio_ways);
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
        Ok(Some(match keys.kind {
            ControllerKind::Threshold => Self::threshold(steered(Vec::new()), keys.threshold()),
            ControllerKind::Iat => {
                let cores = layout.tenants.iter().map(|tenant| tenant.cores.clone());
                let cores = cores.chain(layout.co_runners.iter().cloned()).collect();
                let rule = Rule::Iat(keys.iat(scenario, platform.llc.ways.value));
                Self { steered: steered(cores), rule }
            }
        }))
    }

    /// The controller itself.
    pub fn build(&self) -> SteeringController {
        let ways = self.steered.io_ways;
        let controller: Box<dyn WayController> = match &self.rule {
            Rule::Threshold(config) => Box::new(Threshold::new(*config, ways)),
            Rule::Iat(config) => Box::new(Iat::new(config.clone(), ways)),
        };
        SteeringController::new(self.steered.clone(), controller)
    }
}
