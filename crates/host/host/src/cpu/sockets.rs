//! Sockets: their online CPUs, cores and last-level caches.

use std::collections::BTreeMap;

use serde::Serialize;

use super::caches::DescribedCaches;
use super::{CPUS, CpuId, LastLevelCache, PackageId, cpu_list};
use crate::error::FileError;
use crate::root::Root;

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
    /// Online CPUs whose last-level cache the kernel does not describe.
    pub cpus_without_llc: Vec<CpuId>,
    /// Online CPUs whose description of a last-level cache differs from that of another CPU.
    pub contradicting_cpus: Vec<CpuId>,
}

impl CpuSocket {
    /// Number of cores of the socket.
    #[must_use]
    pub fn cores(&self) -> usize {
        self.core_cpus.len()
    }

    /// The logical CPU through which the socket's registers are read and written.
    #[must_use]
    pub fn first_cpu(&self) -> CpuId {
        self.cpus.first().copied().unwrap_or(CpuId(0))
    }
}

/// Identifies the core of a CPU within its package.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum CoreKey {
    /// The CPUs that share the core.
    Siblings(Vec<CpuId>),
    /// Numbers of die, cluster and core: a core's number is only unique within the next larger part.
    Numbers([Option<u64>; 3]),
}

impl CoreKey {
    fn read(root: &Root, cpu: CpuId, topology: &str) -> Result<Self, FileError> {
        // The second name is that of kernels before 5.2 (recalled).
        for name in ["core_cpus_list", "thread_siblings_list"] {
            let text = root.read_line(&format!("{topology}/{name}")).ok();
            let siblings = text.and_then(|text| cpu_list(&text));
            if let Some(siblings) = siblings.filter(|siblings| siblings.contains(&cpu)) {
                return Ok(Self::Siblings(siblings));
            }
        }
        let number = |name: &str| root.read_number(&format!("{topology}/{name}"));
        Ok(Self::Numbers([
            number("die_id").ok(),
            number("cluster_id").ok(),
            Some(number("core_id")?),
        ]))
    }
}

/// Online CPUs of a package, and the lowest CPU of each core.
type Package = (Vec<CpuId>, BTreeMap<CoreKey, CpuId>);

/// Reads the sockets of the machine that have online CPUs, in the order of their numbers.
///
/// # Errors
/// If the kernel's list of CPUs, or the topology of a CPU, cannot be read or is malformed.
pub fn sockets(root: &Root) -> Result<Vec<CpuSocket>, FileError> {
    let mut by_id: BTreeMap<PackageId, Package> = BTreeMap::new();
    for cpu in online_cpus(root)? {
        let topology = format!("{CPUS}/cpu{cpu}/topology");
        let package = root.read_number(&format!("{topology}/physical_package_id"))?;
        let package = u32::try_from(package)
            .map_err(|_| root.malformed(&topology, &package.to_string(), "a package number"))?;
        let core = CoreKey::read(root, cpu, &topology)?;
        let entry = by_id.entry(PackageId(package)).or_default();
        entry.0.push(cpu);
        entry.1.entry(core).or_insert(cpu);
    }
    let socket = |(id, (cpus, cores)): (PackageId, Package)| {
        let mut core_cpus: Vec<CpuId> = cores.into_values().collect();
        core_cpus.sort_unstable();
        let described = DescribedCaches::read(root, &cpus);
        CpuSocket {
            id,
            cpus,
            core_cpus,
            caches: described.caches,
            cpus_without_llc: described.without,
            contradicting_cpus: described.contradicting,
        }
    };
    Ok(by_id.into_iter().map(socket).collect())
}

/// Reads the kernel's list of online CPUs.
///
/// # Errors
/// If it cannot be read or is malformed.
pub fn online_cpus(root: &Root) -> Result<Vec<CpuId>, FileError> {
    let path = format!("{CPUS}/online");
    let text = root.read_line(&path)?;
    cpu_list(&text).ok_or_else(|| root.malformed(&path, &text, "a list of CPUs"))
}
