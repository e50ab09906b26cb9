//! Boxes of a unit: every slice, memory channel or I/O stack has one.

use crate::cpu::{CpuId, cpu_list};
use crate::error::FileError;
use crate::root::Root;

const SOURCES: &str = "sys/bus/event_source/devices";

/// A box of a unit, as the kernel lists it for all sockets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncoreBox {
    /// The kernel's name, like `uncore_cha_3`.
    pub name: String,
    /// Number of the box within the unit, from 0.
    pub number: u32,
    /// The kernel's type number of the event source.
    pub kind: u32,
    /// Logical CPUs that can read the box, one for each socket or die.
    pub cpus: Vec<CpuId>,
}

/// Reads the boxes of a unit, in the order of their numbers.
///
/// # Errors
/// If the list of event sources cannot be read, or a box's files are malformed.
pub fn boxes(root: &Root, unit: &str) -> Result<Vec<UncoreBox>, FileError> {
    let mut found = Vec::new();
    for name in root.list(SOURCES)? {
        let Some(number) = box_number(&name, unit) else { continue };
        let folder = format!("{SOURCES}/{name}");
        let kind = root.read_number(&format!("{folder}/type"))?;
        let mask = root.read_line(&format!("{folder}/cpumask"))?;
        let malformed = || root.malformed(&folder, &mask, "an event source with type and cpumask");
        found.push(UncoreBox {
            number,
            kind: u32::try_from(kind).map_err(|_| malformed())?,
            cpus: cpu_list(&mask).ok_or_else(malformed)?,
            name,
        });
    }
    found.sort_by_key(|found| found.number);
    Ok(found)
}

/// Counts the boxes of a unit, which needs no privilege; 0 if the kernel lists none.
#[must_use]
pub fn count_boxes(root: &Root, unit: &str) -> usize {
    let names = root.list(SOURCES).unwrap_or_default();
    names.iter().filter(|name| box_number(name, unit).is_some()).count()
}

/// Number of the box with a name: `uncore_cha_3` is box 3 of `uncore_cha`, `dsa3` is device 3 of `dsa`,
/// and a unit with a single box has no number (0).
fn box_number(name: &str, unit: &str) -> Option<u32> {
    let rest = name.strip_prefix(unit)?;
    let digits = rest.strip_prefix('_').unwrap_or(rest);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    if rest.is_empty() { Some(0) } else { digits.parse().ok().filter(|_| is_number) }
}
