//! A controller of LLC ways on a simulated machine: counters of a period go in, masks come out.
//!
//! Models: a daemon that reads counters of root ports and cores each period and writes way masks, while
//! no line is flushed or moved.
//! Source: the crate `controllers` says where each of them comes from.
//! Simplifies: the daemon takes no core time and reads exact counters at the same instant.

use controllers::{PeriodCounters, TenantCounters, WayController, Ways};
use model::counters::{CoreCounters, PortCounters};
use model::fabric::Fabric;
use model::reading::Reading;
use model::root_complex::ddio::Ddio;
use model::tracer::Tracer;
use units::{CoreId, Picos, RootPortId};

/// Root ports, tenants and ways that a controller steers.
#[derive(Clone, Debug)]
pub struct SteeringControllerConfig {
    /// Root ports that get the ways of devices.
    pub ports: Vec<RootPortId>,
    /// Cores of each tenant, in the order in which the controller knows them; none if it does not.
    pub tenants: Vec<Vec<CoreId>>,
    /// Number of ways of the LLC.
    pub llc_ways: u32,
    /// Time between two readings.
    pub period: Picos,
    /// Ways of devices at the start.
    pub io_ways: u32,
}

/// A controller of LLC ways, with the last readings of the counters that it looks at.
#[derive(Debug)]
pub struct SteeringController {
    config: SteeringControllerConfig,
    controller: Box<dyn WayController>,
    before: Option<CounterReadings>,
}

/// Readings of all that the controller looks at.
#[derive(Debug)]
struct CounterReadings {
    ports: PortCounters,
    tenants: Vec<CoreCounters>,
}

impl SteeringController {
    /// The controller begins at time zero, with the ways of the configuration.
    #[must_use]
    pub fn new(config: SteeringControllerConfig, controller: Box<dyn WayController>) -> Self {
        Self { config, controller, before: None }
    }

    fn count<T: Tracer>(&self, fabric: &Fabric<T>) -> CounterReadings {
        let ports = self.config.ports.iter().map(|&port| *fabric.root_port(port).counters());
        let ports = ports.fold(PortCounters::default(), |sum, of_port| sum.plus(&of_port));
        let of_tenant = |cores: &Vec<CoreId>| {
            let counters = cores.iter().map(|&core| fabric.private_caches(core).counters);
            counters.fold(CoreCounters::default(), |sum, of_core| sum.plus(&of_core))
        };
        CounterReadings { ports, tenants: self.config.tenants.iter().map(of_tenant).collect() }
    }

    fn seen(&self, now: &CounterReadings, before: &CounterReadings) -> PeriodCounters {
        let ports = now.ports.since(&before.ports);
        let of_tenant = |(now, before): (&CoreCounters, &CoreCounters)| {
            let counted = now.since(before);
            TenantCounters { llc_references: counted.l2_misses, llc_misses: counted.llc_misses }
        };
        PeriodCounters {
            period_s: self.config.period.as_ns() / 1e9,
            io_write_hits: ports.write_hits,
            io_write_misses: ports.write_misses,
            tenants: now.tenants.iter().zip(&before.tenants).map(of_tenant).collect(),
        }
    }

    fn set<T: Tracer>(&self, fabric: &mut Fabric<T>, ways: &Ways) {
        let ddio = Ddio::top_ways(ways.io, self.config.llc_ways);
        for &port in &self.config.ports {
            let mut policy = *fabric.root_port(port).policy();
            if policy.payload != ddio {
                (policy.payload, policy.descriptors) = (ddio, ddio);
                fabric.set_io_policy(port, policy);
            }
        }
        for (mask, cores) in ways.tenants.iter().zip(&self.config.tenants) {
            for &core in cores {
                fabric.set_core_way_mask(core, *mask);
            }
        }
    }
}

impl<T: Tracer> model::machine::Controller<T> for SteeringController {
    fn step(&mut self, fabric: &mut Fabric<T>, now: Picos) -> Picos {
        let counted = self.count(fabric);
        let ways = match &self.before {
            None => Ways { io: self.config.io_ways, tenants: Vec::new() },
            Some(before) => {
                let seen = self.seen(&counted, before);
                self.controller.decide(&seen)
            }
        };
        self.before = Some(counted);
        self.set(fabric, &ways);
        now + self.config.period
    }
}
