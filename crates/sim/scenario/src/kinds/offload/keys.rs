//! Keys of data operations, and what they mean for descriptors.

use crate::contract::tenant::MemoryNode;
use crate::kinds::dsa::offloaders::{BackOffName, WaitName};
use model::device::dsa::descriptor::{Descriptor, Destination, Operation, protected};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{LINE_BYTES, LineAddr};

/// Up to a huge page: buffers are contiguous.
pub(super) const TRANSFER_BYTES: (u64, u64) = (1, 1 << 30);
/// Within a page of 4 KiB.
pub(super) const MOST_OFFSET_BYTES: u64 = 4096 - LINE_BYTES;
pub(super) const BUFFERS: (u32, u32) = (1, 1 << 16);
pub(super) const DEPTH: (u32, u32) = (1, 128);
pub(super) const MOST_MEMBERS: u32 = 1024;
/// More than any platform has in all instances.
pub(super) const MOST_QUEUES: u32 = 512;
/// Lines of a portal's page.
pub(super) const PORTAL_ADDRESSES: (u32, u32) = (1, 64);
pub(super) const PERCENT: (u32, u32) = (0, 100);
pub(super) const DELTA_PERCENT: (u32, u32) = (1, 100);
/// Data of a protected block.
pub(super) const DIF_BLOCK_BYTES: u64 = 512;
/// Bytes of an entry of a delta record, and of the data that it replaces.
pub(super) const DELTA_ENTRY: (u64, u64) = (10, 8);

/// Keys of data operations. Every core of the tenant has buffers of its own, which all movers use alike.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct OffloadKeys {
    /// Mover of the data: a copy engine or the core itself.
    pub by: MoverName,
    /// How a core stores, if it moves the data itself.
    pub kernel: KernelName,
    /// Operation on the data.
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
    /// Where operands are before each operation.
    pub data: DataName,
    /// The memory of sources. That of memory_node by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_node: Option<MemoryNode>,
    /// The memory of destinations, and of second sources. That of memory_node by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_node: Option<MemoryNode>,
    /// Number of descriptors in flight of each core in each of its queues; 1: synchronous. A
    /// dedicated queue takes no more than it has entries.
    #[schemars(range(min = DEPTH.0, max = DEPTH.1))]
    pub depth: u32,
    /// Operations of a descriptor; more than 1: batches.
    #[schemars(range(min = 1, max = MOST_MEMBERS))]
    pub batch: u32,
    /// All members of a batch use the same set of buffers.
    pub members_share_buffers: bool,
    /// Queues that each core uses in turn.
    #[schemars(range(min = 1, max = MOST_QUEUES))]
    pub queues_per_core: u32,
    /// How the core waits for completions.
    pub wait: WaitName,
    /// The pause before a shared queue is asked again.
    pub back_off: BackOffName,
    /// Addresses of a dedicated queue's portal that are written in turn.
    #[schemars(range(min = PORTAL_ADDRESSES.0, max = PORTAL_ADDRESSES.1))]
    pub portal_addresses: u32,
    /// A lock around each dedicated queue, so that several cores may share it.
    pub lock: bool,
    /// Where descriptors and completion records come from.
    pub descriptors: DescriptorsName,
    /// Whether destinations go into the DDIO ways (1) or to memory (0).
    #[schemars(range(min = 0, max = 1))]
    pub cache_control: u32,
    /// Share of the data's pages that are absent when an operation begins.
    #[schemars(range(min = PERCENT.0, max = PERCENT.1))]
    pub absent_percent: u32,
    /// Handling of absent pages.
    pub faults: FaultsName,
    /// Share of 8-byte words that differ, for delta records.
    #[schemars(range(min = DELTA_PERCENT.0, max = DELTA_PERCENT.1))]
    pub delta_percent: u32,
}

/// Mover of the data: a copy engine or the core itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MoverName {
    /// A data streaming accelerator.
    #[default]
    Dsa,
    /// A CBDMA, the copy engine of the generation before: copies and fills.
    Cbdma,
    /// The core itself.
    Core,
}

/// How a core stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum KernelName {
    /// Vector stores through the core's caches.
    #[default]
    Cached,
    /// Vector stores that bypass the core's caches.
    NonTemporal,
    /// One string instruction: copies and fills only.
    RepMovsb,
}

/// Where operands are before each operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DataName {
    /// Where the core, which has written them before time zero, and operations leave them: in the core's
    /// caches, as long as they fit.
    #[default]
    Core,
    /// Demoted from the core's caches into the LLC.
    Llc,
    /// In memory only: flushed from all caches, apart from the operation's time.
    Flushed,
}

/// Where descriptors and completion records come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DescriptorsName {
    /// Lines that are reused; a descriptor, and the list of a batch, is filled in for each operation.
    #[default]
    FilledIn,
    /// Lines that are reused; what the first operation filled in is submitted again as it is, as
    /// dsa-perf-micros does.
    Prepared,
    /// Pages that were not used before, allocated for each operation.
    Allocated,
    /// As allocated, and so are the buffers of each operation, which stores of 8 bytes fill. Where they
    /// are then, `data` says.
    AllocatedWithBuffers,
}

/// Handling of absent pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FaultsName {
    /// The engine waits for the operating system (block on fault).
    #[default]
    Block,
    /// The descriptor ends; the core touches the page and submits the rest.
    Resubmit,
    /// The descriptor ends; the core does the rest itself.
    Software,
    /// The core touches all pages before it submits.
    Touch,
}

/// Operation on the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OperationName {
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
    /// Protection information is inserted.
    DifInsert,
    /// Protection information is removed.
    DifStrip,
    /// Protection information is replaced.
    DifUpdate,
    /// The destination is flushed from all caches.
    CacheFlush,
    /// Nothing but the completion: the round trip of a descriptor.
    NoOp,
}

impl Default for OffloadKeys {
    fn default() -> Self {
        Self {
            by: MoverName::default(),
            kernel: KernelName::default(),
            operation: OperationName::default(),
            transfer_bytes: 4096,
            offset_bytes: 0,
            buffers: 64,
            data: DataName::default(),
            source_node: None,
            destination_node: None,
            depth: 1,
            batch: 1,
            members_share_buffers: false,
            queues_per_core: 1,
            wait: WaitName::default(),
            back_off: BackOffName::default(),
            portal_addresses: 1,
            lock: false,
            descriptors: DescriptorsName::default(),
            cache_control: 1,
            absent_percent: 0,
            faults: FaultsName::default(),
            delta_percent: 10,
        }
    }
}

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
            OperationName::NoOp => Operation::NoOp,
        }
    }

    /// The descriptor of an operation, without addresses.
    pub(super) fn descriptor(&self) -> Descriptor {
        let nowhere = LineAddr(0);
        Descriptor {
            id: 0,
            operation: self.operation(),
            bytes: if self.operation == OperationName::NoOp { 0 } else { self.transfer_bytes },
            source: nowhere,
            second: nowhere,
            third: nowhere,
            record: nowhere,
            destination: destination(self.cache_control),
            fence: false,
            block_on_fault: !self.ends_at_absent_page(),
            wants_record: false,
        }
    }

    /// Whether a descriptor ends at an absent page.
    pub(super) fn ends_at_absent_page(&self) -> bool {
        matches!(self.faults, FaultsName::Resubmit | FaultsName::Software)
    }

    pub(super) fn is_dif(&self) -> bool {
        use OperationName::{DifCheck, DifInsert, DifStrip, DifUpdate};
        matches!(self.operation, DifCheck | DifInsert | DifStrip | DifUpdate)
    }

    pub(super) fn is_delta(&self) -> bool {
        matches!(self.operation, OperationName::CreateDelta | OperationName::ApplyDelta)
    }

    /// Whether the operation writes operands.
    pub(super) fn writes(&self) -> bool {
        let bytes = self.transfer_bytes.max(DIF_BLOCK_BYTES);
        Descriptor { bytes, ..self.descriptor() }.operands().bytes_written() > 0
    }

    /// Whether the operation has an operand in the first field of descriptors, and in others.
    pub(super) fn fields(&self) -> (bool, bool) {
        let operands = self.descriptor().operands();
        let has = |first: bool| operands.all().any(|operand| (operand.field == 0) == first);
        (has(true), has(false))
    }

    /// Bytes of the longest operand: with protection information, or a record of nothing but differences.
    pub(super) fn operand_bytes(&self) -> u64 {
        let bytes = match self.transfer_bytes {
            bytes if self.is_dif() => protected(bytes, DIF_BLOCK_BYTES),
            bytes if self.is_delta() => bytes / DELTA_ENTRY.1 * DELTA_ENTRY.0,
            bytes => bytes,
        };
        bytes.next_multiple_of(LINE_BYTES)
    }
}

/// The destination of written data for the cache control of a descriptor: 0 is memory, else the LLC.
pub(super) fn destination(cache_control: u32) -> Destination {
    match cache_control {
        0 => Destination::Memory,
        _ => Destination::Cache,
    }
}
