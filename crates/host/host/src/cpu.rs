//! The CPU model, its sockets and last-level caches, as the kernel reports them.
//!
//! Source: /proc/cpuinfo, /sys/devices/system/cpu.

mod caches;
mod generation;
mod sockets;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::FileError;
use crate::root::Root;

pub use caches::{LastLevelCache, LlcMismatch, common_llc_ways};
pub use generation::{
    Generation, Generations, MaskShape, PortSwitch, Proof, SourceKind, WaysRegister,
    WriteDestination,
};
pub use sockets::{CpuSocket, online_cpus, sockets};

const CPUINFO: &str = "proc/cpuinfo";
const CPUS: &str = "sys/devices/system/cpu";
/// Greatest number of logical CPUs: a list with a higher CPU number is rejected as malformed.
const MOST_CPUS: u32 = 8192;

/// The CPU model, as /proc/cpuinfo describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CpuModel {
    /// Vendor of the CPU: `GenuineIntel` or `AuthenticAMD`.
    pub vendor: String,
    /// Display family of the CPU, as CPUID gives it.
    pub family: u32,
    /// Display model of the CPU, as CPUID gives it.
    pub model: u32,
    /// Stepping of the CPU, as CPUID gives it.
    pub stepping: u32,
    /// Model name, like "Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz".
    pub name: String,
    /// Whether this system is a virtual machine (flag `hypervisor`).
    pub virtual_machine: bool,
}

impl CpuModel {
    /// Reads /proc/cpuinfo.
    ///
    /// # Errors
    /// If the file cannot be read, or family, model or stepping is missing or not a number.
    pub fn read(root: &Root) -> Result<Self, FileError> {
        let text = root.read_first_paragraph(CPUINFO)?;
        let fields = first_processor(&text);
        let number = |key: &str| -> Result<u32, FileError> {
            let value = fields.get(key).copied().unwrap_or_default();
            value
                .parse()
                .map_err(|_| root.malformed(CPUINFO, value, "numbers of an x86 CPU's model"))
        };
        let word = |key: &str| fields.get(key).copied().unwrap_or_default().to_owned();
        Ok(Self {
            vendor: word("vendor_id"),
            family: number("cpu family")?,
            model: number("model")?,
            stepping: number("stepping")?,
            name: word("model name").split_whitespace().collect::<Vec<_>>().join(" "),
            virtual_machine: word("flags").split_whitespace().any(|flag| flag == "hypervisor"),
        })
    }
}

/// Fields of the first processor in /proc/cpuinfo.
fn first_processor(text: &str) -> BTreeMap<&str, &str> {
    let fields = text.lines().skip_while(|line| line.trim().is_empty());
    let fields = fields.take_while(|line| !line.trim().is_empty());
    fields
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.trim(), value.trim()))
        .collect()
}

/// A socket by the kernel's number of its package (`physical_package_id`). Not [`units::SocketId`],
/// which counts sockets from 0: the kernel's numbers may have gaps and take 32 bits.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct PackageId(pub u32);

impl fmt::Display for PackageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A logical CPU by the kernel's number (`/sys/devices/system/cpu/cpuN`).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct CpuId(pub u32);

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<CpuId> for u32 {
    fn from(cpu: CpuId) -> Self {
        cpu.0
    }
}

/// Parses a list like `0-3,8` into ascending CPU numbers; `None` if the text is not such a list or a
/// number is 8192 or more, or more than 8192 are listed.
#[must_use]
pub fn cpu_list(text: &str) -> Option<Vec<CpuId>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().ok()?;
        let last: u32 = last.trim().parse().ok()?;
        if last < first || last >= MOST_CPUS {
            return None;
        }
        // The kernel names a CPU once; a text that repeats its ranges would fill the memory.
        if cpus.len() + (last - first) as usize >= MOST_CPUS as usize {
            return None;
        }
        cpus.extend((first..=last).map(CpuId));
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// Formats ascending numbers as a list like `0-3,8`.
#[must_use]
pub fn format_list<N: Copy + Into<u32>>(numbers: &[N]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let numbers: Vec<u32> = numbers.iter().map(|&number| number.into()).collect();
    let mut rest = numbers.as_slice();
    while let Some(&first) = rest.first() {
        // In 64 bits, because the numbers of a hostile tree may end at the largest of 32 bits.
        let wanted = u64::from(first)..;
        let run =
            rest.iter().zip(wanted).take_while(|(n, wanted)| u64::from(**n) == *wanted).count();
        let last = rest[run - 1];
        parts.push(if run == 1 { first.to_string() } else { format!("{first}-{last}") });
        rest = &rest[run..];
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_cpus_reads_back_as_written() {
        let cpus = [0, 1, 2, 3, 8, 10, 11].map(CpuId);
        assert_eq!(cpu_list("0-3,8,10-11\n"), Some(cpus.to_vec()));
        assert_eq!(format_list(&cpus), "0-3,8,10-11");
        assert_eq!(format_list(&[u32::MAX]), "4294967295");
    }

    #[test]
    fn a_list_that_would_fill_the_memory_is_no_list() {
        assert_eq!(cpu_list("0-4294967295"), None);
        assert_eq!(cpu_list("5-2"), None);
        assert_eq!(cpu_list("many"), None);
        assert_eq!(cpu_list(&"0-8191,".repeat(100_000)), None);
        assert_eq!(cpu_list("0-8191").map(|cpus| cpus.len()), Some(8192));
    }
}
