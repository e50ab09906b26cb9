//! Cores: which serve a port, their clock, the ways that their control group has, and which programs run.

use crate::cpu::{CpuId, PackageId, cpu_list, format_list};
use crate::status::{CacheStatus, SocketStatus};

use super::ObservedMachine;
use super::network::{ObservedPort, receiving_cpus};
use super::values::{Findings, ValueOrigin};

/// Share of a window from which on a CPU is taken to poll.
const POLLING: f64 = 0.95;
/// Most cores that a scenario can have.
const MOST_CORES: usize = 63;

/// Adds the number of cores of a port, and what follows from which they are. `home` is the socket of the main
/// tenant's cores if the port is another one's. Returns the socket of the cores, or else of the card.
pub(super) fn of_port(
    seen: &ObservedMachine<'_>,
    port: &ObservedPort<'_>,
    home: Option<PackageId>,
    findings: &mut Findings,
) -> Option<PackageId> {
    let (cpus, source) = if port.is_bypassed() {
        polling_cpus(seen)
    } else {
        receiving_cpus(seen.host, port.device.bdf, seen.activity)
    };
    let socket = if cpus.is_empty() { None } else { socket_of(seen, &cpus) };
    sockets(socket, port, home, findings);
    if cpus.is_empty() {
        without_cpus(seen, port, findings);
        if findings.is_of_tenant() {
            all_ways(seen, findings);
        }
        return port.socket;
    }
    count(seen, port, &cpus, source, findings);
    if !findings.is_of_tenant() {
        clock(seen, &cpus, findings);
    }
    let known = socket.and_then(|id| seen.status.sockets.iter().find(|it| it.id == id));
    if let (Some(socket), Some(caches)) = (known, &seen.status.caches) {
        ways(caches, socket, &cpus, findings);
    }
    socket.or(port.socket)
}

/// The number of cores. Ports that programs poll share the CPUs that poll: nothing shows which has which.
fn count(
    seen: &ObservedMachine<'_>,
    port: &ObservedPort<'_>,
    cpus: &[CpuId],
    source: String,
    findings: &mut Findings,
) {
    let (cores, polled) = (first_of_each_core(seen, cpus), seen.polled_ports);
    if !port.is_bypassed() || polled < 2 {
        return findings.add("cores", clamp(cores), ValueOrigin::Measured, source);
    }
    let source =
        format!("{source}; divided evenly among {polled} ports, as nothing shows who has which");
    findings.add("cores", clamp(cores / polled), ValueOrigin::Assumed, source);
    findings
        .ask("cores", format!("how many of the {cores} cores that poll serve {}?", port.name()));
}

/// The sockets of cores and card, of which the simulator has two: the first is that of the main cores.
fn sockets(
    cores: Option<PackageId>,
    port: &ObservedPort<'_>,
    home: Option<PackageId>,
    findings: &mut Findings,
) {
    let Some(home) = home else {
        if let (Some(of_cores), Some(of_port)) = (cores, port.socket)
            && of_cores != of_port
        {
            let source =
                format!("sysfs: the cores are in socket {of_cores}, the card in {of_port}");
            findings.add("nic_socket", 1, ValueOrigin::Read, source);
        }
        return;
    };
    let number = |socket: PackageId| i64::from(socket != home);
    if let Some(cores) = cores.filter(|cores| *cores != home) {
        let source = format!("sysfs: its cores are in socket {cores}");
        findings.add("socket", number(cores), ValueOrigin::Read, source);
    }
    if let Some(card) = port.socket {
        let source = format!("sysfs: the card is in socket {card}");
        findings.add("nic_socket", number(card), ValueOrigin::Read, source);
    }
}

/// Cores of which the window tells nothing: the number of queues, or a question.
fn without_cpus(seen: &ObservedMachine<'_>, port: &ObservedPort<'_>, findings: &mut Findings) {
    let queues = port.interface.filter(|_| !port.is_bypassed()).and_then(|name| {
        let read = seen.host.interfaces.rss_queues(name).ok().filter(|queues| !queues.is_empty());
        let read = read.map(|queues| (queues.len(), "queues of the RSS table"));
        let all = || seen.host.interfaces.receive_queues(name).ok().filter(|queues| *queues > 0);
        read.or_else(|| all().map(|queues| (queues as usize, "receive queues")))
    });
    match queues {
        Some((queues, what)) => {
            let source = format!("one core for each of the {queues} {what} (ethtool)");
            findings.add("cores", clamp(queues), ValueOrigin::Assumed, source);
        }
        None => {
            let question =
                format!("how many cores serve {}? no CPU polls or receives", port.name());
            findings.ask("cores", question);
        }
    }
}

fn clamp(cores: usize) -> i64 {
    i64::try_from(cores.clamp(1, MOST_CORES)).unwrap_or(1)
}

/// CPUs that were busy all the time, as those of a program that polls.
fn polling_cpus(seen: &ObservedMachine<'_>) -> (Vec<CpuId>, String) {
    let all = seen.status.sockets.iter().flat_map(|socket| &socket.cpus).copied();
    let polls = |cpu: &CpuId| seen.activity.busy(*cpu).is_some_and(|share| share >= POLLING);
    let cpus: Vec<CpuId> = all.filter(polls).collect();
    let source = format!(
        "/proc/stat: CPUs {} were busy all the time, as those of a program that polls",
        format_list(&cpus)
    );
    (cpus, source)
}

/// Number of cores of CPUs: siblings are one.
fn first_of_each_core(seen: &ObservedMachine<'_>, cpus: &[CpuId]) -> usize {
    let mut cores: Vec<String> = cpus
        .iter()
        .map(|cpu| {
            let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            seen.host.root.read_line(&path).unwrap_or_else(|_| cpu.to_string())
        })
        .collect();
    cores.sort_unstable();
    cores.dedup();
    cores.len()
}

/// The socket that has all of these CPUs.
fn socket_of(seen: &ObservedMachine<'_>, cpus: &[CpuId]) -> Option<PackageId> {
    let has_all = |socket: &&SocketStatus| cpus.iter().all(|cpu| socket.cpus.contains(cpu));
    seen.status.sockets.iter().find(has_all).map(|socket| socket.id)
}

fn clock(seen: &ObservedMachine<'_>, cpus: &[CpuId], findings: &mut Findings) {
    match seen.activity.clock_ghz(cpus) {
        Some(ghz) => {
            let source = format!("cpufreq: mean of CPUs {}", format_list(cpus));
            findings.add("core_ghz", (ghz * 100.0).round() / 100.0, ValueOrigin::Measured, source);
        }
        None => findings.leave("core_ghz", "the kernel shows no clock of these cores (cpufreq)"),
    }
}

/// The mask of ways of the group that has the CPUs, unless it has all ways.
fn ways(caches: &CacheStatus, socket: &SocketStatus, cpus: &[CpuId], findings: &mut Findings) {
    let (Some(cache), Some(resource)) = (socket.caches.first(), caches.resources.first()) else {
        return;
    };
    let has = |list: &str| cpu_list(list).is_some_and(|of| cpus.iter().all(|cpu| of.contains(cpu)));
    // The default group's list has the CPUs that no other group has.
    let own = caches.groups.iter().rev().find(|group| has(&group.group.cpus));
    let Some(group) = own.map(|group| &group.group) else {
        findings.leave("core_way_mask", "the cores are in several groups of resctrl");
        return;
    };
    let mask = group.masks.first().and_then(|line| line.mask(cache.id));
    // A tenant that has all ways says so, if the main one has a mask to inherit.
    let is_told = |mask: u64| {
        mask != resource.all_ways
            || (findings.is_of_tenant() && findings.is_inherited("core_way_mask"))
    };
    let Some(mask) = mask.filter(|mask| *mask != 0 && is_told(*mask)) else { return };
    let Ok(value) = u32::try_from(mask) else { return };
    let name = if group.name.is_empty() { "default" } else { &group.name };
    let source =
        format!("resctrl: schemata of group {name}, {mask:#x} of {:#x}", resource.all_ways);
    findings.add("core_way_mask", i64::from(value), ValueOrigin::Read, source);
}

/// States that unknown cores have all ways, where a mask of the main tenant would be inherited.
pub(super) fn all_ways(seen: &ObservedMachine<'_>, findings: &mut Findings) {
    let resource = seen.status.caches.as_ref().and_then(|caches| caches.resources.first());
    let all = resource.and_then(|resource| i64::try_from(resource.all_ways).ok());
    if let Some(all) = all.filter(|_| findings.is_inherited("core_way_mask")) {
        let source = "which its cores are is not known: all ways";
        findings.add("core_way_mask", all, ValueOrigin::Assumed, source);
    }
}

/// Lists the programs that used most of the CPUs.
pub(super) fn programs(seen: &ObservedMachine<'_>, findings: &mut Findings) {
    const MOST: usize = 8;
    for (pid, name, cpus) in seen.activity.programs().into_iter().take(MOST) {
        let status = seen.host.root.read_text(&format!("proc/{pid}/status")).unwrap_or_default();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let allowed =
            allowed.map_or(String::new(), |list| format!(", may run on CPUs {}", list.trim()));
        findings
            .left_out
            .push(format!("program {name} (process {pid}) used {cpus:.1} CPUs{allowed}"));
    }
}
