//! What an operation came to, and who did it.

use dsa::hardware::status;
use dsa::record::Record;

/// What an operation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Done,
    /// Ranges, or range and pattern, are equal.
    Equal,
    /// They differ.
    Differs {
        /// Offset of the first byte that differs.
        at: u64,
    },
    /// The CRC, which is the seed of one that goes on behind.
    Crc(u64),
    /// A record of differences.
    Delta {
        /// Its bytes; 0: there is no difference.
        bytes: u32,
        /// Whether it had no room for all differences.
        is_cut: bool,
    },
    /// Protection information is wrong.
    Protection {
        /// Bits of the DIF status: 1 guard, 2 application tag, 4 reference tag, 8 all ones.
        dif_status: u8,
        /// Bytes of the source in blocks before the wrong one.
        at: u64,
    },
}

/// What an operation came to, and who did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What it came to.
    pub answer: Answer,
    /// Bytes that a device did.
    pub device_bytes: u64,
    /// Bytes that the CPU did.
    pub cpu_bytes: u64,
    /// The record of its last part, with all that the answer leaves out (tags of DIF operations).
    pub record: Record,
}

impl Outcome {
    /// Of a plain copy by the CPU.
    #[inline]
    pub(crate) fn of_cpu(bytes: u64) -> Self {
        let record = Record::with_status(status::SUCCESS);
        Self { answer: Answer::Done, device_bytes: 0, cpu_bytes: bytes, record }
    }
}
