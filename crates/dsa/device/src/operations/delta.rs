//! Create delta record, apply delta record [S 8.3.8, 8.3.9].

use super::{Manner, fault_record, low, result_record};
use crate::descriptor::Descriptor;
use crate::hardware::status::{self, FaultOperand};
use crate::hardware::{DELTA_ENTRY_BYTES, flags};
use crate::memory::absent_pages::{self, Access};
use crate::memory::{Fault, Span, bytes, bytes_mut, guarded};
use crate::record::Record;

/// A unit that is compared.
type DeltaUnit = [u8; 8];
/// An entry of a record: the number of a unit, and its bytes.
type DeltaEntry = [u8; 10];
const UNIT: u64 = size_of::<DeltaUnit>() as u64;
const ENTRY: u64 = size_of::<DeltaEntry>() as u64;
const _: () = assert!(ENTRY == DELTA_ENTRY_BYTES as u64);

const EQUAL: u8 = 0;
const ALL_WRITTEN: u8 = 1;
const OVERFLOW: u8 = 2;

/// Progress of a comparison.
#[derive(Clone, Copy)]
struct Compared {
    /// Number of units without difference, or whose difference is in the record.
    units: u64,
    entries: u64,
    /// Whether the record was full when a further difference was found.
    is_full: bool,
}

pub(super) fn create_delta(descriptor: &Descriptor, manner: Manner) -> Record {
    let (first, second) = (descriptor.first(), descriptor.second());
    let units = u64::from(descriptor.size()) / UNIT;
    let most_entries = u64::from(descriptor.most_delta_bytes()) / ENTRY;
    let sources = [
        Span::read(FaultOperand::First, first, UNIT),
        Span::read(FaultOperand::Second, second, UNIT),
    ];
    let record = Span::written(FaultOperand::Destination, descriptor.delta_record(), ENTRY);
    let compare = |units, entries| {
        let is_there =
            |source: &Span| absent_pages::are_there(Access::Data, source.address, units * UNIT);
        if sources.iter().any(|source| source.passes_the_end(units) || !is_there(source)) {
            return None;
        }
        guarded(|| compare(first, second, record.address, (units, entries)))
    };
    // Differences decide how much of the record is needed: only then is a page of it missing.
    let (writable, record_fault) = record.reach(most_entries);
    let (mut compared, mut source_fault) = (compare(units, writable), None);
    if compared.is_none() {
        let (readable, fault) = reach_of_both(&sources, units);
        (compared, source_fault) = (compare(readable, writable), fault);
    }
    let compared = compared.unwrap_or(Compared { units: 0, entries: 0, is_full: false });
    let record_is_full = compared.is_full && compared.entries == most_entries;
    let fault = if compared.is_full { record_fault } else { source_fault };
    match fault {
        Some(fault) if !record_is_full => {
            let result = if compared.entries > 0 { ALL_WRITTEN } else { EQUAL };
            fault_record(descriptor.has(flags::BLOCK_ON_FAULT), fault, manner)
                .with_result(result)
                .with_completed(low(compared.units * UNIT))
                .with_u32(16, low(compared.entries * ENTRY))
        }
        _ => complete(descriptor, compared),
    }
}

fn reach_of_both(spans: &[Span; 2], units: u64) -> (u64, Option<Fault>) {
    let [first, second] = spans.map(|span| span.reach(units));
    if second.0 < first.0 { second } else { first }
}

/// Compares `units` units and writes up to `entries` differences. Called inside a guard.
fn compare(first: u64, second: u64, record: u64, (units, entries): (u64, u64)) -> Compared {
    let mut written = 0;
    for unit in 0..units {
        let [own, other] = [first, second].map(|base| unit_at(base.wrapping_add(unit * UNIT)));
        if own == other {
            continue;
        }
        if written == entries {
            return Compared { units: unit, entries: written, is_full: true };
        }
        let mut entry = DeltaEntry::default();
        entry[..2].copy_from_slice(&low(unit).to_le_bytes()[..2]);
        entry[2..].copy_from_slice(&other);
        #[allow(unsafe_code)]
        // SAFETY: inside a guard; the record is memory that the submitter names.
        unsafe {
            bytes_mut::<DeltaEntry>(record.wrapping_add(written * ENTRY)).write_unaligned(entry);
        }
        written += 1;
    }
    Compared { units, entries: written, is_full: false }
}

fn unit_at(address: u64) -> DeltaUnit {
    #[allow(unsafe_code)]
    // SAFETY: inside a guard.
    unsafe {
        bytes::<DeltaUnit>(address).read_unaligned()
    }
}

fn complete(descriptor: &Descriptor, compared: Compared) -> Record {
    let result = match compared {
        Compared { is_full: true, .. } => OVERFLOW,
        Compared { entries: 0, .. } => EQUAL,
        _ => ALL_WRITTEN,
    };
    let bytes = if compared.is_full { compared.units * UNIT } else { 0 };
    result_record(descriptor, result, descriptor.expected_results() >> result & 1 == 1)
        .with_completed(low(bytes))
        .with_u32(16, low(compared.entries * ENTRY))
}

/// Progress of applying a record.
#[derive(Clone, Copy)]
struct Applied {
    entries: u64,
    /// The offset of the last entry, in units.
    last: Option<u16>,
    error: Option<u8>,
}

pub(super) fn apply_delta(descriptor: &Descriptor, manner: Manner) -> Record {
    let entries = u64::from(descriptor.delta_bytes()) / ENTRY;
    let begun = Applied { entries: 0, last: None, error: None };
    let apply = |from: Applied, end| {
        let is_there = (from.entries..end).all(|number| entry_is_there(descriptor, from, number));
        is_there.then(|| guarded(|| apply(descriptor, from, end))).flatten()
    };
    if let Some(applied) = apply(begun, entries) {
        return summary(applied);
    }
    let mut applied = begun;
    while applied.entries < entries && applied.error.is_none() {
        let Some(next) = apply(applied, applied.entries + 1) else {
            let fault = fault_of_entry(descriptor, applied.entries);
            return fault_record(descriptor.has(flags::BLOCK_ON_FAULT), fault, manner)
                .with_completed(low(applied.entries * ENTRY));
        };
        applied = next;
    }
    summary(applied)
}

/// Applies the entries from `from` on up to number `end`. Called inside a guard.
fn apply(descriptor: &Descriptor, from: Applied, end: u64) -> Applied {
    let mut applied = from;
    while applied.entries < end {
        #[allow(unsafe_code)]
        // SAFETY: inside a guard.
        let entry = unsafe {
            bytes::<DeltaEntry>(within_memory(descriptor.first(), applied.entries * ENTRY))
                .read_unaligned()
        };
        let offset = u16::from_le_bytes([entry[0], entry[1]]);
        applied.error = match applied.last {
            Some(last) if offset <= last => Some(status::DELTA_NOT_INCREASING),
            _ if u64::from(offset) * UNIT >= u64::from(descriptor.size()) => {
                Some(status::DELTA_BEYOND)
            }
            _ => None,
        };
        if applied.error.is_some() {
            return applied;
        }
        let mut data = DeltaUnit::default();
        data.copy_from_slice(&entry[2..]);
        #[allow(unsafe_code)]
        // SAFETY: inside a guard; the destination is memory that the submitter names.
        unsafe {
            let to = within_memory(descriptor.second(), u64::from(offset) * UNIT);
            bytes_mut::<DeltaUnit>(to).write_unaligned(data);
        }
        applied = Applied { entries: applied.entries + 1, last: Some(offset), error: None };
    }
    applied
}

/// An address at an offset from another. Beyond 2^64 it returns 0, whose access faults as well.
fn within_memory(address: u64, offset: u64) -> u64 {
    address.checked_add(offset).unwrap_or(0)
}

fn entry_address(descriptor: &Descriptor, number: u64) -> u64 {
    descriptor.first().wrapping_add(number * ENTRY)
}

/// Whether neither a page of an entry nor one of its destination is absent by injection.
fn entry_is_there(descriptor: &Descriptor, from: Applied, number: u64) -> bool {
    if !absent_pages::is_any() {
        return true;
    }
    let address = entry_address(descriptor, number);
    let offset = crate::memory::read::<2>(address).map_or(0, u16::from_le_bytes);
    let at = u64::from(offset) * UNIT;
    // An entry that is wrong goes nowhere.
    let does_not_increase = number == from.entries && from.last.is_some_and(|last| offset <= last);
    let is_wrong = at >= u64::from(descriptor.size()) || does_not_increase;
    let to = descriptor.second().wrapping_add(at);
    absent_pages::are_there(Access::Data, address, ENTRY)
        && (is_wrong || absent_pages::are_there(Access::Data, to, UNIT))
}

/// The fault of an entry: of its own page if that cannot be read, otherwise of the page of its destination.
fn fault_of_entry(descriptor: &Descriptor, number: u64) -> Fault {
    let own = Span::read(FaultOperand::First, entry_address(descriptor, number), 1);
    let (_, fault) = own.reach(ENTRY);
    fault.unwrap_or_else(|| {
        let offset = crate::memory::read::<2>(own.address).map_or(0, u16::from_le_bytes);
        let to = descriptor.second().wrapping_add(u64::from(offset) * UNIT);
        let destination = Span::written(FaultOperand::Destination, to, 1);
        destination.fault_at(to)
    })
}

fn summary(applied: Applied) -> Record {
    match applied.error {
        None => Record::with_status(status::SUCCESS),
        Some(code) => Record::with_status(code).with_completed(low(applied.entries * ENTRY)),
    }
}
