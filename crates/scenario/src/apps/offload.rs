//! Data operations on buffers, one after the other or several at a time: by copy engines, or by the cores
//! themselves.

use super::ApplicationPlan;
use crate::assemble::builder::Builder;
use crate::devices::dsa::{self, QueueModeName, QueueTable};
use crate::devices::nic::NicKeys;
use crate::devices::root_port::IommuPages;
use crate::devices::ssd::SsdKeys;
use crate::devices::{DeviceKeys, PortPlan};
use crate::input::check::Check;
use crate::input::error::InputError;
use crate::input::key_groups::names;
use crate::plan::TenantInput;
use crate::plan::inert::Inert;
use crate::platform::{CoreKernelFacts, DsaClientFacts};
use crate::scenario::{InitialContent, Tenant};
use model::device::DeviceQueues;
use model::device::dsa::descriptor::{Descriptor, Destination, Operation, protected};
use model::device::dsa::portal::Portal;
use model::device::queues::QueueId;
use model::root_complex::mmio::MmioPath;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::narrow::fit;
use units::{Cycles, LINE_BYTES, LineAddr, Picos};
use workload::app::offload::{Mover, Offload};
use workload::driver::dsa::{DsaClient, DsaClientConfig, PortalWrite, Waiting};
use workload::host_memory::{Arena, touch};

/// Up to a huge page: buffers are contiguous.
const TRANSFER_BYTES: (u64, u64) = (1, 1 << 30);
/// Within a page of 4 KiB.
const MOST_OFFSET_BYTES: u64 = 4096 - LINE_BYTES;
const BUFFERS: (u32, u32) = (1, 1 << 16);
const DEPTH: (u32, u32) = (1, 128);
/// Bytes of an entry of a delta record, and of the data that it replaces.
const DELTA_ENTRY: (u64, u64) = (10, 8);
/// Regions of a set of buffers: source, second source or destination, third operand.
const OPERANDS: u64 = 3;
const MOST_MEMORY_BYTES: u64 = 16 << 30;

/// Keys of data operations. Every core of the tenant has buffers of its own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OffloadKeys {
    /// Who moves the data.
    pub by: MoverName,
    /// What is done.
    pub operation: OperationName,
    /// Transfer size of an operation.
    #[schemars(range(min = TRANSFER_BYTES.0, max = TRANSFER_BYTES.1))]
    pub transfer_bytes: u64,
    /// Distance of the first operand of each kind from the start of its page, as malloc leaves one. The
    /// others follow it without gaps.
    #[schemars(range(min = 0, max = MOST_OFFSET_BYTES), extend("multipleOf" = LINE_BYTES))]
    pub offset_bytes: u64,
    /// Sets of buffers of each core, used in turn.
    #[schemars(range(min = BUFFERS.0, max = BUFFERS.1))]
    pub buffers: u32,
    /// Descriptors in flight of each core; 1: synchronous.
    #[schemars(range(min = DEPTH.0, max = DEPTH.1))]
    pub depth: u32,
    /// Operations of a descriptor; more than 1: batches.
    #[schemars(range(min = 1, max = 1024))]
    pub batch: u32,
    /// How the core waits for completions.
    pub wait: WaitName,
    /// Whether destinations go into the DDIO ways (1) or to memory (0).
    #[schemars(range(min = 0, max = 1))]
    pub cache_control: u32,
    /// Operands are flushed from all caches behind each operation, apart from its time.
    pub flush: bool,
    /// Share of 8-byte words that differ, for delta records.
    #[schemars(range(min = 1, max = 100))]
    pub delta_percent: u32,
}

/// Who moves the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MoverName {
    /// A data streaming accelerator.
    #[default]
    Dsa,
    /// The core itself.
    Core,
}

/// What is done with the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OperationName {
    /// Source to destination.
    #[default]
    Copy,
    /// A pattern into the destination.
    Fill,
    /// Two sources are compared.
    Compare,
    /// A source is compared with a pattern.
    ComparePattern,
    /// The differences of two sources become a record.
    CreateDelta,
    /// A record of differences is applied to the destination.
    ApplyDelta,
    /// Source to two destinations.
    Dualcast,
    /// CRC-32C of a source.
    Crc,
    /// Copy with CRC-32C.
    CopyCrc,
    /// Protection information of 512-byte blocks is checked.
    DifCheck,
    /// It is inserted.
    DifInsert,
    /// It is removed.
    DifStrip,
    /// It is replaced.
    DifUpdate,
    /// The destination is flushed from all caches.
    CacheFlush,
}

/// How a core waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaitName {
    /// It polls the completion record.
    #[default]
    Poll,
    /// It sleeps until the record's line is written.
    Umwait,
    /// It sleeps until an interrupt.
    Interrupt,
}

impl Default for OffloadKeys {
    fn default() -> Self {
        Self {
            by: MoverName::default(),
            operation: OperationName::default(),
            transfer_bytes: 4096,
            offset_bytes: 0,
            buffers: 64,
            depth: 1,
            batch: 1,
            wait: WaitName::default(),
            cache_control: 1,
            flush: false,
            delta_percent: 10,
        }
    }
}

/// Data of a protected block.
const DIF_BLOCK_BYTES: u64 = 512;

impl OffloadKeys {
    fn operation(&self) -> Operation {
        let words = self.transfer_bytes / DELTA_ENTRY.1 * u64::from(self.delta_percent) / 100;
        let (record_bytes, block_bytes) = (words.max(1) * DELTA_ENTRY.0, DIF_BLOCK_BYTES);
        match self.operation {
            OperationName::Copy => Operation::Move,
            OperationName::Fill => Operation::Fill,
            OperationName::Compare => Operation::Compare,
            OperationName::ComparePattern => Operation::ComparePattern,
            OperationName::CreateDelta => Operation::CreateDelta { record_bytes },
            OperationName::ApplyDelta => Operation::ApplyDelta { record_bytes },
            OperationName::Dualcast => Operation::Dualcast,
            OperationName::Crc => Operation::Crc,
            OperationName::CopyCrc => Operation::CopyCrc,
            OperationName::DifCheck => Operation::DifCheck { block_bytes },
            OperationName::DifInsert => Operation::DifInsert { block_bytes },
            OperationName::DifStrip => Operation::DifStrip { block_bytes },
            OperationName::DifUpdate => Operation::DifUpdate { block_bytes },
            OperationName::CacheFlush => Operation::CacheFlush,
        }
    }

    fn is_dif(&self) -> bool {
        use OperationName::{DifCheck, DifInsert, DifStrip, DifUpdate};
        matches!(self.operation, DifCheck | DifInsert | DifStrip | DifUpdate)
    }

    fn is_delta(&self) -> bool {
        matches!(self.operation, OperationName::CreateDelta | OperationName::ApplyDelta)
    }

    /// Whether the operation writes operands.
    fn writes(&self) -> bool {
        let descriptor = descriptor(self.operation(), self.transfer_bytes.max(DIF_BLOCK_BYTES));
        descriptor.operands().bytes_written() > 0
    }

    /// Bytes of the longest operand: with protection information, or a record of nothing but differences.
    fn operand_bytes(&self) -> u64 {
        let bytes = match self.transfer_bytes {
            bytes if self.is_dif() => protected(bytes, DIF_BLOCK_BYTES),
            bytes if self.is_delta() => bytes / DELTA_ENTRY.1 * DELTA_ENTRY.0,
            bytes => bytes,
        };
        bytes.next_multiple_of(LINE_BYTES)
    }

    fn check(&self, input: &TenantInput<'_>) -> Result<(), InputError> {
        let check: &Check<'_> = &input.check;
        check.whole("offload.transfer_bytes", self.transfer_bytes, TRANSFER_BYTES, "bytes")?;
        let offset = self.offset_bytes;
        check.whole("offload.offset_bytes", offset, (0, MOST_OFFSET_BYTES), "bytes")?;
        if !offset.is_multiple_of(LINE_BYTES) {
            let allowed = format!("allowed: multiples of a line of {LINE_BYTES} bytes");
            return Err(check.refuse("offload.offset_bytes", &offset, allowed));
        }
        check.whole("offload.buffers", self.buffers, BUFFERS, "sets of buffers")?;
        check.whole("offload.depth", self.depth, DEPTH, "descriptors in flight")?;
        check.whole("offload.cache_control", self.cache_control, (0, 1), "")?;
        check.whole("offload.delta_percent", self.delta_percent, (1, 100), "percent")?;
        let most = input.platform.dsa.as_ref().map_or(1024, |dsa| dsa.max_batch.value);
        check.whole("offload.batch", self.batch, (1, most), "operations of a batch")?;
        let bytes = self.transfer_bytes;
        if self.is_dif() && !bytes.is_multiple_of(DIF_BLOCK_BYTES) {
            let allowed = format!("allowed: multiples of a block of {DIF_BLOCK_BYTES} bytes");
            return Err(check.refuse("offload.transfer_bytes", &bytes, allowed));
        }
        if self.is_delta() && !bytes.is_multiple_of(DELTA_ENTRY.1) {
            let allowed = format!("allowed: multiples of {} bytes", DELTA_ENTRY.1);
            return Err(check.refuse("offload.transfer_bytes", &bytes, allowed));
        }
        let page = input.tenant.keys.page_size.bytes();
        if offset + self.operand_bytes() > page {
            let allowed = format!("allowed: operands within a page of {page} bytes; see page_size");
            return Err(check.refuse("offload.transfer_bytes", &bytes, allowed));
        }
        let cores = u64::from(input.tenant.keys.cores);
        let all = cores * u64::from(self.buffers) * OPERANDS * self.operand_bytes();
        check.whole("offload.buffers", all, (0, MOST_MEMORY_BYTES), "bytes of all buffers")
    }
}

/// A descriptor without addresses.
fn descriptor(operation: Operation, bytes: u64) -> Descriptor {
    let nowhere = LineAddr(0);
    Descriptor {
        id: 0,
        operation,
        bytes,
        source: nowhere,
        second: nowhere,
        third: nowhere,
        record: nowhere,
        destination: Destination::Cache,
        fence: false,
        block_on_fault: true,
        wants_record: false,
    }
}

/// The movers of a tenant, one on each core.
#[derive(Clone, Debug)]
enum MoverPlan {
    /// Cycles of a call, and of a line.
    Core(Cycles, Cycles),
    /// The client of each core: its instance, number among the instance's portals, costs.
    Dsa(Vec<(usize, usize, DsaClientConfig)>),
}

/// Data operations, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct OffloadPlan {
    descriptor: Descriptor,
    operand_bytes: u64,
    offset_bytes: u64,
    buffers: u32,
    flushes: bool,
    /// Whether cores have written their buffers before time zero.
    is_warm: bool,
    page_bytes: u64,
    mover: MoverPlan,
    ports: Vec<PortPlan>,
}

impl ApplicationPlan for OffloadPlan {
    const TABLE: Option<&'static str> = Some("offload");

    fn inert(tenant: &Tenant) -> Vec<Inert> {
        let keys = &tenant.tables.offload;
        let mut inert = Vec::new();
        if !keys.is_delta() {
            let because = "the operation has no delta record";
            inert.extend(Inert::all(["offload.delta_percent"], because));
        }
        match keys.by {
            MoverName::Core => {
                inert.extend(Inert::all(names::<DeviceKeys>(), "the core moves the data itself"));
                let of_engines = ["depth", "batch", "wait", "cache_control"];
                let of_engines = of_engines.map(|key| format!("offload.{key}"));
                inert.extend(Inert::all(of_engines, "the core moves the data itself"));
            }
            MoverName::Dsa => {
                let others = names::<NicKeys>().into_iter().chain(names::<SsdKeys>());
                inert.extend(Inert::all(others, "copy engines need no other device"));
                inert.extend(Inert::all(["placement"], "it is about the lines of packets"));
                if !keys.writes() {
                    let because = "the operation writes no data";
                    inert.extend(Inert::all(["offload.cache_control"], because));
                }
                inert.extend(dsa::inert(tenant));
            }
        }
        inert
    }

    /// Engines translate addresses of programs: in 4 KiB pages unless stated otherwise.
    fn fill_in(tenant: &mut Tenant) {
        let is_dsa = tenant.tables.offload.by == MoverName::Dsa;
        if is_dsa && !tenant.stated.contains("iommu") {
            tenant.devices.port.iommu = IommuPages::Base4K;
        }
    }

    fn of(input: &TenantInput<'_>) -> Result<Self, InputError> {
        let keys = &input.tenant.tables.offload;
        keys.check(input)?;
        let (mover, ports) = match keys.by {
            MoverName::Core => (core_mover(keys, input)?, Vec::new()),
            MoverName::Dsa => {
                let instances = dsa::plan(input)?;
                let facts = client_facts(input)?;
                let clients = instances.clients.iter().map(|(instance, portal, queue)| {
                    let portal_ns = portal_ns(input);
                    (*instance, *portal, client(keys, facts, queue, portal_ns))
                });
                (MoverPlan::Dsa(clients.collect()), instances.ports)
            }
        };
        let destination = match keys.cache_control {
            0 => Destination::Memory,
            _ => Destination::Cache,
        };
        let descriptor = descriptor(keys.operation(), keys.transfer_bytes);
        Ok(Self {
            descriptor: Descriptor { destination, ..descriptor },
            operand_bytes: keys.operand_bytes(),
            offset_bytes: keys.offset_bytes,
            buffers: keys.buffers,
            flushes: keys.flush,
            is_warm: input.tenant.keys.initial_content != InitialContent::Empty,
            page_bytes: input.tenant.keys.page_size.bytes(),
            mover,
            ports,
        })
    }

    fn ports(&self) -> &[PortPlan] {
        &self.ports
    }

    fn build<T: Tracer>(&self, builder: &mut Builder<'_, T>) {
        let mut portals: Vec<Vec<Portal>> = vec![Vec::new(); self.ports.len()];
        for (number, &core) in builder.tenant.cores.iter().enumerate() {
            let operations = self.operations(builder);
            if self.is_warm {
                for operand in
                    operations.iter().flat_map(|it| it.operands().all().collect::<Vec<_>>())
                {
                    let lines = operand.bytes.div_ceil(LINE_BYTES);
                    touch(builder.fabric, core, (0..lines).map(|line| operand.first.step(line)));
                }
            }
            let mover = match &self.mover {
                MoverPlan::Core(call, line) => Mover::Core { call: *call, line: *line },
                MoverPlan::Dsa(clients) => {
                    let (instance, portal, config) = clients[number];
                    let bytes = DsaClient::arena_bytes(&config, self.page_bytes);
                    let mut arena = Arena::new(builder.memory.region(bytes));
                    let client = Box::new(DsaClient::new(config, &mut arena));
                    portals[instance].push(Portal::default());
                    let device = builder.tenant.devices[instance];
                    Mover::Engine(client, QueueId { device, queue: fit(portal) })
                }
            };
            let software =
                Offload::new(builder.machine.core(core), mover, operations, self.flushes);
            builder.software.insert(core, Box::new(software));
        }
        let queues = portals.into_iter().map(DeviceQueues::Dsa);
        builder.queues.extend(builder.tenant.devices.iter().copied().zip(queues));
    }
}

impl OffloadPlan {
    /// An operation on each set of buffers of a core: sources apart from destinations.
    fn operations<T: Tracer>(&self, builder: &mut Builder<'_, T>) -> Vec<Descriptor> {
        let bytes = self.operand_bytes;
        // The offset may move one operand of each page to the next.
        let in_page = ((self.page_bytes - self.offset_bytes) / bytes).max(1);
        let pages = u64::from(self.buffers).div_ceil(in_page);
        let mut arena = || Arena::new(builder.memory.region(pages * self.page_bytes));
        let mut arenas = [arena(), arena(), arena()];
        if self.offset_bytes > 0 {
            for arena in &mut arenas {
                arena.place(self.offset_bytes);
            }
        }
        let operation = |_| {
            let [source, second, third] = arenas.each_mut().map(|arena| arena.place(bytes));
            Descriptor { source, second, third, ..self.descriptor }
        };
        (0..self.buffers).map(operation).collect()
    }
}

/// The loop of a core for the operation.
fn core_mover(keys: &OffloadKeys, input: &TenantInput<'_>) -> Result<MoverPlan, InputError> {
    let facts: &CoreKernelFacts = input.platform.core_kernels.as_ref().ok_or_else(|| {
        let allowed = "needs a platform with a [core_kernels] table, such as sapphire-rapids-56";
        input.check.refuse("offload.by", &"core", allowed.into())
    })?;
    let line = match keys.operation {
        OperationName::Copy => facts.copy_cycles.value,
        OperationName::Dualcast => facts.copy_cycles.value + facts.fill_cycles.value,
        OperationName::Fill => facts.fill_cycles.value,
        OperationName::Compare => facts.compare_cycles.value,
        OperationName::ComparePattern => facts.compare_pattern_cycles.value,
        OperationName::CreateDelta | OperationName::ApplyDelta => facts.delta_cycles.value,
        OperationName::Crc => facts.crc_cycles.value,
        OperationName::CopyCrc => facts.crc_cycles.value + facts.copy_cycles.value,
        OperationName::DifCheck => facts.dif_cycles.value,
        OperationName::DifInsert | OperationName::DifStrip | OperationName::DifUpdate => {
            facts.dif_cycles.value + facts.copy_cycles.value
        }
        OperationName::CacheFlush => facts.fill_cycles.value,
    };
    Ok(MoverPlan::Core(Cycles(facts.call_cycles.value), Cycles(line)))
}

fn client_facts<'a>(input: &TenantInput<'a>) -> Result<&'a DsaClientFacts, InputError> {
    input.platform.dsa_client.as_ref().ok_or_else(|| {
        let allowed = "needs a platform with a [dsa_client] table".into();
        input.check.refuse("offload.by", &"dsa", allowed)
    })
}

fn portal_ns(input: &TenantInput<'_>) -> f64 {
    input.platform.dsa.as_ref().map_or(0.0, |dsa| dsa.portal_ns.value)
}

/// The client of a queue. A dedicated queue gives credits for its entries.
fn client(
    keys: &OffloadKeys,
    facts: &DsaClientFacts,
    queue: &QueueTable,
    portal_ns: f64,
) -> DsaClientConfig {
    let (write, store, depth) = match queue.mode {
        QueueModeName::Dedicated => {
            let interval = Picos::from_ns(facts.post_interval_ns.value);
            let depth = keys.depth.min(queue.entries);
            (PortalWrite::Posted { interval }, facts.post_cycles.value, depth)
        }
        QueueModeName::Shared => {
            let pause = Cycles(facts.pause_cycles.value);
            (PortalWrite::Answered { pause }, facts.enqueue_cycles.value, keys.depth)
        }
    };
    DsaClientConfig {
        write,
        path: MmioPath { one_way: Picos::from_ns(portal_ns), store: Cycles(store) },
        prepare: Cycles(facts.prepare_cycles.value),
        prepare_member: Cycles(facts.prepare_member_cycles.value),
        look: Cycles(facts.look_cycles.value),
        waiting: match keys.wait {
            WaitName::Poll => Waiting::Poll,
            WaitName::Umwait => Waiting::Umwait { wake: Cycles(facts.umwait_wake_cycles.value) },
            WaitName::Interrupt => Waiting::Interrupt {
                delivery: Picos::from_ns(facts.interrupt_delivery_ns.value),
                cycles: Cycles(facts.interrupt_cycles.value),
            },
        },
        depth,
        batch: keys.batch,
    }
}
