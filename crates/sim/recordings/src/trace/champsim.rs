//! ChampSim's instruction records.
//!
//! Models: of each instruction its fetch, then its loads, then its stores.
//! Source: `input_instr` in ChampSim's inc/trace_instruction.h: instruction pointer, is_branch,
//! branch_taken, 2 + 4 registers, 2 addresses that are written, 4 that are read; zero means none.
//! Simplifies: sizes are not recorded, so a reference is one byte; branches and registers are
//! ignored.

use super::error::TraceFault;
use super::input::TraceInput;
use super::{BLOCK_REFERENCES, TraceFormat};
use units::{Reference, ReferenceKind};

/// Size of a record in bytes.
pub(super) const RECORD_BYTES: usize = 64;
/// A fetch, four loads and two stores.
const MOST_REFERENCES: usize = 7;
/// Offsets of the two flags in a record.
const FLAGS: [(usize, &str); 2] = [(8, "is_branch"), (9, "branch_taken")];
const STORES_AT: usize = 16;
const LOADS_AT: usize = 32;

/// Appends a block of references.
pub(super) fn read_block(
    input: &mut TraceInput,
    into: &mut Vec<Reference>,
) -> Result<(), TraceFault> {
    while into.len() + MOST_REFERENCES <= BLOCK_REFERENCES {
        let (records, rest) = input.ready().as_chunks::<RECORD_BYTES>();
        let free = (BLOCK_REFERENCES - into.len()) / MOST_REFERENCES;
        let records = &records[..records.len().min(free)];
        if records.is_empty() {
            let present = rest.len();
            if !input.fill()? {
                return at_end(input, present);
            }
            continue;
        }
        for (at, record) in records.iter().enumerate() {
            append(record, into)
                .map_err(|(field, found)| bad_record(input.offset(), at, field, found))?;
        }
        let done = records.len() * RECORD_BYTES;
        input.consume(done);
    }
    Ok(())
}

fn append(
    record: &[u8; RECORD_BYTES],
    into: &mut Vec<Reference>,
) -> Result<(), (&'static str, u8)> {
    for (at, field) in FLAGS {
        if record[at] > 1 {
            return Err((field, record[at]));
        }
    }
    let (words, _) = record.as_chunks::<8>();
    let addresses = |bytes: std::ops::Range<usize>| {
        words[bytes.start / 8..bytes.end / 8].iter().map(|word| u64::from_le_bytes(*word))
    };
    let mut push = |address, kind| into.push(Reference { address, bytes: 1, kind });
    addresses(0..8).for_each(|address| push(address, ReferenceKind::Fetch));
    let touched = |address: &u64| *address != 0;
    addresses(LOADS_AT..RECORD_BYTES)
        .filter(touched)
        .for_each(|address| push(address, ReferenceKind::Load));
    addresses(STORES_AT..LOADS_AT)
        .filter(touched)
        .for_each(|address| push(address, ReferenceKind::Store));
    Ok(())
}

fn bad_record(start: u64, record: usize, field: &'static str, found: u8) -> TraceFault {
    TraceFault::BadRecord { offset: start + (record * RECORD_BYTES) as u64, field, found }
}

/// Checks that the end of the file is between two records.
fn at_end(input: &TraceInput, present: usize) -> Result<(), TraceFault> {
    if present == 0 {
        return Ok(());
    }
    Err(TraceFault::TruncatedRecord {
        offset: input.offset(),
        present,
        needed: RECORD_BYTES,
        format: TraceFormat::ChampSim,
    })
}
