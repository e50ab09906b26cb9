//! The checks before an operation, in their order: section 5.

use super::descriptor::{Operation::*, *};
use super::dif::{destination_unit_bytes, source_unit_bytes};
use super::memory::Memory;
use super::records::*;
use super::validity::{invalid_flags, reserved_field_is_set};

/// The fixed order: 0x1B, 0x10, 0x11, 0x12, 0x1D, 0x13/0x14, 0x15, 0x18/0x1C, 0x17, 0x16, 0x19, 0x1E, 0x1A.
pub fn check(memory: &Memory, call: &Call) -> Result<Operation, Completion> {
    let descriptor = &call.descriptor;
    let refuse_if =
        |wrong: bool, code: u8| if wrong { Err(Completion::with_status(code)) } else { Ok(()) };
    // OPEN: with CRAV = 0 bytes 8-15 are no address, only reserved (0x12), so 0x1B needs CRAV = 1.
    let has_record = descriptor.has(RECORD_ADDRESS_VALID);
    refuse_if(
        has_record && !descriptor.completion_address().is_multiple_of(32),
        COMPLETION_MISALIGNED,
    )?;
    let Some(operation) = operation(call) else { return Err(Completion::with_status(OPCODE)) };
    let invalid = invalid_flags(operation, call);
    if invalid != 0 {
        let mut completion = Completion::with_status(FLAGS);
        completion.put(16, 3, u64::from(invalid));
        return Err(completion);
    }
    refuse_if(reserved_field_is_set(operation, call), RESERVED_FIELD)?;
    refuse_if(!call.member && descriptor.is_privileged() && !call.settings.privileged, PRIVILEGE)?;
    if operation == Batch {
        refuse_if(count_is_wrong(call), COUNT)?;
    } else {
        refuse_if(size_is_wrong(operation, call), SIZE)?;
    }
    refuse_if(delta_size_is_wrong(operation, call), DELTA_SIZE)?;
    refuse_if(operation == Batch && !descriptor.address_1().is_multiple_of(64), LIST_MISALIGNED)?;
    refuse_if(is_misaligned(operation, descriptor), MISALIGNED)?;
    refuse_if(operation == Dualcast && dualcast_offsets_differ(descriptor), DUALCAST_OFFSETS)?;
    refuse_if(overlaps(operation, call), OVERLAP)?;
    let handle_is_wrong = descriptor.u16(36) >= call.settings.interrupt_handles;
    refuse_if(descriptor.has(REQUEST_INTERRUPT) && handle_is_wrong, INTERRUPT_HANDLE)?;
    // 0x1E cannot happen: every traffic class is taken to be usable.
    // OPEN: 0x1A is a check before the operation when RCR = 1, so that nothing is done then. With RCR = 0 the
    // address is first used when an error must be recorded (`report`).
    let writes_record = has_record && descriptor.has(REQUEST_RECORD);
    refuse_if(writes_record && !record_is_writable(memory, descriptor), COMPLETION_FAULT)?;
    Ok(operation)
}

fn count_is_wrong(call: &Call) -> bool {
    let count = call.descriptor.size();
    count == 0 || count > call.settings.max_batch || count == 1 && !call.settings.has(52)
}

fn size_is_wrong(operation: Operation, call: &Call) -> bool {
    if matches!(operation, NoOp | Drain) {
        return false;
    }
    // OPEN: the queue's maximum holds also for the region of translation fetch and for cache flush.
    let size = u64::from(call.descriptor.size());
    if size == 0 || size > call.settings.max_transfer_bytes {
        return true;
    }
    match operation {
        // OPEN: "delta size" is the transfer size, of create and of apply.
        CreateDelta | ApplyDelta => size > 512 * 1024,
        DifCheck | DifInsert | DifStrip | DifUpdate | DixGenerate => {
            !size.is_multiple_of(source_unit_bytes(operation, &call.descriptor))
        }
        _ => false,
    }
}

fn delta_size_is_wrong(operation: Operation, call: &Call) -> bool {
    match operation {
        CreateDelta => {
            let maximum = u64::from(call.descriptor.u32(48));
            maximum < 80 || maximum > call.settings.max_transfer_bytes
        }
        ApplyDelta => {
            let record_bytes = u64::from(call.descriptor.u32(40));
            record_bytes < 10 || record_bytes > call.settings.max_transfer_bytes
        }
        _ => false,
    }
}

fn is_misaligned(operation: Operation, descriptor: &Descriptor) -> bool {
    let off_eight = |value: u64| !value.is_multiple_of(8);
    let address_1 = descriptor.address_1();
    let address_2 = descriptor.address_2();
    let size = u64::from(descriptor.size());
    match operation {
        CreateDelta => {
            off_eight(address_1)
                || off_eight(address_2)
                || off_eight(descriptor.u64(40))
                || off_eight(size)
        }
        // OPEN: the record of apply is free: a continuation advances it by multiples of 10 (section 6).
        ApplyDelta => off_eight(address_2) || off_eight(size),
        Crc | CopyCrc if descriptor.has(SEED_FROM_MEMORY) => {
            let seed_bytes = if descriptor.has(CRC_64) { 8 } else { 4 };
            !descriptor.u64(48).is_multiple_of(seed_bytes)
        }
        DixGenerate => off_eight(address_2),
        TranslationFetch if descriptor.has(USE_STRIDE) => {
            let stride = descriptor.u32(48);
            stride < 4096 || stride.count_ones() != 1
        }
        _ => false,
    }
}

fn dualcast_offsets_differ(descriptor: &Descriptor) -> bool {
    descriptor.address_2() & 0xFFF != descriptor.u64(40) & 0xFFF
}

/// Section 6, last line.
fn overlaps(operation: Operation, call: &Call) -> bool {
    let descriptor = &call.descriptor;
    let size = u64::from(descriptor.size());
    let one = (descriptor.address_1(), size);
    let two = (descriptor.address_2(), size);
    match operation {
        Move => !call.settings.has(1) && share_a_byte(one, two),
        // OPEN: a seed in memory may overlap the destination; it is read before anything is written.
        CopyCrc => share_a_byte(one, two),
        Dualcast => {
            let three = (descriptor.u64(40), size);
            share_a_byte(one, two) || share_a_byte(one, three) || share_a_byte(two, three)
        }
        CreateDelta => {
            let record = (descriptor.u64(40), u64::from(descriptor.u32(48)));
            share_a_byte(one, record) || share_a_byte(two, record)
        }
        ApplyDelta => share_a_byte((descriptor.address_1(), u64::from(descriptor.u32(40))), two),
        DifInsert | DifStrip | DifUpdate | DixGenerate => {
            let blocks = size / source_unit_bytes(operation, descriptor);
            let written = blocks * destination_unit_bytes(operation, descriptor);
            share_a_byte(one, (descriptor.address_2(), written))
        }
        _ => false,
    }
}

/// Of two ranges, each an address and a length that is not 0. Ranges may wrap around the address space.
fn share_a_byte(a: (u64, u64), b: (u64, u64)) -> bool {
    b.0.wrapping_sub(a.0) < a.1 || a.0.wrapping_sub(b.0) < b.1
}
