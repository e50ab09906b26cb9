//! A descriptor from its checks to its record; batches, whose members go the same way, and drains: section 10.

use super::checks::check;
use super::crc::crc;
use super::descriptor::{
    Operation::{self, *},
    *,
};
use super::dif::dif;
use super::faults::*;
use super::memory::Memory;
use super::operations::*;
use super::records::*;

/// Runs a descriptor and reports its end; the second value is true if it ended with status 1.
pub fn run(memory: &mut Memory, call: &Call) -> (Outcome, bool) {
    let completion = match check(memory, call) {
        Ok(operation) => perform(memory, call, operation),
        Err(completion) => completion,
    };
    let outcome = report(memory, &call.descriptor, completion);
    (outcome, completion.code() == SUCCESS)
}

// Section 9: cache control and ordering have no effect that this memory could show; after full success a
// readback cannot fault, because its pages have just been written.
fn perform(memory: &mut Memory, call: &Call, operation: Operation) -> Completion {
    match operation {
        NoOp => Completion::with_status(SUCCESS),
        Batch => batch(memory, call),
        Drain => drain(memory, call),
        Move => copy(memory, call),
        Fill => fill(memory, call),
        Compare => compare(memory, call),
        ComparePattern => compare_pattern(memory, call),
        CreateDelta => create_delta(memory, call),
        ApplyDelta => apply_delta(memory, call),
        Dualcast => dualcast(memory, call),
        TranslationFetch => translation_fetch(memory, call),
        Crc | CopyCrc => crc(memory, call, operation == CopyCrc),
        DifCheck | DifInsert | DifStrip | DifUpdate | DixGenerate => dif(memory, call, operation),
        CacheFlush => cache_flush(memory, call),
    }
}

// OPEN: GENCAP 15's flag 16 stands for a failure before the first member: it counts for the first fence, for
// the status and for the result.
// OPEN: section 12's rule that a batch is logged (0x27) when a member's record was is left out.
fn batch(memory: &mut Memory, call: &Call) -> Completion {
    let descriptor = &call.descriptor;
    let mut failed = descriptor.has(BATCH_ERROR);
    let mut processed = 0;
    let mut list_fault = None;
    // Members behind an abandoning fence are not fetched.
    while processed < descriptor.size() {
        let offset = 64 * u64::from(processed);
        let bytes = match read_unit(memory, descriptor.address_1(), offset, 64, SOURCE) {
            Ok(bytes) => bytes,
            Err(fault) => {
                list_fault = Some(fault);
                break;
            }
        };
        let member = member_of(call, &bytes);
        if member.descriptor.has(FENCE) && failed {
            break;
        }
        let (_, succeeded) = run(memory, &member);
        failed |= !succeeded;
        processed += 1;
    }
    let mut completion = match list_fault {
        Some(fault) => faulted(call, LIST_FAULT, &fault, processed),
        None if failed => {
            Completion { completed: processed, ..Completion::with_status(BATCH_MEMBER_FAILED) }
        }
        None => Completion { completed: processed, ..Completion::with_status(SUCCESS) },
    };
    if call.settings.has(15) {
        completion.result = u8::from(failed);
    }
    completion
}

fn member_of<'a>(batch: &Call<'a>, bytes: &[u8]) -> Call<'a> {
    let mut descriptor = Descriptor { bytes: [0; 64] };
    for (index, byte) in bytes.iter().enumerate() {
        descriptor.bytes[index] = *byte;
    }
    Call { descriptor, settings: batch.settings, member: true, privileged: batch.privileged }
}

/// Nothing else is under way, so only the readbacks can fail.
// OPEN: a readback reads one byte at its address. The event log's completion of a drain (0x26, section 12) is
// left out: the drain writes its record.
fn drain(memory: &Memory, call: &Call) -> Completion {
    let descriptor = &call.descriptor;
    let first = (READBACK_1, descriptor.address_1(), SOURCE);
    let second = (READBACK_2, descriptor.address_2(), SOURCE_2);
    for (flag, address, operand) in [first, second] {
        if !descriptor.has(flag) {
            continue;
        }
        if let Err(fault) = read_byte(memory, address, 0, operand) {
            return faulted(call, READBACK_FAULT, &fault, 0);
        }
    }
    Completion::with_status(SUCCESS)
}
