//! What belongs to a socket: cache, ways of I/O, clock, huge pages.

use serde::Serialize;

use super::{Notes, PortStatus};
use crate::controls::{ControlTarget, check_one_die};
use crate::cpu::{CpuId, CpuSocket, Generation, LastLevelCache, PackageId, Proof};
use crate::error::Problem;
use crate::machine::Host;
use crate::numa::{node_cpus, nodes_of_socket};
use crate::registers::Registers;
use crate::root::Root;
use crate::unavailable::Unavailable;
use crate::uncore::{ClockError, EventTable, FrequencyRange, count_boxes, frequency};

/// The ways that I/O allocates in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IoWays {
    /// The register's value.
    #[serde(serialize_with = "crate::hex::value")]
    pub mask: u64,
    /// Ways of the cache.
    pub of_ways: u32,
    /// The register.
    pub msr: u32,
    /// Whether it was seen to have an effect on this generation.
    pub proof: Proof,
}

/// Huge pages of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HugePageCounts {
    /// Size in KiB.
    pub size_kib: u64,
    /// Pages.
    pub pages: u64,
    /// Free ones.
    pub free: u64,
}

/// One socket.
#[derive(Clone, Debug, Serialize)]
pub struct SocketStatus {
    /// The package's number.
    pub id: PackageId,
    /// Its CPUs.
    pub cpus: Vec<CpuId>,
    /// Its cores.
    pub cores: usize,
    /// Its last-level caches.
    pub caches: Vec<LastLevelCache>,
    /// Slices of its last-level cache, where their counters are visible.
    pub slices: Option<usize>,
    /// The ways that I/O allocates in, where a register says.
    pub io_ways: Option<IoWays>,
    /// The clock of the uncore.
    pub uncore: Option<FrequencyRange>,
    /// Huge pages of its memory.
    pub hugepages: Vec<HugePageCounts>,
    /// Its root ports with what is below them.
    pub ports: Vec<PortStatus>,
}

pub(super) fn read(
    host: &Host,
    socket: &CpuSocket,
    generation: Option<&Generation>,
    controls: Option<&Generation>,
    notes: &mut Notes,
) -> SocketStatus {
    if socket.caches.is_empty() {
        notes.add(Unavailable::absent(
            format!("the last-level cache of socket {}", socket.id),
            "the kernel does not describe it (/sys/devices/system/cpu/cpuN/cache)",
        ));
    }
    SocketStatus {
        id: socket.id,
        cpus: socket.cpus.clone(),
        cores: socket.cores(),
        caches: socket.caches.clone(),
        slices: slices(&host.root, generation, notes),
        io_ways: io_ways(host, socket, controls, notes),
        uncore: uncore(host, socket, (generation, controls), notes),
        hugepages: hugepages(&host.root, socket),
        ports: Vec::new(),
    }
}

/// Every slice has a counter box, which the kernel lists for all users.
fn slices(root: &Root, generation: Option<&Generation>, notes: &mut Notes) -> Option<usize> {
    let table = EventTable::named(generation?.events.as_deref()?)?;
    let unit = table.slice_unit?;
    let boxes = count_boxes(root, &unit);
    if boxes == 0 {
        let reason = format!("this kernel offers no event source {unit}");
        notes.add(Unavailable::new(
            "number of slices",
            reason,
            "modprobe intel_uncore; hypervisors hide it",
        ));
    }
    (boxes > 0).then_some(boxes)
}

fn io_ways(
    host: &Host,
    socket: &CpuSocket,
    generation: Option<&Generation>,
    notes: &mut Notes,
) -> Option<IoWays> {
    let register = generation?.ways_register.as_ref()?;
    if let Err(reason) = check_one_die(socket) {
        notes.add(Unavailable::absent(format!("ways of I/O on socket {}", socket.id), reason));
        return None;
    }
    let target =
        ControlTarget::Msr { socket: socket.id, cpu: socket.first_cpu(), address: register.msr };
    let mask = notes.take(&format!("ways of I/O on socket {}", socket.id), target.read(host))?;
    let of_ways = socket.caches.first()?.ways;
    Some(IoWays { mask, of_ways, msr: register.msr, proof: register.proof })
}

fn uncore(
    host: &Host,
    socket: &CpuSocket,
    (generation, controls): (Option<&Generation>, Option<&Generation>),
    notes: &mut Notes,
) -> Option<FrequencyRange> {
    // AMD's fabric clock is not behind these interfaces.
    if !generation?.is_intel() {
        return None;
    }
    let registers = controls.map(|_| host.registers.as_ref() as &dyn Registers);
    match frequency(&host.root, registers, socket) {
        Ok(range) => Some(range),
        Err(error) => {
            notes.add(uncore_unread(socket.id, &error));
            None
        }
    }
}

fn uncore_unread(socket: PackageId, error: &ClockError) -> Unavailable {
    let what = format!("uncore frequency of socket {socket}");
    match error {
        ClockError::File(file) if file.problem == Problem::Missing => Unavailable::new(
            what,
            file.to_string(),
            "modprobe intel_uncore_frequency (Linux 5.6 or newer), or modprobe msr",
        ),
        ClockError::File(file) => Unavailable::from_error(what, file),
        ClockError::NotTold(reason) => Unavailable::absent(what, reason),
    }
}

fn hugepages(root: &Root, socket: &CpuSocket) -> Vec<HugePageCounts> {
    let mut sums: std::collections::BTreeMap<u64, HugePageCounts> =
        std::collections::BTreeMap::new();
    for node in nodes_of_socket(root, socket) {
        let folder = format!("sys/devices/system/node/node{node}/hugepages");
        for name in root.list(&folder).unwrap_or_default() {
            let size = name.strip_prefix("hugepages-").and_then(|rest| rest.strip_suffix("kB"));
            let Some(size_kib) = size.and_then(|size| size.parse().ok()) else { continue };
            let number = |file: &str| root.read_number(&format!("{folder}/{name}/{file}"));
            let (Ok(pages), Ok(free)) = (number("nr_hugepages"), number("free_hugepages")) else {
                continue;
            };
            let sum =
                sums.entry(size_kib).or_insert(HugePageCounts { size_kib, pages: 0, free: 0 });
            sum.pages = sum.pages.saturating_add(pages);
            sum.free = sum.free.saturating_add(free);
        }
    }
    sums.into_values().collect()
}

/// The socket that a port's NUMA node belongs to; the only one where there is only one.
pub(super) fn of_port(
    root: &Root,
    node: Option<u32>,
    sockets: &[SocketStatus],
) -> Option<PackageId> {
    if let [only] = sockets {
        return Some(only.id);
    }
    let cpus = node_cpus(root, node?);
    sockets.iter().find(|socket| socket.cpus.iter().any(|cpu| cpus.contains(cpu))).map(|s| s.id)
}
