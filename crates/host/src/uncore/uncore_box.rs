//! The boxes of a unit: every slice, memory channel or I/O stack has one.

use crate::cpu::{CpuId, cpu_list};
use crate::error::FileError;
use crate::root::Root;

const SOURCES: &str = "sys/bus/event_source/devices";

/// One box of a unit, as seen from one socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncoreBox {
    /// The kernel's name of it.
    pub name: String,
    /// Its number.
    pub number: u32,
    /// The kernel's number of the event source.
    pub kind: u32,
    /// The logical CPUs that read it, one for each socket.
    pub cpus: Vec<CpuId>,
}

/// The boxes of a unit, by number.
///
/// # Errors
/// If the kernel lists no event sources, or a box is malformed.
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

/// How many boxes a unit has, which needs no privilege.
#[must_use]
pub fn count_boxes(root: &Root, unit: &str) -> usize {
    let names = root.list(SOURCES).unwrap_or_default();
    names.iter().filter(|name| box_number(name, unit).is_some()).count()
}

/// `uncore_cha_3` is box 3; a unit with a single box has no number, and `dsa3` is one of several devices.
fn box_number(name: &str, unit: &str) -> Option<u32> {
    let rest = name.strip_prefix(unit)?;
    let digits = rest.strip_prefix('_').unwrap_or(rest);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    if rest.is_empty() { Some(0) } else { digits.parse().ok().filter(|_| is_number) }
}
