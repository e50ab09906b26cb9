//! The outcome of an operation: its answer, and the bytes that device and CPU processed.

use dsa::hardware::status;
use dsa::record::Record;

/// The answer of an operation that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffloadAnswer {
    /// The operation is done and has no other answer.
    Done,
    /// Ranges, or range and pattern, are equal.
    Equal,
    /// Ranges, or range and pattern, differ.
    Differs {
        /// Offset of the first byte that differs.
        at: u64,
    },
    /// The CRC. It is the seed of an operation that continues it.
    Crc(u64),
    /// A delta record was written.
    Delta {
        /// Size of the record in bytes; 0 if the ranges are equal.
        bytes: u32,
        /// Whether the record had no room for all differences.
        is_cut: bool,
    },
    /// Protection information of a block is wrong.
    Protection {
        /// Bits of the DIF status: 1 guard, 2 application tag, 4 reference tag, 8 all ones.
        dif_status: u8,
        /// Offset of the wrong block in the source, in bytes.
        at: u64,
    },
}

/// The outcome of an operation that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffloadOutcome {
    /// Answer of the operation.
    pub answer: OffloadAnswer,
    /// Number of bytes that devices processed.
    pub device_bytes: u64,
    /// Number of bytes that the CPU processed.
    pub cpu_bytes: u64,
    /// The completion record of the last piece. It has what the answer leaves out, such as the tags of DIF
    /// operations.
    pub record: Record,
}

impl OffloadOutcome {
    /// The outcome of a plain copy by the CPU.
    #[inline]
    pub(crate) fn copied_by_cpu(bytes: u64) -> Self {
        let record = Record::with_status(status::SUCCESS);
        Self { answer: OffloadAnswer::Done, device_bytes: 0, cpu_bytes: bytes, record }
    }
}
