//! The machine of a plan: its fabric and clocks, its memory, and the slices of memory regions.

use crate::assemble::hardware::{Hardware, Nodes};
use crate::devices::PortPlan;
use crate::input::error::InputError;
use crate::layout::Layout;
use crate::platform::{Platform, SoftwareFacts};
use crate::scenario::Scenario;
use model::core::Core;
use model::core::bandwidth_limit::BandwidthLimit;
use model::fabric::FabricConfig;
use model::mesh::Topology;
use units::narrow::fit;
use units::{Bytes, CoreId, Gigahertz, Id, LineAddr, SliceId, WayMask};
use workload::host_memory::{HostMemory, PagePlacement, Region};
use workload::slice_memory::region_in_slices;

/// Everything about a machine except its tenants.
#[derive(Clone, Debug)]
pub struct MachinePlan {
    /// Caches, links, root ports and memory.
    pub fabric: FabricConfig,
    /// Clock of the cores.
    pub core_clock: Gigahertz,
    /// Lines that an LLC holds: a line accessed longer ago than this number of lines is evicted.
    pub llc_lines: u64,
    /// Seed of the run.
    pub seed: u64,
    fill_buffers: u32,
    /// Limit of each core.
    bandwidth_limits: Vec<BandwidthLimit>,
    /// Distances of cores and slices; cores are numbered in their socket.
    topology: Topology,
    /// The number in its socket of each core.
    numbers_in_socket: Vec<u8>,
    page: Bytes,
    pages: PagePlacement,
    /// Memory nodes in use.
    pub(crate) nodes: Nodes,
    /// Seed of each memory node.
    memory_seeds: Vec<u64>,
}

impl MachinePlan {
    /// The machine of a checked scenario.
    pub(super) fn of<'p>(
        scenario: &Scenario,
        platform: &Platform,
        layout: &Layout,
        ports: impl Iterator<Item = &'p PortPlan>,
        seed: u64,
    ) -> Result<Self, InputError> {
        let machine = &scenario.machine;
        let nodes = nodes(scenario);
        let core_clock = Gigahertz(machine.core_ghz.unwrap_or(platform.cpu.core_ghz.value));
        let uncore = Gigahertz(machine.uncore_ghz.unwrap_or(platform.cpu.uncore_ghz.value));
        let topology = platform.topology(&machine.platform)?;
        let llc = &platform.llc;
        let software = platform.software.as_ref();
        let main = nodes.number(scenario.main.keys.memory_node, scenario.main.keys.socket);
        let seed_of_node = |node| if node == main { seed } else { tenant_seed(seed, node + 1) };
        let hardware = Hardware {
            platform,
            topology: &topology,
            core: core_clock,
            uncore,
            cores: layout.cores,
            core_way_masks: core_way_masks(scenario, layout, llc.all_ways_mask()),
            ports: ports.map(|port| port.config.clone()).collect(),
            nodes,
            seed,
        };
        Ok(Self {
            fabric: hardware.fabric(),
            core_clock,
            llc_lines: u64::from(llc.slices.value * llc.sets_per_slice.value * llc.ways.value),
            seed,
            fill_buffers: platform.cpu.fill_buffers.value,
            bandwidth_limits: bandwidth_limits(scenario, layout),
            topology,
            numbers_in_socket: cores(layout).map(|core| layout.number_in_socket(core)).collect(),
            nodes,
            page: Bytes(scenario.main.keys.page_size.bytes()),
            pages: software.map(SoftwareFacts::page_placement).unwrap_or_default(),
            memory_seeds: (0..nodes.count()).map(seed_of_node).collect(),
        })
    }

    /// A core in use, at time zero.
    #[must_use]
    pub fn core(&self, id: CoreId) -> Core {
        let core = Core::new(id, self.core_clock, self.fill_buffers);
        core.with_bandwidth_limit(self.bandwidth_limits[id.index()])
    }

    /// Memory of every node.
    #[must_use]
    pub fn memories(&self) -> Vec<HostMemory> {
        let count = self.memory_seeds.len() as u64;
        let memory = |(node, &seed)| {
            let mut memory = HostMemory::in_node(self.page, seed, node, count);
            memory.place_pages(self.pages);
            memory
        };
        (0..).zip(&self.memory_seeds).map(memory).collect()
    }

    /// The slice of a line.
    #[must_use]
    pub fn slice_of(&self, line: LineAddr) -> SliceId {
        self.fabric.socket.llc.map.slice_of(line)
    }

    /// Slices by their distance from a core.
    #[must_use]
    pub fn nearest_slices(&self, core: CoreId) -> Vec<SliceId> {
        self.topology.nearest_slices(self.numbers_in_socket[core.index()])
    }

    /// Slices by their combined distance from several cores.
    #[must_use]
    pub fn nearest_slices_for(&self, cores: &[CoreId]) -> Vec<SliceId> {
        self.topology.nearest_slices_for(&self.in_socket(cores))
    }

    /// All slices, divided among several cores, the nearest ones first.
    #[must_use]
    pub fn isolated_slices(&self, cores: &[CoreId]) -> Vec<Vec<SliceId>> {
        self.topology.isolated_slices(&self.in_socket(cores))
    }

    /// Memory whose lines lie in the given slices.
    #[must_use]
    pub fn in_slices(&self, memory: &mut HostMemory, bytes: u64, slices: &[SliceId]) -> Region {
        let count = fit(self.fabric.socket.llc.map.slices());
        region_in_slices(memory, bytes, count, slices, |line| self.slice_of(line))
    }

    fn in_socket(&self, cores: &[CoreId]) -> Vec<u8> {
        cores.iter().map(|&core| self.numbers_in_socket[core.index()]).collect()
    }
}

/// Tenants draw different random numbers; the main one uses the run's own seed.
pub(super) fn tenant_seed(seed: u64, tenant: u64) -> u64 {
    seed.wrapping_add(tenant.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Memory nodes and sockets that a scenario uses.
pub(super) fn nodes(scenario: &Scenario) -> Nodes {
    Nodes { other_socket: scenario.uses_other_socket(), cxl: scenario.uses_cxl() }
}

fn cores(layout: &Layout) -> impl Iterator<Item = CoreId> {
    (0..layout.all_cores()).map(CoreId::at)
}

fn core_way_masks(scenario: &Scenario, layout: &Layout, all_ways: u32) -> Vec<WayMask> {
    let tenants = scenario.tenants().map(|tenant| tenant.keys.core_way_mask);
    let co_runners = scenario.machine.co_runner.iter().map(|keys| keys.way_mask);
    let masks = tenants.chain(co_runners).map(|mask| WayMask(mask.unwrap_or(all_ways)));
    of_cores(masks, layout, WayMask(all_ways))
}

/// Limit of each core's traffic beyond its L2.
fn bandwidth_limits(scenario: &Scenario, layout: &Layout) -> Vec<BandwidthLimit> {
    let tenants = scenario.tenants().map(|tenant| tenant.keys.mba_percent);
    let co_runners = scenario.machine.co_runner.iter().map(|keys| keys.mba_percent);
    let limits = tenants.chain(co_runners).map(BandwidthLimit::percent);
    of_cores(limits, layout, BandwidthLimit::NONE)
}

/// The value of each core, from those of all tenants and then of all co-runners.
fn of_cores<V: Copy>(values: impl Iterator<Item = V>, layout: &Layout, default: V) -> Vec<V> {
    let mut all = vec![default; layout.all_cores()];
    let cores = layout.tenants.iter().map(|tenant| &tenant.cores).chain(&layout.co_runners);
    for (value, cores) in values.zip(cores) {
        for &core in cores {
            all[core.index()] = value;
        }
    }
    all
}
