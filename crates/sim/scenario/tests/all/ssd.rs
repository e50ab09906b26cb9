//! SSDs with a fio-like job on a core: do they reach their published numbers, and where do the
//! blocks go with DDIO on and off?

use crate::small_fabric;
use address_map::{AddressMap, SetFunction, SliceFunction};
use model::core::Core;
use model::device::DeviceKind;
use model::device::nvme::controller::NvmeController;
use model::device::nvme::rings::{NvmeQueuePair, PAGE_BYTES};
use model::fabric::{Fabric, FabricConfig, PortConfig};
use model::private_caches::PrivateCacheConfig;
use model::reading::Reading;
use model::replacement::Replacement;
use model::root_complex::attachment::AttachmentConfig;
use model::root_complex::ddio::{Ddio, IoPolicy};
use model::root_complex::mmio::MmioPath;
use model::software::Turn;
use model::tracer::NoTrace;
use scenario::platform::SsdDevice;
use units::{Bytes, CoreId, Cycles, Gigahertz, Id, LINE_BYTES, Picos, RootPortId, WayMask};
use workload::app::block_io::{
    BlockIo, BlockIoConfig, BlockIoCounters, BlockPattern, CompletionMode,
};
use workload::driver::nvme::{NvmeDriver, NvmeDriverConfig};
use workload::host_memory::{Arena, HostMemory, touch};

const P4800X: &str = include_str!("../../../../../devices/ssd/p4800x.toml");
const XG5: &str = include_str!("../../../../../devices/ssd/xg5.toml");
const CLOCK: Gigahertz = Gigahertz(3.0);
const LLC_WAYS: u32 = 11;
const HUGE_PAGE: Bytes = Bytes(2 << 20);

fn device(text: &str) -> SsdDevice {
    SsdDevice::read("devices/ssd/test.toml", text).expect("the file is sound")
}

/// Parameters that a test varies. Defaults are fio's in ISPASS'20, 128 KiB random reads at depth 4.
#[derive(Clone)]
struct Setup {
    device: SsdDevice,
    ssds: usize,
    /// Root ports: SSDs share them in turn.
    ports: usize,
    /// Jobs, dealt out to the SSDs in turn.
    jobs: usize,
    ddio_ways: u32,
    io: BlockIoConfig,
}

fn setup(text: &str) -> Setup {
    let device = device(text);
    let software = &device.software;
    let cycles = |value: f64| Cycles(value);
    let io = BlockIoConfig {
        block_bytes: 128 << 10,
        io_depth: 4,
        read_percent: 100,
        pattern: BlockPattern::Random,
        span_bytes: device.ssd.capacity_bytes(),
        buffers: 4,
        reads_data: false,
        fills_data: false,
        completion: CompletionMode::Interrupt {
            delivery: Picos::from_ns(software.interrupt_delivery_ns.value),
            cycles: cycles(software.interrupt_cycles.value),
        },
        submit_cycles: cycles(software.submit_cycles.value),
        complete_cycles: cycles(software.complete_cycles.value),
        work_cycles: cycles(software.work_cycles.value),
        seed: 1,
    };
    Setup { device, ssds: 1, ports: 1, jobs: 1, ddio_ways: 2, io }
}

impl Setup {
    fn block(mut self, block_bytes: u64, io_depth: u32) -> Self {
        (self.io.block_bytes, self.io.io_depth, self.io.buffers) =
            (block_bytes, io_depth, io_depth);
        self
    }

    fn writes(mut self) -> Self {
        self.io.read_percent = 0;
        self
    }

    /// An LLC of 5.5 MiB whose two DDIO ways hold 1 MiB.
    fn fabric(&self) -> FabricConfig {
        let small = small_fabric::config();
        let level = |sets, ways| PrivateCacheConfig { sets, ways, replacement: Replacement::Lru };
        let port = PortConfig {
            attachment: AttachmentConfig::Pcie(self.device.link()),
            policy: IoPolicy::uniform(Ddio::top_ways(self.ddio_ways, LLC_WAYS)),
            ..small.ports[0].clone()
        };
        let mut config = FabricConfig {
            cores: vec![self.jobs as u32],
            ports: vec![port; self.ports],
            core_way_masks: vec![WayMask::bottom(LLC_WAYS); self.jobs],
            ..small
        };
        (config.private.l1, config.private.l2) = (level(64, 8), level(512, 8));
        config.socket.llc.map = AddressMap::new(2, 4096, SliceFunction::Mixing, SetFunction::Plain);
        config.socket.llc.ways = LLC_WAYS;
        config
    }
}

struct Job {
    ssd: usize,
    queue: usize,
    software: BlockIo,
    wake: Picos,
    idle: bool,
}

/// Fabric, SSDs and jobs, stepped in order of time as the machine does it.
struct Rig {
    fabric: Fabric,
    ssds: Vec<NvmeController>,
    pairs: Vec<Vec<NvmeQueuePair>>,
    jobs: Vec<Job>,
    now: Picos,
}

impl Rig {
    fn new(setup: &Setup) -> Self {
        let mut fabric = Fabric::new(&setup.fabric(), NoTrace);
        let mut memory = HostMemory::new(HUGE_PAGE, 1);
        let config = setup.device.ssd.config();
        let driver = NvmeDriverConfig {
            entries: setup.device.software.queue_entries.value,
            depth: setup.io.io_depth,
            block_bytes: setup.io.block_bytes,
            doorbell: MmioPath {
                one_way: Picos::from_ns(setup.device.ssd.doorbell_ns.value),
                store: Cycles(setup.device.software.doorbell_cycles.value),
            },
        };
        let mut pairs: Vec<Vec<NvmeQueuePair>> = vec![Vec::new(); setup.ssds];
        let job = |index: usize| {
            let mut arena = Arena::new(memory.region(NvmeDriver::arena_bytes(&driver)));
            let (driver, pair) = NvmeDriver::new(driver, &mut arena);
            let ssd = index % setup.ssds;
            pairs[ssd].push(pair);
            let io = BlockIoConfig { seed: setup.io.seed + index as u64, ..setup.io };
            let buffers = memory.region(io.buffer_bytes());
            let software =
                BlockIo::new(io, Core::new(CoreId::at(index), CLOCK, 12), driver, &buffers);
            touch(&mut fabric, CoreId::at(index), software.buffer_lines());
            let queue = pairs[ssd].len() - 1;
            Job { ssd, queue, software, wake: Picos::ZERO, idle: false }
        };
        let jobs: Vec<Job> = (0..setup.jobs).map(job).collect();
        fabric.start_clock();
        let ssd = |i: usize| {
            NvmeController::new(
                RootPortId::at(i % setup.ports),
                config.clone(),
                pairs[i].len(),
                7 + i as u64,
            )
        };
        let ssds = (0..setup.ssds).map(ssd).collect();
        Self { fabric, ssds, pairs, jobs, now: Picos::ZERO }
    }

    /// Blocks between SSDs and memory; I/Os would be too coarse a count for large blocks.
    fn bytes_moved(&self) -> u64 {
        let counters = self.ssds.iter().map(|ssd| ssd.counters);
        counters.map(|counters| counters.bytes_to_host + counters.bytes_from_host).sum()
    }

    fn run(&mut self, until: Picos) {
        loop {
            let ssd_wake = |i: usize| self.ssds[i].next_wake(0, &self.pairs[i], self.now);
            let ssd = (0..self.ssds.len()).map(|i| (ssd_wake(i), i)).min().expect("one is there");
            let jobs = self.jobs.iter().enumerate().map(|(i, job)| (job.wake, i));
            let job = jobs.min().expect("one is there");
            let time = ssd.0.min(job.0);
            if time >= until {
                self.now = until;
                return;
            }
            self.now = time;
            if ssd.0 <= job.0 { self.step_ssd(ssd.1) } else { self.step_job(job.1) }
        }
    }

    fn step_ssd(&mut self, ssd: usize) {
        let (ssds, pairs) = (&mut self.ssds[ssd], &mut self.pairs[ssd]);
        let stepped = ssds.step(0, &mut self.fabric, pairs, self.now, Picos::NEVER);
        let Some((queue, visible)) = stepped.visible else { return };
        let told = self.jobs.iter_mut().find(|job| (job.ssd, job.queue) == (ssd, queue));
        let job = told.expect("every queue has a job");
        if job.idle {
            job.wake = job.wake.min(visible.max(self.now));
        }
    }

    fn step_job(&mut self, index: usize) {
        let job = &mut self.jobs[index];
        let pair = &mut self.pairs[job.ssd][job.queue];
        (job.wake, job.idle) = match job.software.step(&mut self.fabric, pair, self.now) {
            Turn::Busy(until) => (until, false),
            Turn::Idle(until) => (until, true),
        };
    }
}

/// Measurements over a span of a run.
#[derive(Debug, PartialEq)]
struct Measured {
    gbytes_per_s: f64,
    kiops: f64,
    latency_us: f64,
    p99_us: f64,
    memory_read: f64,
    memory_written: f64,
    idle: f64,
}

fn measure(setup: &Setup) -> Measured {
    let (warm, end) = (Picos(20_000_000_000), Picos(60_000_000_000));
    let mut rig = Rig::new(setup);
    rig.run(warm);
    let before: Vec<BlockIoCounters> = rig.jobs.iter().map(|job| job.software.counters).collect();
    rig.jobs.iter_mut().for_each(|job| drop(job.software.take_latencies()));
    let lines = rig.fabric.memory().lines_moved();
    let moved_before = rig.bytes_moved();
    rig.run(end);
    let seconds = (end - warm).as_seconds();
    let bytes = rig.bytes_moved() - moved_before;
    let (mut ios, mut idle) = (0, Picos::ZERO);
    let mut latencies = model::latency_histogram::latency_histogram();
    for (job, before) in rig.jobs.iter_mut().zip(&before) {
        let counters = job.software.counters.since(before);
        ios += counters.completed;
        idle += counters.idle;
        latencies.add(job.software.take_latencies()).expect("the bounds are the same");
    }
    let moved = rig.fabric.memory().lines_moved();
    let gbytes = |lines: u64| (lines * LINE_BYTES) as f64 / 1e9 / seconds;
    Measured {
        gbytes_per_s: bytes as f64 / 1e9 / seconds,
        kiops: ios as f64 / 1e3 / seconds,
        latency_us: latencies.mean() / 1e3,
        p99_us: latencies.value_at_quantile(0.99) as f64 / 1e3,
        memory_read: gbytes(moved.0 - lines.0),
        memory_written: gbytes(moved.1 - lines.1),
        idle: idle.as_seconds() / seconds / setup.jobs as f64,
    }
}

fn within(what: &str, value: f64, expected: f64, tolerance: f64) {
    let off = (value / expected - 1.0).abs();
    assert!(off <= tolerance, "{what}: {value:.4}, expected {expected} +- {tolerance}");
}

// The published numbers of the devices.

#[test]
fn a_p4800x_at_depth_1_has_the_latency_that_its_parameter_was_fitted_to() {
    let measured = measure(&setup(P4800X).block(4096, 1));
    within("mean in us (fitted)", measured.latency_us, 8.9, 0.01);
    within("p99 in us (spread derived from it)", measured.p99_us, 10.0, 0.02);
    within("thousand I/Os per second (derived)", measured.kiops, 108.3, 0.02);
}

#[test]
fn a_p4800x_with_16_in_flight_reaches_its_published_rate_and_latency() {
    let mut four_jobs = setup(P4800X).block(4096, 4);
    four_jobs.jobs = 4;
    let measured = measure(&four_jobs);
    within("thousand I/Os per second", measured.kiops, 584.8, 0.02);
    within("mean in us", measured.latency_us, 25.5, 0.06);
    // The p99 of a run is near 38.9 or near 40.5 us, as its order of blocks falls.
    let of_seed = |seed| {
        let mut other = setup(P4800X).block(4096, 4);
        (other.jobs, other.io.seed) = (4, seed);
        measure(&other).p99_us
    };
    let p99_us = (0..10).map(|seed| of_seed(100 * seed)).sum::<f64>() / 10.0;
    within("p99 in us (chose the units)", p99_us, 41.0, 0.05);
}

#[test]
fn eight_kib_reads_of_a_p4800x_saturate_at_depth_4() {
    let mut rates = [1, 2, 4, 8].map(|depth| measure(&setup(P4800X).block(8192, depth)).kiops);
    within("thousand I/Os per second at depth 8", rates[3], 280.0, 0.06);
    rates.iter_mut().for_each(|rate| *rate /= 280.0);
    assert!(rates[2] > 0.9 && rates[1] < 0.85, "{rates:?}");
}

#[test]
fn flash_needs_depth_where_xpoint_does_not() {
    let rate = |text, depth| measure(&setup(text).block(4096, depth)).gbytes_per_s;
    assert!(rate(P4800X, 4) > 10.0 * rate(XG5, 4));
    let small = measure(&setup(XG5).block(4096, 1));
    assert!(small.latency_us > 80.0 && small.latency_us < 105.0, "{small:?}");
    let blocks = [1, 2, 4, 16].map(|depth| {
        let mut sequential = setup(XG5).block(128 << 10, depth);
        sequential.io.pattern = BlockPattern::Sequential;
        measure(&sequential).gbytes_per_s
    });
    // One worker measures 2.15 GB/s, many 3.0; the depth of that worker is not published.
    assert!(blocks[0] < 2.15 && blocks[2] > 2.15, "{blocks:?}");
    within("reads at depth 16", blocks[3], 3.0, 0.02);
    within(
        "writes at depth 16",
        measure(&setup(XG5).block(128 << 10, 16).writes()).gbytes_per_s,
        2.1,
        0.02,
    );
}

// Where blocks go: ISPASS'20.

#[test]
fn without_ddio_every_block_that_is_read_goes_to_memory() {
    let mut off = setup(P4800X);
    off.ddio_ways = 0;
    let measured = measure(&off);
    within("memory writes", measured.memory_written, 2.45, 0.03);
    assert!(measured.memory_read < 0.1, "{measured:?}");
}

#[test]
fn without_ddio_memory_is_read_as_much_once_software_looks_at_the_data() {
    let mut off = setup(P4800X);
    (off.ddio_ways, off.io.reads_data) = (0, true);
    let measured = measure(&off);
    within("memory writes", measured.memory_written, 2.45, 0.03);
    within("memory reads", measured.memory_read, 2.45, 0.03);
}

#[test]
fn with_ddio_blocks_stay_off_memory_whether_software_looks_at_them_or_not() {
    for reads_data in [false, true] {
        let mut on = setup(P4800X);
        on.io.reads_data = reads_data;
        let measured = measure(&on);
        assert!(measured.memory_read + measured.memory_written < 0.1, "{measured:?}");
    }
}

#[test]
fn with_ddio_buffers_beyond_its_ways_leak_to_memory() {
    let mut many = setup(P4800X);
    // 128 MiB, of which the ways that the core filled at the start keep 4.5.
    many.io.buffers = 1024;
    let measured = measure(&many);
    within("memory writes", measured.memory_written, 2.4, 0.05);
}

#[test]
fn writing_blocks_reads_little_from_memory_with_ddio_off() {
    for ddio_ways in [0, 2] {
        let mut writes = setup(P4800X).writes();
        writes.ddio_ways = ddio_ways;
        let measured = measure(&writes);
        assert!(measured.memory_read + measured.memory_written < 0.3, "{measured:?}");
        within("throughput", measured.gbytes_per_s, 2.0, 0.02);
    }
}

#[test]
fn ddio_does_not_change_the_throughput_of_an_ssd_at_its_own_rate() {
    let mut at_rate = 0;
    for block_kib in [4, 128, 2048] {
        for depth in [1, 4, 16] {
            for (read_percent, rate) in [(100, 2.4), (0, 2.0)] {
                let mut on = setup(P4800X).block(block_kib << 10, depth);
                on.io.read_percent = read_percent;
                let mut off = on.clone();
                off.ddio_ways = 0;
                let (on, off) = (measure(&on).gbytes_per_s, measure(&off).gbytes_per_s);
                let what = format!("{block_kib} KiB, depth {depth}, {read_percent} % reads");
                if on < 0.97 * rate {
                    // The way to memory is longer, which depth hides: up to 8 % of 9 us.
                    assert!(off < on && off > 0.92 * on, "{what}: on {on:.4}, off {off:.4}");
                    continue;
                }
                within(&what, off, on, 0.02);
                within(&what, on, rate, 0.02);
                at_rate += 1;
            }
        }
    }
    assert!(at_rate >= 10, "only {at_rate} are at the device's rate");
}

// Software and several devices.

#[test]
fn polling_answers_sooner_than_an_interrupt_and_leaves_no_time() {
    let interrupt = setup(P4800X).block(4096, 1);
    let mut polling = interrupt.clone();
    let cycles = Cycles(polling.device.software.poll_cycles.value);
    polling.io.completion = CompletionMode::Polling { cycles };
    let (interrupt, polling) = (measure(&interrupt), measure(&polling));
    // Delivery of 0.5 us and a handler of 1500 cycles at 3 GHz.
    within("saved us", interrupt.latency_us - polling.latency_us, 1.0, 0.1);
    assert!(interrupt.idle > 0.5, "{interrupt:?}");
}

#[test]
fn two_ssds_at_ports_of_their_own_are_twice_as_fast() {
    let one = measure(&setup(P4800X));
    let mut two = setup(P4800X);
    (two.ssds, two.ports, two.jobs) = (2, 2, 2);
    within("ratio", measure(&two).gbytes_per_s / one.gbytes_per_s, 2.0, 0.02);
}

#[test]
fn two_ssds_behind_one_link_share_its_rate() {
    let mut shared = setup(P4800X);
    (shared.ssds, shared.jobs) = (2, 2);
    let link = shared.device.link();
    let block = shared.io.block_bytes;
    let efficiency = block as f64 / link.write_bytes(block) as f64;
    let rate = link.tlp_gbps() / 8.0 * efficiency;
    within("GB/s", measure(&shared).gbytes_per_s, rate, 0.02);
}

#[test]
fn queues_of_one_ssd_get_equal_shares() {
    let mut shared = setup(P4800X);
    shared.jobs = 4;
    let mut rig = Rig::new(&shared);
    rig.run(Picos(60_000_000_000));
    let ios: Vec<u64> = rig.jobs.iter().map(|job| job.software.counters.completed).collect();
    let (least, most) = (ios.iter().min().unwrap(), ios.iter().max().unwrap());
    // Blocks are chosen at random, each job by its own seed.
    assert!(most - least <= most / 12, "{ios:?}");
}

#[test]
fn equal_runs_give_equal_results() {
    let mut mixed = setup(XG5).block(16 << 10, 8);
    mixed.io.read_percent = 70;
    assert_eq!(measure(&mixed), measure(&mixed));
}

#[test]
fn every_io_is_completed_or_in_flight_and_every_line_moved_once() {
    for (text, read_percent) in [(P4800X, 100), (XG5, 60), (P4800X, 0)] {
        let mut mixed = setup(text).block(48 << 10, 6);
        (mixed.io.read_percent, mixed.io.fills_data) = (read_percent, true);
        let mut rig = Rig::new(&mixed);
        rig.run(Picos(30_000_000_000));
        let job = &rig.jobs[0].software;
        let counters = job.counters;
        assert!(counters.completed > 500);
        assert_eq!(job.account(rig.now).work, counters.completed);
        assert_eq!(counters.submitted, counters.completed + job.ios_in_work() as u64);
        let ssd = &rig.ssds[0];
        assert_eq!(ssd.counters.fetched, ssd.counters.completed + ssd.commands_in_work() as u64);
        let lines = rig.fabric.counters();
        let written = lines.pcie_write_hits + lines.pcie_write_misses;
        assert_eq!(written, ssd.counters.bytes_to_host / LINE_BYTES);
        let partial = lines.pcie_partial_write_hits + lines.pcie_partial_write_misses;
        assert_eq!(partial, ssd.counters.completed);
        let read = lines.pcie_read_hits + lines.pcie_read_misses;
        // An entry, and a PRP list of 11 x 8 bytes, which lies in two lines.
        let commands = 3 * ssd.counters.fetched;
        assert_eq!(read, commands + ssd.counters.bytes_from_host / LINE_BYTES);
        let in_flight = (u64::from(mixed.io.io_depth) + 1) * mixed.io.block_bytes;
        assert!(ssd.counters.bytes_to_host - counters.read_bytes <= in_flight);
        assert!(ssd.counters.bytes_from_host - counters.written_bytes <= in_flight);
        rig.fabric.check_invariants().expect("hold");
    }
}

// The files.

#[test]
fn a_damaged_device_file_is_refused_with_file_and_key() {
    let refused = |from: &str, to: &str| {
        assert!(P4800X.contains(from));
        let text = P4800X.replace(from, to);
        SsdDevice::read("devices/ssd/mine.toml", &text).expect_err("is refused").to_string()
    };
    let range = refused("page_bytes = { value = 4096", "page_bytes = { value = 5000");
    assert!(range.contains("mine.toml: `ssd.page_bytes` = 5000: allowed: 4096, 8192"), "{range}");
    let unknown = refused("read_ns", "read_nz");
    assert!(unknown.contains("unknown key `ssd.read_nz`; did you mean `read_ns`?"), "{unknown}");
    let buffer = refused("buffer_bytes = { value = 262144", "buffer_bytes = { value = 64");
    assert!(buffer.contains("no fewer than ssd.page_bytes"), "{buffer}");
    assert_eq!(PAGE_BYTES, 4096);
}
