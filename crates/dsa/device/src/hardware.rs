//! Definitions of the hardware: numbers, names and layouts, and no behaviour.
//!
//! Source: Intel DSA architecture specification 341204-006US rev 3.0, section named at each item; the
//! Linux uapi header `linux/idxd.h` has the same numbers.

pub mod capabilities;
pub mod flags;
pub mod status;

/// Size and alignment of a descriptor in bytes [S 8.1].
pub const DESCRIPTOR_BYTES: usize = 64;
/// Size and alignment of a completion record in bytes [S 8.2].
pub const RECORD_BYTES: usize = 32;
/// Size of a portal in bytes: one page [S 3.3].
pub const PORTAL_BYTES: usize = 4096;
/// Largest transfer of a delta operation in bytes [S 8.3.8].
pub const MOST_DELTA_BYTES: u64 = 512 << 10;
/// Least value in bytes of the maximum size of a delta record to create [S 5.8, code 0x15].
pub const LEAST_DELTA_RECORD_BYTES: u32 = 80;
/// Bytes of an entry of a delta record: an offset in units of 8 bytes, and 8 bytes of data [S 8.3.8].
pub const DELTA_ENTRY_BYTES: u32 = 10;
/// Bytes of protection information behind a block [S 8.3.14].
pub const PROTECTION_BYTES: u64 = 8;

/// Operation codes [S 8.1.2].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Opcode {
    /// Does nothing.
    NoOp = 0,
    /// Executes a list of descriptors.
    Batch = 1,
    /// Waits for all earlier descriptors of its queue.
    Drain = 2,
    /// Copies a range.
    Move = 3,
    /// Fills a range with a pattern of 8 or 16 bytes.
    Fill = 4,
    /// Compares two ranges.
    Compare = 5,
    /// Compares a range with a pattern of 8 bytes.
    ComparePattern = 6,
    /// Records the differences of two ranges.
    CreateDelta = 7,
    /// Applies a record of differences to a range.
    ApplyDelta = 8,
    /// Copies a range to two destinations.
    Dualcast = 9,
    /// Loads address translations of a range (version 2).
    TranslationFetch = 0x0a,
    /// Computes the CRC of a range.
    Crc = 0x10,
    /// Copies a range and computes its CRC.
    CopyCrc = 0x11,
    /// Checks the protection information of blocks.
    DifCheck = 0x12,
    /// Copies blocks and inserts protection information.
    DifInsert = 0x13,
    /// Copies blocks, checks and removes their protection information.
    DifStrip = 0x14,
    /// Copies blocks, checks and replaces their protection information.
    DifUpdate = 0x15,
    /// Writes the protection information of blocks to a separate range (version 2).
    DixGenerate = 0x17,
    /// Flushes the cache lines of a range to memory.
    CacheFlush = 0x20,
}

impl Opcode {
    /// All operations, by operation code.
    pub const ALL: [Self; 19] = [
        Self::NoOp,
        Self::Batch,
        Self::Drain,
        Self::Move,
        Self::Fill,
        Self::Compare,
        Self::ComparePattern,
        Self::CreateDelta,
        Self::ApplyDelta,
        Self::Dualcast,
        Self::TranslationFetch,
        Self::Crc,
        Self::CopyCrc,
        Self::DifCheck,
        Self::DifInsert,
        Self::DifStrip,
        Self::DifUpdate,
        Self::DixGenerate,
        Self::CacheFlush,
    ];

    /// The operation of a code; `None` if the specification does not define the code.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        const BY_CODE: [Option<Opcode>; 0x21] = {
            let mut table = [None; 0x21];
            let mut number = 0;
            while number < Opcode::ALL.len() {
                table[Opcode::ALL[number] as usize] = Some(Opcode::ALL[number]);
                number += 1;
            }
            table
        };
        BY_CODE.get(usize::from(code)).copied().flatten()
    }

    /// The bit of the operation in word 0 of OPCAP and of a queue's OPCFG.
    #[must_use]
    pub fn bit(self) -> u64 {
        1 << self as u8
    }

    /// Name of the operation as in the specification, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoOp => "no-op",
            Self::Batch => "batch",
            Self::Drain => "drain",
            Self::Move => "memory move",
            Self::Fill => "fill",
            Self::Compare => "compare",
            Self::ComparePattern => "compare pattern",
            Self::CreateDelta => "create delta record",
            Self::ApplyDelta => "apply delta record",
            Self::Dualcast => "memory copy with dualcast",
            Self::TranslationFetch => "translation fetch",
            Self::Crc => "CRC generation",
            Self::CopyCrc => "copy with CRC generation",
            Self::DifCheck => "DIF check",
            Self::DifInsert => "DIF insert",
            Self::DifStrip => "DIF strip",
            Self::DifUpdate => "DIF update",
            Self::DixGenerate => "DIX generate",
            Self::CacheFlush => "cache flush",
        }
    }
}

/// Offsets of a descriptor's fields that several operations share [S 8.1].
pub mod offset {
    /// Offset of PASID and privilege.
    pub const PASID: usize = 0;
    /// Offset of the flags, which are three bytes.
    pub const FLAGS: usize = 4;
    /// Offset of the operation code.
    pub const OPCODE: usize = 7;
    /// Offset of the address of the completion record.
    pub const RECORD: usize = 8;
    /// Offset of the first operand.
    pub const FIRST: usize = 16;
    /// Offset of the second operand.
    pub const SECOND: usize = 24;
    /// Offset of the size: bytes to transfer, or number of descriptors.
    pub const SIZE: usize = 32;
    /// Offset of the handle of the completion interrupt.
    pub const INTERRUPT: usize = 36;
    /// Offset of the first field that is specific to an operation.
    pub const OWN: usize = 40;
}

/// Mask of the bits between PASID and privilege, in the first word of a descriptor.
pub const RESERVED_PASID_BITS: u32 = 0x7ff0_0000;
/// Privilege bit, in the first word of a descriptor.
pub const PRIVILEGED: u32 = 1 << 31;
