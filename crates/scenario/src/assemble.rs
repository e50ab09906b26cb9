//! From facts and wishes to a machine: the only place that knows both.

pub mod hardware;

use crate::error::InputError;
use crate::platform::{PacketServer, Platform};
use crate::scenario::{AccessPattern, CoRunnerKeys, InitialContent, MemoryNode, Pattern, Scenario};
use hardware::{Hardware, Nodes};
use model::core::Core;
use model::device::nic::NicConfig;
use model::device::nic::rings::{
    COMPLETION_BYTES, DOORBELL_BYTES, QueuePair, RX_DESCRIPTOR_BYTES, Ring, RxRing, TX_ENTRY_BYTES,
    TxRequest, TxRing,
};
use model::fabric::Fabric;
use model::machine::Machine;
use model::tracer::Tracer;
use model::traffic::{Arrival, PacketSource};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use units::{Bytes, Cycles, GbitPerSec, Gigahertz, LineAddr, Picos, WayMask};
use workload::app::l2_forward::{L2Forward, L2ForwardConfig};
use workload::app::memory_kernel::{self, MemoryKernel, MemoryKernelConfig};
use workload::driver::mempool::{Mempool, MempoolConfig};
use workload::driver::rx::RxDriver;
use workload::driver::tx::{TxDriver, TxDriverConfig};
use workload::host_memory::{Arena, HostMemory, touch};
use workload::traffic::{
    Capture, CaptureReplay, FixedRate, FixedRateConfig, ReplayConfig, ReplaySpeed, Toeplitz,
    Trains, TrainsConfig,
};

/// What arrives, whatever its kind.
#[derive(Debug)]
pub enum Traffic {
    /// One packet of each flow in turn.
    Fixed(FixedRate),
    /// Trains of flows.
    Trains(Trains),
    /// A capture.
    Replay(CaptureReplay),
}

impl PacketSource for Traffic {
    fn next_arrival(&mut self) -> Option<Arrival> {
        match self {
            Self::Fixed(source) => source.next_arrival(),
            Self::Trains(source) => source.next_arrival(),
            Self::Replay(source) => source.next_arrival(),
        }
    }
}

/// A forwarder on every forwarding core, memory kernels on those after them.
pub type ForwarderMachine<T> = Machine<Traffic, L2Forward, MemoryKernel, T>;

/// Reads the capture of a scenario, if it has one.
///
/// # Errors
/// If the capture cannot be read, or holds a packet larger than a buffer.
pub fn read_capture(
    file: &str,
    scenario: &Scenario,
    server: &PacketServer<'_>,
) -> Result<Option<Capture>, InputError> {
    let Some(path) = &scenario.traffic.pcap else { return Ok(None) };
    let capture =
        Capture::read(path).map_err(|fault| InputError::Capture { file: file.into(), fault })?;
    let largest = capture.largest_frame_bytes().0;
    let fits = server.software.buffer_data_bytes.value;
    if largest > fits {
        return Err(InputError::OutOfRange {
            file: file.into(),
            key: "traffic.pcap".into(),
            value: path.clone(),
            allowed: format!(
                "its largest packet has {largest} bytes, a buffer holds {fits}: capture with \
                 segmentation offload off, or filter larger packets out"
            ),
        });
    }
    Ok(Some(capture))
}

/// A resolved scenario and the facts that it runs on.
#[derive(Clone, Copy)]
struct Plan<'a> {
    scenario: &'a Scenario,
    platform: &'a Platform,
    server: PacketServer<'a>,
    seed: u64,
}

/// Builds the machine of a resolved scenario, caches warm as at time zero.
///
/// # Panics
/// If the platform does not serve packets: resolving the scenario has checked that.
pub fn machine<T: Tracer>(
    scenario: &Scenario,
    platform: &Platform,
    capture: Option<&Capture>,
    seed: u64,
    tracer: T,
) -> ForwarderMachine<T> {
    let server = platform.packet_server("").expect("a resolved scenario's platform has a NIC");
    let plan = Plan { scenario, platform, server, seed };
    let mut fabric = Fabric::new(&plan.hardware().fabric(), tracer);
    let mut memory = plan.host_memory();
    let cores = scenario.cores as usize;
    let mempool = Mempool::new(plan.mempool_config(), &mut memory, cores);
    let ring_bytes: u64 = ring_bytes(scenario);
    let arena_bytes = (ring_bytes * u64::from(scenario.cores)).next_multiple_of(memory.page().0);
    // Rings do not cross pages: twice the room is always enough.
    let mut arena = Arena::new(memory.region(2 * arena_bytes));
    match scenario.initial_content {
        InitialContent::Empty => {}
        InitialContent::PoolBuilt => mempool.initialise(&mut fabric, 0),
        InitialContent::PagesZeroed => {
            touch(&mut fabric, 0, mempool.lines());
            mempool.initialise(&mut fabric, 0);
        }
    }
    let pool = Rc::new(RefCell::new(mempool));
    let mut queues: Vec<QueuePair> = (0..cores).map(|_| queue_pair(scenario, &mut arena)).collect();
    let software = queues
        .iter_mut()
        .zip(0..)
        .map(|(pair, id)| plan.forwarder(&mut fabric, &pool, pair, id, &mut arena))
        .collect();
    let kernels = plan.kernels(&mut memory);
    let source = plan.traffic(capture);
    Machine::new(fabric, &plan.nic_config(), source, queues, software, kernels)
}

impl Plan<'_> {
    fn core_clock(&self) -> Gigahertz {
        Gigahertz(self.scenario.core_ghz.unwrap_or(self.platform.cpu.core_ghz.value))
    }

    fn core(&self, id: u8) -> Core {
        Core::new(id, self.core_clock(), self.platform.cpu.fill_buffers.value)
    }

    /// Memory nodes and sockets that this scenario touches.
    fn nodes(&self) -> Nodes {
        let node = self.scenario.memory_node;
        Nodes {
            other_socket: self.scenario.nic_socket > 0 || node == MemoryNode::OtherSocket,
            cxl: node == MemoryNode::Cxl,
        }
    }

    fn hardware(&self) -> Hardware<'_> {
        let (scenario, platform) = (self.scenario, self.platform);
        let all_ways = platform.llc.all_ways_mask();
        let mask = |mask: Option<u32>| WayMask(mask.unwrap_or(all_ways));
        let mut core_way_masks = vec![mask(scenario.core_way_mask); scenario.cores as usize];
        if let Some(keys) = &scenario.co_runner {
            core_way_masks.resize(scenario.all_cores() as usize, mask(keys.way_mask));
        }
        Hardware {
            platform,
            core: self.core_clock(),
            uncore: Gigahertz(scenario.uncore_ghz.unwrap_or(platform.cpu.uncore_ghz.value)),
            core_way_masks,
            ports: vec![hardware::port(scenario, platform, &self.server)],
            nodes: self.nodes(),
            seed: self.seed,
        }
    }

    /// Memory of the node that buffers and rings lie in.
    fn host_memory(&self) -> HostMemory {
        let nodes = self.nodes();
        let count = 1 + u64::from(nodes.other_socket) + u64::from(nodes.cxl);
        let page = Bytes(self.scenario.page_size.bytes());
        let node = nodes.number(self.scenario.memory_node);
        HostMemory::in_node(page, self.seed, node, count)
    }

    fn kernels(&self, memory: &mut HostMemory) -> Vec<MemoryKernel> {
        let Some(keys) = &self.scenario.co_runner else { return Vec::new() };
        let first = self.scenario.cores as u8;
        (first..first + keys.cores as u8).map(|id| self.kernel(keys, id, memory)).collect()
    }

    fn kernel(&self, keys: &CoRunnerKeys, id: u8, memory: &mut HostMemory) -> MemoryKernel {
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

    fn nic_config(&self) -> NicConfig {
        let nic = self.server.nic;
        NicConfig {
            line_rate: GbitPerSec(nic.line_rate_gbps.value),
            rx_buffer_bytes: nic.rx_buffer_bytes.value,
            rx_pipeline: Picos::from_ns(nic.rx_pipeline_ns.value),
            rx_descriptors_prefetched: nic.rx_descriptors_prefetched.value,
            rx_descriptors_per_fetch: nic.rx_descriptors_per_fetch.value,
            packets_per_completion: nic.packets_per_completion.value,
            completion_gather: Picos::from_ns(nic.completion_gather_ns.value),
            doorbell: Picos::from_ns(nic.doorbell_ns.value),
            read_pipeline: Picos::from_ns(nic.read_pipeline_ns.value),
            tx_pipeline: Picos::from_ns(nic.tx_pipeline_ns.value),
            tx_queue_entries: nic.tx_queue_entries.value,
            tx_packets_per_completion: nic.tx_packets_per_completion.value,
        }
    }

    fn mempool_config(&self) -> MempoolConfig {
        MempoolConfig {
            buffers: self.scenario.pool_buffers,
            cache: self.scenario.pool_cache,
            private_lines: u64::from(self.server.software.private_lines.value),
            data_bytes: self.server.software.buffer_data_bytes.value,
        }
    }

    fn forwarder<T: Tracer>(
        &self,
        fabric: &mut Fabric<T>,
        pool: &Rc<RefCell<Mempool>>,
        pair: &mut QueuePair,
        id: u8,
        arena: &mut Arena,
    ) -> L2Forward {
        let (scenario, software) = (self.scenario, self.server.software);
        let mut rx = RxDriver::new(scenario.rx_descriptors);
        // Queues are filled before time counts: by a core whose clock nobody looks at afterwards.
        let mut setup_core = self.core(id);
        rx.refill(&mut setup_core, fabric, &mut pair.rx, &mut pool.borrow_mut());
        for (visible, _) in &mut pair.rx.posted {
            *visible = Picos::ZERO;
        }
        let waiting_lines: LineAddr = arena.place(u64::from(scenario.internal_queue) * 8);
        let tx = TxDriver::new(
            TxDriverConfig {
                ring_packets: scenario.tx_descriptors.unwrap_or(256),
                internal_queue: scenario.internal_queue,
                burst: scenario.burst,
                doorbell: Picos::from_ns(self.server.nic.doorbell_ns.value),
            },
            waiting_lines,
        );
        let config = L2ForwardConfig {
            burst: scenario.burst as usize,
            cycles_per_packet: Cycles(software.l2_forward_cycles_per_packet.value),
            extra_cycles: Cycles(f64::from(scenario.rng_calls) * software.rng_call_cycles.value),
            poll_cycles: Cycles(software.poll_cycles.value),
            annotation_lines: u64::from(software.annotation_lines.value),
        };
        L2Forward::new(config, self.core(id), Rc::clone(pool), rx, tx)
    }

    fn traffic(&self, capture: Option<&Capture>) -> Traffic {
        let rss = Toeplitz::default();
        let (scenario, keys) = (self.scenario, &self.scenario.traffic);
        if let Some(capture) = capture {
            let config = ReplayConfig {
                speed: keys
                    .scale_to_gbps
                    .map_or(ReplaySpeed::AsCaptured, ReplaySpeed::ScaledToGbps),
                line_rate_gbps: self.server.nic.line_rate_gbps.value,
                loops: keys.loops,
            };
            return Traffic::Replay(CaptureReplay::new(capture, &config, &rss));
        }
        match keys.pattern {
            Pattern::Fixed => Traffic::Fixed(FixedRate::new(
                &FixedRateConfig {
                    packet_bytes: scenario.packet_bytes,
                    offered_gbps: scenario.offered_gbps,
                    flows: keys.flows as usize,
                    seed: self.seed,
                },
                &rss,
            )),
            Pattern::Trains => Traffic::Trains(Trains::new(
                &TrainsConfig {
                    packet_bytes: scenario.packet_bytes,
                    offered_gbps: scenario.offered_gbps,
                    threads: keys.generator_threads as usize,
                    flows_per_thread: keys.flows as usize,
                    train_packets: u64::from(keys.train_packets),
                    seed: self.seed,
                },
                &rss,
            )),
        }
    }
}

/// Entries of the send ring for `packets` packets in bursts: what multi-packet requests need.
fn tx_entries(scenario: &Scenario) -> u32 {
    let packets = scenario.tx_descriptors.unwrap_or(256);
    // Requests of single packets need an entry each.
    packets.max(TxRequest::entries_for(u64::from(scenario.burst)) as u32)
}

fn ring_bytes(scenario: &Scenario) -> u64 {
    Ring::bytes(scenario.rx_descriptors, RX_DESCRIPTOR_BYTES + COMPLETION_BYTES)
        + Ring::bytes(tx_entries(scenario), TX_ENTRY_BYTES + COMPLETION_BYTES)
        + u64::from(scenario.internal_queue) * 8
        + 8 * units::LINE_BYTES
}

fn queue_pair(scenario: &Scenario, arena: &mut Arena) -> QueuePair {
    let mut ring = |entries: u32, entry_bytes: u64| Ring {
        first: arena.place(Ring::bytes(entries, entry_bytes)),
        entries,
        entry_bytes,
    };
    let rx_descriptors = ring(scenario.rx_descriptors, RX_DESCRIPTOR_BYTES);
    let rx_completions = ring(scenario.rx_descriptors, COMPLETION_BYTES);
    let requests = ring(tx_entries(scenario), TX_ENTRY_BYTES);
    let tx_completions = ring(tx_entries(scenario), COMPLETION_BYTES);
    QueuePair {
        rx: RxRing {
            descriptors: rx_descriptors,
            completions: rx_completions,
            doorbell: arena.place(DOORBELL_BYTES),
            posted: VecDeque::new(),
            completed: VecDeque::new(),
        },
        tx: TxRing {
            requests,
            completions: tx_completions,
            doorbell: arena.place(DOORBELL_BYTES),
            queued: VecDeque::new(),
            completed: VecDeque::new(),
        },
    }
}
