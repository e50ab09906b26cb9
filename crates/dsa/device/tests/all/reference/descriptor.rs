//! A descriptor, its operation and its flags: sections 1 to 3; and the limits that it is judged by.

use Operation::*;

/// Limits of the device and the queue.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The GENCAP register (section 14).
    pub gen_cap: u64,
    /// Word 0 of OPCAP: bit n is opcode n.
    pub op_cap: u64,
    /// The queue's block-on-fault enable.
    pub block_on_fault: bool,
    /// The queue's maximum transfer size.
    pub max_transfer_bytes: u64,
    /// The queue's maximum descriptor count.
    pub max_batch: u32,
    /// Whether user descriptors may request a completion interrupt.
    pub user_interrupts: bool,
    /// Handles 0 up to this number, exclusive, are valid.
    pub interrupt_handles: u16,
    /// Whether Priv = 1 is allowed.
    pub privileged: bool,
}

impl Settings {
    pub fn has(&self, gen_cap_bit: u32) -> bool {
        self.gen_cap >> gen_cap_bit & 1 == 1
    }
}

// Section 1: the descriptor.

#[derive(Clone, Copy)]
pub struct Descriptor {
    pub bytes: [u8; 64],
}

impl Descriptor {
    pub fn little_endian(&self, offset: usize, length: usize) -> u64 {
        let mut value = 0;
        for index in 0..length {
            value |= u64::from(self.bytes[offset + index]) << (8 * index);
        }
        value
    }

    pub fn u8(&self, offset: usize) -> u8 {
        self.bytes[offset]
    }

    pub fn u16(&self, offset: usize) -> u16 {
        self.little_endian(offset, 2) as u16
    }

    pub fn u32(&self, offset: usize) -> u32 {
        self.little_endian(offset, 4) as u32
    }

    pub fn u64(&self, offset: usize) -> u64 {
        self.little_endian(offset, 8)
    }

    pub fn is_privileged(&self) -> bool {
        self.u32(0) >> 31 == 1
    }

    pub fn flags(&self) -> u32 {
        self.little_endian(4, 3) as u32
    }

    pub fn has(&self, flag: u32) -> bool {
        self.flags() >> flag & 1 == 1
    }

    pub fn completion_address(&self) -> u64 {
        self.u64(8)
    }

    /// Source, source 1, descriptor list, readback 1, delta record of apply, address of translation fetch.
    pub fn address_1(&self) -> u64 {
        self.u64(16)
    }

    /// Destination, source 2, readback 2, destination 1.
    pub fn address_2(&self) -> u64 {
        self.u64(24)
    }

    /// Transfer size, descriptor count, region size.
    pub fn size(&self) -> u32 {
        self.u32(32)
    }
}

/// A descriptor on its way: what it says and where it came from.
pub struct Call<'a> {
    pub descriptor: Descriptor,
    pub settings: &'a Settings,
    pub member: bool,
    /// Priv of the descriptor, or of the batch around it (section 10).
    pub privileged: bool,
}

// Section 2: opcodes.

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    NoOp,
    Batch,
    Drain,
    Move,
    Fill,
    Compare,
    ComparePattern,
    CreateDelta,
    ApplyDelta,
    Dualcast,
    TranslationFetch,
    Crc,
    CopyCrc,
    DifCheck,
    DifInsert,
    DifStrip,
    DifUpdate,
    DixGenerate,
    CacheFlush,
}

/// The operation of the opcode; None is status 0x10.
pub fn operation(call: &Call) -> Option<Operation> {
    let opcode = call.descriptor.u8(7);
    if opcode >= 64 || call.settings.op_cap >> opcode & 1 == 0 {
        return None;
    }
    // OPEN: an opcode of version 3 or of the inter-domain set is 0x10 even where OPCAP names it.
    // OPEN: ATS is taken to be on, so translation fetch needs nothing but its bit in OPCAP.
    let operation = match opcode {
        0x00 => NoOp,
        0x01 => Batch,
        0x02 => Drain,
        0x03 => Move,
        0x04 => Fill,
        0x05 => Compare,
        0x06 => ComparePattern,
        0x07 => CreateDelta,
        0x08 => ApplyDelta,
        0x09 => Dualcast,
        0x0A => TranslationFetch,
        0x10 => Crc,
        0x11 => CopyCrc,
        0x12 => DifCheck,
        0x13 => DifInsert,
        0x14 => DifStrip,
        0x15 => DifUpdate,
        0x17 => DixGenerate,
        0x20 => CacheFlush,
        _ => return None,
    };
    if call.member && matches!(operation, Batch | Drain) {
        return None;
    }
    Some(operation)
}

// Section 3: flags.

pub const FENCE: u32 = 0;
pub const BLOCK_ON_FAULT: u32 = 1;
pub const RECORD_ADDRESS_VALID: u32 = 2;
pub const REQUEST_RECORD: u32 = 3;
pub const REQUEST_INTERRUPT: u32 = 4;
pub const CACHE_CONTROL_3: u32 = 5;
pub const CHECK_RESULT: u32 = 7;
pub const CACHE_CONTROL_1: u32 = 8;
pub const TC_ADDRESS_1: u32 = 9;
pub const TC_ADDRESS_2: u32 = 10;
pub const TC_ADDRESS_3: u32 = 11;
pub const TC_RECORD: u32 = 12;
pub const STRICT_ORDERING: u32 = 13;
pub const CACHE_CONTROL_2: u32 = 14;

pub const BATCH_ERROR: u32 = 16;
pub const READBACK_1: u32 = 16;
pub const READBACK_2: u32 = 17;
pub const SUPPRESS_READBACK_A: u32 = 18;
pub const SUPPRESS_READBACK_B: u32 = 19;
pub const PATTERN_16: u32 = 18;
pub const SEED_FROM_MEMORY: u32 = 16;
pub const BYPASS_SEED_REFLECTION: u32 = 17;
pub const BYPASS_DATA_REFLECTION: u32 = 18;
pub const CRC_64: u32 = 19;
pub const USE_STRIDE: u32 = 16;
