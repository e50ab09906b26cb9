//! Metrics of caches: hits and misses of all devices and of each core, contents, evictions.

use super::machine::{MachineAgents, MachineView};
use crate::contract::arithmetic::percent;
use crate::contract::metric::Group::{Cache, Evictions};
use crate::contract::metric::{Metric, named};
use crate::kinds::root_port::metrics::{READ_HIT_RATE, WRITE_HIT_RATE};

/// All metrics of caches.
pub(crate) const METRICS: &[Metric<MachineAgents>] = &[
    WRITE_HIT_RATE
        .rate(|m| percent(m.sample.counters.pcie_write_hits, m.sample.counters.pcie_write_misses)),
    READ_HIT_RATE
        .rate(|m| percent(m.sample.counters.pcie_read_hits, m.sample.counters.pcie_read_misses)),
    named(Cache, "pcie_write_hits", "lines", "Device writes: LLC hits")
        .about("Lines of full-line DMA writes (ItoM) that were in the LLC.")
        .count(|m| m.sample.counters.pcie_write_hits as f64),
    named(Cache, "pcie_write_misses", "lines", "Device writes: LLC misses")
        .about("Lines of full-line DMA writes (ItoM) that were not in the LLC.")
        .count(|m| m.sample.counters.pcie_write_misses as f64),
    named(Cache, "pcie_read_hits", "lines", "Device reads: cache hits")
        .about("Lines of DMA reads (PCIRdCur) served by the LLC or a core's cache.")
        .count(|m| m.sample.counters.pcie_read_hits as f64),
    named(Cache, "pcie_read_misses", "lines", "Device reads: cache misses")
        .about("Lines of DMA reads (PCIRdCur) served by memory.")
        .count(|m| m.sample.counters.pcie_read_misses as f64),
    named(Cache, "pcie_partial_write_hits", "lines", "Partial device writes: LLC hits")
        .about("Lines of partial-line DMA writes (RFO) that were in the LLC.")
        .count(|m| m.sample.counters.pcie_partial_write_hits as f64),
    named(Cache, "pcie_partial_write_misses", "lines", "Partial device writes: LLC misses")
        .about("Lines of partial-line DMA writes (RFO) that were not in the LLC.")
        .count(|m| m.sample.counters.pcie_partial_write_misses as f64),
    named(Cache, "l2_misses_per_s", "1/s", "L2 misses")
        .about("Demand accesses and instruction fetches that L2 did not hold.")
        .rate_by("core", |m| m.each_core(|core| core.l2_misses)),
    named(Cache, "l2_load_misses_per_s", "1/s", "L2 load misses")
        .about("Demand loads that L2 did not hold.")
        .rate_by("core", |m| m.each_core(|core| core.l2_load_misses)),
    named(Cache, "llc_misses_per_s", "1/s", "LLC load misses")
        .about("Demand loads that neither L1D, L2 nor the LLC held; prefetches count apart.")
        .rate_by("core", |m| m.each_core(|core| core.llc_load_misses)),
    named(Cache, "llc_prefetch_misses_per_s", "1/s", "LLC prefetch misses")
        .about("Prefetches by software and by L2 that the LLC did not hold.")
        .rate_by("core", |m| m.each_core(|core| core.llc_prefetch_misses)),
    named(Cache, "llc_software_prefetch_misses_per_s", "1/s", "LLC software prefetch misses")
        .about("Prefetches by software alone that the LLC did not hold.")
        .rate_by("core", |m| {
            m.each_core(|core| core.llc_prefetch_misses - core.l2_prefetcher_misses)
        }),
    named(Cache, "llc_occupancy_bytes", "bytes", "LLC occupancy")
        .about("Bytes of the LLC that hold lines of each agent, the mean over the batches.")
        .headline()
        .in_timeline()
        .level_by("agent", |m| {
            let bytes = m.sample.occupancy.iter().map(|&bytes| bytes as f64);
            m.agents.iter().cloned().zip(bytes).collect()
        }),
    named(Evictions, "evictions", "lines", "LLC evictions")
        .about("Lines pushed out of the LLC, by evictor, by owner, and read before or not.")
        .count_by("evictor>owner:state", |m| m.evictions()),
];

impl MachineView<'_> {
    fn evictions(&self) -> Vec<(String, f64)> {
        let names = self.agents;
        let mut cells = Vec::new();
        for (cell, &count) in self.sample.evictions.iter().enumerate() {
            let (pair, read) = (cell / 2, cell % 2 == 1);
            let (evictor, owner) = (&names[pair / names.len()], &names[pair % names.len()]);
            let state = if read { "read" } else { "unread" };
            cells.push((format!("{evictor}>{owner}:{state}"), count as f64));
        }
        cells
    }
}
