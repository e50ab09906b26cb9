//! A tenant's SSDs, their queues, and the jobs that use them.

use super::{Plan, Seats};
use crate::platform::SsdDevice;
use crate::scenario::{BlockIoKeys, BlockOrder, CompletionKind};
use model::device::nvme::controller::NvmeController;
use model::device::nvme::rings::NvmeQueuePair;
use model::device::queues::QueueId;
use model::fabric::Fabric;
use model::tracer::Tracer;
use units::{Cycles, Picos};
use workload::app::block_io::{BlockIo, BlockIoConfig, BlockPattern, CompletionMode};
use workload::driver::nvme::{NvmeDriver, NvmeDriverConfig};
use workload::host_memory::{Arena, HostMemory};

impl Plan<'_> {
    /// Puts the jobs of tenant `number` on its cores; returns its SSDs with their queues.
    pub(super) fn build_storage<T: Tracer>(
        &self,
        number: usize,
        memory: &mut HostMemory,
        fabric: &mut Fabric<T>,
        seats: &mut Seats<T>,
    ) -> Vec<(NvmeController, Vec<NvmeQueuePair>)> {
        let keys = &self.tenant(number).block_io;
        let places = &self.layout.tenants[number];
        let facts = self.equipment[number].ssd.as_ref().expect("block I/O names its SSD");
        let driver = driver_config(keys, facts);
        let mut pairs: Vec<Vec<NvmeQueuePair>> = vec![Vec::new(); places.ssds.len()];
        for (job, &core) in places.cores.iter().enumerate() {
            let own = job % places.ssds.len();
            let mut arena = Arena::new(memory.region(NvmeDriver::arena_bytes(&driver)));
            let (driver, pair) = NvmeDriver::new(driver, &mut arena);
            let device = self.layout.ssd_device(places.ssds[own]);
            let id = QueueId { device, queue: pairs[own].len() as u16 };
            pairs[own].push(pair);
            let seed = self.seed_of(number).wrapping_add(u64::from(core));
            let config = job_config(keys, facts, seed);
            let buffers = memory.region(config.buffer_bytes());
            let software = BlockIo::new(config, self.core(core), driver, &buffers).on_queue(id);
            software.initialise(fabric);
            seats.insert(core, Box::new(software));
        }
        let controllers = places.ssds.iter().zip(pairs);
        let built = controllers.map(|(&ssd, pairs)| {
            let seed = self.seed_of(number).wrapping_add(1000 + ssd as u64);
            let config = facts.ssd.config();
            (NvmeController::new(self.layout.ssds[ssd], config, pairs.len(), seed), pairs)
        });
        built.collect()
    }
}

fn driver_config(keys: &BlockIoKeys, device: &SsdDevice) -> NvmeDriverConfig {
    NvmeDriverConfig {
        entries: device.software.queue_entries.value,
        depth: keys.depth,
        block_bytes: keys.block_bytes,
        doorbell: Picos::from_ns(device.ssd.doorbell_ns.value),
        doorbell_cycles: Cycles(device.software.doorbell_cycles.value),
    }
}

fn job_config(keys: &BlockIoKeys, device: &SsdDevice, seed: u64) -> BlockIoConfig {
    let software = &device.software;
    BlockIoConfig {
        block_bytes: keys.block_bytes,
        io_depth: keys.depth,
        read_percent: keys.read_percent,
        pattern: match keys.order {
            BlockOrder::Random => BlockPattern::Random,
            BlockOrder::Sequential => BlockPattern::Sequential,
        },
        span_bytes: device.ssd.capacity_bytes(),
        buffers: keys.buffers.unwrap_or(keys.depth),
        reads_data: keys.reads_data,
        fills_data: keys.fills_data,
        completion: match keys.completion {
            CompletionKind::Polling => {
                CompletionMode::Polling { cycles: Cycles(software.poll_cycles.value) }
            }
            CompletionKind::Interrupt => CompletionMode::Interrupt {
                delivery: Picos::from_ns(software.interrupt_delivery_ns.value),
                cycles: Cycles(software.interrupt_cycles.value),
            },
        },
        submit_cycles: Cycles(software.submit_cycles.value),
        complete_cycles: Cycles(software.complete_cycles.value),
        work_cycles: Cycles(software.work_cycles.value),
        seed,
    }
}
