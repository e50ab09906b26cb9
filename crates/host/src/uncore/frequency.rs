//! The clock of the uncore: mesh or ring, and LLC.
//!
//! Source: Linux `Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst`; MSR 0x620, 0x621.

use serde::Serialize;

use crate::cpu::{CpuId, PackageId};
use crate::error::{FileError, Problem};
use crate::registers::Registers;
use crate::root::Root;

const FOLDER: &str = "sys/devices/system/cpu/intel_uncore_frequency";
const RATIO_LIMIT: u32 = 0x620;
const RATIO_NOW: u32 = 0x621;
/// A ratio is a multiple of this.
const STEP_MHZ: u64 = 100;

/// What the uncore may do, and does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FrequencyRange {
    /// Least, in MHz.
    pub least_mhz: u64,
    /// Most, in MHz.
    pub most_mhz: u64,
    /// Now, in MHz.
    pub now_mhz: Option<u64>,
    /// Where this was read.
    pub from: &'static str,
}

/// The uncore clock of a socket: from sysfs, else from the register.
///
/// # Errors
/// If neither can be read.
pub fn frequency(
    root: &Root,
    registers: &dyn Registers,
    socket: PackageId,
    cpu: CpuId,
) -> Result<FrequencyRange, FileError> {
    let folder = format!("{FOLDER}/package_{socket:02}_die_00");
    if root.exists(&folder) {
        let mhz = |name: &str| Ok(root.read_number(&format!("{folder}/{name}"))? / 1000);
        return Ok(FrequencyRange {
            least_mhz: mhz("min_freq_khz")?,
            most_mhz: mhz("max_freq_khz")?,
            now_mhz: mhz("current_freq_khz").ok(),
            from: "intel_uncore_frequency",
        });
    }
    let limit = registers.read(cpu, RATIO_LIMIT)?;
    if limit == u64::MAX {
        return Err(FileError::new(format!("MSR {RATIO_LIMIT:#x}"), Problem::NoAnswer));
    }
    let now = registers.read(cpu, RATIO_NOW).ok();
    Ok(FrequencyRange {
        least_mhz: (limit >> 8 & 0x7f) * STEP_MHZ,
        most_mhz: (limit & 0x7f) * STEP_MHZ,
        now_mhz: now.map(|ratio| (ratio & 0x7f) * STEP_MHZ),
        from: "MSR 0x620",
    })
}
