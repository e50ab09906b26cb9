//! A machine as the software on its cores sees it: its fabric and clocks, its memory, and the slices of
//! memory regions.

use crate::contract::hardware::Nodes;
use model::core::Core;
use model::core::bandwidth_limit::BandwidthLimit;
use model::fabric::FabricConfig;
use model::mesh::Topology;
use units::narrow::fit;
use units::{Bytes, CoreId, Gigahertz, Id, LineAddr, SliceId};
use workload::host_memory::{HostMemory, PagePlacement, Region};
use workload::slice_memory::region_in_slices;

/// Everything about a machine except its tenants.
#[derive(Clone, Debug)]
pub(crate) struct MachinePlan {
    /// Caches, links, root ports and memory.
    pub fabric: FabricConfig,
    /// Clock of the cores.
    pub core_clock: Gigahertz,
    /// Number of lines that an LLC holds: a line accessed longer ago than this number of lines is
    /// evicted.
    pub llc_lines: u64,
    /// Seed of the run.
    pub seed: u64,
    /// Fill buffers of a core.
    pub fill_buffers: u32,
    /// Limit of the memory bandwidth of each core.
    pub bandwidth_limits: Vec<BandwidthLimit>,
    /// Distances of cores and slices; cores are numbered in their socket.
    pub topology: Topology,
    /// The number in its socket of each core.
    pub numbers_in_socket: Vec<u8>,
    /// Pages of memory before a tenant states others.
    pub page: Bytes,
    /// Placement of the pages of a region.
    pub pages: PagePlacement,
    /// Memory nodes in use.
    pub nodes: Nodes,
    /// Seed of each memory node.
    pub memory_seeds: Vec<u64>,
}

impl MachinePlan {
    /// A core in use, at time zero.
    #[must_use]
    pub(crate) fn core(&self, id: CoreId) -> Core {
        let core = Core::new(id, self.core_clock, self.fill_buffers);
        core.with_bandwidth_limit(self.bandwidth_limits[id.index()])
    }

    /// Memory of every node.
    #[must_use]
    pub(crate) fn memories(&self) -> Vec<HostMemory> {
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
    pub(crate) fn slice_of(&self, line: LineAddr) -> SliceId {
        self.fabric.socket.llc.map.slice_of(line)
    }

    /// Slices by their distance from a core.
    #[must_use]
    pub(crate) fn nearest_slices(&self, core: CoreId) -> Vec<SliceId> {
        self.topology.nearest_slices(self.numbers_in_socket[core.index()])
    }

    /// Slices by their combined distance from several cores.
    #[must_use]
    pub(crate) fn nearest_slices_for(&self, cores: &[CoreId]) -> Vec<SliceId> {
        self.topology.nearest_slices_for(&self.in_socket(cores))
    }

    /// All slices, divided among several cores, the nearest ones first.
    #[must_use]
    pub(crate) fn isolated_slices(&self, cores: &[CoreId]) -> Vec<Vec<SliceId>> {
        self.topology.isolated_slices(&self.in_socket(cores))
    }

    /// Memory whose lines lie in the given slices.
    #[must_use]
    pub(crate) fn in_slices(
        &self,
        memory: &mut HostMemory,
        bytes: u64,
        slices: &[SliceId],
    ) -> Region {
        let count = fit(self.fabric.socket.llc.map.slices());
        region_in_slices(memory, bytes, count, slices, |line| self.slice_of(line))
    }

    fn in_socket(&self, cores: &[CoreId]) -> Vec<u8> {
        cores.iter().map(|&core| self.numbers_in_socket[core.index()]).collect()
    }
}
