//! Copy engines (DSA) that move data in the window, as tenants that offload to them.

use std::collections::{BTreeMap, BTreeSet};

use crate::cpu::{PackageId, cpu_list};
use crate::monitor::EngineSample;
use crate::root::Root;
use crate::status::SocketStatus;

use super::neighbours::{IDLE_BYTES_PER_S, Neighbourhood};
use super::values::{Findings, ValueOrigin};
use super::{ObservedMachine, cores, load};

const DEVICES: &str = "sys/bus/dsa/devices";
/// Most devices of a tenant.
const MOST_INSTANCES: usize = 4;
/// Share of the larger direction below which an engine hardly reads or writes.
const HARDLY: f64 = 0.1;

/// A copy engine that moves data: means of the window.
struct BusyEngine {
    device: String,
    socket: Option<PackageId>,
    read_bytes_per_s: f64,
    written_bytes_per_s: f64,
    shared_requests_per_s: f64,
    dedicated_requests_per_s: f64,
}

/// Work queues and engines of a device as its driver lists them.
#[derive(Default)]
struct Configuration {
    queues: Vec<(String, String, u32)>,
    engines: usize,
}

impl Configuration {
    fn read(root: &Root, device: &str) -> Self {
        let number = device.trim_start_matches(|c: char| !c.is_ascii_digit());
        let mut found = Self::default();
        for name in root.list(DEVICES).unwrap_or_default() {
            let file = |file: &str| root.read_line(&format!("{DEVICES}/{name}/{file}"));
            let is_of = |kind: &str| name.strip_prefix(&format!("{kind}{number}.")).is_some();
            if is_of("wq") {
                let size = root.read_number(&format!("{DEVICES}/{name}/size"));
                if let (Ok(state), Ok(mode), Ok(size)) = (file("state"), file("mode"), size)
                    && state == "enabled"
                {
                    let size = u32::try_from(size).unwrap_or(u32::MAX);
                    found.queues.push((name.clone(), mode, size));
                }
            } else if is_of("engine") && file("group_id").is_ok_and(|group| group != "-1") {
                found.engines += 1;
            }
        }
        found
    }
}

/// Adds a tenant for the busy copy engines of each socket, and tells of queues that nothing uses.
pub(super) fn add(seen: &ObservedMachine<'_>, around: &Neighbourhood, findings: &mut Findings) {
    let mut of_sockets: BTreeMap<i64, Vec<BusyEngine>> = BTreeMap::new();
    let busy = busy_engines(seen);
    let names: Vec<String> = busy.iter().map(|engine| engine.device.clone()).collect();
    for engine in busy {
        of_sockets.entry(around.number_of(engine.socket)).or_default().push(engine);
    }
    for (number, mut engines) in of_sockets {
        let room = around.cores_left(number, findings).min(MOST_INSTANCES);
        let room = if around.has_engines { room } else { 0 };
        for engine in engines.drain(room.min(engines.len())..) {
            let why = match around.has_engines {
                true => "the scenario has no room left for it",
                false => "the platform of the scenario has none",
            };
            findings.left_out.push(format!("{}: {why}", describe(&engine)));
        }
        if !engines.is_empty() {
            findings.tenant(|findings| tenant(seen, number, &engines, findings));
        }
    }
    idle_queues(seen, &names, findings);
}

fn busy_engines(seen: &ObservedMachine<'_>) -> Vec<BusyEngine> {
    let mut samples: BTreeMap<&str, Vec<&EngineSample>> = BTreeMap::new();
    for engine in seen.windows.iter().flat_map(|window| &window.engines) {
        samples.entry(engine.device.as_str()).or_default().push(engine);
    }
    let of_device = |(device, samples): (&str, Vec<&EngineSample>)| {
        let mean = |of: fn(&EngineSample) -> f64| {
            samples.iter().map(|sample| of(sample)).sum::<f64>() / samples.len().max(1) as f64
        };
        let node = samples.first().and_then(|sample| sample.node);
        BusyEngine {
            device: device.to_owned(),
            socket: node.and_then(|node| socket_of_node(seen, node)),
            read_bytes_per_s: mean(|it| it.inbound_bytes_per_s),
            written_bytes_per_s: mean(|it| it.outbound_bytes_per_s),
            shared_requests_per_s: mean(|it| it.shared_requests_per_s),
            dedicated_requests_per_s: mean(|it| it.dedicated_requests_per_s),
        }
    };
    let is_busy = |engine: &BusyEngine| {
        engine.read_bytes_per_s + engine.written_bytes_per_s >= IDLE_BYTES_PER_S
    };
    samples.into_iter().map(of_device).filter(is_busy).collect()
}

fn socket_of_node(seen: &ObservedMachine<'_>, node: u32) -> Option<PackageId> {
    let path = format!("sys/devices/system/node/node{node}/cpulist");
    let cpus = cpu_list(&seen.host.root.read_line(&path).ok()?)?;
    let has_one = |socket: &&SocketStatus| socket.cpus.iter().any(|cpu| cpus.contains(cpu));
    seen.status.sockets.iter().find(has_one).map(|socket| socket.id)
}

fn describe(engine: &BusyEngine) -> String {
    format!(
        "copy engine {} read {:.2} GB/s and wrote {:.2} GB/s",
        engine.device,
        engine.read_bytes_per_s / 1e9,
        engine.written_bytes_per_s / 1e9
    )
}

fn tenant(
    seen: &ObservedMachine<'_>,
    number: i64,
    engines: &[BusyEngine],
    findings: &mut Findings,
) {
    let Some(first) = engines.first() else { return };
    let told: Vec<String> = engines.iter().map(describe).collect();
    let name = if number == 0 { "engines" } else { "engines-of-other-socket" };
    findings.add("name", name, ValueOrigin::Measured, told.join("; "));
    let what = "descriptors come from programs; which is not counted";
    findings.add("application", "offload", ValueOrigin::Assumed, what);
    let count = i64::try_from(engines.len()).unwrap_or(1);
    findings.add("cores", count, ValueOrigin::Assumed, "a core that submits for each engine");
    if number != 0 {
        let source = "who submits runs where the engines are";
        findings.add("socket", number, ValueOrigin::Assumed, source);
    }
    findings.add("dsa.instances", count, ValueOrigin::Measured, "devices that moved data");
    configuration(seen, first, findings);
    cores::all_ways(seen, findings);
    load::io_ways(seen.status, None, first.socket, findings);
    operation(engines, findings);
    findings.ask(
        "offload.depth",
        "how many descriptors does each program keep under way? one is the simulator's default",
    );
}

/// Queues and engines of the first device: the simulator has all devices alike.
fn configuration(seen: &ObservedMachine<'_>, first: &BusyEngine, findings: &mut Findings) {
    let found = Configuration::read(&seen.host.root, &first.device);
    if found.engines > 0 {
        let source = format!("sysfs: engines of {} that are in a group", first.device);
        let engines = i64::try_from(found.engines.min(64)).unwrap_or(1);
        findings.add("dsa.engines", engines, ValueOrigin::Read, source);
    }
    let mode = if first.shared_requests_per_s > first.dedicated_requests_per_s {
        "shared"
    } else {
        "dedicated"
    };
    let source = format!("requests to {mode} queues of {} are most", first.device);
    findings.add("dsa.queue_mode", mode, ValueOrigin::Measured, source);
    let mut of_mode = found.queues.iter().filter(|(_, own, _)| own == mode);
    if let Some((queue, _, size)) = of_mode.next() {
        let size = i64::from(*size).clamp(1, 128);
        findings.add(
            "dsa.queue_entries",
            size,
            ValueOrigin::Read,
            format!("sysfs: size of {queue}"),
        );
    }
}

/// The operation that reads and writes as much, and the bytes of a request.
fn operation(engines: &[BusyEngine], findings: &mut Findings) {
    let sum = |of: fn(&BusyEngine) -> f64| engines.iter().map(of).sum::<f64>();
    let (read, written) = (sum(|it| it.read_bytes_per_s), sum(|it| it.written_bytes_per_s));
    let operation = match (read < HARDLY * written, written < HARDLY * read) {
        (true, _) => "fill",
        (_, true) => "crc",
        _ => "copy",
    };
    let source = format!(
        "{:.2} GB/s read and {:.2} GB/s written; operations are not counted",
        read / 1e9,
        written / 1e9
    );
    findings.add("offload.operation", operation, ValueOrigin::Assumed, source);
    let requests = sum(|it| it.shared_requests_per_s + it.dedicated_requests_per_s);
    let bytes = (read.max(written) / requests).round();
    if requests > 0.0 && bytes >= 1.0 {
        let source = "bytes for each request to a queue; a batch is one request";
        let bytes = i64::try_from(units::narrow::whole(bytes.min(1e9))).unwrap_or(1);
        findings.add("offload.transfer_bytes", bytes, ValueOrigin::Measured, source);
    } else {
        findings
            .ask("offload.transfer_bytes", "how large is an operation? requests are not counted");
    }
}

/// Tells of enabled queues of devices that moved nothing, or of which nothing counts.
fn idle_queues(seen: &ObservedMachine<'_>, busy: &[String], findings: &mut Findings) {
    let names = seen.host.root.list(DEVICES).unwrap_or_default();
    let number = |name: &String| name.strip_prefix("wq")?.split_once('.')?.0.parse::<u32>().ok();
    let numbers: BTreeSet<u32> = names.iter().filter_map(number).collect();
    let devices = numbers.into_iter().map(|number| format!("dsa{number}"));
    for device in devices.filter(|device| !busy.contains(device)) {
        for (queue, mode, size) in Configuration::read(&seen.host.root, &device).queues {
            findings.left_out.push(format!("work queue {queue}: {mode}, {size} entries, enabled"));
        }
    }
}
