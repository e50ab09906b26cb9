//! Where I/O data goes right now: hits and misses of devices, bandwidth, occupancy.
//!
//! Events of one metric run in one group, so that hits and misses are of the same times. All metrics
//! share one window, whose length every sample states.

mod devices;
mod engines;
mod plan;
mod sample;

use std::time::Duration;

use crate::cpu::{Generation, PackageId, Socket};
use crate::error::{FileError, Problem};
use crate::machine::Host;
use crate::pci::Tree;
use crate::resctrl::{Group, Resctrl, absence, monitoring_groups, occupancy};
use crate::uncore::EventTable;
use crate::unread::Unread;

pub use devices::{DevicesOf, PortDevice};
pub use engines::EngineSample;
pub use sample::{HitMiss, Occupancy, PortSample, Sample, SocketSample};

use devices::StackDevices;
use plan::{PORTS, Plan};

/// What can be measured here, ready to be measured.
pub struct Monitor {
    plan: Plan,
    sockets: Vec<PackageId>,
    groups: Vec<Group>,
    unavailable: Vec<Unread>,
}

/// What a group holds of each cache.
fn held(host: &Host, folder: &str, group: &str) -> Vec<Occupancy> {
    let bytes = occupancy(&host.root, folder).into_iter();
    bytes.map(|(domain, bytes)| Occupancy { group: group.to_owned(), domain, bytes }).collect()
}

impl Monitor {
    /// Finds out what can be measured.
    #[must_use]
    pub fn prepare(host: &Host, generation: Option<&Generation>, sockets: &[Socket]) -> Self {
        let mut unavailable = Vec::new();
        let table =
            generation.and_then(|generation| EventTable::named(generation.events.as_deref()?));
        let mut plan = match &table {
            Some(table) => Plan::of(&host.root, table, sockets, &mut unavailable),
            None => Plan::default(),
        };
        if let Some(table) = table.as_ref().filter(|_| plan.has(PORTS)) {
            match Tree::read(&host.root) {
                Ok(tree) => {
                    plan.name_devices(&StackDevices::of(host, &tree), table.parts_are_devices);
                }
                Err(error) => unavailable.push(Unread::of("devices behind PCIe ports", &error)),
            }
        }
        if table.as_ref().is_none_or(|table| table.metrics("pcie_write").next().is_none()) {
            let reason = match generation {
                Some(generation) => format!("no public events are known for {}", generation.name),
                None => "the events of this CPU model are not in the tables".to_owned(),
            };
            unavailable.push(Unread::absent("hits and misses of devices", reason));
        }
        engines::add(host, sockets, &mut plan, &mut unavailable);
        let groups = match Resctrl::read(&host.root, host.control.as_ref()) {
            Ok(resctrl) => resctrl.groups,
            Err(error) => {
                let what = "LLC occupancy of groups";
                unavailable.push(match error.problem {
                    Problem::Missing => Unread { what: what.into(), ..absence(&host.root) },
                    _ => Unread::of(what, &error),
                });
                Vec::new()
            }
        };
        let sockets = sockets.iter().map(|socket| socket.id).collect();
        Self { plan, sockets, groups, unavailable }
    }

    /// What cannot be measured here, and why.
    #[must_use]
    pub fn unavailable(&self) -> &[Unread] {
        &self.unavailable
    }

    /// Whether hits and misses of devices can be measured.
    #[must_use]
    pub fn sees_devices(&self) -> bool {
        self.plan.has("pcie_write")
    }

    /// Copy engines whose bytes and requests can be measured.
    #[must_use]
    pub fn engines(&self) -> usize {
        engines::count(&self.plan)
    }

    /// Whether there is anything to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.plan.is_empty() && self.groups.is_empty()
    }

    /// Whether the first group of events can be opened; nothing if there is none.
    pub(crate) fn trial(&self, host: &Host, window: Duration) -> Option<Result<(), FileError>> {
        let first = self.plan.requests.get(..1).filter(|groups| !groups.is_empty())?;
        Some(host.counters.measure(first, window).map(drop))
    }

    /// Counts for one window. Without events the window passes all the same.
    ///
    /// # Errors
    /// If the kernel refuses an event.
    pub fn sample(&self, host: &Host, window: Duration) -> Result<Sample, FileError> {
        let counted = host.counters.measure(&self.plan.requests, window)?;
        let mut sample = Sample::of(&self.plan, &self.sockets, &counted);
        sample.engines = engines::samples(&host.root, &self.plan, &counted);
        for group in &self.groups {
            let folder = Group::folder(&group.name);
            sample.occupancy.extend(held(host, &folder, group.shown()));
            for name in monitoring_groups(&host.root, &folder) {
                let (folder, name) =
                    (format!("{folder}/mon_groups/{name}"), format!("{}/{name}", group.shown()));
                sample.occupancy.extend(held(host, &folder, &name));
            }
        }
        Ok(sample)
    }
}
