//! Description of a mask of cache ways, for messages.

use crate::cpu::format_list;

/// Describes the ways of a mask, like `2 of 11 ways (9-10)`.
#[must_use]
pub fn describe_ways(mask: u64, ways: u32) -> String {
    let numbers: Vec<u32> = (0..64).filter(|way| mask >> way & 1 == 1).collect();
    match numbers.len() {
        0 => format!("none of {ways} ways"),
        count => format!("{count} of {ways} ways ({})", format_list(&numbers)),
    }
}
