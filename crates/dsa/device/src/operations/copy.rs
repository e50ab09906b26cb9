//! Move, fill, dualcast [S 8.3.4, 8.3.5, 8.3.10].

use super::{Manner, UnitOperation, UnitsOutcome, fault_record, low};
use crate::descriptor::Descriptor;
use crate::hardware::flags;
use crate::hardware::status::{self, FaultOperand};
use crate::memory::{Span, absent_pages, bytes_mut, copy_bytes, guarded};
use crate::record::Record;
use units::narrow::usize_from;

/// Sizes in bytes for which the string instruction is at least as fast as the C library's copy.
const STRING_BYTES: std::ops::Range<u64> = 64 << 10..1 << 20;

/// Copies bytes in the order of their addresses. Bytes behind a fault are not written. Called inside a
/// guard.
fn copy_in_order(from: u64, to: u64, length: u64) {
    #[allow(unsafe_code)]
    // SAFETY: as for a copy; the instruction changes these registers only, and faults before the byte that
    // it cannot move.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") length => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack, preserves_flags),
        );
    }
}

/// Copies bytes by a string instruction without a test of their pages. Returns false if the instruction
/// is not suitable or faulted.
fn try_string_copy(from: u64, to: u64, length: u64) -> bool {
    STRING_BYTES.contains(&length)
        && is_x86_feature_detected!("ermsb")
        && !absent_pages::is_any()
        && guarded(|| copy_in_order(from, to, length)).is_some()
}

pub(super) fn move_range(descriptor: &Descriptor, manner: Manner) -> Record {
    let (from, to) = (descriptor.first(), descriptor.second());
    let length = u64::from(descriptor.size());
    let spans =
        [Span::read(FaultOperand::First, from, 1), Span::written(FaultOperand::Destination, to, 1)];
    if from < to && to - from < length {
        return move_backwards(descriptor, &spans, manner);
    }
    // A source that was overwritten in part cannot be read again.
    let is_repeatable = from.wrapping_sub(to) >= length;
    if is_repeatable && try_string_copy(from, to, length) {
        return Record::with_status(status::SUCCESS);
    }
    let job =
        UnitOperation { is_repeatable, ..UnitOperation::new(descriptor, length, &spans, manner) };
    job.run(
        |units| {
            copy_bytes(from, to, units);
            UnitsOutcome::Done(())
        },
        |()| Record::with_status(status::SUCCESS),
        |record, (), units| record.with_completed(low(units)),
    )
}

/// Copies from the last byte on, as the destination begins inside the source.
fn move_backwards(descriptor: &Descriptor, spans: &[Span; 2], manner: Manner) -> Record {
    let (from, to) = (descriptor.first(), descriptor.second());
    let length = u64::from(descriptor.size());
    let (mut units, mut fault) = spans[0].reach_backwards(length);
    let behind = Span::written(FaultOperand::Destination, to.wrapping_add(length - units), 1);
    let (written, write_fault) = behind.reach_backwards(units);
    if written < units {
        (units, fault) = (written, write_fault);
    }
    let first = length - units;
    let done = guarded(|| copy_bytes(from.wrapping_add(first), to.wrapping_add(first), units));
    match (done, fault) {
        (Some(()), None) => Record::with_status(status::SUCCESS),
        (done, fault) => {
            // Of pages that go while the bytes are on their way nothing is known.
            let units = done.map_or(0, |()| units);
            let fault = fault.unwrap_or_else(|| spans[0].fault_at(from));
            let record = fault_record(descriptor.has(flags::BLOCK_ON_FAULT), fault, manner);
            record.with_result(1).with_completed(low(units))
        }
    }
}

pub(super) fn fill_range(descriptor: &Descriptor, manner: Manner) -> Record {
    let to = descriptor.second();
    let low_half = descriptor.first();
    let is_wide = descriptor.has(flags::PATTERN_16);
    let high_half = if is_wide { descriptor.pattern_high() } else { low_half };
    let mut pattern = [0; 16];
    pattern[..8].copy_from_slice(&low_half.to_le_bytes());
    pattern[8..].copy_from_slice(&high_half.to_le_bytes());
    let spans = [Span::written(FaultOperand::Destination, to, 1)];
    UnitOperation::new(descriptor, u64::from(descriptor.size()), &spans, manner).run(
        |units| {
            fill(to, units, pattern);
            UnitsOutcome::Done(())
        },
        |()| Record::with_status(status::SUCCESS),
        |record, (), units| record.with_completed(low(units)),
    )
}

/// Writes a pattern again and again. Called inside a guard.
fn fill(to: u64, length: u64, pattern: [u8; 16]) {
    if length == 0 {
        return;
    }
    let to: *mut u8 = bytes_mut(to);
    let length = usize_from(length);
    #[allow(unsafe_code)]
    // SAFETY: as for a copy.
    unsafe {
        if pattern == [pattern[0]; 16] {
            return to.write_bytes(pattern[0], length);
        }
        let whole = length / 16;
        for number in 0..whole {
            to.add(16 * number).cast::<[u8; 16]>().write_unaligned(pattern);
        }
        pattern.as_ptr().copy_to(to.add(16 * whole), length % 16);
    }
}

pub(super) fn dualcast(descriptor: &Descriptor, manner: Manner) -> Record {
    let from = descriptor.first();
    let (to, also_to) = (descriptor.second(), descriptor.second_destination());
    let spans = [
        Span::read(FaultOperand::First, from, 1),
        Span::written_in_part(FaultOperand::Destination, to, 1),
        Span::written(FaultOperand::SecondDestination, also_to, 1),
    ];
    UnitOperation::new(descriptor, u64::from(descriptor.size()), &spans, manner).run(
        |units| {
            copy_bytes(from, to, units);
            copy_bytes(from, also_to, units);
            UnitsOutcome::Done(())
        },
        |()| Record::with_status(status::SUCCESS),
        |record, (), units| record.with_completed(low(units)),
    )
}
