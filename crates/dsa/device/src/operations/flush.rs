//! Operations that move no data: cache flush, translation fetch, the readback of a drain
//! [S 8.3.19, 8.3.11, 8.3.3].

use super::{Manner, UnitOperation, UnitsOutcome, fault_record, low};
use crate::descriptor::Descriptor;
use crate::hardware::flags;
use crate::hardware::status::{self, FaultOperand};
use crate::memory::{PAGE_BYTES, Span, bytes};
use crate::record::Record;

const LINE: u64 = 64;

/// Flushes every cache line of the range.
pub(super) fn flush_range(descriptor: &Descriptor, manner: Manner) -> Record {
    let address = descriptor.second();
    let spans = [Span::read(FaultOperand::Destination, address, 1)];
    UnitOperation::new(descriptor, u64::from(descriptor.size()), &spans, manner).run(
        |units| {
            let first = address & !(LINE - 1);
            let lines = (address - first + units).div_ceil(LINE);
            for number in 0..lines {
                flush(first.wrapping_add(number * LINE));
            }
            UnitsOutcome::Done(())
        },
        |()| Record::with_status(status::SUCCESS),
        |record, (), units| record.with_completed(low(units)),
    )
}

#[allow(unsafe_code)]
fn flush(line: u64) {
    // SAFETY: every x86-64 processor has the instruction; a fault is caught by the guard around it.
    unsafe { std::arch::x86_64::_mm_clflush(bytes(line)) };
}

/// Accesses the pages of the region, or those at a stride, so that their translations are loaded.
pub(super) fn fetch_translations(descriptor: &Descriptor, manner: Manner) -> Record {
    let address = descriptor.first();
    let end = address.saturating_add(u64::from(descriptor.size()));
    let stride = match descriptor.has(flags::USE_STRIDE) {
        true => u64::from(descriptor.stride()),
        false => PAGE_BYTES,
    };
    let mut next = address & !(PAGE_BYTES - 1);
    while next < end {
        let page = Span::read(FaultOperand::First, next, 1);
        if let (_, Some(fault)) = page.reach(1) {
            return fault_record(descriptor.has(flags::BLOCK_ON_FAULT), fault, manner);
        }
        next = next.saturating_add(stride);
    }
    Record::with_status(status::SUCCESS)
}

/// Reads the readback addresses of a drain, so that earlier writes to them are visible.
pub(super) fn read_back(descriptor: &Descriptor, manner: Manner) -> Record {
    let first = (flags::READBACK_1, Span::read(FaultOperand::First, descriptor.first(), 1));
    let second = (flags::READBACK_2, Span::read(FaultOperand::Second, descriptor.second(), 1));
    for (flag, byte) in [first, second] {
        if descriptor.has(flag)
            && let (_, Some(fault)) = byte.reach(1)
        {
            return Record::from_fault(status::READBACK_FAULT, fault, manner.fault_info);
        }
    }
    Record::with_status(status::SUCCESS)
}
