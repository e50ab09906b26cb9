//! The events to count, on which boxes, through which CPUs.

use super::devices::{CountedDevices, PortDevice, StackDevices};
use crate::cpu::{CpuId, CpuSocket, PackageId};
use crate::root::Root;
use crate::unavailable::Unavailable;
use crate::uncore::{
    CounterRequest, EventMetric, EventTable, Formats, Role, TableEvent, UncoreBox, boxes,
};

/// Name of the metric of the parts of I/O stacks.
pub(super) const PORTS: &str = "iio";

/// Meaning of a group of events: metric, socket, box and role of each event.
#[derive(Clone, Debug)]
pub(super) struct GroupMeaning {
    pub(super) metric: String,
    pub(super) socket: PackageId,
    pub(super) unit: u32,
    pub(super) part: u32,
    pub(super) bytes: u64,
    pub(super) roles: Vec<Role>,
    /// The root bus of an I/O stack, as the kernel names it.
    pub(super) bus: Option<String>,
    /// The devices that a part of an I/O stack counts.
    pub(super) devices_of: CountedDevices,
    pub(super) devices: Vec<PortDevice>,
}

/// Groups of events, and the meaning of each.
#[derive(Clone, Debug, Default)]
pub(super) struct CountingPlan {
    pub(super) requests: Vec<Vec<CounterRequest>>,
    pub(super) meanings: Vec<GroupMeaning>,
}

impl CountingPlan {
    /// Plans the metrics of a table that this machine can count; the others are added to `unavailable`.
    pub(super) fn for_sockets(
        root: &Root,
        table: &EventTable,
        sockets: &[CpuSocket],
        unavailable: &mut Vec<Unavailable>,
    ) -> Self {
        let mut plan = Self::default();
        for metric in &table.metric {
            if let Err(unread) = plan.add(root, metric, sockets)
                && !unavailable.contains(&unread)
            {
                unavailable.push(unread);
            }
        }
        plan
    }

    /// Sets the devices of each part of an I/O stack.
    pub(super) fn name_devices(&mut self, known: &StackDevices, parts_are_devices: bool) {
        for meaning in &mut self.meanings {
            let Some(bus) = meaning.bus.as_deref().filter(|_| meaning.metric == PORTS) else {
                continue;
            };
            (meaning.devices_of, meaning.devices) =
                known.devices_of_part(bus, meaning.part, parts_are_devices);
        }
    }

    /// Whether the plan contains a metric.
    pub(super) fn has(&self, metric: &str) -> bool {
        self.meanings.iter().any(|meaning| meaning.metric == metric)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    fn add(
        &mut self,
        root: &Root,
        metric: &EventMetric,
        sockets: &[CpuSocket],
    ) -> Result<(), Unavailable> {
        let what = describe_metric(&metric.name);
        let found =
            boxes(root, &metric.unit).map_err(|error| Unavailable::from_error(what, &error))?;
        if found.is_empty() {
            let reason = format!("this kernel offers no event source {}", metric.unit);
            let remedy = if metric.unit.starts_with("amd") {
                "modprobe amd_uncore (Linux 6.10 or newer); hypervisors hide it"
            } else {
                "modprobe intel_uncore; hypervisors hide it"
            };
            return Err(Unavailable::new(what, reason, remedy));
        }
        for unit in &found {
            let formats = Formats::read(root, &unit.name)
                .map_err(|error| Unavailable::from_error(what, &error))?;
            for socket in sockets {
                let readers = readers(metric, unit, socket)
                    .map_err(|why| Unavailable::without_remedy(what, why))?;
                for cpu in readers {
                    let requests = encode(metric, unit, &formats, cpu)
                        .map_err(|reason| Unavailable::without_remedy(what, reason))?;
                    self.requests.push(requests);
                    self.meanings.push(meaning(root, metric, unit, socket.id));
                }
            }
        }
        Ok(())
    }
}

fn encode(
    metric: &EventMetric,
    unit: &UncoreBox,
    formats: &Formats,
    cpu: CpuId,
) -> Result<Vec<CounterRequest>, String> {
    let request = |event: &TableEvent| {
        let words =
            formats.encode(&event.fields, event.raw_words()).map_err(|error| error.to_string())?;
        Ok(CounterRequest { unit: unit.name.clone(), kind: unit.kind, cpu, words })
    };
    metric.events.iter().map(request).collect()
}

/// The logical CPUs that together read a box of the whole socket: one, or one on each die.
///
/// # Errors
/// If the counts of one die would be reported as those of the socket.
fn readers(
    metric: &EventMetric,
    unit: &UncoreBox,
    socket: &CpuSocket,
) -> Result<Vec<CpuId>, String> {
    let of_socket = || unit.cpus.iter().copied().filter(|cpu| socket.cpus.contains(cpu));
    let dies = socket.caches.len();
    // Only Intel's boxes belong to dies; AMD's caches are those of core complexes.
    if dies < 2 || !unit.name.starts_with("uncore_") {
        return Ok(of_socket().take(1).collect());
    }
    let why = |reason| Err(format!("socket {} has {dies} dies, and {reason}", socket.id));
    if metric.name == PORTS {
        return why("I/O stacks are named by socket here, so those of different dies would be one");
    }
    let readers: Vec<CpuId> = socket
        .caches
        .iter()
        .filter_map(|die| of_socket().find(|cpu| die.cpus.contains(cpu)))
        .collect();
    if readers.len() < dies {
        return why("the kernel lets the counters of one be read as those of the socket");
    }
    Ok(readers)
}

fn meaning(root: &Root, metric: &EventMetric, unit: &UncoreBox, socket: PackageId) -> GroupMeaning {
    let die = format!("sys/bus/event_source/devices/{}/die{socket}", unit.name);
    GroupMeaning {
        metric: metric.name.clone(),
        socket,
        unit: unit.number,
        part: metric.events.first().map_or(0, |event| event.part),
        bytes: metric.bytes,
        roles: metric.events.iter().map(|event| event.role).collect(),
        bus: root.read_line(&die).ok(),
        devices_of: CountedDevices::default(),
        devices: Vec::new(),
    }
}

fn describe_metric(metric: &str) -> &'static str {
    match metric {
        "pcie_write" | "pcie_read" | "pcie_partial_write" => "hits and misses of devices",
        "dram" => "DRAM bandwidth",
        PORTS => "bandwidth of PCIe ports",
        "dsa_bytes" | "dsa_requests" => "copy engines (DSA)",
        _ => "an event",
    }
}
