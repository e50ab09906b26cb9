//! From facts and wishes to a machine: the only place that knows both.

use crate::error::InputError;
use crate::platform::{
    Platform, PrivateLevel, ReplacementName, SetFunctionName, SliceFunctionName,
};
use crate::scenario::{InitialContent, Pattern, Scenario};
use address_map::{AddressMap, SetFunction, SliceFunction, XOR_MASKS};
use model::core::Core;
use model::core::prefetcher::PrefetcherConfig;
use model::core::private_cache::PrivateCacheConfig;
use model::device::nic::NicConfig;
use model::device::nic::rings::{
    COMPLETION_BYTES, DOORBELL_BYTES, QueuePair, RX_DESCRIPTOR_BYTES, Ring, RxRing, TX_ENTRY_BYTES,
    TxRequest, TxRing,
};
use model::dram::DramConfig;
use model::fabric::{CorePathConfig, Fabric, FabricConfig};
use model::llc::LlcConfig;
use model::llc::replacement::Replacement;
use model::machine::Machine;
use model::root_complex::ddio::Ddio;
use model::root_complex::iio::IioConfig;
use model::root_complex::pcie_link::PcieLinkConfig;
use model::tracer::Tracer;
use model::traffic::{Arrival, PacketSource};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use units::{Bytes, Cycles, GbitPerSec, Gigahertz, LineAddr, Picos, WayMask};
use workload::app::l2_forward::{L2Forward, L2ForwardConfig};
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

/// A forwarder on every core of the scenario.
pub type ForwarderMachine<T> = Machine<Traffic, L2Forward, T>;

/// Reads the capture of a scenario, if it has one.
///
/// # Errors
/// If the capture cannot be read, or holds a packet larger than a buffer.
pub fn read_capture(
    file: &str,
    scenario: &Scenario,
    platform: &Platform,
) -> Result<Option<Capture>, InputError> {
    let Some(path) = &scenario.traffic.pcap else { return Ok(None) };
    let capture =
        Capture::read(path).map_err(|fault| InputError::Capture { file: file.into(), fault })?;
    let largest = capture.largest_frame_bytes().0;
    let fits = platform.software.buffer_data_bytes.value;
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

/// Builds the machine of a resolved scenario, caches warm as at time zero.
pub fn machine<T: Tracer>(
    scenario: &Scenario,
    platform: &Platform,
    capture: Option<&Capture>,
    seed: u64,
    tracer: T,
) -> ForwarderMachine<T> {
    let nic = nic_config(platform);
    let mut fabric = Fabric::new(&fabric_config(scenario, platform, seed), tracer);
    let mut memory = HostMemory::new(Bytes(scenario.page_size.bytes()), seed);
    let cores = scenario.cores as usize;
    let mempool = Mempool::new(mempool_config(scenario, platform), &mut memory, cores);
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
        .map(|(pair, id)| forwarder(scenario, platform, &mut fabric, &pool, pair, id, &mut arena))
        .collect();
    let source = traffic(scenario, platform, capture, seed);
    Machine::new(fabric, &nic, source, queues, software)
}

fn fabric_config(scenario: &Scenario, platform: &Platform, seed: u64) -> FabricConfig {
    let core = Gigahertz(scenario.core_ghz.unwrap_or(platform.cpu.core_ghz.value));
    let uncore = Gigahertz(scenario.uncore_ghz.unwrap_or(platform.cpu.uncore_ghz.value));
    let llc = &platform.llc;
    let ways = llc.ways.value;
    let mask = WayMask(scenario.core_way_mask.unwrap_or((1 << ways) - 1));
    // The IIO's latencies are stated at the platform's own uncore clock.
    let uncore_slowdown = platform.cpu.uncore_ghz.value / uncore.0;
    let iio_time = |ns: f64| Picos::from_ns(ns * uncore_slowdown);
    FabricConfig {
        cores: scenario.cores,
        links: vec![link_config(platform)],
        l1: private_config(&platform.l1d),
        l2: private_config(&platform.l2),
        core_path: CorePathConfig {
            l1: Cycles(platform.l1d.latency_cycles.value).at(core),
            l2: Cycles(platform.l2.latency_cycles.value).at(core),
            llc: Cycles(llc.latency_core_cycles.value).at(core)
                + Cycles(llc.latency_uncore_cycles.value).at(uncore),
            other_core: Picos::from_ns(platform.cpu.core_to_core_ns.value),
            prefetcher: PrefetcherConfig {
                adjacent_line: platform.cpu.adjacent_line_prefetch.value,
                stream_lines: platform.cpu.stream_prefetch_lines.value,
            },
            clean_victims_to_llc: llc.clean_victims.value,
        },
        llc: LlcConfig {
            map: address_map(platform),
            ways,
            inclusive_ways: llc.inclusive_ways.value,
            replacement: replacement(llc.replacement.value),
        },
        directory_ways: platform.directory.ways.value,
        directory_replacement: replacement(platform.directory.replacement.value),
        core_way_masks: vec![mask; scenario.cores as usize],
        ddio: Ddio::top_ways(scenario.ddio_ways.unwrap_or(0), ways),
        iio: IioConfig {
            write_entries: platform.iio.write_entries.value,
            read_entries: platform.iio.read_entries.value,
            llc_write: iio_time(platform.iio.llc_write_ns.value),
            dram_write: Picos::from_ns(platform.iio.dram_write_ns.value),
            llc_read: iio_time(platform.iio.llc_read_ns.value),
            dram_read_extra: Picos::from_ns(platform.iio.dram_read_extra_ns.value),
        },
        dram: DramConfig {
            sustained_gbytes_per_s: platform.dram.sustained_gbytes_per_s.value,
            loaded_latency: platform.dram.loaded_latency_ns.value.clone(),
        },
        seed,
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
        SliceFunctionName::Mixing => SliceFunction::Mixing,
    }
}

fn address_map(platform: &Platform) -> AddressMap {
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
        replacement: replacement(level.replacement.value),
    }
}

fn replacement(name: ReplacementName) -> Replacement {
    match name {
        ReplacementName::Lru => Replacement::Lru,
        ReplacementName::Nru => Replacement::Nru,
        ReplacementName::Random => Replacement::Random,
    }
}

fn link_config(platform: &Platform) -> PcieLinkConfig {
    let pcie = &platform.pcie;
    PcieLinkConfig {
        lanes: pcie.lanes.value,
        gtransfers_per_s: pcie.gtransfers_per_s.value,
        max_payload_bytes: pcie.max_payload_bytes.value,
        max_read_request_bytes: pcie.max_read_request_bytes.value,
        data_link_interval_bytes: pcie.data_link_interval_bytes.value,
        propagation_ns: pcie.propagation_ns.value,
    }
}

fn nic_config(platform: &Platform) -> NicConfig {
    let nic = &platform.nic;
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

fn mempool_config(scenario: &Scenario, platform: &Platform) -> MempoolConfig {
    MempoolConfig {
        buffers: scenario.pool_buffers,
        cache: scenario.pool_cache,
        private_lines: u64::from(platform.software.private_lines.value),
        data_bytes: platform.software.buffer_data_bytes.value,
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

fn forwarder<T: Tracer>(
    scenario: &Scenario,
    platform: &Platform,
    fabric: &mut Fabric<T>,
    pool: &Rc<RefCell<Mempool>>,
    pair: &mut QueuePair,
    id: u8,
    arena: &mut Arena,
) -> L2Forward {
    let software = &platform.software;
    let clock = Gigahertz(scenario.core_ghz.unwrap_or(platform.cpu.core_ghz.value));
    let mut rx = RxDriver::new(scenario.rx_descriptors);
    // Queues are filled before time counts: by a core whose clock nobody looks at afterwards.
    let mut setup_core = Core::new(id, clock, platform.cpu.fill_buffers.value);
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
            doorbell: Picos::from_ns(platform.nic.doorbell_ns.value),
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
    let core = Core::new(id, clock, platform.cpu.fill_buffers.value);
    L2Forward::new(config, core, Rc::clone(pool), rx, tx)
}

fn traffic(
    scenario: &Scenario,
    platform: &Platform,
    capture: Option<&Capture>,
    seed: u64,
) -> Traffic {
    let rss = Toeplitz::default();
    let keys = &scenario.traffic;
    if let Some(capture) = capture {
        let config = ReplayConfig {
            speed: keys.scale_to_gbps.map_or(ReplaySpeed::AsCaptured, ReplaySpeed::ScaledToGbps),
            line_rate_gbps: platform.nic.line_rate_gbps.value,
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
                seed,
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
                seed,
            },
            &rss,
        )),
    }
}
