//! Status of a socket: cache, ways of I/O, clock, huge pages.

use serde::Serialize;

use super::{Notes, PortStatus};
use crate::controls::{ControlTarget, check_one_die};
use crate::cpu::{CpuId, CpuSocket, Generation, LastLevelCache, PackageId, Proof, common_llc_ways};
use crate::error::Problem;
use crate::machine::Host;
use crate::numa::nodes_of_socket;
use crate::registers::Registers;
use crate::root::Root;
use crate::unavailable::Unavailable;
use crate::uncore::{ClockError, EventTable, FrequencyRange, count_boxes, frequency};

/// The register of the ways that I/O allocates in (MSR 0xc8b).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IoWays {
    /// Value of the register: a mask of ways.
    #[serde(serialize_with = "crate::hex::value")]
    pub mask: u64,
    /// Number of ways of the cache.
    pub of_ways: u32,
    /// MSR address of the register.
    pub msr: u32,
    /// Result of published measurements of the register on this generation.
    pub proof: Proof,
}

/// Number of huge pages of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HugePageCounts {
    /// Size of a page in KiB.
    pub size_kib: u64,
    /// Number of huge pages of this size.
    pub pages: u64,
    /// Number of free huge pages of this size.
    pub free: u64,
}

/// Status of one socket.
#[derive(Clone, Debug, Serialize)]
pub struct SocketStatus {
    /// Number of the socket's package.
    pub id: PackageId,
    /// Online logical CPUs of the socket.
    pub cpus: Vec<CpuId>,
    /// Number of cores of the socket.
    pub cores: usize,
    /// Last-level caches of the socket.
    pub caches: Vec<LastLevelCache>,
    /// Number of slices of the last-level cache; `None` if the kernel lists no boxes.
    pub slices: Option<usize>,
    /// Ways that I/O allocates in; `None` if the machine has no such register or it cannot be read.
    pub io_ways: Option<IoWays>,
    /// Clock of the uncore; `None` if it cannot be read.
    pub uncore: Option<FrequencyRange>,
    /// Huge pages of the socket's memory, by size.
    pub hugepages: Vec<HugePageCounts>,
    /// Root ports of the socket, with the devices below them.
    pub ports: Vec<PortStatus>,
}

/// Adds a note if the ways of I/O cannot be changed because the CPUs do not describe equal caches.
pub(super) fn note_llc_mismatch(
    sockets: &[CpuSocket],
    controls: Option<&Generation>,
    notes: &mut Notes,
) {
    let has_register = controls.is_some_and(|known| known.ways_register.is_some());
    if let (Err(mismatch), true) = (common_llc_ways(sockets), has_register) {
        let what = "a change of the ways of I/O";
        notes.add(Unavailable::without_remedy(what, mismatch.to_string()));
    }
}

pub(super) fn read(
    host: &Host,
    socket: &CpuSocket,
    generation: Option<&Generation>,
    controls: Option<&Generation>,
    notes: &mut Notes,
) -> SocketStatus {
    if socket.caches.is_empty() {
        notes.add(Unavailable::without_remedy(
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

/// Number of slices: every slice has a counter box, and the kernel lists the boxes for all users.
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
        notes.add(Unavailable::without_remedy(
            format!("ways of I/O on socket {}", socket.id),
            reason,
        ));
        return None;
    }
    let target =
        ControlTarget::Msr { socket: socket.id, cpu: socket.first_cpu(), address: register.msr };
    let mask = notes.take(&format!("ways of I/O on socket {}", socket.id), target.read(host))?;
    // Without a cache the note on it stands for this one.
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
        ClockError::NotTold(reason) => Unavailable::without_remedy(what, reason),
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
