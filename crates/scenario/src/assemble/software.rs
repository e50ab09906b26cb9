//! From a tenant's application keys to the software on its cores.

use super::rings;
use super::{Plan, Seats};
use crate::platform::{PacketServer, SoftwareFacts};
use crate::scenario::{
    AccessPattern, Application, CoRunnerKeys, InitialContent, MemoryKernelKeys, Tenant,
};
use model::device::nic::rings::QueuePair;
use model::device::queues::QueueId;
use model::fabric::Fabric;
use model::software::Software;
use model::tracer::Tracer;
use std::cell::RefCell;
use std::rc::Rc;
use units::{Cycles, LineAddr, Picos};
use workload::app::cache_probe::{CacheProbe, CacheProbeConfig};
use workload::app::key_value::store::ItemsApart;
use workload::app::memory_kernel::{self, MemoryKernel, MemoryKernelConfig};
use workload::app::packet_loop::Drivers;
use workload::driver::mempool::{Mempool, MempoolConfig, Spacing};
use workload::driver::rx::RxDriver;
use workload::driver::tx::{TxDriver, TxDriverConfig};
use workload::host_memory::{Arena, HostMemory, Region, touch};

/// What a tenant's cores share.
pub struct Shared<'a> {
    pub tenant: &'a Tenant,
    pub server: PacketServer<'a>,
    pub pool: Rc<RefCell<Mempool>>,
    /// Table of the application that all its cores read: routes or filter rules.
    pub table: Option<Region>,
    /// Items of a key-value store that lie in slices near its cores.
    pub items_apart: Option<Rc<ItemsApart>>,
}

/// Headroom that CacheDirector adds where the scenario does not say.
const DEFAULT_SHIFT_LINES: u8 = 16;

/// Lines by which the data of a tenant's buffers may be shifted.
pub(super) fn shift_lines(tenant: &Tenant) -> u8 {
    let stated = tenant.placement.headroom_lines.map(|lines| lines as u8);
    let wanted = tenant.placement.header_slices.map(|_| stated.unwrap_or(DEFAULT_SHIFT_LINES));
    wanted.unwrap_or(0)
}

/// Builds a tenant's buffer pool and leaves in the caches what that leaves.
pub fn pool<T: Tracer>(
    tenant: &Tenant,
    server: &PacketServer<'_>,
    memory: &mut HostMemory,
    first_core: u8,
    fabric: &mut Fabric<T>,
) -> Rc<RefCell<Mempool>> {
    let config = MempoolConfig {
        buffers: tenant.pool_buffers,
        cache: tenant.pool_cache,
        private_lines: u64::from(server.software.private_lines.value),
        data_bytes: server.software.buffer_data_bytes.value,
        shift_lines: u64::from(shift_lines(tenant)),
        spacing: match tenant.application {
            Application::PingPong => Spacing::PowerOfTwo,
            _ => Spacing::OddLines,
        },
    };
    let mempool = Mempool::new(config, memory, first_core, tenant.cores as usize);
    match tenant.initial_content {
        InitialContent::Empty => {}
        InitialContent::PoolBuilt | InitialContent::StoreFilled => {
            mempool.initialise(fabric, first_core);
        }
        InitialContent::PagesZeroed => {
            touch(fabric, first_core, mempool.lines());
            mempool.initialise(fabric, first_core);
        }
    }
    Rc::new(RefCell::new(mempool))
}

/// A core writes the data lines of the first posted buffers: later DMA finds them in the LLC, wherever
/// the core's mask let them be.
fn warm<T: Tracer>(
    tenant: &Tenant,
    software: &SoftwareFacts,
    fabric: &mut Fabric<T>,
    core: u8,
    pair: &QueuePair,
) {
    let bytes = match tenant.traffic.pcap {
        Some(_) => software.buffer_data_bytes.value,
        None => tenant.packet_bytes,
    };
    let lines = bytes.div_ceil(units::LINE_BYTES);
    for (_, buffer) in pair.rx.posted.iter().take(tenant.warm_buffers as usize) {
        touch(fabric, core, (0..lines).map(|line| buffer.data.step(line)));
    }
}

impl Plan<'_> {
    /// What a core of a tenant runs, with its receive queue filled if anything arrives.
    pub(super) fn software<T: Tracer>(
        &self,
        shared: &Shared<'_>,
        fabric: &mut Fabric<T>,
        pair: &mut QueuePair,
        (id, queue): (u8, QueueId),
        places: (&mut Arena, &mut HostMemory),
    ) -> Box<dyn Software<T>> {
        let (arena, memory) = places;
        let mut rx = RxDriver::new(shared.tenant.rx_descriptors);
        if shared.tenant.application.receives() {
            self.fill(&mut rx, shared, fabric, pair, id);
        }
        let pool = Rc::clone(&shared.pool);
        let drivers = Drivers { pool, rx, tx: send_driver(shared, arena), queue };
        self.application(shared, id, drivers, arena, memory)
    }

    /// Queues are filled before time counts: by a core whose clock nobody looks at afterwards.
    fn fill<T: Tracer>(
        &self,
        rx: &mut RxDriver,
        shared: &Shared<'_>,
        fabric: &mut Fabric<T>,
        pair: &mut QueuePair,
        id: u8,
    ) {
        let mut setup_core = self.core(id);
        rx.refill(&mut setup_core, fabric, &mut pair.rx, &mut shared.pool.borrow_mut());
        for (visible, _) in &mut pair.rx.posted {
            *visible = Picos::ZERO;
        }
        warm(shared.tenant, shared.server.software, fabric, id, pair);
    }

    /// What a core of a co-runner runs.
    pub(super) fn co_runner<T: Tracer>(
        &self,
        keys: &CoRunnerKeys,
        (id, cores): (u8, &[u8]),
        memory: &mut HostMemory,
        fabric: &Fabric<T>,
    ) -> Box<dyn Software<T>> {
        let Some(probe) = &keys.probe else {
            return Box::new(self.kernel(&keys.kernel, id, cores, memory));
        };
        let config = CacheProbeConfig {
            socket: keys.socket as usize,
            ways: self.platform.llc.ways.value as usize,
            watched_sets: probe.watched_sets as usize,
            wait: Picos::from_ns(1e3 * probe.wait_us),
        };
        let bytes = keys.kernel.working_set_bytes;
        let (lines, region) = (bytes / units::LINE_BYTES, memory.region(bytes));
        Box::new(CacheProbe::new(config, self.core(id), &region, lines, fabric))
    }

    /// A core that touches memory.
    fn kernel(
        &self,
        keys: &MemoryKernelKeys,
        id: u8,
        cores: &[u8],
        memory: &mut HostMemory,
    ) -> MemoryKernel {
        let config = MemoryKernelConfig {
            lines: keys.working_set_bytes.div_ceil(units::LINE_BYTES),
            pattern: match keys.pattern {
                AccessPattern::Random => memory_kernel::Pattern::Random,
                AccessPattern::Sequential => memory_kernel::Pattern::Sequential,
                AccessPattern::PointerChase => memory_kernel::Pattern::PointerChase,
            },
            store_percent: keys.store_percent,
            cycles_per_access: Cycles(keys.cycles_per_access),
            in_flight: keys.accesses_in_flight.map(|accesses| accesses as usize),
            seed: self.seed.wrapping_add(u64::from(id)),
        };
        MemoryKernel::new(config, self.core(id), self.working_set(keys, id, cores, memory))
    }

    /// Puts the kernels of tenant `number` on its cores; each has written its working set before, of which
    /// the caches keep what they can.
    pub(super) fn build_kernels<T: Tracer>(
        &self,
        number: usize,
        memory: &mut HostMemory,
        fabric: &mut Fabric<T>,
        seats: &mut Seats<T>,
    ) {
        let tenant = self.tenant(number);
        let keys = tenant.memory_kernel.as_ref().expect("resolving the scenario has asked for it");
        let cores = &self.layout.tenants[number].cores;
        for &core in cores {
            let kernel = self.kernel(keys, core, cores, memory);
            if tenant.initial_content != InitialContent::Empty {
                touch(fabric, core, kernel.last_lines(self.llc_lines()));
            }
            seats.insert(core, Box::new(kernel));
        }
    }
}

/// Work that a scenario adds to every packet.
pub(super) fn extra_cycles(shared: &Shared<'_>) -> Cycles {
    let calls = f64::from(shared.tenant.rng_calls);
    Cycles(calls * shared.server.software.rng_call_cycles.value)
}

fn send_driver(shared: &Shared<'_>, arena: &mut Arena) -> TxDriver {
    let tenant = shared.tenant;
    let waiting_lines: LineAddr = arena.place(u64::from(tenant.internal_queue) * 8);
    TxDriver::new(
        TxDriverConfig {
            ring_packets: rings::queue_shape(tenant, shared.server.nic).tx_packets,
            internal_queue: tenant.internal_queue,
            burst: tenant.burst,
            doorbell: Picos::from_ns(shared.server.nic.doorbell_ns.value),
        },
        waiting_lines,
    )
}
