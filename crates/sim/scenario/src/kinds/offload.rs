//! Data operations on buffers, one after the other or several at a time: by copy engines, or by the cores
//! themselves.

mod by_cbdma;
mod check;
pub(super) mod core_loops;
mod keys;

pub(super) use by_cbdma::check_together;
pub(crate) use keys::{KernelName, OffloadKeys};

use crate::contract::application::ApplicationModule;
use crate::contract::build::Builder;
use crate::contract::inert::Inert;
use crate::contract::input::TenantInput;
use crate::contract::port::PortPlan;
use crate::contract::tenant::{InitialContent, MemoryNode, TenantMut, TenantRef};
use crate::facts::platform::CoreKernelFacts;
use crate::kinds::cbdma::channels::ChannelsPlan;
use crate::kinds::dsa::offloaders::{OffloaderNeeds, OffloadersPlan};
use crate::kinds::root_port::{IommuPages, PortKeys};
use crate::text::error::InputError;
use core_loops::{NO_LOOP, core_loops};
use keys::{DataName, DescriptorsName, FaultsName, MoverName, destination};
use model::device::DeviceId;
use model::device::dsa::descriptor::{Descriptor, Destination, Operand};
use model::tracer::Tracer;
use units::{Cycles, LINE_BYTES, Picos};
use workload::app::offload::absent_pages::AbsentPages;
use workload::app::offload::{DataState, Offload, OffloadConfig, OnFault};
use workload::driver::core_mover::{CoreMover, CoreMoverConfig};
use workload::driver::offloader::{DescriptorMemory, Offloader};
use workload::host_memory::Arena;

/// Allocations of a descriptor, each in a page that is touched for the first time: the descriptor itself, and
/// its record.
const ALLOCATIONS: f64 = 2.0;

/// Pages that are absent at times.
#[derive(Clone, Copy, Debug)]
struct AbsentPagesPlan {
    percent: u32,
    page_lines: u64,
    fault: Cycles,
}

/// Data operations, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct OffloadPlan {
    config: OffloadConfig,
    descriptor: Descriptor,
    operand_bytes: u64,
    offset_bytes: u64,
    buffers: u32,
    /// Numbers of the nodes of sources, and of the other operands; the tenant's own by default.
    nodes: [Option<MemoryNode>; 2],
    socket: u32,
    /// Whether cores have written their buffers before time zero.
    is_warm: bool,
    page_bytes: u64,
    mover: CoreMoverConfig,
    absent: Option<AbsentPagesPlan>,
    engines: Option<EnginesPlan>,
    /// Changes of cache control.
    destinations: Vec<(Picos, Destination)>,
}

/// Engines that move the data for the cores.
#[derive(Clone, Debug)]
enum EnginesPlan {
    Dsa(OffloadersPlan),
    Cbdma(ChannelsPlan),
}

impl EnginesPlan {
    fn ports(&self) -> &[PortPlan] {
        match self {
            Self::Dsa(engines) => &engines.ports,
            Self::Cbdma(channels) => &channels.ports,
        }
    }

    fn build<T: Tracer>(
        &self,
        builder: &mut Builder<'_, T>,
        devices: &[DeviceId],
    ) -> Vec<Offloader> {
        match self {
            Self::Dsa(engines) => engines.build(builder, devices),
            Self::Cbdma(channels) => channels.build(builder, devices),
        }
    }
}

impl ApplicationModule for OffloadPlan {
    const TABLE: Option<&'static str> = Some("offload");
    const MOVES_DATA: bool = true;

    fn inert(tenant: TenantRef<'_>) -> Vec<Inert> {
        check::inert_keys(tenant)
    }

    fn memory_nodes(tenant: TenantRef<'_>) -> Vec<MemoryNode> {
        let keys = tenant.table::<OffloadKeys>();
        [keys.source_node, keys.destination_node].into_iter().flatten().collect()
    }

    /// Engines translate addresses of programs: in 4 KiB pages unless stated otherwise.
    fn fill_in(tenant: &mut TenantMut<'_>) {
        let is_dsa = tenant.table::<OffloadKeys>().by == MoverName::Dsa;
        if is_dsa && !tenant.stated.contains("iommu") {
            tenant.table::<PortKeys>().iommu = IommuPages::Base4K;
        }
    }

    fn plan(input: &TenantInput<'_>) -> Result<Self, InputError> {
        let keys = input.table::<OffloadKeys>();
        keys.check(input)?;
        let costs = input.platform.core_kernels.as_ref().ok_or_else(|| {
            let allowed =
                "needs a platform with a [core_kernels] table, such as sapphire-rapids-56";
            input.check.refuse("application", &"offload", allowed.into())
        })?;
        let engines = match keys.by {
            MoverName::Core => None,
            MoverName::Dsa => Some(EnginesPlan::Dsa(OffloadersPlan::resolve(
                input,
                &offloader_needs(keys, costs),
            )?)),
            MoverName::Cbdma => Some(EnginesPlan::Cbdma(ChannelsPlan::resolve(
                input,
                &offloader_needs(keys, costs),
            )?)),
        };
        let events = input.changes.iter();
        let destinations =
            events.filter_map(|event| Some((event.at, destination(event.cache_control?))));
        let page_bytes = input.tenant.keys.page_size.bytes();
        let descriptor = keys.descriptor();
        let translated = input.table::<PortKeys>().iommu.bytes();
        Ok(Self {
            config: OffloadConfig {
                data: match keys.data {
                    DataName::Core => DataState::AsLeft,
                    DataName::Llc => DataState::Llc,
                    DataName::Flushed => DataState::Flushed,
                },
                on_fault: match keys.faults {
                    FaultsName::Block => OnFault::Block,
                    FaultsName::Resubmit => OnFault::Resubmit,
                    FaultsName::Software => OnFault::Software,
                    FaultsName::Touch => OnFault::Touch,
                },
                batch: keys.batch,
                members_share_buffers: keys.members_share_buffers,
            },
            descriptor,
            operand_bytes: keys.operand_bytes(),
            offset_bytes: keys.offset_bytes,
            buffers: keys.buffers,
            nodes: [keys.source_node, keys.destination_node],
            socket: input.tenant.keys.socket,
            is_warm: input.tenant.keys.initial_content != InitialContent::Empty,
            page_bytes,
            mover: core_loops(keys.kernel, costs).mover(descriptor.operation).unwrap_or(NO_LOOP),
            absent: (keys.absent_percent > 0).then(|| AbsentPagesPlan {
                percent: keys.absent_percent,
                page_lines: translated.unwrap_or(BASE_PAGE_BYTES) / LINE_BYTES,
                fault: Cycles(costs.page_fault_cycles.value),
            }),
            engines,
            destinations: destinations.collect(),
        })
    }

    fn ports(&self) -> &[PortPlan] {
        self.engines.as_ref().map_or(&[], EnginesPlan::ports)
    }

    fn build<T: Tracer>(&self, builder: &mut Builder<'_, T>) {
        let devices = builder.tenant.devices.clone();
        let engines = self.engines.as_ref();
        let mut offloaders =
            engines.map_or(Vec::new(), |engines| engines.build(builder, &devices)).into_iter();
        for &core in &builder.tenant.cores {
            let operations = self.operations(builder);
            if self.is_warm {
                self.write_once(builder, core, &operations);
            }
            let mover = CoreMover::new(self.mover);
            let offloader: Option<Offloader> = offloaders.next();
            let seed = builder.machine.seed.wrapping_add(u64::from(core.0));
            let pages = self.absent.map(|absent| {
                let ports = builder.tenant.ports.clone();
                AbsentPages::new(absent.percent, absent.page_lines, ports, absent.fault, seed)
            });
            let core_itself = builder.machine.core(core);
            let software =
                Offload::new(self.config, core_itself, (offloader, mover), pages, operations)
                    .with_destinations(self.destinations.clone());
            builder.software.insert(core, Box::new(software));
        }
    }
}

/// Pages of programs.
const BASE_PAGE_BYTES: u64 = 4096;

impl OffloadPlan {
    /// An operation on each set of buffers of a core: sources apart from destinations.
    fn operations<T: Tracer>(&self, builder: &mut Builder<'_, T>) -> Vec<Descriptor> {
        let bytes = self.operand_bytes.max(LINE_BYTES);
        // The offset may move one operand of each page to the next.
        let in_page = ((self.page_bytes - self.offset_bytes) / bytes).max(1);
        let pages = u64::from(self.buffers).div_ceil(in_page);
        let [source, other] = self.nodes;
        let nodes = [source, other, other];
        let mut arenas = nodes.map(|node| {
            let memory = builder.memory_of(node, self.socket);
            let mut arena = Arena::new(memory.region(pages * self.page_bytes));
            if self.offset_bytes > 0 {
                arena.place(self.offset_bytes);
            }
            arena
        });
        let operation = |_| {
            let [source, second, third] = arenas.each_mut().map(|arena| arena.place(bytes));
            Descriptor { source, second, third, ..self.descriptor }
        };
        (0..self.buffers).map(operation).collect()
    }

    /// Writes the buffers of a core before time zero: its caches keep the last lines of them.
    fn write_once<T: Tracer>(
        &self,
        builder: &mut Builder<'_, T>,
        core: units::CoreId,
        operations: &[Descriptor],
    ) {
        for operation in operations {
            for operand in operation.operands().all() {
                let lines = operand.bytes.div_ceil(LINE_BYTES);
                let each = (0..lines).map(|line| operand.first.step(line));
                builder.caches.fill(core, each);
            }
        }
    }
}

/// Cycles to allocate a descriptor and its record and, if it is given, the operands of an operation, whose
/// bytes the core then writes.
fn allocation(costs: &CoreKernelFacts, operation: Option<&Descriptor>) -> Cycles {
    let (each, fault) = (costs.allocate_cycles.value, costs.page_fault_cycles.value);
    let own = ALLOCATIONS * (each + fault);
    let buffer = |operand: Operand| {
        let (pages, words) =
            (operand.bytes.div_ceil(BASE_PAGE_BYTES) as f64, operand.bytes.div_ceil(8) as f64);
        each + pages * fault + words * costs.store_word_cycles.value
    };
    let buffers = operation.map_or(0.0, |it| it.operands().all().map(buffer).sum());
    Cycles(own + buffers)
}

/// Requirements of the cores on their offloaders, as the keys state them.
fn offloader_needs(keys: &OffloadKeys, costs: &CoreKernelFacts) -> OffloaderNeeds {
    let origin = match keys.descriptors {
        DescriptorsName::FilledIn => DescriptorMemory::FilledIn,
        DescriptorsName::Prepared => DescriptorMemory::Prepared,
        DescriptorsName::Allocated => DescriptorMemory::Allocated(allocation(costs, None)),
        DescriptorsName::AllocatedWithBuffers => {
            DescriptorMemory::Allocated(allocation(costs, Some(&keys.descriptor())))
        }
    };
    OffloaderNeeds {
        key: "offload.by",
        depth: keys.depth,
        most_members: keys.batch,
        queues_per_core: ("offload.queues_per_core", keys.queues_per_core),
        wait: keys.wait,
        back_off: keys.back_off,
        portal_addresses: keys.portal_addresses,
        lock: ("offload.lock", keys.lock),
        origin,
    }
}
