//! Protection information, DIF and DIX: section 8.

use super::crc::shift_in;
use super::descriptor::{
    Call, Descriptor,
    Operation::{self, *},
};
use super::faults::*;
use super::memory::Memory;
use super::records::{Completion, DIF_ERROR, SUCCESS};

const PROTECTION_BYTES: u64 = 8;

fn block_bytes(descriptor: &Descriptor) -> u64 {
    match descriptor.u8(42) & 3 {
        0 => 512,
        1 => 520,
        2 => 4096,
        _ => 4104,
    }
}

/// Bytes of the source for one block.
pub fn source_unit_bytes(operation: Operation, descriptor: &Descriptor) -> u64 {
    match operation {
        DifInsert | DixGenerate => block_bytes(descriptor),
        _ => block_bytes(descriptor) + PROTECTION_BYTES,
    }
}

/// Bytes of the destination for one block.
pub fn destination_unit_bytes(operation: Operation, descriptor: &Descriptor) -> u64 {
    match operation {
        DifCheck => 0,
        DifStrip => block_bytes(descriptor),
        DixGenerate => PROTECTION_BYTES,
        _ => block_bytes(descriptor) + PROTECTION_BYTES,
    }
}

fn guard_of(data: &[u8], dif_flags: u8) -> u16 {
    let mut register = if bit(dif_flags, 2) { 0xFFFF } else { 0 };
    for byte in data {
        register = shift_in(register, *byte, 0x8BB7, 16);
    }
    let guard = register as u16;
    if bit(dif_flags, 3) { !guard } else { guard }
}

fn bit(flags: u8, number: u32) -> bool {
    flags >> number & 1 == 1
}

/// The eight bytes after a block.
#[derive(Clone, Copy)]
struct Protection {
    guard: u16,
    application: u16,
    reference: u32,
}

impl Protection {
    fn from_bytes(bytes: &[u8]) -> Protection {
        Protection {
            guard: u16::from(bytes[0]) << 8 | u16::from(bytes[1]),
            application: u16::from(bytes[2]) << 8 | u16::from(bytes[3]),
            reference: u32::from(bytes[4]) << 24
                | u32::from(bytes[5]) << 16
                | u32::from(bytes[6]) << 8
                | u32::from(bytes[7]),
        }
    }

    fn to_bytes(self) -> [u8; 8] {
        [
            (self.guard >> 8) as u8,
            self.guard as u8,
            (self.application >> 8) as u8,
            self.application as u8,
            (self.reference >> 24) as u8,
            (self.reference >> 16) as u8,
            (self.reference >> 8) as u8,
            self.reference as u8,
        ]
    }
}

/// The tags of one side: seeds, mask and the side's flags.
struct Tags {
    flags: u8,
    reference_seed: u32,
    mask: u16,
    application_seed: u16,
}

impl Tags {
    fn of_source(descriptor: &Descriptor) -> Tags {
        Tags {
            flags: descriptor.u8(40),
            reference_seed: descriptor.u32(48),
            mask: descriptor.u16(52),
            application_seed: descriptor.u16(54),
        }
    }

    fn of_destination(descriptor: &Descriptor) -> Tags {
        Tags {
            flags: descriptor.u8(41),
            reference_seed: descriptor.u32(56),
            mask: descriptor.u16(60),
            application_seed: descriptor.u16(62),
        }
    }

    fn reference(&self, block: u64) -> u32 {
        let fixed = bit(self.flags, 7);
        if fixed { self.reference_seed } else { self.reference_seed.wrapping_add(block as u32) }
    }

    /// Before masking.
    fn application(&self, block: u64) -> u16 {
        let incrementing = bit(self.flags, 4);
        if incrementing {
            self.application_seed.wrapping_add(block as u16)
        } else {
            self.application_seed
        }
    }

    /// Puts the tags that `block` would use into the record.
    // OPEN: the application tag is recorded before masking, as the seed of a continuation.
    fn put_into(&self, completion: &mut Completion, offset: usize, block: u64) {
        completion.put(offset, 4, u64::from(self.reference(block)));
        completion.put(offset + 4, 2, u64::from(self.mask));
        completion.put(offset + 6, 2, u64::from(self.application(block)));
    }
}

/// The DIF status of a source block: 1 guard, 2 application, 4 reference, 8 all bytes F; 0 is good.
// OPEN: where bits 1 and 0 make all bytes F an error, bits 2 and 3 do not excuse the block.
fn dif_status(data: &[u8], found: Protection, tags: &Tags, block: u64, dif_flags: u8) -> u8 {
    let application_f = found.application == 0xFFFF;
    let reference_f = found.reference == 0xFFFF_FFFF;
    let all_f = found.guard == 0xFFFF && application_f && reference_f;
    if all_f && bit(tags.flags, 1) && bit(tags.flags, 0) {
        return 8;
    }
    let excused = application_f && bit(tags.flags, 2)
        || application_f && reference_f && bit(tags.flags, 3)
        || all_f && bit(tags.flags, 1);
    if excused {
        return 0;
    }
    let mut status = 0;
    if !bit(tags.flags, 5) && found.guard != guard_of(data, dif_flags) {
        status |= 1;
    }
    if found.application & !tags.mask != tags.application(block) & !tags.mask {
        status |= 2;
    }
    if !bit(tags.flags, 6) && found.reference != tags.reference(block) {
        status |= 4;
    }
    status
}

/// The protection that insert and DIX generate, and update does where nothing is passed through.
fn generated(data: &[u8], tags: &Tags, block: u64, dif_flags: u8) -> Protection {
    Protection {
        guard: guard_of(data, dif_flags),
        application: tags.application(block) & !tags.mask,
        reference: tags.reference(block),
    }
}

/// The protection that update writes.
// OPEN: a tag that is passed through is not masked. A source block excused by an all-F escape gets new tags
// like any other.
fn updated(data: &[u8], found: Protection, tags: &Tags, block: u64, dif_flags: u8) -> Protection {
    let mut protection = generated(data, tags, block, dif_flags);
    if bit(tags.flags, 3) {
        protection.application = found.application;
    }
    if bit(tags.flags, 5) {
        protection.guard = found.guard;
    }
    if bit(tags.flags, 6) {
        protection.reference = found.reference;
    }
    protection
}

/// How one block ended badly.
enum BlockError {
    Fault(Fault),
    /// DIF status.
    Protection(u8),
}

/// All five operations, block by block.
pub fn dif(memory: &mut Memory, call: &Call, operation: Operation) -> Completion {
    let descriptor = &call.descriptor;
    let unit = source_unit_bytes(operation, descriptor);
    let blocks = u64::from(descriptor.size()) / unit;
    for block in 0..blocks {
        match dif_block(memory, descriptor, operation, block) {
            Ok(()) => {}
            Err(BlockError::Fault(fault)) => {
                let mut completion = partial(call, &fault, block * unit);
                put_next_tags(&mut completion, descriptor, operation, block);
                return completion;
            }
            // OPEN: the record of a DIF error holds no tags; they are defined for success and faults.
            Err(BlockError::Protection(status)) => {
                let completed = (block * unit) as u32;
                return Completion {
                    result: status,
                    completed,
                    ..Completion::with_status(DIF_ERROR)
                };
            }
        }
    }
    let mut completion = Completion::with_status(SUCCESS);
    put_next_tags(&mut completion, descriptor, operation, blocks);
    completion
}

/// Reads, checks, then writes one block.
// OPEN: a bad block is reported before its destination is looked at.
fn dif_block(
    memory: &mut Memory,
    descriptor: &Descriptor,
    operation: Operation,
    block: u64,
) -> Result<(), BlockError> {
    let unit = source_unit_bytes(operation, descriptor);
    let source = read_unit(memory, descriptor.address_1(), block * unit, unit, SOURCE)
        .map_err(BlockError::Fault)?;
    let (data, after) = source.split_at(block_bytes(descriptor) as usize);
    let dif_flags = descriptor.u8(42);
    if matches!(operation, DifCheck | DifStrip | DifUpdate) {
        let found = Protection::from_bytes(after);
        let status = dif_status(data, found, &Tags::of_source(descriptor), block, dif_flags);
        if status != 0 {
            return Err(BlockError::Protection(status));
        }
    }
    let tags = Tags::of_destination(descriptor);
    let mut output = Vec::new();
    if matches!(operation, DifInsert | DifStrip | DifUpdate) {
        output.extend(data);
    }
    if matches!(operation, DifInsert | DixGenerate) {
        output.extend(generated(data, &tags, block, dif_flags).to_bytes());
    }
    if operation == DifUpdate {
        output.extend(
            updated(data, Protection::from_bytes(after), &tags, block, dif_flags).to_bytes(),
        );
    }
    let offset = block * destination_unit_bytes(operation, descriptor);
    write_unit(memory, descriptor.address_2(), offset, &output, DESTINATION)
        .map_err(BlockError::Fault)
}

/// Section 4: source tags at 16, destination tags at 24, for the block that would be next.
fn put_next_tags(
    completion: &mut Completion,
    descriptor: &Descriptor,
    operation: Operation,
    block: u64,
) {
    if matches!(operation, DifCheck | DifStrip | DifUpdate) {
        Tags::of_source(descriptor).put_into(completion, 16, block);
    }
    if matches!(operation, DifInsert | DifUpdate | DixGenerate) {
        Tags::of_destination(descriptor).put_into(completion, 24, block);
    }
}
