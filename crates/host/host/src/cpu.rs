//! The CPU model, its sockets and last-level caches, as the kernel reports them.
//!
//! Source: /proc/cpuinfo, /sys/devices/system/cpu.

mod generation;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::FileError;
use crate::root::Root;

pub use generation::{
    Generation, Generations, MaskShape, PortSwitch, Proof, SourceKind, WaysRegister,
    WriteDestination,
};

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
        let text = root.read_text(CPUINFO)?;
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

/// A last-level cache: its size, its ways and the logical CPUs that share it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LastLevelCache {
    /// The kernel's number of the cache, which resctrl uses as domain.
    pub id: u32,
    /// Size of the cache, in bytes.
    pub size_bytes: u64,
    /// Number of ways of the cache.
    pub ways: u32,
    /// Logical CPUs that share the cache.
    pub cpus: Vec<CpuId>,
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

/// A socket and its logical CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CpuSocket {
    /// Number of the package.
    pub id: PackageId,
    /// Online logical CPUs of the socket.
    pub cpus: Vec<CpuId>,
    /// Lowest logical CPU of each core: siblings may have any numbers.
    pub core_cpus: Vec<CpuId>,
    /// Last-level caches: one for each die on Intel, one for each core complex on AMD.
    pub caches: Vec<LastLevelCache>,
}

impl CpuSocket {
    /// Number of cores of the socket.
    #[must_use]
    pub fn cores(&self) -> usize {
        self.core_cpus.len()
    }

    /// Ways of the last-level cache, 1 to 32; `None` if the kernel reports no or another number.
    #[must_use]
    pub fn ways(&self) -> Option<u32> {
        self.caches.first().map(|cache| cache.ways).filter(|ways| (1..=32).contains(ways))
    }

    /// The logical CPU through which the socket's registers are read and written.
    #[must_use]
    pub fn first_cpu(&self) -> CpuId {
        self.cpus.first().copied().unwrap_or(CpuId(0))
    }
}

/// Reads the sockets of the machine, in the order of their numbers.
///
/// # Errors
/// If the kernel's list of CPUs, or the topology of a CPU, cannot be read or is malformed.
pub fn sockets(root: &Root) -> Result<Vec<CpuSocket>, FileError> {
    let path = format!("{CPUS}/online");
    let text = root.read_line(&path)?;
    let online = cpu_list(&text).ok_or_else(|| root.malformed(&path, &text, "a list of CPUs"))?;
    let mut by_id: BTreeMap<PackageId, (Vec<CpuId>, BTreeMap<u64, CpuId>)> = BTreeMap::new();
    for cpu in online {
        let topology = format!("{CPUS}/cpu{cpu}/topology");
        let package = root.read_number(&format!("{topology}/physical_package_id"))?;
        let core = root.read_number(&format!("{topology}/core_id"))?;
        let package = u32::try_from(package)
            .map_err(|_| root.malformed(&topology, &package.to_string(), "a package number"))?;
        let entry = by_id.entry(PackageId(package)).or_default();
        entry.0.push(cpu);
        entry.1.entry(core).or_insert(cpu);
    }
    let socket = |(id, (cpus, cores)): (PackageId, (Vec<CpuId>, BTreeMap<u64, CpuId>))| {
        let mut core_cpus: Vec<CpuId> = cores.into_values().collect();
        core_cpus.sort_unstable();
        let caches = caches(root, &cpus);
        CpuSocket { id, cpus, core_cpus, caches }
    };
    Ok(by_id.into_iter().map(socket).collect())
}

/// Last-level caches of the given CPUs; empty if the kernel does not describe them.
fn caches(root: &Root, cpus: &[CpuId]) -> Vec<LastLevelCache> {
    let mut found: BTreeMap<u32, LastLevelCache> = BTreeMap::new();
    for &cpu in cpus {
        let Some(cache) = last_level_cache(root, cpu) else { continue };
        found.entry(cache.id).or_insert(cache);
    }
    found.into_values().collect()
}

fn last_level_cache(root: &Root, cpu: CpuId) -> Option<LastLevelCache> {
    let folder = format!("{CPUS}/cpu{cpu}/cache");
    let mut last: Option<(u64, String)> = None;
    for name in root.list(&folder).ok()? {
        let path = format!("{folder}/{name}");
        let Ok(level) = root.read_number(&format!("{path}/level")) else { continue };
        if last.as_ref().is_none_or(|(deepest, _)| level > *deepest) {
            last = Some((level, path));
        }
    }
    let (_, path) = last?;
    let size = root.read_line(&format!("{path}/size")).ok()?;
    let shared = root.read_line(&format!("{path}/shared_cpu_list")).ok()?;
    let cpus = cpu_list(&shared)?;
    let first = *cpus.first()?;
    Some(LastLevelCache {
        id: root
            .read_number(&format!("{path}/id"))
            .ok()
            .and_then(|id| id.try_into().ok())
            .unwrap_or(first.0),
        size_bytes: size_bytes(&size)?,
        ways: root.read_number(&format!("{path}/ways_of_associativity")).ok()?.try_into().ok()?,
        cpus,
    })
}

/// Parses a size like `32768K` or `32M` into bytes; `None` if it is malformed or overflows.
fn size_bytes(text: &str) -> Option<u64> {
    match text.strip_suffix('K') {
        Some(number) => number.parse::<u64>().ok()?.checked_mul(1024),
        None => match text.strip_suffix('M') {
            Some(number) => number.parse::<u64>().ok()?.checked_mul(1 << 20),
            None => text.parse().ok(),
        },
    }
}

/// Parses a list like `0-3,8` into ascending CPU numbers; `None` if the text is not such a list or a
/// number is 8192 or more.
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
    }

    #[test]
    fn sizes_have_the_kernels_units() {
        assert_eq!(size_bytes("32768K"), Some(32 << 20));
        assert_eq!(size_bytes("18446744073709551615K"), None);
    }
}
