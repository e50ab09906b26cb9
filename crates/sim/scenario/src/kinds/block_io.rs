//! Block I/O on SSDs: the keys of a fio-like job, and its jobs.

use crate::contract::application::ApplicationModule;
use crate::contract::build::Builder;
use crate::contract::inert::Inert;
use crate::contract::input::TenantInput;
use crate::contract::port::PortPlan;
use crate::contract::tenant::TenantRef;
use crate::facts::platform::SsdDevice;
use crate::kinds::cbdma::CbdmaKeys;
use crate::kinds::dsa::DsaKeys;
use crate::kinds::nic::NicKeys;
use crate::kinds::ssd;
use crate::text::check::Check;
use crate::text::error::InputError;
use crate::text::key_groups::names;
use model::device::DeviceQueues;
use model::device::nvme::rings::{MAX_BLOCK_BYTES, PAGE_BYTES};
use model::device::queues::QueueId;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::narrow::fit;
use units::{Cycles, Picos};
use workload::app::block_io::{BlockIo, BlockIoConfig, BlockPattern, CompletionMode};
use workload::driver::nvme::{NvmeDriver, NvmeDriverConfig};
use workload::host_memory::Arena;

/// SSDs of a tenant.
const SSDS: (u32, u32) = (1, 16);
/// I/Os in flight: fewer than the entries of a queue of 1024.
const DEPTH: (u32, u32) = (1, 1023);
const BUFFERS: (u32, u32) = (1, 1 << 16);

/// Keys of block I/O. Every core of the tenant runs one job with a queue pair of its own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct BlockIoKeys {
    /// Number of SSDs. Jobs are assigned to the SSDs in turn.
    #[schemars(range(min = SSDS.0, max = SSDS.1))]
    pub ssds: u32,
    /// SSDs behind one root port, whose link they share.
    #[schemars(range(min = SSDS.0, max = SSDS.1))]
    pub ssds_per_root_port: u32,
    /// Size of a block in bytes.
    #[schemars(range(min = PAGE_BYTES, max = MAX_BLOCK_BYTES), extend("multipleOf" = PAGE_BYTES))]
    pub block_bytes: u64,
    /// I/Os in flight of each job.
    #[schemars(range(min = DEPTH.0, max = DEPTH.1))]
    pub depth: u32,
    /// Share of reads, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub read_percent: u32,
    /// Order in which blocks are accessed.
    pub order: BlockOrder,
    /// Buffers of each job, used in turn. As many as I/Os in flight by default, as in fio.
    #[schemars(range(min = BUFFERS.0, max = BUFFERS.1))]
    pub buffers: Option<u32>,
    /// How the software learns of completions.
    pub completion: CompletionKind,
    /// The core reads every line of a block that was read (verification, copy to a user).
    pub reads_data: bool,
    /// The core fills every line of a block before it writes the block.
    pub fills_data: bool,
}

/// Order in which a job accesses blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BlockOrder {
    /// Any block, at random.
    #[default]
    Random,
    /// The next block.
    Sequential,
}

impl BlockOrder {
    /// Converts the key to the parameter of the application.
    pub(super) fn pattern(self) -> BlockPattern {
        match self {
            Self::Random => BlockPattern::Random,
            Self::Sequential => BlockPattern::Sequential,
        }
    }
}

/// How the software learns of completions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CompletionKind {
    /// A job sleeps until an interrupt.
    #[default]
    Interrupt,
    /// A job polls.
    Polling,
}

impl Default for BlockIoKeys {
    fn default() -> Self {
        Self {
            ssds: 1,
            ssds_per_root_port: 1,
            block_bytes: 128 << 10,
            depth: 4,
            read_percent: 100,
            order: BlockOrder::default(),
            buffers: None,
            completion: CompletionKind::default(),
            reads_data: false,
            fills_data: false,
        }
    }
}

impl BlockIoKeys {
    /// Checks that blocks consist of 4 KiB pages and that a list of them fits a page.
    fn check(&self, check: &Check<'_>, cores: u32) -> Result<(), InputError> {
        let what = "SSDs, no more than cores: each has a job at least";
        check.whole("block_io.ssds", self.ssds, (SSDS.0, cores.min(SSDS.1)), what)?;
        let together = self.ssds_per_root_port;
        check.whole("block_io.ssds_per_root_port", together, SSDS, "SSDs")?;
        let bytes = self.block_bytes;
        check.whole("block_io.block_bytes", bytes, (PAGE_BYTES, MAX_BLOCK_BYTES), "bytes")?;
        if !bytes.is_multiple_of(PAGE_BYTES) {
            let allowed = format!("allowed: multiples of {PAGE_BYTES} bytes");
            return Err(check.refuse("block_io.block_bytes", &bytes, allowed));
        }
        check.whole("block_io.depth", self.depth, DEPTH, "I/Os in flight")?;
        check.whole("block_io.read_percent", self.read_percent, (0, 100), "percent")?;
        let what = "buffers, no fewer than block_io.depth";
        check.whole("block_io.buffers", self.buffers(), (self.depth, BUFFERS.1), what)?;
        let all = u64::from(self.buffers()) * bytes;
        check.whole("block_io.buffers", all, (0, 8 << 30), "bytes of all buffers of a job")
    }

    /// Jobs of each SSD, assigned in turn.
    fn jobs_of_ssds(&self, jobs: u32) -> Vec<usize> {
        let of_ssd = |ssd: u32| (jobs - ssd).div_ceil(self.ssds) as usize;
        (0..self.ssds).map(of_ssd).collect()
    }

    /// Buffers of each job.
    fn buffers(&self) -> u32 {
        self.buffers.unwrap_or(self.depth)
    }
}

/// The jobs of a tenant, one on each core, and its SSDs.
#[derive(Clone, Debug)]
pub(crate) struct BlockIoPlan {
    /// The seed is the tenant's. Each core adds its number to it.
    job: BlockIoConfig,
    driver: NvmeDriverConfig,
    ports: Vec<PortPlan>,
}

impl ApplicationModule for BlockIoPlan {
    const TABLE: Option<&'static str> = Some("block_io");

    fn inert(_tenant: TenantRef<'_>) -> Vec<Inert> {
        let of_nic = names::<NicKeys>().into_iter();
        let of_packets = [
            "initial_content",
            "placement.bypass_when_backlogged",
            "placement.prefetch_hint_lines",
            "placement.push_to_l2_lines",
        ];
        let keys = of_nic.chain(of_packets.map(String::from));
        let of_engines = names::<DsaKeys>().into_iter().chain(names::<CbdmaKeys>());
        let of_engines = Inert::all(of_engines, "blocks are moved by their SSD");
        Inert::all(keys, "block-io uses no NIC").chain(of_engines).collect()
    }

    fn plan(input: &TenantInput<'_>) -> Result<Self, InputError> {
        let device = ssd::named_device(input)?;
        let keys = input.table::<BlockIoKeys>();
        let cores = input.tenant.keys.cores;
        keys.check(&input.check, cores)?;
        Ok(Self {
            job: job(keys, device, input.seed),
            driver: ssd::driver(device, keys.depth, keys.block_bytes),
            ports: ssd::plan(input, device, &keys.jobs_of_ssds(cores), keys.ssds_per_root_port)?,
        })
    }

    fn ports(&self) -> &[PortPlan] {
        &self.ports
    }

    fn build<T: Tracer>(&self, builder: &mut Builder<'_, T>) {
        let devices = &builder.tenant.devices;
        let mut pairs: Vec<Vec<_>> = vec![Vec::new(); devices.len()];
        for (job, &core) in builder.tenant.cores.iter().enumerate() {
            let own = job % devices.len();
            let region = builder.memory.region(NvmeDriver::arena_bytes(&self.driver));
            let (driver, pair) = NvmeDriver::new(self.driver, &mut Arena::new(region));
            let queue = QueueId { device: devices[own], queue: fit(pairs[own].len()) };
            pairs[own].push(pair);
            let seed = self.job.seed.wrapping_add(u64::from(core.0));
            let config = BlockIoConfig { seed, ..self.job };
            let buffers = builder.memory.region(config.buffer_bytes());
            let core_itself = builder.machine.core(core);
            let software = BlockIo::new(config, core_itself, driver, &buffers).on_queue(queue);
            builder.caches.fill(core, software.buffer_lines());
            builder.software.insert(core, Box::new(software));
        }
        let queues = pairs.into_iter().map(DeviceQueues::Nvme);
        builder.queues.extend(devices.iter().copied().zip(queues));
    }
}

fn job(keys: &BlockIoKeys, device: &SsdDevice, seed: u64) -> BlockIoConfig {
    let software = &device.software;
    BlockIoConfig {
        block_bytes: keys.block_bytes,
        io_depth: keys.depth,
        read_percent: keys.read_percent,
        pattern: keys.order.pattern(),
        span_bytes: device.ssd.capacity_bytes(),
        buffers: keys.buffers(),
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
