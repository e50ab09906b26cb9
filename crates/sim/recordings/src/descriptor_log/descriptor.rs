//! A descriptor of a log, and the operands that its operation has.

use units::Picos;

/// Bytes of protection information behind a block of data (T10 DIF).
const DIF_BYTES: u64 = 8;

/// The operation of a logged descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedOperation {
    /// Opcode 0: nothing but the completion.
    NoOp,
    /// Opcode 2: completes behind all earlier descriptors of its queue.
    Drain,
    /// Opcode 3: copies.
    Move,
    /// Opcode 4: writes a pattern.
    Fill,
    /// Opcode 5: compares two sources.
    Compare,
    /// Opcode 6: compares a source with a pattern.
    ComparePattern,
    /// Opcode 7: compares two sources and writes the differences.
    CreateDelta {
        /// Bytes of the record of differences.
        record_bytes: u64,
    },
    /// Opcode 8: writes recorded differences into the destination.
    ApplyDelta {
        /// Bytes of the record of differences.
        record_bytes: u64,
    },
    /// Opcode 9: copies to two destinations.
    Dualcast,
    /// Opcode 16: computes a CRC.
    Crc,
    /// Opcode 17: copies and computes a CRC.
    CopyCrc,
    /// Opcode 18: checks the protection information behind each block.
    DifCheck {
        /// Data of a block: 512, 520, 4096 or 4104 bytes.
        block_bytes: u64,
    },
    /// Opcode 19: copies blocks and inserts protection information.
    DifInsert {
        /// As for the check.
        block_bytes: u64,
    },
    /// Opcode 20: copies blocks without their protection information.
    DifStrip {
        /// As for the check.
        block_bytes: u64,
    },
    /// Opcode 21: copies blocks with new protection information.
    DifUpdate {
        /// As for the check.
        block_bytes: u64,
    },
    /// Opcode 32: flushes the destination from all caches.
    CacheFlush,
}

/// A line of a log. Addresses are those of bytes in the program's address space, and zero where the line
/// has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedDescriptor {
    /// Time at which the descriptor was written to its portal, from the log's start.
    pub time: Picos,
    /// Number of the portal.
    pub portal: u32,
    /// Whether the descriptor is a member of the batch of the descriptor before it.
    pub continues_batch: bool,
    /// Operation that the descriptor asks for.
    pub operation: LoggedOperation,
    /// Size of the transfer in bytes.
    pub bytes: u64,
    /// Address of the source, or of the record of differences that is applied.
    pub source: u64,
    /// Address of the destination, or of the second source.
    pub destination: u64,
    /// Address of the second destination, or of the record of differences that is created.
    pub third: u64,
    /// Whether written data go into the cache (cache control).
    pub writes_to_cache: bool,
    /// Whether the descriptor waits for the earlier members of its batch.
    pub fence: bool,
    /// Whether the descriptor waits for absent pages instead of ending with a part.
    pub block_on_fault: bool,
}

impl LoggedDescriptor {
    /// Bytes of each operand that the operation has, by its field: source, destination, third.
    #[must_use]
    pub fn operand_bytes(&self) -> [Option<u64>; 3] {
        let bytes = Some(self.bytes);
        let protected = |block_bytes: u64| Some(self.bytes + self.bytes / block_bytes * DIF_BYTES);
        match self.operation {
            LoggedOperation::NoOp | LoggedOperation::Drain => [None; 3],
            LoggedOperation::Move | LoggedOperation::Compare | LoggedOperation::CopyCrc => {
                [bytes, bytes, None]
            }
            LoggedOperation::Fill | LoggedOperation::CacheFlush => [None, bytes, None],
            LoggedOperation::ComparePattern | LoggedOperation::Crc => [bytes, None, None],
            LoggedOperation::CreateDelta { record_bytes } => {
                [bytes, bytes, Some(record_bytes).filter(|bytes| *bytes > 0)]
            }
            LoggedOperation::ApplyDelta { record_bytes } => {
                [Some(record_bytes), Some(record_bytes / 10 * 8), None]
            }
            LoggedOperation::Dualcast => [bytes; 3],
            LoggedOperation::DifCheck { block_bytes } => [protected(block_bytes), None, None],
            LoggedOperation::DifInsert { block_bytes } => [bytes, protected(block_bytes), None],
            LoggedOperation::DifStrip { block_bytes } => [protected(block_bytes), bytes, None],
            LoggedOperation::DifUpdate { block_bytes } => {
                [protected(block_bytes), protected(block_bytes), None]
            }
        }
    }
}
