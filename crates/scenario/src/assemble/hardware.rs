//! From a platform's facts to the fabric's configuration.

use crate::platform::{
    InclusionName, PacketServer, Platform, PrivateLevel, SetFunctionName, SliceFunctionName,
};
use crate::scenario::{MemoryNode, PlacementKeys, Tenant};
use address_map::{AddressMap, SetFunction, SliceFunction, XOR_MASKS};
use model::fabric::{
    CorePathConfig, DirectoryConfig, FabricConfig, MemoryConfig, NodeConfig, PortConfig,
    SocketConfig,
};
use model::llc::{Inclusion, LlcConfig, LlcLatency};
use model::private_caches::{PrefetcherConfig, PrivateCacheConfig, PrivateCachesConfig};
use model::root_complex::buffer::{BufferConfig, Placement};
use model::root_complex::ddio::{Ddio, IoPolicy};
use model::root_complex::iio::IioConfig;
use model::root_complex::iommu::{IommuConfig, PageSize, VictimChoice};
use model::root_complex::line_placement::{LinePlacement, OnUnread, Steering};
use model::root_complex::pcie_link::PcieLinkConfig;
use units::{Cycles, Gigahertz, Picos, WayMask};

/// What a run decides about the machine beside the platform's facts.
pub struct Hardware<'p> {
    /// The facts.
    pub platform: &'p Platform,
    /// Core clock.
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
    /// Seed of everything random.
    pub seed: u64,
}

/// Memory nodes of a run: the local one always takes part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// A second socket with its memory.
    pub other_socket: bool,
    /// The CXL node.
    pub cxl: bool,
}

impl Nodes {
    /// Number of a node in the order of addresses, seen from a core of `socket`.
    #[must_use]
    pub fn number(self, node: MemoryNode, socket: u32) -> u64 {
        match node {
            MemoryNode::Local => u64::from(socket),
            MemoryNode::OtherSocket => u64::from(1 - socket),
            MemoryNode::Cxl => self.count() - 1,
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(self) -> u64 {
        1 + u64::from(self.other_socket) + u64::from(self.cxl)
    }
}

impl Hardware<'_> {
    /// The whole configuration.
    #[must_use]
    pub fn fabric(self) -> FabricConfig {
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

    /// Of the cores in use of a socket; those of the platform have been checked to have places.
    fn llc_latency(&self) -> LlcLatency {
        let topology = self.platform.topology("").expect("a platform is checked when it is read");
        let cores = self.cores[0].max(self.cores[1]) as u8;
        topology.at(cores, self.core, self.uncore)
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
        let mut nodes = vec![dram(0)];
        if self.nodes.other_socket {
            nodes.push(dram(1));
        }
        if let Some(cxl) = self.platform.cxl.as_ref().filter(|_| self.nodes.cxl) {
            nodes.push(NodeConfig::Cxl { socket: 0, cxl: cxl.config() });
        }
        let upi = self.platform.upi.as_ref().filter(|_| self.nodes.other_socket);
        MemoryConfig { nodes, upi: upi.map(|upi| upi.config()) }
    }
}

/// The root port of a tenant's NIC.
#[must_use]
pub fn port(tenant: &Tenant, platform: &Platform, server: &PacketServer<'_>) -> PortConfig {
    let ways = platform.llc.ways.value;
    let ddio_ways = tenant.ddio_ways.unwrap_or(0);
    let payload = Ddio::top_ways(ddio_ways, ways);
    let mut policy = IoPolicy::uniform(payload);
    policy.evict_on_dma_read = tenant.evict_on_dma_read;
    if tenant.ddio_keeps_descriptors {
        policy.descriptors = Ddio::top_ways(server.ddio.default_ways.value, ways);
    }
    if let Some(pollutes) = &server.ddio.remote_writes_pollute {
        policy.remote_writes_pollute = pollutes.value;
    }
    if let Some(fills) = &server.ddio.fills_empty_ways {
        policy.fills_empty_ways = fills.value;
    }
    policy.placement = line_placement(&tenant.placement);
    let page = tenant.iommu.bytes().and_then(PageSize::of_bytes);
    let iommu = platform.iommu.as_ref().zip(page).map(|(facts, page)| IommuConfig {
        entries: facts.iotlb_entries.value,
        victims: VictimChoice::Lru,
        page,
        mappings: Vec::new(),
        walk: Picos::from_ns(facts.walk_ns.value),
        concurrent_walks: facts.concurrent_walks.value,
    });
    PortConfig {
        link: link_config(server),
        socket: tenant.nic_socket() as u8,
        buffer: buffer(tenant, platform, &mut policy),
        policy,
        iommu,
    }
}

fn line_placement(keys: &PlacementKeys) -> LinePlacement {
    let steering = match (keys.push_to_l2_lines, keys.prefetch_hint_lines) {
        (Some(lines), _) => Steering::PushToL2 { lines },
        (None, Some(lines)) => Steering::PrefetchHint { lines },
        (None, None) => Steering::Off,
    };
    LinePlacement {
        injected_lines: keys.inject_lines,
        on_unread: if keys.bypass_unread { OnUnread::Bypass } else { OnUnread::Replace },
        replaces_read_first: keys.replace_read_first,
        io_priority: keys.io_priority,
        steering,
    }
}

/// The root-complex buffer of platforms that have one, on the side that DDIO puts it.
fn buffer(tenant: &Tenant, platform: &Platform, policy: &mut IoPolicy) -> BufferConfig {
    let off = tenant.ddio_ways == Some(0);
    let evict_on_dma_read = tenant.evict_on_dma_read;
    let placement =
        if off { Placement::MemorySide { evict_on_dma_read } } else { Placement::LlcSide };
    let none = BufferConfig { entries: 0, mshrs: 1, placement, as_published_code: false };
    let Some(facts) = &platform.root_complex_buffer else { return none };
    let config = BufferConfig {
        entries: facts.entries.value,
        mshrs: facts.mshrs.value,
        placement: if facts.separate_io_cache.value {
            Placement::SeparateIoCache
        } else {
            placement
        },
        as_published_code: facts.as_published_code.value,
    };
    if let Some(ways) = tenant.ddio_ways.filter(|_| !off) {
        let mask = config.ddio_ways(ways, platform.llc.ways.value);
        (policy.payload, policy.descriptors) = (Ddio::Ways(mask), Ddio::Ways(mask));
    }
    config
}

fn inclusion(platform: &Platform) -> Inclusion {
    match (platform.llc.inclusion.value, &platform.llc.inclusive_ways) {
        (InclusionName::NonInclusive, Some(ways)) => {
            Inclusion::NonInclusive { inclusive_ways: ways.value }
        }
        // The platform's check demands the number of ways.
        (InclusionName::NonInclusive, None) => Inclusion::NonInclusive { inclusive_ways: 0 },
        (InclusionName::Inclusive, _) => Inclusion::Inclusive,
        (InclusionName::ExclusiveVictim, _) => Inclusion::ExclusiveVictim,
        (InclusionName::Nine, _) => Inclusion::Nine,
    }
}

/// The slice function of a platform.
#[must_use]
pub fn slice_function(platform: &Platform) -> SliceFunction {
    let llc = &platform.llc;
    match llc.slice_function.value {
        SliceFunctionName::Xor => {
            let bits = llc.slices.value.trailing_zeros() as usize;
            SliceFunction::xor(&XOR_MASKS[..bits])
        }
        SliceFunctionName::Balanced => SliceFunction::balanced(),
        SliceFunctionName::Permuted => SliceFunction::permuted(),
        SliceFunctionName::Rotating => SliceFunction::Rotating,
        SliceFunctionName::Mixing => SliceFunction::Mixing,
        SliceFunctionName::Table => match &platform.base_sequence {
            Some(sequence) => SliceFunction::BaseSequence(sequence.clone()),
            // A platform is read together with its table.
            None => SliceFunction::Mixing,
        },
    }
}

/// The slice and set of every line on a platform.
#[must_use]
pub fn address_map(platform: &Platform) -> AddressMap {
    let llc = &platform.llc;
    let set_function = match llc.set_function.value {
        SetFunctionName::Plain => SetFunction::Plain,
        SetFunctionName::Hashed => SetFunction::Hashed,
    };
    AddressMap::new(
        llc.slices.value,
        llc.sets_per_slice.value,
        slice_function(platform),
        set_function,
    )
}

fn private_config(level: &PrivateLevel) -> PrivateCacheConfig {
    PrivateCacheConfig {
        sets: level.sets.value,
        ways: level.ways.value,
        replacement: level.replacement.value.0,
    }
}

/// The link of a NIC.
#[must_use]
pub fn link_config(server: &PacketServer<'_>) -> PcieLinkConfig {
    let pcie = server.pcie;
    PcieLinkConfig {
        lanes: pcie.lanes.value,
        gtransfers_per_s: pcie.gtransfers_per_s.value,
        max_payload_bytes: pcie.max_payload_bytes.value,
        max_read_request_bytes: pcie.max_read_request_bytes.value,
        data_link_interval_bytes: pcie.data_link_interval_bytes.value,
        propagation_ns: pcie.propagation_ns.value,
    }
}
