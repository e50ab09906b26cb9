//! Bare addresses.
//!
//! Models: loads, in the order of the file.
//! Source: eight bytes per address, little-endian; there is no header.
//! Simplifies: there are neither sizes nor stores, so a reference is a load of one byte.

use super::error::TraceFault;
use super::input::TraceInput;
use super::{BATCH_LOADS, BLOCK_REFERENCES, TraceFormat};
use units::{Reference, ReferenceKind};

const RECORD_BYTES: usize = 8;

/// Appends a block of references.
pub(super) fn read_block(
    input: &mut TraceInput,
    into: &mut Vec<Reference>,
) -> Result<(), TraceFault> {
    read(input, into, BLOCK_REFERENCES, |address| Reference {
        address,
        bytes: 1,
        kind: ReferenceKind::Load,
    })
}

/// Appends the addresses of a larger block.
pub(super) fn read_addresses(
    input: &mut TraceInput,
    into: &mut Vec<u64>,
) -> Result<(), TraceFault> {
    read(input, into, BATCH_LOADS, |address| address)
}

fn read<T>(
    input: &mut TraceInput,
    into: &mut Vec<T>,
    most: usize,
    of: impl Fn(u64) -> T,
) -> Result<(), TraceFault> {
    while into.len() < most {
        let (records, rest) = input.ready().as_chunks::<RECORD_BYTES>();
        let records = &records[..records.len().min(most - into.len())];
        into.extend(records.iter().map(|record| of(u64::from_le_bytes(*record))));
        let (done, present) = (records.len() * RECORD_BYTES, rest.len());
        input.consume(done);
        if done == 0 && !input.fill()? {
            return if present == 0 { Ok(()) } else { Err(truncated(input, present)) };
        }
    }
    Ok(())
}

fn truncated(input: &TraceInput, present: usize) -> TraceFault {
    TraceFault::TruncatedRecord {
        offset: input.offset(),
        present,
        needed: RECORD_BYTES,
        format: TraceFormat::Raw64,
    }
}
