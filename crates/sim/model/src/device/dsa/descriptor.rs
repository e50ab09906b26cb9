//! Descriptors: what software asks of the device, and the operands that each operation reads and writes.
//!
//! Models: the operations of version 1 with the lines of their operands; flags for fence, block on fault
//! and cache control; batches with a list of descriptors in memory.
//! Source: Intel DSA specification, sections 8.1 to 8.3.
//! Simplifies: operands begin at the start of a line.

use units::{LINE_BYTES, LineAddr};

/// Size of a descriptor in bytes.
pub const DESCRIPTOR_BYTES: u64 = 64;
/// Bytes of a completion record.
pub const RECORD_BYTES: u64 = 32;
/// Bytes of protection information behind a block of data (T10 DIF).
pub const DIF_BYTES: u64 = 8;
/// Fields of a descriptor that name memory, as an engine keeps their translations: source, second source
/// or destination, second destination, completion record.
pub const FIELDS: usize = 4;
/// The field of the completion record.
pub const RECORD_FIELD: usize = 3;

/// The operation of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Nothing but the completion.
    NoOp,
    /// Completes behind all earlier descriptors of its queue.
    Drain,
    /// Copies source to destination.
    Move,
    /// Writes a pattern that the descriptor holds.
    Fill,
    /// Compares two sources.
    Compare,
    /// Compares a source with a pattern that the descriptor holds.
    ComparePattern,
    /// Compares two sources and writes the differences: 10 bytes for each 8 that differ.
    CreateDelta {
        /// Bytes of the record that results.
        record_bytes: u64,
    },
    /// Reads a record of differences and writes them into the destination.
    ApplyDelta {
        /// Bytes of the record.
        record_bytes: u64,
    },
    /// Copies a source to two destinations.
    Dualcast,
    /// The CRC of a source.
    Crc,
    /// Copies and computes the CRC.
    CopyCrc,
    /// Checks the protection information behind each block of data.
    DifCheck {
        /// Data of a block: 512 or 4096, or 520 or 4104.
        block_bytes: u64,
    },
    /// Copies blocks and inserts protection information.
    DifInsert {
        /// As for the check.
        block_bytes: u64,
    },
    /// Copies blocks without their protection information.
    DifStrip {
        /// As for the check.
        block_bytes: u64,
    },
    /// Copies blocks with new protection information.
    DifUpdate {
        /// As for the check.
        block_bytes: u64,
    },
    /// Flushes the destination from all caches.
    CacheFlush,
}

impl Operation {
    /// Whether the engine computes a checksum over the data.
    #[must_use]
    pub fn has_checksum(self) -> bool {
        matches!(
            self,
            Self::Crc
                | Self::CopyCrc
                | Self::DifCheck { .. }
                | Self::DifInsert { .. }
                | Self::DifStrip { .. }
                | Self::DifUpdate { .. }
        )
    }
}

/// Where an operand's data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Into the DDIO ways (cache control 1).
    Cache,
    /// To memory; cached copies are invalidated (cache control 0).
    Memory,
}

/// A work descriptor: operation, operands and flags, as software writes it (64 bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Identifier of the client, repeated in the completion.
    pub id: u64,
    /// Operation that the descriptor asks for.
    pub operation: Operation,
    /// Size of the transfer in bytes.
    pub bytes: u64,
    /// First line of the source, delta record of an apply, or list of a batch.
    pub source: LineAddr,
    /// First line of the second source, or of the destination.
    pub second: LineAddr,
    /// First line of the second destination, or of the delta record that is created.
    pub third: LineAddr,
    /// Line of the completion record.
    pub record: LineAddr,
    /// Where written data goes, cache or memory: the descriptor's cache control.
    pub destination: Destination,
    /// Waits for the earlier members of its batch.
    pub fence: bool,
    /// Waits for absent pages instead of ending with a part.
    pub block_on_fault: bool,
    /// Writes a completion record also on success.
    pub wants_record: bool,
}

/// One submission of a client: a descriptor, or a batch of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DsaWork {
    /// One descriptor.
    One(Descriptor),
    /// A list of descriptors in memory.
    Batch {
        /// The batch descriptor: its list begins at `source`.
        descriptor: Descriptor,
        /// The list's content.
        members: Vec<Descriptor>,
    },
}

impl DsaWork {
    /// The descriptor that is written to the portal.
    #[must_use]
    pub fn descriptor(&self) -> &Descriptor {
        match self {
            Self::One(descriptor) | Self::Batch { descriptor, .. } => descriptor,
        }
    }
}

/// An operand: a contiguous range that is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Field of the descriptor that names it.
    pub field: usize,
    /// First line of the operand.
    pub first: LineAddr,
    /// Length of the operand in bytes.
    pub bytes: u64,
}

/// Operands that an operation reads, and those that it writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    /// Operands that are read.
    pub reads: [Option<Operand>; 2],
    /// Operands that are written.
    pub writes: [Option<Operand>; 2],
    /// The operand that is flushed from all caches.
    pub flushes: Option<Operand>,
}

impl Operands {
    /// Bytes of all operands that are read.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.reads.iter().flatten().map(|operand| operand.bytes).sum()
    }

    /// Bytes of all operands that are written.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.writes.iter().flatten().map(|operand| operand.bytes).sum()
    }

    /// All operands: those read, those written, those flushed.
    pub fn all(&self) -> impl Iterator<Item = Operand> + '_ {
        self.reads.iter().chain(&self.writes).chain([&self.flushes]).flatten().copied()
    }

    /// Lines of the longest operand: the pieces of an operation are counted in them.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.all().map(|operand| operand.bytes.div_ceil(LINE_BYTES)).max().unwrap_or(0)
    }
}

impl Descriptor {
    /// An operation on `bytes` at these two addresses, without a record of its own.
    #[must_use]
    pub fn new(operation: Operation, bytes: u64, source: LineAddr, second: LineAddr) -> Self {
        Self {
            id: 0,
            operation,
            bytes,
            source,
            second,
            third: second,
            record: LineAddr(0),
            destination: Destination::Cache,
            fence: false,
            block_on_fault: true,
            wants_record: false,
        }
    }

    /// The operands of its operation.
    #[must_use]
    pub fn operands(&self) -> Operands {
        let operand = |field, first, bytes| Some(Operand { field, first, bytes });
        let (one, two) = (self.source, self.second);
        let of = |reads, writes| Operands { reads, writes, flushes: None };
        let bytes = self.bytes;
        match self.operation {
            Operation::NoOp | Operation::Drain => Operands::default(),
            Operation::CacheFlush => {
                Operands { flushes: operand(1, two, bytes), ..Operands::default() }
            }
            Operation::Move | Operation::CopyCrc => {
                of([operand(0, one, bytes), None], [operand(1, two, bytes), None])
            }
            Operation::Fill => of([None; 2], [operand(1, two, bytes), None]),
            Operation::Compare => of([operand(0, one, bytes), operand(1, two, bytes)], [None; 2]),
            Operation::ComparePattern | Operation::Crc => {
                of([operand(0, one, bytes), None], [None; 2])
            }
            Operation::CreateDelta { record_bytes } => {
                let record = operand(2, self.third, record_bytes).filter(|it| it.bytes > 0);
                of([operand(0, one, bytes), operand(1, two, bytes)], [record, None])
            }
            Operation::ApplyDelta { record_bytes } => {
                let changed = record_bytes / 10 * 8;
                of([operand(0, one, record_bytes), None], [operand(1, two, changed), None])
            }
            Operation::Dualcast => of(
                [operand(0, one, bytes), None],
                [operand(1, two, bytes), operand(2, self.third, bytes)],
            ),
            Operation::DifCheck { block_bytes } => {
                of([operand(0, one, protected(bytes, block_bytes)), None], [None; 2])
            }
            Operation::DifInsert { block_bytes } => of(
                [operand(0, one, bytes), None],
                [operand(1, two, protected(bytes, block_bytes)), None],
            ),
            Operation::DifStrip { block_bytes } => of(
                [operand(0, one, protected(bytes, block_bytes)), None],
                [operand(1, two, bytes), None],
            ),
            Operation::DifUpdate { block_bytes } => of(
                [operand(0, one, protected(bytes, block_bytes)), None],
                [operand(1, two, protected(bytes, block_bytes)), None],
            ),
        }
    }
}

impl Operation {
    /// Whether all operands are as long as the transfer: what is left of such an operation is the same
    /// operation on later addresses.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        matches!(
            self,
            Self::Move
                | Self::Fill
                | Self::Compare
                | Self::ComparePattern
                | Self::Dualcast
                | Self::Crc
                | Self::CopyCrc
                | Self::CacheFlush
        )
    }
}

impl Descriptor {
    /// The descriptor of the rest of a uniform operation whose first `done` bytes (whole lines) are done.
    #[must_use]
    pub fn rest(&self, done: u64) -> Self {
        let behind = |first: LineAddr| first.step(done / LINE_BYTES);
        Self {
            bytes: self.bytes - done,
            source: behind(self.source),
            second: behind(self.second),
            third: behind(self.third),
            ..*self
        }
    }
}

/// Bytes of `bytes` of data in blocks, with the protection information of each.
#[must_use]
pub fn protected(bytes: u64, block_bytes: u64) -> u64 {
    bytes + bytes / block_bytes * DIF_BYTES
}
