//! SSDs that move data in the window, as tenants that do block I/O.

use std::collections::BTreeMap;

use crate::cpu::PackageId;
use crate::pci::FunctionKind;
use crate::pci_address::Bdf;

use super::activity::DiskCounts;
use super::neighbours::{IDLE_BYTES_PER_S, Neighbourhood};
use super::values::{Findings, ValueOrigin};
use super::{ObservedMachine, cards, cores, devices, load};

/// SSDs that a tenant may have.
const MOST_SSDS: usize = 16;
/// Sizes of blocks are multiples of this one.
const BLOCK_BYTES: u64 = 4096;
/// Largest size of a block.
const MOST_BLOCK_BYTES: u64 = 2 << 20;
/// Most I/Os in flight of a job.
const MOST_DEPTH: f64 = 1023.0;
/// The SSD that stands in for one that is not known.
const STAND_IN: &str = "xg5";

/// A disk that moves data, with what it moved in the window.
struct BusyDisk {
    name: String,
    bdf: Bdf,
    id: String,
    counts: DiskCounts,
}

impl BusyDisk {
    fn moved_bytes(&self) -> u64 {
        self.counts.read_bytes.saturating_add(self.counts.written_bytes)
    }

    fn requests(&self) -> u64 {
        self.counts.reads.saturating_add(self.counts.writes)
    }

    /// Work of the disk in the window, in words.
    fn describe(&self, seconds: f64) -> String {
        let DiskCounts { read_bytes, written_bytes, .. } = self.counts;
        format!(
            "SSD {} ({}, {}) read {:.2} GB/s and wrote {:.2} GB/s",
            self.name,
            self.bdf,
            self.id,
            read_bytes as f64 / seconds / 1e9,
            written_bytes as f64 / seconds / 1e9
        )
    }
}

/// Adds a tenant for the busy SSDs of each socket.
pub(super) fn add(seen: &ObservedMachine<'_>, around: &Neighbourhood, findings: &mut Findings) {
    let mut of_sockets: BTreeMap<i64, (Option<PackageId>, Vec<BusyDisk>)> = BTreeMap::new();
    for (socket, disk) in busy_disks(seen) {
        let own = of_sockets.entry(around.number_of(socket)).or_insert((socket, Vec::new()));
        own.1.push(disk);
    }
    for (number, (socket, mut disks)) in of_sockets {
        let room = around.cores_left(number, findings).min(MOST_SSDS);
        for disk in disks.drain(room.min(disks.len())..) {
            let told = disk.describe(seen.activity.seconds);
            findings.left_out.push(format!("{told}: the scenario has no core left for its jobs"));
        }
        if !disks.is_empty() {
            findings.tenant(|findings| tenant(seen, (number, socket), &disks, findings));
        }
    }
}

fn busy_disks(seen: &ObservedMachine<'_>) -> Vec<(Option<PackageId>, BusyDisk)> {
    let sockets = seen.status.sockets.iter().map(|socket| (Some(socket.id), &socket.ports));
    let ports = sockets
        .flat_map(|(id, ports)| ports.iter().map(move |port| (id, port)))
        .chain(seen.status.elsewhere.iter().map(|port| (None, port)));
    let ssds = ports
        .flat_map(|(id, port)| port.devices.iter().map(move |device| (id, device)))
        .filter(|(_, device)| device.kind == FunctionKind::Ssd);
    let mut busy = Vec::new();
    for (socket, device) in ssds {
        for name in device.names.iter().flat_map(|name| devices::namespaces(seen.host, name)) {
            let Some(counts) = seen.activity.disk(&name) else { continue };
            let disk = BusyDisk { name, bdf: device.bdf, id: device.id.clone(), counts };
            let rate = disk.moved_bytes() as f64 / seen.activity.seconds;
            if rate >= IDLE_BYTES_PER_S && disk.requests() > 0 {
                busy.push((socket, disk));
            }
        }
    }
    busy
}

fn tenant(
    seen: &ObservedMachine<'_>,
    (number, socket): (i64, Option<PackageId>),
    disks: &[BusyDisk],
    findings: &mut Findings,
) {
    let seconds = seen.activity.seconds;
    let told: Vec<String> = disks.iter().map(|disk| disk.describe(seconds)).collect();
    let name = if number == 0 { "ssds" } else { "ssds-of-other-socket" };
    findings.add("name", name, ValueOrigin::Measured, told.join("; "));
    let what = "blocks are read and written; by which program is not counted";
    findings.add("application", "block-io", ValueOrigin::Assumed, what);
    kind(disks, findings);
    let count = i64::try_from(disks.len()).unwrap_or(1);
    findings.add("cores", count, ValueOrigin::Assumed, "a job, and a core, for each SSD");
    findings.add("block_io.ssds", count, ValueOrigin::Measured, "SSDs that moved data");
    if number != 0 {
        let where_it_is = socket.map_or("unknown".to_owned(), |id| id.to_string());
        let source = format!("their jobs run where the SSDs are: socket {where_it_is}");
        findings.add("socket", number, ValueOrigin::Assumed, source);
    }
    cores::all_ways(seen, findings);
    load::io_ways(seen.status, disks.first().map(|disk| disk.bdf), socket, findings);
    requests(disks, seconds, findings);
}

/// The known SSD that the busy ones are; the first of them decides.
fn kind(disks: &[BusyDisk], findings: &mut Findings) {
    let Some(first) = disks.first() else { return };
    let others: Vec<&str> =
        disks.iter().map(|disk| disk.id.as_str()).filter(|id| *id != first.id).collect();
    match cards::ssd(&first.id) {
        Some(known) if others.is_empty() => {
            let source = format!("PCI ID {} of {}", first.id, first.bdf);
            findings.add("ssd", known, ValueOrigin::Read, source);
        }
        known => {
            let id = [&[first.id.as_str()], others.as_slice()].concat().join(", ");
            let source = format!("stands in for {id}, until it is answered");
            findings.add("ssd", known.unwrap_or(STAND_IN), ValueOrigin::Assumed, source);
            findings.ask(
                "ssd",
                format!("which known SSD is most like {id} (`skipline platforms`), or a file of your own?"),
            );
        }
    }
}

/// Size, direction and number of the requests: means of all disks.
fn requests(disks: &[BusyDisk], seconds: f64, findings: &mut Findings) {
    let sum = |of: fn(&BusyDisk) -> u64| disks.iter().map(of).fold(0, u64::saturating_add);
    let (moved, requests) = (sum(BusyDisk::moved_bytes), sum(BusyDisk::requests).max(1));
    let mean = moved / requests;
    let blocks = mean.saturating_add(BLOCK_BYTES / 2) / BLOCK_BYTES;
    let bytes = (blocks * BLOCK_BYTES).clamp(BLOCK_BYTES, MOST_BLOCK_BYTES);
    let source = format!("/sys/block/*/stat: mean of {mean} bytes, in whole 4 KiB");
    findings.add(
        "block_io.block_bytes",
        i64::try_from(bytes).unwrap_or(0),
        ValueOrigin::Measured,
        source,
    );
    let reads = 100.0 * sum(|disk| disk.counts.reads) as f64 / requests as f64;
    let source = "/sys/block/*/stat: share of the requests";
    findings.add("block_io.read_percent", whole(reads), ValueOrigin::Measured, source);
    let waited_ms = sum(|disk| disk.counts.waited_ms) as f64;
    let in_flight = waited_ms / 1000.0 / seconds / disks.len().max(1) as f64;
    let source = format!(
        "/sys/block/*/stat: {in_flight:.1} at a time of each SSD; the simulator keeps so many under way, and the \
         rate follows"
    );
    let depth = whole(in_flight.clamp(1.0, MOST_DEPTH));
    findings.add("block_io.depth", depth, ValueOrigin::Measured, source);
    findings.leave("block_io.order", "no counter tells the order of blocks; random");
}

fn whole(value: f64) -> i64 {
    i64::try_from(units::narrow::whole(value.round())).unwrap_or(0)
}
