//! Operations on data: section 6. CRCs and protection information are beside them.

use super::descriptor::{CHECK_RESULT, Call, Descriptor, PATTERN_16, USE_STRIDE};
use super::faults::*;
use super::memory::{Memory, PAGE_BYTES};
use super::records::*;

/// Move. It runs backward exactly when the source is below the destination and reaches into it.
pub fn copy(memory: &mut Memory, call: &Call) -> Completion {
    let (source, destination) = (call.descriptor.address_1(), call.descriptor.address_2());
    let size = u64::from(call.descriptor.size());
    let backward = source < destination && destination - source < size;
    for done in 0..size {
        let offset = if backward { size - 1 - done } else { done };
        if let Err(fault) = copy_byte(memory, source, destination, offset) {
            let mut completion = partial(call, &fault, done);
            completion.result = u8::from(backward);
            return completion;
        }
    }
    Completion::with_status(SUCCESS)
}

pub fn copy_byte(
    memory: &mut Memory,
    source: u64,
    destination: u64,
    offset: u64,
) -> Result<u8, Fault> {
    let byte = read_byte(memory, source, offset, SOURCE)?;
    write_byte(memory, destination, offset, byte, DESTINATION)?;
    Ok(byte)
}

pub fn fill(memory: &mut Memory, call: &Call) -> Completion {
    let descriptor = &call.descriptor;
    let pattern_bytes = if descriptor.has(PATTERN_16) { 16 } else { 8 };
    for offset in 0..u64::from(descriptor.size()) {
        let position = (offset % pattern_bytes) as usize;
        let byte = if position < 8 {
            descriptor.u8(16 + position)
        } else {
            descriptor.u8(40 + position - 8)
        };
        if let Err(fault) = write_byte(memory, descriptor.address_2(), offset, byte, DESTINATION) {
            return partial(call, &fault, offset);
        }
    }
    Completion::with_status(SUCCESS)
}

pub fn compare(memory: &Memory, call: &Call) -> Completion {
    let descriptor = &call.descriptor;
    for offset in 0..u64::from(descriptor.size()) {
        let first = read_byte(memory, descriptor.address_1(), offset, SOURCE);
        let second = read_byte(memory, descriptor.address_2(), offset, SOURCE_2);
        match (first, second) {
            (Err(fault), _) | (Ok(_), Err(fault)) => return partial(call, &fault, offset),
            (Ok(first), Ok(second)) if first != second => {
                return compared(descriptor, Some(offset));
            }
            _ => {}
        }
    }
    compared(descriptor, None)
}

pub fn compare_pattern(memory: &Memory, call: &Call) -> Completion {
    let descriptor = &call.descriptor;
    for offset in 0..u64::from(descriptor.size()) {
        let expected = descriptor.u8(24 + (offset % 8) as usize);
        match read_byte(memory, descriptor.address_1(), offset, SOURCE) {
            Err(fault) => return partial(call, &fault, offset),
            Ok(byte) if byte != expected => return compared(descriptor, Some(offset)),
            Ok(_) => {}
        }
    }
    compared(descriptor, None)
}

/// The end of both comparisons.
fn compared(descriptor: &Descriptor, difference: Option<u64>) -> Completion {
    let mut completion = Completion::with_status(SUCCESS);
    if let Some(offset) = difference {
        completion.result = 1;
        completion.completed = offset as u32;
    }
    let expected = descriptor.u8(40) & 1;
    if descriptor.has(CHECK_RESULT) && completion.result != expected {
        completion.status = FALSE_PREDICATE;
    }
    completion
}

pub fn create_delta(memory: &mut Memory, call: &Call) -> Completion {
    let descriptor = &call.descriptor;
    let (record, maximum_bytes) = (descriptor.u64(40), u64::from(descriptor.u32(48)));
    let mut record_bytes = 0;
    let mut completion = Completion::with_status(SUCCESS);
    for offset in (0..u64::from(descriptor.size())).step_by(8) {
        let entry = match delta_entry(memory, descriptor, offset) {
            Ok(entry) => entry,
            Err(fault) => return partial_delta(call, &fault, offset, record_bytes),
        };
        let Some(entry) = entry else { continue };
        if record_bytes + 10 > maximum_bytes {
            completion.result = 2;
            // OPEN: "compared so far" leaves out the delta that did not fit, as a partial completion does.
            completion.completed = offset as u32;
            break;
        }
        if let Err(fault) = write_unit(memory, record, record_bytes, &entry, DESTINATION) {
            return partial_delta(call, &fault, offset, record_bytes);
        }
        record_bytes += 10;
        completion.result = 1;
    }
    completion.put(16, 4, record_bytes);
    if descriptor.has(CHECK_RESULT) && descriptor.u8(56) >> completion.result & 1 == 0 {
        completion.status = FALSE_PREDICATE;
    }
    completion
}

/// The entry for the unit at `offset`, or None where the sources are equal.
fn delta_entry(
    memory: &Memory,
    descriptor: &Descriptor,
    offset: u64,
) -> Result<Option<Vec<u8>>, Fault> {
    let first = read_unit(memory, descriptor.address_1(), offset, 8, SOURCE)?;
    let second = read_unit(memory, descriptor.address_2(), offset, 8, SOURCE_2)?;
    if first == second {
        return Ok(None);
    }
    let index = offset / 8;
    let mut entry = vec![(index & 0xFF) as u8, (index >> 8) as u8];
    entry.extend(second);
    Ok(Some(entry))
}

fn partial_delta(call: &Call, fault: &Fault, compared_bytes: u64, record_bytes: u64) -> Completion {
    let mut completion = partial(call, fault, compared_bytes);
    completion.result = u8::from(record_bytes > 0);
    completion.put(16, 4, record_bytes);
    completion
}

pub fn apply_delta(memory: &mut Memory, call: &Call) -> Completion {
    let descriptor = &call.descriptor;
    let mut previous = None;
    // A tail of less than one entry is ignored.
    for entry_index in 0..u64::from(descriptor.u32(40)) / 10 {
        let applied = 10 * entry_index;
        let entry = match read_unit(memory, descriptor.address_1(), applied, 10, SOURCE) {
            Ok(entry) => entry,
            Err(fault) => return partial(call, &fault, applied),
        };
        let offset = 8 * (u64::from(entry[0]) | u64::from(entry[1]) << 8);
        // OPEN: an entry that is both not increasing and out of range is reported as 7.
        let wrong = if previous.is_some_and(|previous| offset <= previous) {
            Some(DELTA_NOT_INCREASING)
        } else if offset >= u64::from(descriptor.size()) {
            Some(DELTA_OUT_OF_RANGE)
        } else {
            None
        };
        if let Some(code) = wrong {
            return Completion { completed: applied as u32, ..Completion::with_status(code) };
        }
        if let Err(fault) =
            write_unit(memory, descriptor.address_2(), offset, &entry[2..], DESTINATION)
        {
            return partial(call, &fault, applied);
        }
        previous = Some(offset);
    }
    Completion::with_status(SUCCESS)
}

pub fn dualcast(memory: &mut Memory, call: &Call) -> Completion {
    for offset in 0..u64::from(call.descriptor.size()) {
        if let Err(fault) = dualcast_byte(memory, &call.descriptor, offset) {
            return partial(call, &fault, offset);
        }
    }
    Completion::with_status(SUCCESS)
}

/// Neither destination gets the byte if one of them is inaccessible.
fn dualcast_byte(memory: &mut Memory, descriptor: &Descriptor, offset: u64) -> Result<(), Fault> {
    let (destination_1, destination_2) = (descriptor.address_2(), descriptor.u64(40));
    let byte = read_byte(memory, descriptor.address_1(), offset, SOURCE)?;
    can_write(memory, destination_1, offset, DESTINATION)?;
    can_write(memory, destination_2, offset, DESTINATION_2)?;
    write_byte(memory, destination_1, offset, byte, DESTINATION)?;
    write_byte(memory, destination_2, offset, byte, DESTINATION_2)
}

/// Touches the page of the address and then one page per stride, as far as the region reaches.
// OPEN: steps start at the start of the page that holds the address, so that without a stride (4096) every
// page of the region is touched. A touch is a read. Bytes completed are undefined: 0.
pub fn translation_fetch(memory: &Memory, call: &Call) -> Completion {
    let descriptor = &call.descriptor;
    let stride =
        if descriptor.has(USE_STRIDE) { u64::from(descriptor.u32(48)) } else { PAGE_BYTES };
    let first_page = descriptor.address_1() / PAGE_BYTES * PAGE_BYTES;
    let region_end = descriptor.address_1() - first_page + u64::from(descriptor.size());
    let mut offset = 0;
    while offset < region_end {
        if let Err(fault) = read_byte(memory, first_page, offset, SOURCE) {
            return partial(call, &fault, 0);
        }
        offset += stride;
    }
    Completion::with_status(SUCCESS)
}

/// No data is read and nothing changes, but every page must be there.
// OPEN: a page without rights faults; a read-only one does not, and the access is not called a write.
pub fn cache_flush(memory: &Memory, call: &Call) -> Completion {
    for offset in 0..u64::from(call.descriptor.size()) {
        if let Err(fault) = read_byte(memory, call.descriptor.address_2(), offset, DESTINATION) {
            return partial(call, &fault, offset);
        }
    }
    Completion::with_status(SUCCESS)
}
