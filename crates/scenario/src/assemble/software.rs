//! From a tenant's application keys to the software on its cores.

use super::Plan;
use super::rings;
use crate::platform::{PacketServer, PingPongFacts, SoftwareFacts};
use crate::scenario::{AccessPattern, Application, CoRunnerKeys, InitialContent, Tenant};
use crate::sourced::Sourced;
use model::device::nic::rings::QueuePair;
use model::fabric::Fabric;
use model::machine::{QueueId, Software};
use model::tracer::Tracer;
use std::cell::RefCell;
use std::rc::Rc;
use units::{Cycles, LineAddr, Picos};
use workload::app::l2_forward::{L2Forward, L2ForwardConfig};
use workload::app::memory_kernel::{self, MemoryKernel, MemoryKernelConfig};
use workload::app::ping_pong::{Interrupts, PingPong, PingPongConfig, PingPongMemory, Work};
use workload::driver::mempool::{Mempool, MempoolConfig, Spacing};
use workload::driver::rx::RxDriver;
use workload::driver::tx::{TxDriver, TxDriverConfig};
use workload::host_memory::{Arena, HostMemory, touch};

/// What a tenant's cores share.
pub struct Shared<'a> {
    pub tenant: &'a Tenant,
    pub server: PacketServer<'a>,
    pub pool: Rc<RefCell<Mempool>>,
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
        spacing: match tenant.application {
            Application::L2Forward | Application::BlockIo => Spacing::OddLines,
            Application::PingPong => Spacing::PowerOfTwo,
        },
    };
    let mempool = Mempool::new(config, memory, first_core, tenant.cores as usize);
    match tenant.initial_content {
        InitialContent::Empty => {}
        InitialContent::PoolBuilt => mempool.initialise(fabric, first_core),
        InitialContent::PagesZeroed => {
            touch(fabric, first_core, mempool.lines());
            mempool.initialise(fabric, first_core);
        }
    }
    Rc::new(RefCell::new(mempool))
}

/// Bytes of memory whose lines interrupts read in turn: so much that none is read twice
/// before it has left all caches.
const SYSTEM_BYTES: u64 = 64 << 20;

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
    /// Receive and send driver of a queue, with its receive descriptors filled.
    fn drivers<T: Tracer>(
        &self,
        shared: &Shared<'_>,
        fabric: &mut Fabric<T>,
        pair: &mut QueuePair,
        core: u8,
        arena: &mut Arena,
    ) -> (RxDriver, TxDriver) {
        let tenant = shared.tenant;
        let mut rx = RxDriver::new(tenant.rx_descriptors);
        // Queues are filled before time counts: by a core whose clock nobody looks at afterwards.
        let mut setup_core = self.core(core);
        rx.refill(&mut setup_core, fabric, &mut pair.rx, &mut shared.pool.borrow_mut());
        for (visible, _) in &mut pair.rx.posted {
            *visible = Picos::ZERO;
        }
        warm(tenant, shared.server.software, fabric, core, pair);
        let waiting_lines: LineAddr = arena.place(u64::from(tenant.internal_queue) * 8);
        let tx = TxDriver::new(
            TxDriverConfig {
                ring_packets: rings::queue_shape(tenant, shared.server.nic).tx_packets,
                internal_queue: tenant.internal_queue,
                burst: tenant.burst,
                doorbell: Picos::from_ns(shared.server.nic.doorbell_ns.value),
            },
            waiting_lines,
        );
        (rx, tx)
    }

    /// Facts about an echo server.
    ///
    /// # Panics
    /// If the platform has none: resolving the scenario has checked that.
    fn ping_pong_facts(&self) -> &PingPongFacts {
        self.platform.ping_pong.as_ref().expect("a resolved scenario has its facts")
    }

    /// Memory of an echo server beside its pool and queues.
    pub(super) fn ping_pong_memory(
        shared: &Shared<'_>,
        memory: &mut HostMemory,
        arena: &mut Arena,
    ) -> PingPongMemory {
        let bytes = shared.server.software.buffer_data_bytes.value;
        PingPongMemory {
            message: arena.place(bytes),
            system: memory.region(SYSTEM_BYTES),
            system_lines: SYSTEM_BYTES / units::LINE_BYTES,
        }
    }

    /// An echo server's core, with its receive queue filled.
    pub(super) fn ping_pong<T: Tracer>(
        &self,
        shared: &Shared<'_>,
        fabric: &mut Fabric<T>,
        pair: &mut QueuePair,
        (id, queue): (u8, QueueId),
        (memory, arena): (PingPongMemory, &mut Arena),
    ) -> Box<dyn Software<T>> {
        let facts = self.ping_pong_facts();
        let drivers = self.drivers(shared, fabric, pair, id, arena);
        let work = |cycles: &Sourced<f64>, instructions: &Sourced<u64>| Work {
            cycles: Cycles(cycles.value),
            instructions: instructions.value,
        };
        let keys = &shared.tenant.ping_pong;
        let config = PingPongConfig {
            poll: work(&facts.poll_cycles, &facts.poll_instructions),
            receive: work(&facts.receive_cycles, &facts.receive_instructions),
            prefix_bytes: facts.prefix_bytes.value,
            header_bytes: keys.header_bytes + facts.message_header_bytes.value,
            copy: work(&facts.copy_cycles_per_line, &facts.copy_instructions_per_line),
            answer: work(&facts.answer_cycles, &facts.answer_instructions),
            interrupts: Interrupts {
                mean_distance: Picos::from_ns(1e9 / facts.interrupt_hz.value),
                work: work(&facts.interrupt_cycles, &facts.interrupt_instructions),
                cold_lines: facts.interrupt_cold_lines.value,
            },
            seed: self.seed.wrapping_add(u64::from(id)),
        };
        let pool = Rc::clone(&shared.pool);
        Box::new(PingPong::new(config, self.core(id), pool, drivers, queue, memory))
    }

    /// A forwarder's core, with its receive queue filled.
    pub(super) fn forwarder<T: Tracer>(
        &self,
        shared: &Shared<'_>,
        fabric: &mut Fabric<T>,
        pair: &mut QueuePair,
        (id, queue): (u8, QueueId),
        arena: &mut Arena,
    ) -> Box<dyn Software<T>> {
        let (tenant, software) = (shared.tenant, shared.server.software);
        let pool = &shared.pool;
        let (rx, tx) = self.drivers(shared, fabric, pair, id, arena);
        let config = L2ForwardConfig {
            burst: tenant.burst as usize,
            cycles_per_packet: Cycles(software.l2_forward_cycles_per_packet.value),
            extra_cycles: Cycles(f64::from(tenant.rng_calls) * software.rng_call_cycles.value),
            poll_cycles: Cycles(software.poll_cycles.value),
            annotation_lines: u64::from(software.annotation_lines.value),
        };
        Box::new(L2Forward::new(config, self.core(id), Rc::clone(pool), rx, tx, queue))
    }

    /// A core of a co-runner.
    pub(super) fn kernel(
        &self,
        keys: &CoRunnerKeys,
        id: u8,
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
            seed: self.seed.wrapping_add(u64::from(id)),
        };
        MemoryKernel::new(config, self.core(id), memory.region(keys.working_set_bytes))
    }
}
