//! Builds an NVMe/TCP target: drivers, queue pairs of SSDs, buffers, and the software of its cores.

use super::{DigestPlan, NvmeTcpTargetPlan};
use crate::contract::build::Builder;
use model::device::queues::QueueId;
use model::device::{DeviceId, DeviceQueues};
use model::tracer::Tracer;
use units::LineAddr;
use units::narrow::fit;
use workload::app::nvme_tcp_target::NvmeTcpTarget;
use workload::app::nvme_tcp_target::buffers::TargetBuffers;
use workload::app::nvme_tcp_target::digests::Digests;
use workload::app::nvme_tcp_target::replies::Replies;
use workload::app::nvme_tcp_target::storage::{Storage, StorageConfig};
use workload::driver::core_mover::CoreMover;
use workload::driver::nvme::NvmeDriver;
use workload::host_memory::Arena;

impl NvmeTcpTargetPlan {
    /// Puts the target on the tenant's cores. Devices are the NIC, the SSDs, then copy engines.
    pub(super) fn build_on<T: Tracer>(&self, builder: &mut Builder<'_, T>) {
        let (nic, others) = (builder.tenant.devices[0], &builder.tenant.devices[1..]);
        let (ssds, engines) = others.split_at(self.ssds);
        let pool = self.driver.pool(builder);
        let mut arena = self.driver.arena(builder);
        let mut pairs = self.driver.queue_pairs(builder, &mut arena);
        let digests = self.digests(builder, engines);
        let storage = self.storages(builder, ssds);
        let mut buffers = self.buffers(builder).into_iter();
        let of_cores = pairs.iter_mut().zip(digests).zip(storage);
        for (number, ((pair, digests), storage)) in of_cores.enumerate() {
            let id = builder.tenant.cores[number];
            let queue = QueueId { device: nic, queue: fit(number) };
            let at = (builder.machine.core(id), queue, pair);
            let drivers = self.driver.start(builder, at, &pool, &mut arena);
            let replies = Replies::new(self.answer, self.costs);
            let core = builder.machine.core(id);
            let own = buffers.by_ref().take(self.buffers as usize).collect();
            let own = TargetBuffers::new(own);
            let parts = (storage, digests, replies);
            let software = NvmeTcpTarget::new(self.target, (core, drivers), parts, own);
            builder.software.insert(id, Box::new(software));
        }
        builder.queues.insert(nic, DeviceQueues::Nic(pairs));
    }

    /// Builds the computation of digests of each core.
    fn digests<T: Tracer>(
        &self,
        builder: &mut Builder<'_, T>,
        engines: &[DeviceId],
    ) -> Vec<Digests> {
        let cores = builder.tenant.cores.iter();
        match &self.digest {
            DigestPlan::None => cores.map(|_| Digests::None).collect(),
            DigestPlan::Core(config) => {
                cores.map(|_| Digests::Core(Box::new(CoreMover::new(*config)), None)).collect()
            }
            DigestPlan::Engines(plan) => {
                let offloaders = plan.build(builder, engines).into_iter();
                offloaders.map(|offloader| Digests::Engines(Box::new(offloader))).collect()
            }
        }
    }

    /// Builds a queue pair for each core on each SSD. Returns the SSDs of each core.
    fn storages<T: Tracer>(&self, builder: &mut Builder<'_, T>, ssds: &[DeviceId]) -> Vec<Storage> {
        let cores = &builder.tenant.cores;
        let drivers = (cores.len() * ssds.len()) as u64;
        // Rings do not cross pages: twice their bytes always suffice.
        let bytes = 2 * drivers * NvmeDriver::arena_bytes(&self.ssd_driver);
        let mut arena = Arena::new(builder.memory.region(bytes + builder.memory.page().0));
        let mut pairs: Vec<Vec<_>> = vec![Vec::new(); ssds.len()];
        let storage = |(number, core): (usize, &units::CoreId)| {
            let of_ssd = ssds.iter().zip(&mut pairs).map(|(&device, pairs)| {
                let (driver, pair) = NvmeDriver::new(self.ssd_driver, &mut arena);
                pairs.push(pair);
                (driver, QueueId { device, queue: fit(number) })
            });
            let of_ssd = of_ssd.collect();
            let seed = self.storage.seed.wrapping_add(u64::from(core.0));
            Storage::new(StorageConfig { seed, ..self.storage }, of_ssd)
        };
        let storages = cores.iter().enumerate().map(storage).collect();
        let queues = pairs.into_iter().map(DeviceQueues::Nvme);
        builder.queues.extend(ssds.iter().copied().zip(queues));
        storages
    }

    /// Allocates the buffers of all cores; the buffers of one core are neighbours in the list.
    fn buffers<T: Tracer>(&self, builder: &mut Builder<'_, T>) -> Vec<LineAddr> {
        let all = u64::from(self.buffers) * builder.tenant.cores.len() as u64;
        let bytes = self.answer.read_bytes;
        let pages = all.div_ceil(self.page_bytes / bytes);
        let mut arena = Arena::new(builder.memory.region(pages * self.page_bytes));
        (0..all).map(|_| arena.place(bytes)).collect()
    }
}
