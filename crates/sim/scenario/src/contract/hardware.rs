//! Builds the fabric's configuration from a platform's facts.

use crate::contract::tenant::MemoryNode;
use crate::facts::platform::{
    InclusionName, InclusiveMoveName, Platform, PrivateLevel, SetFunctionName, SliceFunctionName,
};
use crate::text::sourced::Sourced;
use address_map::{AddressMap, SetFunction, SliceFunction, XOR_MASKS};
use model::fabric::{
    CorePathConfig, DirectoryConfig, FabricConfig, MemoryConfig, NodeConfig, PortConfig,
    SocketConfig,
};
use model::llc::inclusion::InclusiveMove;
use model::llc::{Inclusion, LlcConfig, LlcLatency};
use model::mesh::Topology;
use model::private_caches::{PrefetcherConfig, PrivateCacheConfig, PrivateCachesConfig};
use model::root_complex::iio::IioConfig;
use units::narrow::fit;
use units::{Cycles, Gigahertz, Picos, SocketId, WayMask};

/// The facts of a platform, and the settings of a run.
pub(crate) struct Hardware<'p> {
    /// The platform with its facts.
    pub platform: &'p Platform,
    /// Distances of cores and slices.
    pub topology: &'p Topology,
    /// Clock of the cores.
    pub core: Gigahertz,
    /// Clock of mesh and LLC.
    pub uncore: Gigahertz,
    /// Cores in use of the first and the second socket.
    pub cores: [u32; 2],
    /// CAT masks of the cores in use, socket by socket.
    pub core_way_masks: Vec<WayMask>,
    /// Root ports in use.
    pub ports: Vec<PortConfig>,
    /// Memory nodes in use.
    pub nodes: Nodes,
    /// Seed of all random choices.
    pub seed: u64,
}

/// Memory nodes of a run; the local one is always included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Nodes {
    /// Whether the machine has a second socket with its memory.
    pub other_socket: bool,
    /// Whether the machine has a CXL node.
    pub cxl: bool,
}

impl Nodes {
    /// Number of a node in the order of addresses, seen from a core of `socket`.
    #[must_use]
    pub(crate) fn number(self, node: MemoryNode, socket: u32) -> u64 {
        match node {
            MemoryNode::Local => u64::from(socket),
            MemoryNode::OtherSocket => u64::from(1 - socket),
            MemoryNode::Cxl => self.count() - 1,
        }
    }

    /// Number of nodes.
    #[must_use]
    pub(crate) fn count(self) -> u64 {
        1 + u64::from(self.other_socket) + u64::from(self.cxl)
    }
}

impl<'p> Hardware<'p> {
    /// One socket without devices at the platform's own clocks, with `cores` cores in use.
    #[must_use]
    pub(crate) fn without_devices(
        platform: &'p Platform,
        topology: &'p Topology,
        cores: u32,
        seed: u64,
    ) -> Self {
        Self {
            platform,
            topology,
            core: Gigahertz(platform.cpu.core_ghz.value),
            uncore: Gigahertz(platform.cpu.uncore_ghz.value),
            cores: [cores, 0],
            core_way_masks: vec![WayMask(platform.llc.all_ways_mask()); cores as usize],
            ports: Vec::new(),
            nodes: Nodes::default(),
            seed,
        }
    }

    /// The whole configuration.
    #[must_use]
    pub(crate) fn fabric(self) -> FabricConfig {
        let sockets = 1 + usize::from(self.nodes.other_socket);
        FabricConfig {
            cores: self.cores[..sockets].to_vec(),
            private: self.private(),
            core_path: self.core_path(),
            socket: self.socket(),
            memory: self.memory(),
            core_way_masks: self.core_way_masks,
            ports: self.ports,
            seed: self.seed,
        }
    }

    fn private(&self) -> PrivateCachesConfig {
        let platform = self.platform;
        let stream_delay = platform.cpu.stream_prefetch_delay_cycles.as_ref();
        PrivateCachesConfig {
            l1: private_config(&platform.l1d),
            l1i: platform.l1i.as_ref().map(private_config),
            l2: private_config(&platform.l2),
            prefetcher: PrefetcherConfig {
                adjacent_line: platform.cpu.adjacent_line_prefetch.value,
                stream_lines: platform.cpu.stream_prefetch_lines.value,
                // A streamer that fetches nothing sees nothing: such levels are independent.
                stream_sees_hits: platform.cpu.stream_prefetch_lines.value > 0
                    && stated(&platform.cpu.stream_prefetch_sees_hits, false),
                stream_delay: stream_delay.map(|cycles| Cycles(cycles.value).at(self.core)),
            },
        }
    }

    fn core_path(&self) -> CorePathConfig {
        let platform = self.platform;
        let other_core = Picos::from_ns(platform.cpu.core_to_core_ns.value);
        let other_socket = platform.upi.as_ref().map(|upi| upi.core_to_core_ns.value);
        CorePathConfig {
            l1: Cycles(platform.l1d.latency_cycles.value).at(self.core),
            l2: Cycles(platform.l2.latency_cycles.value).at(self.core),
            llc: self.llc_latency(),
            other_core,
            other_socket: other_socket.map_or(other_core, Picos::from_ns),
            clean_victims_to_llc: platform.llc.clean_victims.value,
        }
    }

    fn llc_latency(&self) -> LlcLatency {
        let cores = fit(self.cores[0].max(self.cores[1]));
        self.topology.at(cores, self.core, self.uncore)
    }

    fn socket(&self) -> SocketConfig {
        let platform = self.platform;
        let ways = platform.llc.ways.value;
        SocketConfig {
            llc: LlcConfig {
                map: address_map(platform),
                ways,
                inclusion: inclusion(platform),
                replacement: platform.llc.replacement.value.0,
                device_reads_refresh: stated(&platform.llc.device_reads_refresh, true),
            },
            directory: platform.directory.as_ref().map(|directory| DirectoryConfig {
                ways: directory.ways.value,
                replacement: directory.replacement.value.0,
            }),
            iio: self.iio(),
        }
    }

    /// Latencies of the IIO are stated at the platform's own uncore clock.
    fn iio(&self) -> IioConfig {
        let Some(facts) = &self.platform.iio else { return IioConfig::without_devices() };
        let uncore_slowdown = self.platform.cpu.uncore_ghz.value / self.uncore.0;
        let iio_time = |ns: f64| Picos::from_ns(ns * uncore_slowdown);
        IioConfig {
            write_entries: facts.write_entries.value,
            read_entries: facts.read_entries.value,
            llc_write: iio_time(facts.llc_write_ns.value),
            dram_write: Picos::from_ns(facts.dram_write_ns.value),
            dram_visible: Picos::from_ns(
                facts.dram_visible_ns.as_ref().map_or(facts.dram_write_ns.value, |ns| ns.value),
            ),
            llc_read: iio_time(facts.llc_read_ns.value),
            dram_read_extra: Picos::from_ns(facts.dram_read_extra_ns.value),
        }
    }

    fn memory(&self) -> MemoryConfig {
        let dram = |socket| NodeConfig::Dram { socket, dram: self.platform.dram.config() };
        let mut nodes = vec![dram(SocketId(0))];
        if self.nodes.other_socket {
            nodes.push(dram(SocketId(1)));
        }
        if let Some(cxl) = self.platform.cxl.as_ref().filter(|_| self.nodes.cxl) {
            nodes.push(NodeConfig::Cxl { socket: SocketId(0), cxl: cxl.config() });
        }
        let upi = self.platform.upi.as_ref().filter(|_| self.nodes.other_socket);
        MemoryConfig { nodes, upi: upi.map(|upi| upi.config()) }
    }
}

fn inclusion(platform: &Platform) -> Inclusion {
    match platform.llc.inclusion.value {
        InclusionName::NonInclusive => Inclusion::NonInclusive {
            // The platform's check requires the number of ways.
            inclusive_ways: stated(&platform.llc.inclusive_ways, 0),
            moved_by: match stated(&platform.llc.inclusive_move, InclusiveMoveName::CoreAccess) {
                InclusiveMoveName::CoreAccess => InclusiveMove::CoreAccess,
                InclusiveMoveName::DeviceWrite => InclusiveMove::DeviceWrite,
            },
        },
        InclusionName::Inclusive => Inclusion::Inclusive,
        InclusionName::ExclusiveVictim => Inclusion::ExclusiveVictim,
        InclusionName::Nine => Inclusion::Nine,
    }
}

/// The value of a fact, or what holds where the platform does not state it.
fn stated<V: Copy>(fact: &Option<Sourced<V>>, otherwise: V) -> V {
    fact.as_ref().map_or(otherwise, |fact| fact.value)
}

/// The slice function of a platform.
#[must_use]
pub(crate) fn slice_function(platform: &Platform) -> SliceFunction {
    let llc = &platform.llc;
    match llc.slice_function.value {
        SliceFunctionName::Xor => {
            let bits = llc.slices.value.trailing_zeros() as usize;
            SliceFunction::xor(&XOR_MASKS[..bits])
        }
        SliceFunctionName::Balanced => SliceFunction::balanced(),
        SliceFunctionName::Rotating => SliceFunction::Rotating,
        SliceFunctionName::Mixing => SliceFunction::Mixing,
        SliceFunctionName::Published(_) | SliceFunctionName::Table => match &platform.base_sequence
        {
            Some(sequence) => SliceFunction::BaseSequence(sequence.clone()),
            // A platform is read together with its sequence.
            None => SliceFunction::Mixing,
        },
    }
}

/// The slice function and the set index of a platform in words, for reports.
#[must_use]
pub(crate) fn placement_of_lines(platform: &Platform) -> String {
    let slices = slice_function(platform);
    match set_function(platform).describe() {
        Some(sets) => format!("{}; {sets}", slices.describe()),
        None => slices.describe().into(),
    }
}

fn set_function(platform: &Platform) -> SetFunction {
    match platform.llc.set_function.value {
        SetFunctionName::Plain => SetFunction::Plain,
        SetFunctionName::Hashed => SetFunction::Hashed,
        SetFunctionName::Ranked => SetFunction::Ranked,
    }
}

/// The slice and set of every line on a platform.
#[must_use]
pub fn address_map(platform: &Platform) -> AddressMap {
    let llc = &platform.llc;
    AddressMap::new(
        llc.slices.value,
        llc.sets_per_slice.value,
        slice_function(platform),
        set_function(platform),
    )
}

fn private_config(level: &PrivateLevel) -> PrivateCacheConfig {
    PrivateCacheConfig {
        sets: level.sets.value,
        ways: level.ways.value,
        replacement: level.replacement.value.0,
    }
}
