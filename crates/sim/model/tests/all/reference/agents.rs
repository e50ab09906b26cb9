//! Random machines, small enough that every set overflows soon, and random agents on them.
//!
//! Numbers in a [`Step`] are taken modulo the size of the machine, so that a failing case can be shrunk
//! in the steps and in the machine independently.

use crate::small_fabric;
use address_map::{AddressMap, SetFunction, SliceFunction};
use model::fabric::{
    AccessOutcome, DirectoryConfig, DmaDirection, DmaDone, Fabric, FabricConfig, MemoryConfig,
    NodeConfig, PortConfig,
};
use model::llc::inclusion::InclusiveMove;
use model::llc::{Inclusion, LlcConfig};
use model::private_caches::{PrefetcherConfig, PrivateCacheConfig, PrivateCachesConfig};
use model::replacement::Replacement;
use model::root_complex::attachment::AttachmentConfig;
use model::root_complex::buffer::{BufferConfig, Placement};
use model::root_complex::ddio::{Ddio, DmaKind, IoPolicy};
use model::root_complex::line_placement::{LinePlacement, OnUnread, TagSteering};
use model::tracer::Tracer;
use proptest::prelude::*;
use std::fmt;
use units::{CoreId, Id, LineAddr, Picos, RootPortId, SocketId, WayMask};

/// Features that a case's machines may have.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    /// Policies other than LRU.
    pub any_policy: bool,
    /// Root-complex buffers.
    pub buffers: bool,
}

/// The parameters of a machine that a case chooses.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Cores of each socket.
    pub cores: Vec<u32>,
    /// A CXL card at the first socket, as the last node.
    pub cxl: bool,
    /// Slices, sets of each, ways.
    pub llc: (u32, u32, u32),
    pub slice_function: SliceFunction,
    pub set_function: SetFunction,
    pub inclusion: Inclusion,
    /// Ways of the snoop filter.
    pub directory: Option<u32>,
    /// Sets and ways of L1D, of L2, and of L1I.
    pub l1: (u32, u32),
    pub l2: (u32, u32),
    pub l1i: Option<(u32, u32)>,
    pub replacement: Replacement,
    pub device_reads_refresh: bool,
    pub clean_victims_to_llc: bool,
    pub prefetcher: PrefetcherConfig,
    /// CAT masks, repeated if there are more cores.
    pub masks: Vec<u32>,
    pub ports: Vec<PortShape>,
    /// Whether buffers follow their published code.
    pub as_published_code: bool,
}

/// A root port.
#[derive(Clone, Debug)]
pub struct PortShape {
    pub socket: u8,
    pub payload: DdioShape,
    pub descriptors: DdioShape,
    pub evict_on_dma_read: bool,
    pub remote_writes_pollute: bool,
    pub fills_empty_ways: bool,
    pub placement: LinePlacement,
    /// Entries and placement of a root-complex buffer.
    pub buffer: Option<(u32, Placement)>,
    pub iommu: bool,
}

/// DDIO off, or the ways of a mask.
#[derive(Clone, Copy)]
pub struct DdioShape(pub Option<u32>);

/// A line by its node and its number there.
#[derive(Clone, Copy)]
pub struct Place {
    pub node: u8,
    pub line: u64,
}

/// A step of an agent.
#[derive(Clone, Debug)]
pub enum Step {
    Load(u8, Place),
    Store(u8, Place),
    Prefetch(u8, Place),
    Fetch(u8, Place),
    Flush(Place),
    DmaWrite(u8, Place, u64, DmaKind),
    DmaRead(u8, Place, u64),
    /// Counters are cleared.
    StartClock,
    /// A root port gets another policy.
    Policy(u8, DdioShape, DdioShape),
}

/// Cases of each test run, and of a soak.
pub fn cases(slice: u32, whole: u32) -> ProptestConfig {
    let cases = soak::amount(slice, whole);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.node, self.line)
    }
}

impl fmt::Debug for DdioShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("off"),
            Some(mask) => write!(f, "{mask:#b}"),
        }
    }
}

impl DdioShape {
    pub fn policy(self, ways: u32) -> Ddio {
        match self.0 {
            None => Ddio::Off,
            Some(mask) => Ddio::Ways(some_ways(mask, ways)),
        }
    }
}

/// The ways of `mask` that a cache of `ways` has, or all if it has none of them.
pub fn some_ways(mask: u32, ways: u32) -> WayMask {
    let all = WayMask::bottom(ways);
    if mask & all.0 == 0 { all } else { WayMask(mask & all.0) }
}

impl Shape {
    /// Number of cores of all sockets.
    pub fn core_count(&self) -> u8 {
        self.cores.iter().sum::<u32>() as u8
    }

    /// CAT mask of a core.
    pub fn mask(&self, core: usize) -> WayMask {
        some_ways(self.masks[core % self.masks.len()], self.llc.2)
    }

    fn policy(&self, port: &PortShape) -> IoPolicy {
        IoPolicy {
            payload: port.payload.policy(self.llc.2),
            descriptors: port.descriptors.policy(self.llc.2),
            evict_on_dma_read: port.evict_on_dma_read,
            remote_writes_pollute: port.remote_writes_pollute,
            fills_empty_ways: port.fills_empty_ways,
            placement: port.placement,
        }
    }

    fn port(&self, shape: &PortShape) -> PortConfig {
        let buffer =
            shape.buffer.map_or_else(small_fabric::without_buffer, |(entries, placement)| {
                let as_published_code = self.as_published_code;
                BufferConfig { entries, mshrs: 2, placement, as_published_code }
            });
        PortConfig {
            attachment: AttachmentConfig::Pcie(small_fabric::link()),
            socket: SocketId(shape.socket % self.cores.len() as u8),
            policy: self.policy(shape),
            buffer,
            iommu: shape.iommu.then(small_fabric::iommu),
        }
    }

    /// The machine's configuration.
    pub fn config(&self) -> FabricConfig {
        let level = |(sets, ways)| PrivateCacheConfig { sets, ways, replacement: self.replacement };
        let mut config = small_fabric::config();
        config.cores.clone_from(&self.cores);
        config.ports = self.ports.iter().map(|port| self.port(port)).collect();
        config.private = PrivateCachesConfig {
            l1: level(self.l1),
            l1i: self.l1i.map(level),
            l2: level(self.l2),
            prefetcher: self.prefetcher,
        };
        config.core_path.clean_victims_to_llc = self.clean_victims_to_llc;
        let (slices, sets, ways) = self.llc;
        config.socket.llc = LlcConfig {
            map: AddressMap::new(slices, sets, self.slice_function.clone(), self.set_function),
            ways,
            inclusion: self.inclusion,
            replacement: self.replacement,
            device_reads_refresh: self.device_reads_refresh,
        };
        config.socket.directory =
            self.directory.map(|ways| DirectoryConfig { ways, replacement: self.replacement });
        config.core_way_masks =
            (0..usize::from(self.core_count())).map(|core| self.mask(core)).collect();
        config.memory = self.memory();
        config
    }

    fn memory(&self) -> MemoryConfig {
        let sockets = self.cores.len() as u8;
        let mut nodes: Vec<NodeConfig> = (0..sockets).map(small_fabric::node).collect();
        if self.cxl {
            nodes.push(small_fabric::cxl(0));
        }
        let upi = (sockets > 1).then(|| small_fabric::upi(u32::from(sockets)));
        MemoryConfig { nodes, upi }
    }

    /// The address of a line: runs of 16 lines, which differ in the bits above the set index too.
    pub fn line(&self, place: Place) -> LineAddr {
        let memory = self.memory();
        let node = u64::from(place.node) % memory.nodes.len() as u64;
        let number = ((place.line / 16) << 12) + place.line % 16;
        LineAddr(node * memory.node_lines() + number)
    }

    /// The port that a step refers to.
    pub fn port_number(&self, port: u8) -> usize {
        usize::from(port) % self.ports.len()
    }

    /// The core of a write's steering tag.
    pub fn reader(&self, at: Place) -> u8 {
        self.core_number((at.line % 8) as u8)
    }

    /// The core that a step refers to.
    pub fn core_number(&self, core: u8) -> u8 {
        core % self.core_count()
    }

    /// Whether a port's policy may be changed.
    pub fn may_change(&self, port: usize) -> bool {
        self.ports[port].buffer.is_none()
    }
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Done {
    Core(AccessOutcome),
    Write(DmaDone),
    Read(Picos),
    Nothing,
}

/// Lets the fabric do a step.
pub fn apply<T: Tracer>(fabric: &mut Fabric<T>, shape: &Shape, step: &Step, now: Picos) -> Done {
    let served = match *step {
        Step::Load(core, at) => {
            fabric.core_read(CoreId(shape.core_number(core)), shape.line(at), now)
        }
        Step::Store(core, at) => {
            fabric.core_write(CoreId(shape.core_number(core)), shape.line(at), now)
        }
        Step::Prefetch(core, at) => {
            fabric.core_prefetch(CoreId(shape.core_number(core)), shape.line(at), now)
        }
        Step::Fetch(..) if shape.l1i.is_none() => return Done::Nothing,
        Step::Fetch(core, at) => {
            fabric.core_fetch(CoreId(shape.core_number(core)), shape.line(at), now)
        }
        _ => return apply_to_devices(fabric, shape, step, now),
    };
    Done::Core(served)
}

fn apply_to_devices<T: Tracer>(
    fabric: &mut Fabric<T>,
    shape: &Shape,
    step: &Step,
    now: Picos,
) -> Done {
    match *step {
        Step::Load(..) | Step::Store(..) | Step::Prefetch(..) | Step::Fetch(..) => {}
        Step::Flush(at) => drop(fabric.flush(shape.line(at), now)),
        Step::DmaWrite(port, at, bytes, kind) => {
            let (port, reader) = (shape.port_number(port), Some(CoreId(shape.reader(at))));
            // Some devices announce their requests; this must not change anything.
            if bytes % 3 == 0 {
                fabric.expect_dma(RootPortId::at(port), DmaDirection::Write, shape.line(at), bytes);
            }
            let done = fabric.dma_write_for(
                RootPortId::at(port),
                reader,
                shape.line(at),
                bytes,
                kind,
                now,
            );
            return Done::Write(done);
        }
        Step::DmaRead(port, at, bytes) => {
            let port = shape.port_number(port);
            if bytes % 3 == 0 {
                fabric.expect_dma(RootPortId::at(port), DmaDirection::Read, shape.line(at), bytes);
            }
            return Done::Read(fabric.dma_read(RootPortId::at(port), shape.line(at), bytes, now));
        }
        Step::StartClock => fabric.start_clock(),
        Step::Policy(port, payload, descriptors) => {
            let port = shape.port_number(port);
            if shape.may_change(port) {
                let mut policy = *fabric.root_port(RootPortId::at(port)).policy();
                policy.payload = payload.policy(shape.llc.2);
                policy.descriptors = descriptors.policy(shape.llc.2);
                fabric.set_io_policy(RootPortId::at(port), policy);
            }
        }
    }
    Done::Nothing
}

fn place() -> impl Strategy<Value = Place> {
    // Few lines, so that agents meet; enough of them that every cache overflows.
    let line = prop_oneof![3 => 0u64..12, 2 => 0u64..48];
    (0u8..4, line).prop_map(|(node, line)| Place { node, line })
}

fn ddio() -> impl Strategy<Value = DdioShape> {
    prop::option::weighted(0.7, 1u32..64).prop_map(DdioShape)
}

/// Random steps.
pub fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![2 => Just(DmaKind::Payload), 1 => Just(DmaKind::Descriptor)];
    let core = 0u8..12;
    let port = 0u8..3;
    let bytes = prop_oneof![Just(64u64), 1u64..64, 1u64..300];
    prop_oneof![
        24 => (core.clone(), place()).prop_map(|(core, at)| Step::Load(core, at)),
        24 => (core.clone(), place()).prop_map(|(core, at)| Step::Store(core, at)),
        8 => (core.clone(), place()).prop_map(|(core, at)| Step::Prefetch(core, at)),
        8 => (core, place()).prop_map(|(core, at)| Step::Fetch(core, at)),
        4 => place().prop_map(Step::Flush),
        24 => (port.clone(), place(), bytes.clone(), kind)
            .prop_map(|(port, at, bytes, kind)| Step::DmaWrite(port, at, bytes, kind)),
        16 => (port.clone(), place(), bytes)
            .prop_map(|(port, at, bytes)| Step::DmaRead(port, at, bytes)),
        1 => Just(Step::StartClock),
        4 => (port, ddio(), ddio())
            .prop_map(|(port, payload, descriptors)| Step::Policy(port, payload, descriptors)),
    ]
}

fn inclusion() -> impl Strategy<Value = (Inclusion, u32)> {
    (2u32..7, 1u32..7, 0usize..5).prop_map(|(ways, inclusive_ways, which)| {
        let inclusion = match which {
            0 => Inclusion::Inclusive,
            1 | 2 => Inclusion::NonInclusive {
                inclusive_ways: inclusive_ways.min(ways),
                moved_by: [InclusiveMove::CoreAccess, InclusiveMove::DeviceWrite][which - 1],
            },
            3 => Inclusion::ExclusiveVictim,
            _ => Inclusion::Nine,
        };
        (inclusion, ways)
    })
}

fn replacement(features: Features) -> BoxedStrategy<Replacement> {
    if features.any_policy {
        prop_oneof![Just(Replacement::Lru), Just(Replacement::Nru), Just(Replacement::Random)]
            .boxed()
    } else {
        Just(Replacement::Lru).boxed()
    }
}

fn prefetcher() -> impl Strategy<Value = PrefetcherConfig> {
    (any::<[bool; 2]>(), 0u32..4).prop_map(|([adjacent_line, stream_sees_hits], stream_lines)| {
        PrefetcherConfig { adjacent_line, stream_lines, stream_sees_hits, stream_delay: None }
    })
}

fn buffer(features: Features) -> BoxedStrategy<Option<(u32, Placement)>> {
    if !features.buffers {
        return Just(None).boxed();
    }
    let placement = prop::sample::select(vec![
        Placement::LlcSide,
        Placement::MemorySide { evict_on_dma_read: true },
        Placement::MemorySide { evict_on_dma_read: false },
        Placement::SeparateIoCache,
    ]);
    prop::option::weighted(0.7, (1u32..6, placement)).boxed()
}

/// Every other port places lines by DDIO alone.
fn placement() -> impl Strategy<Value = LinePlacement> {
    let steering = prop_oneof![
        Just(TagSteering::Off),
        (0u64..4).prop_map(|lines| TagSteering::PushToL2 { lines }),
        (0u64..4).prop_map(|lines| TagSteering::PrefetchHint { lines }),
    ];
    let on_unread = prop::sample::select(vec![OnUnread::Replace, OnUnread::Bypass]);
    let some = (prop::option::of(0u64..4), on_unread, any::<bool>(), any::<bool>(), steering);
    let some =
        some.prop_map(|(injected_lines, on_unread, replaces_read_first, io_priority, steering)| {
            LinePlacement { injected_lines, on_unread, replaces_read_first, io_priority, steering }
        });
    prop_oneof![Just(LinePlacement::default()), some]
}

fn port(features: Features) -> impl Strategy<Value = PortShape> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (0u8..3, ddio(), ddio(), flags, buffer(features), placement()).prop_map(
        |(socket, payload, descriptors, flags, buffer, placement)| {
            // A buffer before the LLC writes back into the ways of its port.
            let llc_side = matches!(buffer, Some((_, Placement::LlcSide)));
            let payload = if llc_side { DdioShape(payload.0.or(Some(1))) } else { payload };
            let (evict_on_dma_read, remote_writes_pollute, fills_empty_ways, iommu) = flags;
            PortShape {
                socket,
                payload,
                descriptors,
                evict_on_dma_read,
                remote_writes_pollute,
                // Other placements choose the way by rules of their own.
                fills_empty_ways: fills_empty_ways && placement == LinePlacement::default(),
                // A buffer decides itself where lines go.
                placement: if buffer.is_some() { LinePlacement::default() } else { placement },
                buffer,
                iommu,
            }
        },
    )
}

/// Random machines.
pub fn shape(features: Features) -> impl Strategy<Value = Shape> {
    // A socket may have only memory and devices.
    let cores = (1u32..4, prop::collection::vec(0u32..4, 0..3));
    let private = || ((0u32..2).prop_map(|power| 1 << power), 1u32..4);
    let shared = (inclusion(), (1u32..3, 0u32..3), prop::option::of(1u32..4));
    let privates = (private(), private(), prop::option::of(private()));
    let policies = (replacement(features), any::<[bool; 2]>(), prefetcher());
    let masks = prop::collection::vec(1u32..64, 1..4);
    let ports = (prop::collection::vec(port(features), 1..4), any::<bool>());
    (cores, any::<bool>(), shared, privates, policies, masks, ports).prop_map(
        move |(cores, cxl, shared, privates, policies, masks, ports)| {
            let cores = std::iter::once(cores.0).chain(cores.1).collect();
            let ((inclusion, ways), (slices, sets_power), directory) = shared;
            let (l1, l2, l1i) = privates;
            let (replacement, [clean_victims_to_llc, device_reads_refresh], prefetcher) = policies;
            let (ports, as_published_code) = ports;
            Shape {
                cores,
                cxl,
                llc: (slices, 1 << sets_power, ways),
                slice_function: SliceFunction::Mixing,
                set_function: SetFunction::Plain,
                inclusion,
                directory,
                l1,
                l2,
                l1i,
                replacement,
                device_reads_refresh,
                clean_victims_to_llc,
                prefetcher,
                masks,
                ports,
                as_published_code: as_published_code && features.buffers,
            }
        },
    )
}
