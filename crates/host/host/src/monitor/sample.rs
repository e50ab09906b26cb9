//! A sample: the rates of one window of time.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::devices::{CountedDevices, PortDevice};
use super::engines::{EngineSample, is_of_engine};
use super::plan::{CountingPlan, GroupMeaning, PORTS};
use crate::cpu::PackageId;
use crate::uncore::{Count, Role, Window};

/// Hits and misses of one kind of device request, counted at the same times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HitMiss {
    /// Number of requests whose line was in the LLC.
    pub hits: u64,
    /// Number of requests whose line was not in the LLC.
    pub misses: u64,
}

impl HitMiss {
    /// Hit rate in percent; `None` without requests.
    #[must_use]
    pub fn hit_percent(self) -> Option<f64> {
        let all = self.hits.saturating_add(self.misses);
        (all > 0).then(|| 100.0 * self.hits as f64 / all as f64)
    }
}

/// Counts and rates of a socket in a window. A metric that cannot be counted is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SocketSample {
    /// Socket that was sampled.
    pub socket: PackageId,
    /// Full-line writes of devices, in lines.
    pub pcie_write: Option<HitMiss>,
    /// Partial writes of devices, each counted as a line.
    pub pcie_partial_write: Option<HitMiss>,
    /// Reads of devices, in lines.
    pub pcie_read: Option<HitMiss>,
    /// Bytes read from DRAM each second.
    pub dram_read_bytes_per_s: Option<f64>,
    /// Bytes written to DRAM each second.
    pub dram_write_bytes_per_s: Option<f64>,
    /// Smallest share of the window in which any of these counters ran, 0 to 1.
    pub running_share: Option<f64>,
}

/// Bandwidth of a PCIe port (a part of an I/O stack) in a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PciePortSample {
    /// Socket to which the port belongs.
    pub socket: PackageId,
    /// Number of the I/O stack.
    pub stack: u32,
    /// The part of the stack: the root port's device number on Skylake and Cascade Lake.
    pub part: u32,
    /// Root bus of the stack, like `0000:16`; `None` if the kernel does not name it.
    pub bus: Option<String>,
    /// Scope of `devices`: the port, or the whole stack.
    pub devices_of: CountedDevices,
    /// Devices whose bytes are counted; empty if the kernel does not name the bus.
    pub devices: Vec<PortDevice>,
    /// Bytes that devices read each second.
    pub read_bytes_per_s: f64,
    /// Bytes that devices wrote each second.
    pub write_bytes_per_s: f64,
}

/// Occupancy of a last-level cache by a control group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Occupancy {
    /// Name of the control group; for a monitoring group both names, like `web/worker`.
    pub group: String,
    /// The cache, by resctrl's domain.
    pub domain: u32,
    /// Bytes of the cache that the group occupies.
    pub bytes: u64,
}

/// All counts and rates of one window of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MonitorSample {
    /// End of the window, in seconds since 1970.
    pub time_unix_s: f64,
    /// Time in milliseconds in which the counters were enabled.
    pub window_ms: f64,
    /// Samples of the sockets.
    pub sockets: Vec<SocketSample>,
    /// Samples of the PCIe ports; empty if I/O stacks cannot be counted.
    pub ports: Vec<PciePortSample>,
    /// Samples of the copy engines (DSA); empty if they cannot be counted.
    pub engines: Vec<EngineSample>,
    /// Occupancy of control groups and their monitoring groups; empty without monitoring.
    pub occupancy: Vec<Occupancy>,
}

#[derive(Default)]
struct RoleSums {
    by_role: BTreeMap<Role, u64>,
}

impl RoleSums {
    fn get(&self, role: Role) -> Option<u64> {
        self.by_role.get(&role).copied()
    }

    /// Hits and misses. If a generation counts all requests and misses, the hits are the difference. Both
    /// were counted in one group, but scaling can still give a few more misses than requests: then 0.
    fn hit_miss(&self) -> HitMiss {
        let misses = self.get(Role::Miss).unwrap_or(0);
        let hits = self.get(Role::Hit);
        let all = self.get(Role::All).unwrap_or(0);
        HitMiss { hits: hits.unwrap_or_else(|| all.saturating_sub(misses)), misses }
    }
}

impl MonitorSample {
    pub(super) fn from_window(
        plan: &CountingPlan,
        sockets: &[PackageId],
        counted: &Window,
    ) -> Self {
        let seconds = counted.elapsed.as_secs_f64().max(1e-9);
        let groups = || plan.meanings.iter().zip(&counted.groups);
        let socket = |&socket: &PackageId| {
            let of = |metric: &str| {
                let mut of_metric =
                    groups().filter(|(m, _)| m.socket == socket && m.metric == metric).peekable();
                of_metric.peek().is_some().then(|| sums(of_metric))
            };
            let dram = of("dram");
            let rate =
                |role| dram.as_ref().and_then(|sums| sums.get(role)).map(|n| n as f64 / seconds);
            SocketSample {
                socket,
                pcie_write: of("pcie_write").map(|sums| sums.hit_miss()),
                pcie_partial_write: of("pcie_partial_write").map(|sums| sums.hit_miss()),
                pcie_read: of("pcie_read").map(|sums| sums.hit_miss()),
                dram_read_bytes_per_s: rate(Role::Read),
                dram_write_bytes_per_s: rate(Role::Write),
                running_share: least_share(
                    groups().filter(|(m, _)| m.socket == socket && !is_of_engine(m)),
                ),
            }
        };
        Self {
            time_unix_s: now_unix_s(),
            window_ms: counted.elapsed.as_secs_f64() * 1000.0,
            sockets: sockets.iter().map(socket).collect(),
            ports: groups().filter(|(m, _)| m.metric == PORTS).map(|g| port(g, seconds)).collect(),
            engines: Vec::new(),
            occupancy: Vec::new(),
        }
    }
}

fn now_unix_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |elapsed| elapsed.as_secs_f64())
}

/// Sums by role: DRAM accesses in bytes, other events as counted.
fn sums<'a>(groups: impl Iterator<Item = (&'a GroupMeaning, &'a Vec<Count>)>) -> RoleSums {
    let mut sums = RoleSums::default();
    for (meaning, counts) in groups {
        for (role, count) in meaning.roles.iter().zip(counts) {
            let factor = if meaning.metric == "dram" { meaning.bytes } else { 1 };
            let sum = sums.by_role.entry(*role).or_insert(0);
            *sum = sum.saturating_add(count.value.saturating_mul(factor));
        }
    }
    sums
}

fn least_share<'a>(
    groups: impl Iterator<Item = (&'a GroupMeaning, &'a Vec<Count>)>,
) -> Option<f64> {
    groups.flat_map(|(_, counts)| counts).map(|count| count.running_share).reduce(f64::min)
}

fn port((meaning, counts): (&GroupMeaning, &Vec<Count>), seconds: f64) -> PciePortSample {
    let rate = |wanted: Role| {
        let of_role = meaning.roles.iter().zip(counts).filter(|(role, _)| **role == wanted);
        of_role.map(|(_, count)| count.value as f64 * meaning.bytes as f64).sum::<f64>() / seconds
    };
    PciePortSample {
        socket: meaning.socket,
        stack: meaning.unit,
        part: meaning.part,
        bus: meaning.bus.clone(),
        devices_of: meaning.devices_of,
        devices: meaning.devices.clone(),
        read_bytes_per_s: rate(Role::Read),
        write_bytes_per_s: rate(Role::Write),
    }
}
