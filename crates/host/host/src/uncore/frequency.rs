//! The clock of the uncore: mesh or ring, and LLC.
//!
//! Source: Linux `Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst`; MSR 0x620, 0x621.

use serde::Serialize;

use crate::cpu::{CpuId, CpuSocket};
use crate::error::{FileError, Problem};
use crate::registers::Registers;
use crate::root::Root;

const FOLDER: &str = "sys/devices/system/cpu/intel_uncore_frequency";
const RATIO_LIMIT: u32 = 0x620;
const RATIO_NOW: u32 = 0x621;
/// Unit of the ratios in the registers.
const STEP_MHZ: u64 = 100;

/// Clock of a socket's uncore: limits and current value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FrequencyRange {
    /// Lower limit in MHz.
    pub least_mhz: u64,
    /// Upper limit in MHz.
    pub most_mhz: u64,
    /// Current clock in MHz; `None` if it is not reported or differs among dies.
    pub now_mhz: Option<u64>,
    /// Source: `intel_uncore_frequency` or `MSR 0x620`.
    pub from: &'static str,
}

/// Error of reading the uncore clock of a socket.
#[derive(Debug, thiserror::Error)]
pub enum ClockError {
    /// a file or register cannot be read
    #[error("{0}")]
    File(#[from] FileError),
    /// the clock would be that of one die, or of a register that may have another meaning
    #[error("{0}")]
    NotTold(String),
}

/// Reads the uncore clock of a socket: from sysfs, else from MSR 0x620. Without `registers` the MSR is
/// not read.
///
/// # Errors
/// If neither can be read, or the socket's dies have different clocks.
pub fn frequency(
    root: &Root,
    registers: Option<&dyn Registers>,
    socket: &CpuSocket,
) -> Result<FrequencyRange, ClockError> {
    let dies = socket.caches.len().max(1);
    let folder = |die: usize| format!("{FOLDER}/package_{:02}_die_{die:02}", socket.id);
    if root.exists(&folder(0)) {
        if let Some(die) = (0..dies).find(|die| !root.exists(&folder(*die))) {
            return Err(ClockError::NotTold(format!("the kernel shows no clock of its die {die}")));
        }
        let clocks: Result<Vec<_>, _> =
            (0..dies).map(|die| read_sysfs(root, &folder(die))).collect();
        return merge_dies(clocks?);
    }
    if dies > 1 {
        return Err(ClockError::NotTold(format!(
            "MSR {RATIO_LIMIT:#x} is the clock of one of its {dies} dies; intel_uncore_frequency reports each"
        )));
    }
    let registers = registers.ok_or_else(|| {
        ClockError::NotTold(
            "registers are read on servers that are known, and not in virtual machines".into(),
        )
    })?;
    read_registers(registers, socket.first_cpu())
}

fn read_sysfs(root: &Root, folder: &str) -> Result<FrequencyRange, FileError> {
    let mhz = |name: &str| Ok(root.read_number(&format!("{folder}/{name}"))? / 1000);
    Ok(FrequencyRange {
        least_mhz: mhz("min_freq_khz")?,
        most_mhz: mhz("max_freq_khz")?,
        now_mhz: mhz("current_freq_khz").ok(),
        from: "intel_uncore_frequency",
    })
}

/// The clock of all dies: their limits must be equal; the current clock is given if it is equal.
fn merge_dies(mut clocks: Vec<FrequencyRange>) -> Result<FrequencyRange, ClockError> {
    let limits = |clock: &FrequencyRange| (clock.least_mhz, clock.most_mhz);
    if clocks.iter().all(|clock| limits(clock) == limits(&clocks[0])) {
        let is_same_now = clocks.iter().all(|clock| clock.now_mhz == clocks[0].now_mhz);
        let first = clocks.swap_remove(0);
        return Ok(FrequencyRange { now_mhz: first.now_mhz.filter(|_| is_same_now), ..first });
    }
    let in_words = |(die, clock): (usize, &FrequencyRange)| {
        format!("die {die} {} to {} MHz", clock.least_mhz, clock.most_mhz)
    };
    let all: Vec<String> = clocks.iter().enumerate().map(in_words).collect();
    Err(ClockError::NotTold(format!("its dies differ: {}", all.join("; "))))
}

fn read_registers(registers: &dyn Registers, cpu: CpuId) -> Result<FrequencyRange, ClockError> {
    let limit = registers.read(cpu, RATIO_LIMIT)?;
    if limit == u64::MAX {
        return Err(FileError::new(format!("MSR {RATIO_LIMIT:#x}"), Problem::NoAnswer).into());
    }
    if limit & 0x7f == 0 {
        return Err(ClockError::NotTold(format!(
            "MSR {RATIO_LIMIT:#x} reads {limit:#x}, which is not a ratio"
        )));
    }
    // All ones is not a ratio: the register does not answer.
    let now = registers.read(cpu, RATIO_NOW).ok().filter(|now| *now != u64::MAX);
    Ok(FrequencyRange {
        least_mhz: (limit >> 8 & 0x7f) * STEP_MHZ,
        most_mhz: (limit & 0x7f) * STEP_MHZ,
        now_mhz: now.map(|ratio| (ratio & 0x7f) * STEP_MHZ),
        from: "MSR 0x620",
    })
}
