//! Accesses that may fault, and the records of faults: section 11.

use super::descriptor::{BLOCK_ON_FAULT, Call};
use super::memory::{Memory, PAGE_BYTES};
use super::records::{Completion, PAGE_FAULT, PAGE_REQUEST_REFUSED, WRITE_ACCESS};

/// The operands that fault info names (section 4).
pub const SOURCE: u8 = 1;
pub const SOURCE_2: u8 = 2;
pub const SEED: u8 = 2;
pub const DESTINATION: u8 = 3;
pub const DESTINATION_2: u8 = 4;

/// The access that failed.
pub struct Fault {
    pub address: u64,
    pub operand: u8,
    pub write: bool,
}

// OPEN: an address range that passes 2^64 continues at 0.
pub fn read_byte(memory: &Memory, base: u64, offset: u64, operand: u8) -> Result<u8, Fault> {
    let address = base.wrapping_add(offset);
    memory.read(address).ok_or(Fault { address, operand, write: false })
}

pub fn can_write(memory: &Memory, base: u64, offset: u64, operand: u8) -> Result<(), Fault> {
    let address = base.wrapping_add(offset);
    if memory.is_writable(address) { Ok(()) } else { Err(Fault { address, operand, write: true }) }
}

pub fn write_byte(
    memory: &mut Memory,
    base: u64,
    offset: u64,
    byte: u8,
    operand: u8,
) -> Result<(), Fault> {
    can_write(memory, base, offset, operand)?;
    memory.write(base.wrapping_add(offset), byte);
    Ok(())
}

pub fn read_unit(
    memory: &Memory,
    base: u64,
    offset: u64,
    length: u64,
    operand: u8,
) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    for index in 0..length {
        bytes.push(read_byte(memory, base, offset + index, operand)?);
    }
    Ok(bytes)
}

// OPEN: a unit (an entry of a delta record, a block of DIF) is written whole or, if any byte of it would
// fault, not at all.
pub fn write_unit(
    memory: &mut Memory,
    base: u64,
    offset: u64,
    bytes: &[u8],
    operand: u8,
) -> Result<(), Fault> {
    for index in 0..bytes.len() as u64 {
        can_write(memory, base, offset + index, operand)?;
    }
    for (index, byte) in bytes.iter().enumerate() {
        write_byte(memory, base, offset + index as u64, *byte, operand)?;
    }
    Ok(())
}

pub fn faulted(call: &Call, code: u8, fault: &Fault, completed: u32) -> Completion {
    let mut completion = Completion::with_status(code);
    if fault.write {
        completion.status |= WRITE_ACCESS;
    }
    // OPEN: the fault address is the start of the page, so "address masked" is 1.
    if call.settings.has(12) {
        completion.fault_info = fault.operand << 1 | 1;
    }
    completion.fault_address = fault.address / PAGE_BYTES * PAGE_BYTES;
    completion.completed = completed;
    completion
}

/// Partial completion: no page request service answers, so BOF = 1 ends with "refused".
// OPEN: BOF decides so for the seed of a CRC as well.
pub fn partial(call: &Call, fault: &Fault, completed: u64) -> Completion {
    let blocks = call.descriptor.has(BLOCK_ON_FAULT);
    let code = if blocks { PAGE_REQUEST_REFUSED } else { PAGE_FAULT };
    faulted(call, code, fault, completed as u32)
}
