//! The channels of a tenant's cores: their rings, and the costs of the program that drives them.

use super::facts;
use crate::contract::build::Builder;
use crate::contract::input::TenantInput;
use crate::contract::port::PortPlan;
use crate::facts::platform::CbdmaClientFacts;
use crate::kinds::cbdma::CbdmaKeys;
use crate::kinds::dsa::offloaders::{OffloaderNeeds, WaitName};
use crate::kinds::root_port::{IommuPages, PortKeys};
use crate::text::error::InputError;
use model::device::cbdma::DESCRIPTOR_BYTES;
use model::device::cbdma::channel::Channel as CbdmaChannel;
use model::device::queues::QueueId;
use model::device::ring::Ring;
use model::device::{DeviceId, DeviceQueues};
use model::root_complex::mmio::MmioPath;
use model::tracer::Tracer;
use units::narrow::fit;
use units::{Cycles, LINE_BYTES, Picos};
use workload::driver::cbdma::CbdmaClient;
use workload::driver::offloader::{
    DescriptorMemory, EngineQueue, Offloader, OffloaderConfig, WaitMode,
};
use workload::host_memory::Arena;

/// The offloaders of all cores of a tenant, with their channels.
#[derive(Clone, Debug)]
pub(crate) struct ChannelsPlan {
    config: OffloaderConfig,
    depth: u32,
    /// Channels of each core.
    channels: u32,
    ring_entries: u32,
    path: MmioPath,
    /// The stop on the mesh of all channels.
    pub ports: Vec<PortPlan>,
}

impl ChannelsPlan {
    /// Resolves the offloaders of a tenant's cores.
    ///
    /// # Errors
    /// If a key is out of range or asks for something that channels cannot do, or the platform has no CBDMA.
    pub(crate) fn resolve(
        input: &TenantInput<'_>,
        needs: &OffloaderNeeds,
    ) -> Result<Self, InputError> {
        let device = facts(input)?;
        let costs = input.platform.cbdma_client.as_ref().ok_or_else(|| {
            let allowed = "needs a platform with a [cbdma_client] table, such as ice-lake-40";
            input.check.refuse(needs.key, &"cbdma", allowed.into())
        })?;
        if input.table::<PortKeys>().iommu != IommuPages::Off {
            let allowed = "allowed: \"off\", because a channel has the physical addresses of \
                           pinned pages";
            return Err(input.check.refuse("iommu", &"on", allowed.into()));
        }
        let ports = vec![super::plan(input)?];
        let table = &input.table::<CbdmaKeys>().cbdma;
        let one_way = Picos::from_ns(device.doorbell_ns.value);
        Ok(Self {
            config: OffloaderConfig {
                origin: DescriptorMemory::FilledIn,
                prepare: Cycles(costs.prepare_cycles.value),
                prepare_member: Cycles(0.0),
                most_members: 1,
                look: Cycles(costs.look_cycles.value),
                waiting: wait_mode(input, needs, costs)?,
            },
            depth: needs.depth,
            channels: table.channels,
            ring_entries: table.ring_entries,
            path: MmioPath { one_way, store: Cycles(costs.doorbell_cycles.value) },
            ports,
        })
    }

    /// Builds the offloader of each core, with rings in the tenant's memory. The machine receives the
    /// channels, which are those of the first of `devices`.
    pub(crate) fn build<T: Tracer>(
        &self,
        builder: &mut Builder<'_, T>,
        devices: &[DeviceId],
    ) -> Vec<Offloader> {
        let device = devices[0];
        let mut queues = Vec::new();
        let mut offloaders = Vec::new();
        for _ in 0..builder.tenant.cores.len() {
            let mut own = Vec::new();
            for _ in 0..self.channels {
                let queue = QueueId { device, queue: fit(queues.len()) };
                queues.push(self.channel(builder));
                own.push(EngineQueue::Cbdma(CbdmaClient::new(queue, self.path, self.ring_entries)));
            }
            let descriptors = u64::from(self.depth) * u64::from(self.channels);
            let page = builder.memory.page().0;
            let bytes = Offloader::arena_bytes(&self.config, descriptors, page);
            let mut arena = Arena::new(builder.memory.region(bytes));
            offloaders.push(Offloader::new(self.config, own, self.depth, &mut arena));
        }
        builder.queues.insert(device, DeviceQueues::Cbdma(queues));
        offloaders
    }

    /// Allocates a channel's ring and its status line.
    fn channel<T: Tracer>(&self, builder: &mut Builder<'_, T>) -> CbdmaChannel {
        let bytes = Ring::bytes(self.ring_entries, DESCRIPTOR_BYTES);
        let mut arena = Arena::new(builder.memory.region(bytes));
        let first = arena.place(bytes);
        let ring = Ring { first, entries: self.ring_entries, entry_bytes: DESCRIPTOR_BYTES };
        let mut arena = Arena::new(builder.memory.region(LINE_BYTES));
        CbdmaChannel::new(ring, arena.place(LINE_BYTES))
    }
}

fn wait_mode(
    input: &TenantInput<'_>,
    needs: &OffloaderNeeds,
    costs: &CbdmaClientFacts,
) -> Result<WaitMode, InputError> {
    match needs.wait {
        WaitName::Poll => Ok(WaitMode::Poll),
        WaitName::Interrupt => Ok(WaitMode::Interrupt {
            delivery: Picos::from_ns(costs.interrupt_delivery_ns.value),
            wake: Cycles(costs.interrupt_cycles.value),
        }),
        WaitName::Umwait => {
            let allowed = "allowed: \"poll\" or \"interrupt\", because cores of this generation \
                           have no UMWAIT";
            Err(input.check.refuse("offload.wait", &"umwait", allowed.into()))
        }
    }
}
