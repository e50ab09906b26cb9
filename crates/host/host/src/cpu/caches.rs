//! Last-level caches: the caches of level 3, and whether all CPUs describe the same ones.
//!
//! Source: Linux Documentation/ABI/testing/sysfs-devices-system-cpu (cache/index*). A cache of level 4 is
//! behind the memory controller and one of level 2 belongs to a core: the ways of I/O are in neither.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{CPUS, CpuId, CpuSocket, PackageId, cpu_list, format_list};
use crate::root::Root;

/// Level of the cache whose slices and ways devices write to.
const LLC_LEVEL: u64 = 3;

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

/// Reason why the CPUs of a machine do not name one kind of last-level cache: nothing is written then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LlcMismatch {
    /// no CPU of a socket has a usable description
    #[error(
        "the kernel does not say how many ways the LLC of socket {socket} has \
         (/sys/devices/system/cpu/cpu{cpu}/cache)"
    )]
    NotDescribed {
        /// The socket.
        socket: PackageId,
        /// First CPU of the socket.
        cpu: CpuId,
    },
    /// some CPUs of a socket have no cache of level 3
    #[error(
        "the kernel describes the LLC of socket {socket} at some of its CPUs only; none is described at \
         CPUs {} (/sys/devices/system/cpu/cpuN/cache)",
        format_list(.cpus)
    )]
    SomeWithout {
        /// The socket.
        socket: PackageId,
        /// Online CPUs without a cache of level 3.
        cpus: Vec<CpuId>,
    },
    /// CPUs that share a cache describe it differently
    #[error(
        "the CPUs of socket {socket} describe its LLC differently: CPUs {} contradict the others \
         (/sys/devices/system/cpu/cpuN/cache)",
        format_list(.cpus)
    )]
    Contradiction {
        /// The socket.
        socket: PackageId,
        /// CPUs whose description is not that of the others.
        cpus: Vec<CpuId>,
    },
    /// sockets, or dies of a socket, have different caches
    #[error(
        "the last-level caches of this machine differ: socket {} has one of {} KiB and {} ways, socket {} \
         one of {} KiB and {} ways; the register of ways is described for equal ones",
        .first.0, .first.1 >> 10, .first.2, .other.0, .other.1 >> 10, .other.2
    )]
    Different {
        /// Socket, size in bytes and ways of the first cache.
        first: (PackageId, u64, u32),
        /// Socket, size in bytes and ways of one that differs from it.
        other: (PackageId, u64, u32),
    },
}

/// Ways of the last-level caches of all sockets, 1 to 32.
///
/// # Errors
/// If a CPU does not describe its cache, or two caches have different sizes or ways.
pub fn common_llc_ways(sockets: &[CpuSocket]) -> Result<u32, LlcMismatch> {
    for socket in sockets {
        check_described(socket)?;
    }
    let caches =
        || sockets.iter().flat_map(|socket| socket.caches.iter().map(move |it| (socket.id, it)));
    let shape =
        |(socket, cache): (PackageId, &LastLevelCache)| (socket, cache.size_bytes, cache.ways);
    let first = caches().map(shape).next();
    let not_described = || LlcMismatch::NotDescribed {
        socket: sockets.first().map(|socket| socket.id).unwrap_or_default(),
        cpu: sockets.first().map(CpuSocket::first_cpu).unwrap_or_default(),
    };
    let first = first.ok_or_else(not_described)?;
    match caches().map(shape).find(|other| (other.1, other.2) != (first.1, first.2)) {
        Some(other) => Err(LlcMismatch::Different { first, other }),
        None => Ok(first.2),
    }
}

/// Checks that all CPUs of a socket describe its caches, and the same ones.
fn check_described(socket: &CpuSocket) -> Result<(), LlcMismatch> {
    let id = socket.id;
    let has_ways = |cache: &LastLevelCache| (1..=32).contains(&cache.ways);
    if socket.caches.is_empty() || !socket.caches.iter().all(has_ways) {
        return Err(LlcMismatch::NotDescribed { socket: id, cpu: socket.first_cpu() });
    }
    if !socket.cpus_without_llc.is_empty() {
        let cpus = socket.cpus_without_llc.clone();
        return Err(LlcMismatch::SomeWithout { socket: id, cpus });
    }
    if !socket.contradicting_cpus.is_empty() {
        let cpus = socket.contradicting_cpus.clone();
        return Err(LlcMismatch::Contradiction { socket: id, cpus });
    }
    Ok(())
}

/// Last-level caches as the CPUs of a socket describe them.
pub(super) struct DescribedCaches {
    /// The caches, by their numbers.
    pub(super) caches: Vec<LastLevelCache>,
    /// CPUs without a cache of level 3.
    pub(super) without: Vec<CpuId>,
    /// CPUs that describe a cache otherwise than a CPU with which they share it.
    pub(super) contradicting: Vec<CpuId>,
}

impl DescribedCaches {
    /// Reads the caches of the given CPUs.
    pub(super) fn read(root: &Root, cpus: &[CpuId]) -> Self {
        let by_cpu: BTreeMap<CpuId, LastLevelCache> =
            cpus.iter().filter_map(|&cpu| Some((cpu, level_3_cache(root, cpu)?))).collect();
        let mut caches: BTreeMap<u32, LastLevelCache> = BTreeMap::new();
        for cache in by_cpu.values() {
            caches.entry(cache.id).or_insert_with(|| cache.clone());
        }
        let agrees = |(cpu, cache): (&CpuId, &LastLevelCache)| {
            // The first of those that share it stands for them.
            let first = cache.cpus.iter().find_map(|other| by_cpu.get(other));
            caches.get(&cache.id) == Some(cache) && cache.cpus.contains(cpu) && first == Some(cache)
        };
        let contradicting = by_cpu.iter().filter(|one| !agrees(*one)).map(|(&cpu, _)| cpu);
        Self {
            contradicting: contradicting.collect(),
            without: cpus.iter().copied().filter(|cpu| !by_cpu.contains_key(cpu)).collect(),
            caches: caches.into_values().collect(),
        }
    }
}

/// The data or unified cache of level 3 of a CPU; `None` if the kernel does not describe one.
fn level_3_cache(root: &Root, cpu: CpuId) -> Option<LastLevelCache> {
    let folder = format!("{CPUS}/cpu{cpu}/cache");
    let is_llc = |path: &String| {
        let kind = root.read_line(&format!("{path}/type")).unwrap_or_default();
        root.read_number(&format!("{path}/level")) == Ok(LLC_LEVEL) && kind != "Instruction"
    };
    let names = root.list(&folder).ok()?;
    let path = names.iter().map(|name| format!("{folder}/{name}")).find(is_llc)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_kernels_units() {
        assert_eq!(size_bytes("32768K"), Some(32 << 20));
        assert_eq!(size_bytes("18446744073709551615K"), None);
    }
}
