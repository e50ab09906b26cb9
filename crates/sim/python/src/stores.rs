//! The checksum that DuckDB keeps with each block of its files, and with each entry of their logs.
//!
//! Source: DuckDB, src/common/checksum.cpp.

use pyo3::prelude::*;

const WORD_BYTES: usize = size_of::<u64>();
const START: u64 = 5381;
const WORD_FACTOR: u64 = 0xbf58_476d_1ce4_e5b9;
const REST_FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
const REST_START: u64 = 0xe17a_1465;
const REST_SHIFT: u32 = 47;

/// The checksum of the bytes of a block of a store, or of an entry of its log.
#[pyfunction]
pub(crate) fn store_checksum(content: &[u8]) -> u64 {
    let (words, rest) = content.as_chunks::<WORD_BYTES>();
    let start = if rest.is_empty() { START } else { START ^ of_rest(rest) };
    words.iter().fold(start, |sum, word| sum ^ u64::from_le_bytes(*word).wrapping_mul(WORD_FACTOR))
}

/// The hash of the bytes behind the last whole word.
fn of_rest(rest: &[u8]) -> u64 {
    let start = REST_START ^ (rest.len() as u64).wrapping_mul(REST_FACTOR);
    let bits = rest.iter().rev().fold(0, |bits: u64, byte| bits << u8::BITS | u64::from(*byte));
    let hash = (start ^ bits).wrapping_mul(REST_FACTOR);
    let hash = (hash ^ hash >> REST_SHIFT).wrapping_mul(REST_FACTOR);
    hash ^ hash >> REST_SHIFT
}
