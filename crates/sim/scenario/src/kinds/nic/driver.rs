//! The software half of a NIC's queues: buffers, rings in host memory, and a driver on each core.

use super::pool::PoolPlan;
use super::{Card, NicKeys};
use crate::contract::build::Builder;
use crate::contract::input::TenantInput;
use crate::contract::tenant::{InitialContent, TenantRef};
use crate::kinds::root_port::PortKeys;
use model::core::Core;
use model::device::nic::rings::QueuePair;
use model::device::queues::QueueId;
use model::tracer::Tracer;
use std::cell::RefCell;
use std::rc::Rc;
use units::narrow::fit;
use units::{Cycles, LINE_BYTES, Picos};
use workload::app::packet_loop::{Drivers, PacketLoopConfig, Sending};
use workload::driver::header_slices::HeaderPlacement;
use workload::driver::mempool::{Mempool, Spacing};
use workload::driver::queues::QueueShape;
use workload::driver::rx::RxDriver;
use workload::driver::tx::{TxDriver, TxDriverConfig};
use workload::host_memory::Arena;

/// Headroom that CacheDirector adds unless the scenario states it.
const DEFAULT_SHIFT_LINES: u8 = 16;

/// Bytes of the software queue's pointer to a packet.
const POINTER_BYTES: u64 = 8;

/// Requirements of an application on its driver, besides those of keys and card.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DriverNeeds {
    /// Whether the application receives packets: if so, its receive queues are filled before time zero.
    pub receives: bool,
    /// Whether its cores gather packets before they send them.
    pub gathers: bool,
    /// Spacing of the buffers in the application's pool.
    pub spacing: Spacing,
    /// Bytes besides the queues of each core for the application's own use.
    pub own_bytes: u64,
}

/// Buffers, queues and drivers of a tenant, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct DriverPlan {
    pool: PoolPlan,
    initial_content: InitialContent,
    headers: Option<HeaderSlices>,
    shape: QueueShape,
    tx: TxDriverConfig,
    needs: DriverNeeds,
    warm_buffers: usize,
    warm_lines: u64,
    /// Ports of the card, on each of which every core has queues.
    ports: usize,
    /// Parameters of the polling and the bursts of cores.
    pub polling: PacketLoopConfig,
}

/// Where CacheDirector places a line of each packet.
#[derive(Clone, Copy, Debug)]
struct HeaderSlices {
    line: u64,
    wanted: usize,
    most_lines: u8,
}

impl DriverPlan {
    /// Resolves the driver for a tenant's keys and card.
    #[must_use]
    pub(crate) fn resolve(input: &TenantInput<'_>, card: &Card<'_>, needs: DriverNeeds) -> Self {
        let tenant = input.tenant.keys;
        let keys = input.table::<NicKeys>();
        let tx_packets = keys.tx_packets(card.nic, tenant.cores);
        let shape = card.nic.queue_shape(
            tenant.cores,
            keys.rx_descriptors,
            (tx_packets, card.buffer_bytes),
        );
        let headers = header_slices(input.tenant);
        let shift_lines = headers.map_or(0, |headers| u64::from(headers.most_lines));
        Self {
            pool: PoolPlan::resolve((keys, card), needs.spacing, shift_lines),
            initial_content: tenant.initial_content,
            headers,
            tx: TxDriverConfig {
                ring_packets: shape.tx_packets,
                internal_queue: keys.internal_queue,
                burst: keys.burst,
                doorbell: card.nic.doorbell(),
            },
            shape,
            needs,
            warm_buffers: keys.warm_buffers as usize,
            ports: keys.ports as usize,
            warm_lines: match keys.traffic.pcap {
                Some(_) => card.buffer_bytes.div_ceil(LINE_BYTES),
                None => keys.packet_bytes.min(card.buffer_bytes).div_ceil(LINE_BYTES),
            },
            polling: polling(keys, card, needs.gathers),
        }
    }

    /// Builds the buffer pool; the caches keep the last accessed lines.
    pub(crate) fn pool<T: Tracer>(&self, builder: &mut Builder<'_, T>) -> Rc<RefCell<Mempool>> {
        let (cores, first) = (&builder.tenant.cores, builder.tenant.cores[0]);
        let mut pool = Mempool::new(self.pool.config, builder.memory, first, cores.len());
        if let Some(areas) = self.pool.areas(builder) {
            pool.place_data(areas);
        }
        match self.initial_content {
            InitialContent::Empty => {}
            InitialContent::PoolBuilt | InitialContent::StoreFilled => {
                builder.caches.fill(first, pool.built_lines());
            }
            InitialContent::PagesZeroed => {
                builder.caches.fill(first, pool.lines());
                builder.caches.fill(first, pool.built_lines());
            }
        }
        if let Some(headers) = self.headers {
            let nearest = cores.iter().map(|&core| builder.machine.nearest_slices(core)).collect();
            let HeaderSlices { line, wanted, most_lines } = headers;
            let placement = HeaderPlacement { line, nearest, wanted, most_lines };
            pool.place_headers(&placement, |line| builder.machine.slice_of(line));
        }
        Rc::new(RefCell::new(pool))
    }

    /// Allocates memory for the queues of all cores.
    pub(crate) fn arena<T: Tracer>(&self, builder: &mut Builder<'_, T>) -> Arena {
        let waiting = u64::from(self.tx.internal_queue) * POINTER_BYTES;
        let bytes = self.shape.bytes() + waiting + self.needs.own_bytes;
        let bytes = bytes * (builder.tenant.cores.len() * self.ports) as u64;
        // Rings do not cross pages: twice their bytes always suffice.
        Arena::new(builder.memory.region(2 * bytes.next_multiple_of(builder.memory.page().0)))
    }

    /// Allocates an empty queue pair for each core.
    pub(crate) fn queue_pairs<T: Tracer>(
        &self,
        builder: &Builder<'_, T>,
        arena: &mut Arena,
    ) -> Vec<QueuePair> {
        builder.tenant.cores.iter().map(|_| self.shape.place(arena)).collect()
    }

    /// Builds the drivers of a core, with a filled receive queue if packets arrive.
    pub(crate) fn start<T: Tracer>(
        &self,
        builder: &mut Builder<'_, T>,
        (core, queue, pair): (Core, QueueId, &mut QueuePair),
        pool: &Rc<RefCell<Mempool>>,
        arena: &mut Arena,
    ) -> Drivers {
        let mut rx = RxDriver::new(self.shape.rx_descriptors);
        if self.needs.receives {
            self.fill(&mut rx, builder, (core, pair), pool);
        }
        let waiting_lines = arena.place(u64::from(self.tx.internal_queue) * POINTER_BYTES);
        let tx = TxDriver::new(self.tx, waiting_lines);
        Drivers { pool: Rc::clone(pool), rx, tx, queue, is_pool_dry: false }
    }

    /// Fills queues before time zero, by a core whose clock is not read afterwards. The core may also
    /// have written the data lines of the first posted buffers: later DMA hits them in the LLC, in any
    /// way of the core's mask.
    fn fill<T: Tracer>(
        &self,
        rx: &mut RxDriver,
        builder: &mut Builder<'_, T>,
        (mut core, pair): (Core, &mut QueuePair),
        pool: &Rc<RefCell<Mempool>>,
    ) {
        rx.refill(&mut core, builder.caches.fabric(), &mut pair.rx, &mut pool.borrow_mut());
        for (visible, _) in &mut pair.rx.posted {
            *visible = Picos::ZERO;
        }
        for (_, buffer) in pair.rx.posted.iter().take(self.warm_buffers) {
            let lines = (0..self.warm_lines).map(|line| buffer.data.step(line));
            builder.caches.fill(core.id(), lines);
        }
    }
}

fn polling(keys: &NicKeys, card: &Card<'_>, gathers: bool) -> PacketLoopConfig {
    let extra = f64::from(keys.rng_calls) * card.software.rng_call_cycles.value;
    PacketLoopConfig {
        burst: keys.burst as usize,
        poll_cycles: Cycles(card.software.poll_cycles.value),
        extra_cycles: Cycles(extra),
        prefetch: keys.prefetch.prefetch(keys.burst),
        sending: Sending {
            at_packets: if gathers { keys.send_at_packets as usize } else { 1 },
            rest_after_polls: u64::from(keys.send_rest_after_polls),
        },
    }
}

fn header_slices(tenant: TenantRef<'_>) -> Option<HeaderSlices> {
    let keys = &tenant.table::<PortKeys>().placement;
    let stated = keys.headroom_lines.map(fit);
    keys.header_slices.map(|wanted| HeaderSlices {
        line: keys.header_line.unwrap_or(0),
        wanted: wanted as usize,
        most_lines: stated.unwrap_or(DEFAULT_SHIFT_LINES),
    })
}
