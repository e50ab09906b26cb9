//! Metrics of a tenant's root ports.

use crate::contract::arithmetic::percent;
use crate::contract::metric::Group::{Cache, CopyEngines};
use crate::contract::metric::{Declaration, Metric, Subject, named};
use crate::contract::sample::Sample;
use model::counters::PortCounters;
use model::reading::Reading;

/// The root ports of a tenant.
pub(crate) struct RootPorts {
    /// Number of the first root port.
    pub first: usize,
    /// Numbers of all root ports of the tenant.
    pub numbers: Vec<usize>,
}

/// Counters of root ports in a sample.
pub(crate) struct RootPortsView {
    /// Sum of the counters of all root ports of the tenant.
    pub counters: PortCounters,
    /// Ways of the LLC in which the devices of the first root port may allocate.
    pub ddio_ways: u32,
}

impl Subject for RootPorts {
    type View<'a> = RootPortsView;

    fn view<'a>(&'a self, sample: &'a Sample) -> RootPortsView {
        let each = self.numbers.iter().map(|&port| &sample.ports[port].counters);
        let counters = each.fold(PortCounters::default(), |sum, port| sum.plus(port));
        RootPortsView { counters, ddio_ways: sample.ports[self.first].ddio_ways }
    }
}

/// Root ports of copy engines, each of which has one.
pub(crate) struct EnginePorts {
    /// Number and name of each root port.
    pub named: Vec<(usize, String)>,
}

/// The counters of each root port of a copy engine.
pub(crate) struct EnginePortsView<'a> {
    ports: Vec<(&'a str, PortCounters)>,
}

impl Subject for EnginePorts {
    type View<'a> = EnginePortsView<'a>;

    fn view<'a>(&'a self, sample: &'a Sample) -> EnginePortsView<'a> {
        let named = self.named.iter();
        let of_port =
            |(number, name): &'a (usize, String)| (name.as_str(), sample.ports[*number].counters);
        EnginePortsView { ports: named.map(of_port).collect() }
    }
}

impl EnginePortsView<'_> {
    fn lines(&self) -> Vec<(String, f64)> {
        let of_port = |(name, it): &(&str, PortCounters)| {
            let counts = [
                ("read_hits", it.read_hits),
                ("read_misses", it.read_misses),
                ("write_hits", it.write_hits),
                ("write_misses", it.write_misses),
            ];
            counts.map(|(kind, count)| (format!("{name}:{kind}"), count as f64))
        };
        self.ports.iter().flat_map(of_port).collect()
    }
}

/// Hit rate of DMA writes: for all devices together, and for the devices of each tenant.
pub(crate) const WRITE_HIT_RATE: Declaration =
    named(Cache, "pcie_write_hit_rate", "percent", "Device writes that hit the cache")
        .about("Full-line DMA writes (ItoM) that found their line in the LLC.")
        .headline()
        .in_timeline();
/// Hit rate of DMA reads, declared like [`WRITE_HIT_RATE`].
pub(crate) const READ_HIT_RATE: Declaration =
    named(Cache, "pcie_read_hit_rate", "percent", "Device reads served by a cache")
        .about("DMA reads (PCIRdCur) served by a cache instead of memory.")
        .headline()
        .in_timeline();

/// Metrics of each copy engine.
pub(crate) const ENGINE_METRICS: &[Metric<EnginePorts>] =
    &[named(CopyEngines, "engine_lines", "lines", "Lines of each copy engine")
        .about(
            "Full lines that each engine has written, and all lines that it has read: operands, \
             descriptors and completion records; found in a cache or not.",
        )
        .count_by("engine:kind", |v| v.lines())];

/// Metrics of every tenant.
pub(crate) const METRICS: &[Metric<RootPorts>] = &[named(Cache, "ddio_ways", "ways", "DDIO ways")
    .about("Ways of the LLC in which the tenant's devices may allocate; 0 if DDIO is off.")
    .in_timeline()
    .level(|v| f64::from(v.ddio_ways))];

/// Hit rates of a tenant. The metrics of the machine have the same names without the prefix of the tenant.
pub(crate) const SHARED_METRICS: &[Metric<RootPorts>] = &[
    WRITE_HIT_RATE.rate(|v| percent(v.counters.write_hits, v.counters.write_misses)),
    READ_HIT_RATE.rate(|v| percent(v.counters.read_hits, v.counters.read_misses)),
];
