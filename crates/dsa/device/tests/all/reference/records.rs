//! Completion records, status codes and where a descriptor's end is reported: sections 4 and 5.

use super::descriptor::{Descriptor, RECORD_ADDRESS_VALID, REQUEST_RECORD};
use super::memory::Memory;

/// Result of a descriptor that software can see, apart from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A record was written.
    Record,
    /// It ended without a record (success and none requested).
    Silent,
    /// Its error went to the software error register or the event log: code.
    Logged(u8),
}

// Section 5: status codes.

pub const SUCCESS: u8 = 0x01;
pub const FALSE_PREDICATE: u8 = 0x02;
pub const PAGE_FAULT: u8 = 0x03;
pub const PAGE_REQUEST_REFUSED: u8 = 0x04;
pub const BATCH_MEMBER_FAILED: u8 = 0x05;
pub const LIST_FAULT: u8 = 0x06;
pub const DELTA_NOT_INCREASING: u8 = 0x07;
pub const DELTA_OUT_OF_RANGE: u8 = 0x08;
pub const DIF_ERROR: u8 = 0x09;
pub const OPCODE: u8 = 0x10;
pub const FLAGS: u8 = 0x11;
pub const RESERVED_FIELD: u8 = 0x12;
pub const SIZE: u8 = 0x13;
pub const COUNT: u8 = 0x14;
pub const DELTA_SIZE: u8 = 0x15;
pub const OVERLAP: u8 = 0x16;
pub const DUALCAST_OFFSETS: u8 = 0x17;
pub const LIST_MISALIGNED: u8 = 0x18;
pub const INTERRUPT_HANDLE: u8 = 0x19;
pub const COMPLETION_FAULT: u8 = 0x1A;
pub const COMPLETION_MISALIGNED: u8 = 0x1B;
pub const MISALIGNED: u8 = 0x1C;
pub const PRIVILEGE: u8 = 0x1D;
pub const READBACK_FAULT: u8 = 0x1F;
pub const WRITE_ACCESS: u8 = 0x80;

// Section 4: the completion record.

/// A completion record before it is written. What the contract does not define for a status stays 0.
#[derive(Clone, Copy, Default)]
pub struct Completion {
    pub status: u8,
    pub result: u8,
    pub fault_info: u8,
    pub completed: u32,
    pub fault_address: u64,
    /// Bytes 16-31.
    pub specific: [u8; 16],
}

impl Completion {
    pub fn with_status(status: u8) -> Completion {
        Completion { status, ..Completion::default() }
    }

    pub fn code(&self) -> u8 {
        self.status & 0x3F
    }

    /// Stores a little-endian field at its offset in the record.
    pub fn put(&mut self, offset: usize, length: usize, value: u64) {
        for index in 0..length {
            self.specific[offset - 16 + index] = (value >> (8 * index)) as u8;
        }
    }

    pub fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[0] = self.status;
        bytes[1] = self.result;
        bytes[2] = self.fault_info;
        for index in 0..4 {
            bytes[4 + index] = (self.completed >> (8 * index)) as u8;
        }
        for index in 0..8 {
            bytes[8 + index] = (self.fault_address >> (8 * index)) as u8;
        }
        bytes[16..].copy_from_slice(&self.specific);
        bytes
    }
}

/// The record is 32 B aligned, so one page holds it.
pub fn record_is_writable(memory: &Memory, descriptor: &Descriptor) -> bool {
    memory.is_writable(descriptor.completion_address())
}

/// Reports the end of a descriptor: into its record, into the log or nowhere (sections 4 and 5).
pub fn report(memory: &mut Memory, descriptor: &Descriptor, completion: Completion) -> Outcome {
    let code = completion.code();
    // OPEN: the code that is logged is bits 5:0; the log keeps the write bit apart (section 12).
    if matches!(code, COMPLETION_FAULT | COMPLETION_MISALIGNED | PRIVILEGE) {
        return Outcome::Logged(code);
    }
    // OPEN: with CRAV = 0 the statuses 1, 2 and 5 are no errors to be logged, as they need no record either.
    let needs_no_record = matches!(code, SUCCESS | FALSE_PREDICATE | BATCH_MEMBER_FAILED);
    if needs_no_record && !(descriptor.has(RECORD_ADDRESS_VALID) && descriptor.has(REQUEST_RECORD))
    {
        return Outcome::Silent;
    }
    if !descriptor.has(RECORD_ADDRESS_VALID) {
        return Outcome::Logged(code);
    }
    // OPEN: if the record of another error cannot be written, the code logged is 0x1A, not that error's.
    if !record_is_writable(memory, descriptor) {
        return Outcome::Logged(COMPLETION_FAULT);
    }
    let bytes = completion.to_bytes();
    for offset in (0..32).rev() {
        memory.write(descriptor.completion_address() + offset as u64, bytes[offset]);
    }
    Outcome::Record
}
