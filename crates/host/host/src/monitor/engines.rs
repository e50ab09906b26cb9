//! Copy engines (DSA): bytes that each device moves, and requests to its work queues.
//!
//! They have event sources of their own beside the uncore's. Where the kernel refuses them, all other
//! metrics are measured without them.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;

use super::plan::{CountingPlan, GroupMeaning};
use crate::cpu::CpuSocket;
use crate::machine::Host;
use crate::root::Root;
use crate::unavailable::Unavailable;
use crate::uncore::{Count, EventTable, Role, Window, count_boxes};

const UNIT: &str = "dsa";
const DEVICES: &str = "sys/bus/dsa/devices";
const WHAT: &str = "copy engines (DSA)";
/// Window that is long enough to open an event.
const TRIAL: Duration = Duration::from_millis(1);

/// One copy engine in one window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EngineSample {
    /// The device, like `dsa0`.
    pub device: String,
    /// NUMA node of the device; `None` if the driver does not report it.
    pub node: Option<u32>,
    /// Bytes read by the engine, each second.
    pub inbound_bytes_per_s: f64,
    /// Bytes written by the engine, each second.
    pub outbound_bytes_per_s: f64,
    /// Requests to shared work queues each second.
    pub shared_requests_per_s: f64,
    /// Requests to dedicated work queues each second.
    pub dedicated_requests_per_s: f64,
}

/// Adds the events of copy engines to a plan; if they cannot be counted, the reason is added to
/// `unavailable`.
pub(super) fn add(
    host: &Host,
    sockets: &[CpuSocket],
    plan: &mut CountingPlan,
    unavailable: &mut Vec<Unavailable>,
) {
    if count_boxes(&host.root, UNIT) == 0 {
        unavailable.extend(missing_event_source(&host.root));
        return;
    }
    let table = EventTable::named(UNIT).expect("the table of the copy engine is built in");
    let mut engines = CountingPlan::for_sockets(&host.root, &table, sockets, unavailable);
    match host.counters.measure(&engines.requests, TRIAL) {
        Ok(_) => {
            plan.requests.append(&mut engines.requests);
            plan.meanings.append(&mut engines.meanings);
        }
        Err(error) => unavailable.push(Unavailable::from_error(WHAT, &error)),
    }
}

/// Number of copy engines in a plan.
pub(super) fn count(plan: &CountingPlan) -> usize {
    let of_engines = plan.meanings.iter().filter(|meaning| is_of_engine(meaning));
    of_engines.map(|meaning| meaning.unit).collect::<BTreeSet<_>>().len()
}

/// The reason why copy engines cannot be counted if the kernel lists them without an event source.
fn missing_event_source(root: &Root) -> Option<Unavailable> {
    let devices = root.list(DEVICES).unwrap_or_default();
    let is_engine = |name: &String| name.strip_prefix(UNIT).is_some_and(is_number);
    devices.iter().any(is_engine).then(|| {
        Unavailable::without_remedy(
            WHAT,
            "this kernel offers no event source for them: it needs Linux 5.13 or newer with \
             CONFIG_INTEL_IDXD_PERFMON",
        )
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Converts the counts of each engine to rates.
pub(super) fn samples(root: &Root, plan: &CountingPlan, counted: &Window) -> Vec<EngineSample> {
    let seconds = counted.elapsed.as_secs_f64().max(1e-9);
    let of_engines = plan.meanings.iter().zip(&counted.groups).filter(|(m, _)| is_of_engine(m));
    let groups: Vec<(&GroupMeaning, &Vec<Count>)> = of_engines.collect();
    let numbers: BTreeSet<u32> = groups.iter().map(|(meaning, _)| meaning.unit).collect();
    let sample = |number: u32| {
        let rate = |wanted: Role| {
            let of_engine = groups.iter().filter(|(meaning, _)| meaning.unit == number);
            let counts = of_engine.flat_map(|(meaning, counts)| {
                let of_role = meaning.roles.iter().zip(*counts);
                let of_role = of_role.filter(move |(role, _)| **role == wanted);
                of_role.map(|(_, count)| count.value as f64 * meaning.bytes as f64)
            });
            counts.sum::<f64>() / seconds
        };
        let device = format!("{UNIT}{number}");
        let node = root.read_number(&format!("{DEVICES}/{device}/numa_node")).ok();
        EngineSample {
            node: node.and_then(|node| u32::try_from(node).ok()),
            device,
            inbound_bytes_per_s: rate(Role::Inbound),
            outbound_bytes_per_s: rate(Role::Outbound),
            shared_requests_per_s: rate(Role::Shared),
            dedicated_requests_per_s: rate(Role::Dedicated),
        }
    };
    numbers.into_iter().map(sample).collect()
}

/// Whether a group of events is a copy engine's, and so not a metric of a socket.
pub(super) fn is_of_engine(meaning: &GroupMeaning) -> bool {
    meaning.metric.starts_with(UNIT)
}
