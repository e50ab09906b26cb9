//! Measures where I/O data goes: hits and misses of devices, bandwidth, occupancy.
//!
//! Events of one metric are counted in one group, so that hits and misses are of the same times. All
//! metrics share one window, and every sample contains its length.

mod devices;
mod engines;
mod plan;
mod sample;

use std::time::Duration;

use crate::cpu::{CpuSocket, Generation, PackageId};
use crate::error::{FileError, Problem};
use crate::machine::Host;
use crate::offline::OfflineCpus;
use crate::pci::Tree;
use crate::resctrl::{ControlGroup, Resctrl, absence_reason, monitoring_groups, occupancy};
use crate::unavailable::Unavailable;
use crate::uncore::EventTable;

pub use devices::{CountedDevices, PortDevice};
pub use engines::EngineSample;
pub use sample::{HitMiss, MonitorSample, Occupancy, PciePortSample, SocketSample};

use devices::StackDevices;
use plan::{CountingPlan, PORTS};

/// The metrics that this machine can count, and the requests that count them.
pub struct Monitor {
    plan: CountingPlan,
    sockets: Vec<PackageId>,
    groups: Vec<ControlGroup>,
    unavailable: Vec<Unavailable>,
}

/// Occupancy of each last-level cache by a group.
fn group_occupancy(host: &Host, folder: &str, group: &str) -> Vec<Occupancy> {
    let bytes = occupancy(&host.root, folder).into_iter();
    bytes.map(|(domain, bytes)| Occupancy { group: group.to_owned(), domain, bytes }).collect()
}

impl Monitor {
    /// Determines which metrics this machine can count.
    #[must_use]
    pub fn prepare(host: &Host, generation: Option<&Generation>, sockets: &[CpuSocket]) -> Self {
        let mut unavailable = Vec::new();
        let table =
            generation.and_then(|generation| EventTable::named(generation.events.as_deref()?));
        let mut plan = match &table {
            Some(table) => CountingPlan::for_sockets(&host.root, table, sockets, &mut unavailable),
            None => CountingPlan::default(),
        };
        if let Some(table) = table.as_ref().filter(|_| plan.has(PORTS)) {
            match Tree::read(&host.root) {
                Ok(tree) => {
                    plan.name_devices(
                        &StackDevices::from_tree(host, &tree),
                        table.parts_are_devices,
                    );
                }
                Err(error) => {
                    unavailable.push(Unavailable::from_error("devices behind PCIe ports", &error));
                }
            }
        }
        if table.as_ref().is_none_or(|table| table.metrics("pcie_write").next().is_none()) {
            let reason = match generation {
                Some(generation) => format!("no public events are known for {}", generation.name),
                None => "the events of this CPU model are not in the tables".to_owned(),
            };
            unavailable.push(Unavailable::without_remedy("hits and misses of devices", reason));
        }
        engines::add(host, sockets, &mut plan, &mut unavailable);
        let groups = match Resctrl::read(&host.root, host.control.as_ref()) {
            Ok(resctrl) => resctrl.groups,
            Err(error) => {
                let what = "LLC occupancy of groups";
                unavailable.push(match error.problem {
                    Problem::Missing => {
                        Unavailable { what: what.into(), ..absence_reason(&host.root) }
                    }
                    _ => Unavailable::from_error(what, &error),
                });
                Vec::new()
            }
        };
        let tree = Tree::read(&host.root).unwrap_or_default();
        let offline = OfflineCpus::read(&host.root, sockets, &tree);
        unavailable.extend(offline.sockets.iter().map(|socket| socket.hides("counters")));
        let sockets = sockets.iter().map(|socket| socket.id).collect();
        Self { plan, sockets, groups, unavailable }
    }

    /// Metrics that cannot be measured here, with the reasons.
    #[must_use]
    pub fn unavailable(&self) -> &[Unavailable] {
        &self.unavailable
    }

    /// Whether hits and misses of device writes can be counted.
    #[must_use]
    pub fn counts_device_hits(&self) -> bool {
        self.plan.has("pcie_write")
    }

    /// Number of copy engines (DSA) whose bytes and requests can be counted.
    #[must_use]
    pub fn engines(&self) -> usize {
        engines::count(&self.plan)
    }

    /// Whether nothing can be measured: neither events nor groups.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.plan.is_empty() && self.groups.is_empty()
    }

    /// Tries to count the first group of events; `None` if there are no events.
    pub(crate) fn try_counting(
        &self,
        host: &Host,
        window: Duration,
    ) -> Option<Result<(), FileError>> {
        let first = self.plan.requests.get(..1).filter(|groups| !groups.is_empty())?;
        Some(host.counters.measure(first, window).map(drop))
    }

    /// Counts for one window of time. Without events it waits for the window, too.
    ///
    /// # Errors
    /// If the kernel refuses an event.
    pub fn sample(&self, host: &Host, window: Duration) -> Result<MonitorSample, FileError> {
        let counted = host.counters.measure(&self.plan.requests, window)?;
        let mut sample = MonitorSample::from_window(&self.plan, &self.sockets, &counted);
        sample.engines = engines::samples(&host.root, &self.plan, &counted);
        for group in &self.groups {
            let folder = ControlGroup::folder(&group.name);
            sample.occupancy.extend(group_occupancy(host, &folder, group.display_name()));
            for name in monitoring_groups(&host.root, &folder) {
                let (folder, name) = (
                    format!("{folder}/mon_groups/{name}"),
                    format!("{}/{name}", group.display_name()),
                );
                sample.occupancy.extend(group_occupancy(host, &folder, &name));
            }
        }
        Ok(sample)
    }
}
