//! Compare, compare pattern [S 8.3.6, 8.3.7].

use super::{Manner, UnitOperation, UnitsOutcome, low, result_record};
use crate::descriptor::Descriptor;
use crate::hardware::status::FaultOperand;
use crate::memory::{Span, bytes};
use crate::record::Record;
use units::narrow::usize_from;

/// Bytes that are compared at once before a difference is looked for.
const CHUNK: usize = 4096;
const EQUAL: u8 = 0;
const DIFFERENT: u8 = 1;

/// Bytes of memory that the submitter names. Called inside a guard.
pub(super) fn slice(address: u64, length: u64) -> &'static [u8] {
    if length == 0 {
        return &[];
    }
    #[allow(unsafe_code)]
    // SAFETY: a fault is caught by the guard around it. Other threads may write the bytes meanwhile, as
    // they may while a device reads them: what is read then is either of both.
    unsafe {
        std::slice::from_raw_parts(bytes(address), usize_from(length))
    }
}

pub(super) fn compare_ranges(descriptor: &Descriptor, manner: Manner) -> Record {
    let (first, second) = (descriptor.first(), descriptor.second());
    let spans =
        [Span::read(FaultOperand::First, first, 1), Span::read(FaultOperand::Second, second, 1)];
    UnitOperation::new(descriptor, u64::from(descriptor.size()), &spans, manner).run(
        |units| {
            let second = slice(second, units).chunks(CHUNK);
            comparison_outcome(descriptor, first_difference(slice(first, units), second))
        },
        |()| comparison_record(descriptor, EQUAL),
        |record, (), units| record.with_completed(low(units)),
    )
}

pub(super) fn compare_pattern(descriptor: &Descriptor, manner: Manner) -> Record {
    let first = descriptor.first();
    let spans = [Span::read(FaultOperand::First, first, 1)];
    let mut expected = [0; CHUNK];
    for eight in expected.chunks_exact_mut(8) {
        eight.copy_from_slice(&descriptor.second().to_le_bytes());
    }
    UnitOperation::new(descriptor, u64::from(descriptor.size()), &spans, manner).run(
        |units| {
            let expected = std::iter::repeat(&expected[..]);
            comparison_outcome(descriptor, first_difference(slice(first, units), expected))
        },
        |()| comparison_record(descriptor, EQUAL),
        |record, (), units| record.with_completed(low(units)),
    )
}

/// The offset of the first byte that differs from what is expected, chunk by chunk.
fn first_difference<'a>(bytes: &[u8], expected: impl Iterator<Item = &'a [u8]>) -> Option<usize> {
    let mut chunks = bytes.chunks(CHUNK).zip(expected).enumerate();
    // A chunk that another thread has made equal meanwhile is equal.
    chunks.find_map(|(number, (own, expected))| {
        if *own == expected[..own.len()] {
            return None;
        }
        let within = own.iter().zip(expected).position(|(one, other)| one != other)?;
        Some(number * CHUNK + within)
    })
}

fn comparison_outcome(descriptor: &Descriptor, difference: Option<usize>) -> UnitsOutcome<()> {
    match difference {
        None => UnitsOutcome::Done(()),
        Some(offset) => UnitsOutcome::Stopped(
            comparison_record(descriptor, DIFFERENT).with_completed(low(offset as u64)),
        ),
    }
}

fn comparison_record(descriptor: &Descriptor, result: u8) -> Record {
    result_record(descriptor, result, descriptor.expected_result() & 1 == result)
}
