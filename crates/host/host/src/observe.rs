//! A running server as a scenario of the simulator: what is read, what a window of time shows, what is
//! assumed and why, and what has to be asked for. Nothing is written to the machine.

mod activity;
mod cards;
mod cores;
mod devices;
mod engines;
mod load;
mod neighbours;
mod network;
mod scenario_text;
mod storage;
mod values;

use std::time::Duration;

use serde::Serialize;

use crate::calibrate::{DonorPlatform, Processor};
use crate::cpu::{CpuModel, Generations, sockets};
use crate::machine::Host;
use crate::monitor::{Monitor, MonitorSample};
use crate::status::HostStatus;
use crate::unavailable::Unavailable;

use activity::{Activity, CounterReading, WindowActivity};
use network::ObservedPort;
use values::Findings;

pub use values::{ObservedValue, OpenQuestion, ValueOrigin};

/// Length of a window of the counters.
const WINDOW: Duration = Duration::from_secs(1);

/// Options of an observation.
#[derive(Clone, Debug, Default)]
pub struct ObserveRequest {
    /// Time to count, in seconds.
    pub seconds: u32,
    /// The platform file or name to use in place of the nearest known platform.
    pub platform: Option<String>,
    /// Interface or PCI address of the port that the scenario is about; the busiest one if `None`.
    pub port: Option<String>,
    /// Values that the user states.
    pub answers: Vec<(String, toml::Value)>,
}

/// A server as it was seen.
#[derive(Clone, Debug, Serialize)]
pub struct Observation {
    /// Title of the scenario.
    pub title: String,
    /// Time in which counters were compared, in seconds.
    pub window_s: f64,
    /// Values of the scenario with their sources.
    pub values: Vec<ObservedValue>,
    /// Values that nothing here tells.
    pub questions: Vec<OpenQuestion>,
    /// Activity that is not part of the scenario, with the reason.
    pub left_out: Vec<String>,
    /// Items that could not be read.
    pub unread: Vec<Unavailable>,
    /// Windows of the counters; empty if they cannot be read.
    #[serde(skip)]
    pub windows: Vec<MonitorSample>,
}

/// Reason why a machine cannot be observed as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObserveError {
    /// the port that was named is not there
    #[error("--port {asked}: no such network port; this machine has {known}")]
    UnknownPort {
        /// The name or address that was asked for.
        asked: String,
        /// Names of the ports.
        known: String,
    },
    /// an answer is about a tenant that was not found
    #[error(
        "--set {key}: the scenario has {tenants} tenants beside the main one, from tenant.0 on"
    )]
    UnknownTenant {
        /// The key of the answer.
        key: String,
        /// Number of tenants.
        tenants: usize,
    },
}

/// Observes a machine for some seconds. `progress` is told how many have passed, and returns whether to go
/// on: what was counted until then is used.
///
/// # Errors
/// If the port that was asked for is not there, or a tenant that an answer is about.
pub fn observe(
    host: &Host,
    state: &str,
    request: &ObserveRequest,
    progress: &mut dyn FnMut(u32) -> bool,
) -> Result<Observation, ObserveError> {
    let status = HostStatus::read(host, state);
    check_port(&status, request)?;
    let mut findings = Findings::default();
    for unread in &status.unread {
        findings.note(unread.clone());
    }
    let watched = devices::watched(host, &status);
    let first = Activity::read(host, &watched, CounterReading::First);
    let started = std::time::Instant::now();
    let (windows, elapsed) = count(host, request.seconds, progress, &mut findings);
    let second = Activity::read(host, &watched, CounterReading::Second);
    for (what, error) in first.unread.iter().chain(&second.unread) {
        findings.take::<()>(what, Err(error.clone()));
    }
    // Counters of a described machine take no time.
    let seconds = if host.root.is_real() { started.elapsed() } else { elapsed }.as_secs_f64();
    let activity = WindowActivity { first: &first, second: &second, seconds: seconds.max(1e-3) };
    let mut ports = network::ports(&status, &activity, &windows);
    put_first(&mut ports, request.port.as_deref());
    let answers = request.answers.as_slice();
    let polled_ports =
        ports.iter().filter(|port| port.is_bypassed() && port.weight() > 0.0).count();
    let seen = ObservedMachine {
        host,
        status: &status,
        activity: &activity,
        windows: &windows,
        answers,
        polled_ports,
    };
    let room = platform(&seen, request, &mut findings);
    let home = match ports.first() {
        Some(main) => load::main_port(&seen, main, &mut findings),
        None => {
            findings.ask("offered_gbps", "this machine has no network card: what arrives?");
            None
        }
    };
    neighbours::add(&seen, &ports, home, room, &mut findings);
    cores::programs(&seen, &mut findings);
    check_tenants(answers, findings.tenants)?;
    findings.answer(answers);
    let Findings { values, questions, left_out, notes, .. } = findings;
    Ok(Observation {
        title: title(&status, ports.first()),
        window_s: seconds,
        values,
        questions,
        left_out,
        unread: notes.into_list(),
        windows,
    })
}

/// The machine: its status, and its activity in the window.
struct ObservedMachine<'a> {
    host: &'a Host,
    status: &'a HostStatus,
    activity: &'a WindowActivity<'a>,
    windows: &'a [MonitorSample],
    answers: &'a [(String, toml::Value)],
    /// Busy ports that programs poll.
    polled_ports: usize,
}

/// Room of the platform of the scenario.
#[derive(Clone, Copy)]
struct PlatformRoom {
    /// Cores of a socket.
    cores: usize,
    /// Whether it has copy engines.
    has_engines: bool,
}

impl ObservedValue {
    /// The value as the scenario has it; `None` if it is left to the platform or the simulator.
    #[must_use]
    pub fn shown(&self) -> Option<String> {
        self.value.as_ref().map(|value| scenario_text::shown(&self.key, value))
    }
}

impl Observation {
    /// The scenario: a line for each value, with its source behind it.
    #[must_use]
    pub fn scenario(&self) -> String {
        scenario_text::scenario(self)
    }
}

fn check_port(status: &HostStatus, request: &ObserveRequest) -> Result<(), ObserveError> {
    let Some(asked) = &request.port else { return Ok(()) };
    let devices = status.ports().flat_map(|port| &port.devices);
    let nics = devices.filter(|device| device.kind == crate::pci::FunctionKind::Nic);
    let names: Vec<String> = nics
        .flat_map(|device| match device.names.as_slice() {
            [] => vec![device.bdf.to_string()],
            names => names.to_vec(),
        })
        .collect();
    if names.contains(asked) || is_address_of_port(status, asked) {
        return Ok(());
    }
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Err(ObserveError::UnknownPort { asked: asked.clone(), known })
}

fn is_address_of_port(status: &HostStatus, asked: &str) -> bool {
    let mut devices = status.ports().flat_map(|port| &port.devices);
    asked.parse().is_ok_and(|bdf: crate::pci_address::Bdf| devices.any(|it| it.bdf == bdf))
}

/// Refuses answers about tenants that were not found.
fn check_tenants(answers: &[(String, toml::Value)], tenants: usize) -> Result<(), ObserveError> {
    let is_known = |key: &str| {
        let Some((number, _)) = key.strip_prefix("tenant.").and_then(|it| it.split_once('.'))
        else {
            return !key.starts_with("tenant.");
        };
        number.parse::<usize>().is_ok_and(|number| number < tenants)
    };
    match answers.iter().find(|(key, _)| !is_known(key)) {
        Some((key, _)) => Err(ObserveError::UnknownTenant { key: key.clone(), tenants }),
        None => Ok(()),
    }
}

/// Moves the port that was asked for to the front.
fn put_first(ports: &mut Vec<ObservedPort<'_>>, asked: Option<&str>) {
    let Some(asked) = asked else { return };
    let is_it = |port: &ObservedPort<'_>| {
        port.interface == Some(asked)
            || asked.parse().is_ok_and(|bdf: crate::pci_address::Bdf| bdf == port.device.bdf)
    };
    if let Some(index) = ports.iter().position(is_it) {
        let port = ports.remove(index);
        ports.insert(0, port);
    }
}

/// Counts window by window; without counters only time passes.
fn count(
    host: &Host,
    seconds: u32,
    progress: &mut dyn FnMut(u32) -> bool,
    findings: &mut Findings,
) -> (Vec<MonitorSample>, Duration) {
    let cpu = CpuModel::read(&host.root).ok();
    let generations = Generations::built_in();
    let generation = cpu.as_ref().and_then(|cpu| generations.find(cpu));
    let monitor = Monitor::prepare(host, generation, &sockets(&host.root).unwrap_or_default());
    for unread in monitor.unavailable() {
        findings.note(unread.clone());
    }
    let mut windows = Vec::new();
    let mut can_count = true;
    for second in 0..seconds {
        if !progress(second) {
            return (windows, WINDOW * second.max(1));
        }
        let sample = can_count.then(|| monitor.sample(host, WINDOW));
        match sample {
            Some(Ok(sample)) => windows.push(sample),
            Some(Err(error)) => {
                findings.take::<()>("counters outside the cores", Err(error));
                can_count = false;
            }
            None => {}
        }
        // A window without events waits as long; a refused one does not.
        if !can_count && host.root.is_real() {
            std::thread::sleep(WINDOW);
        }
    }
    (windows, WINDOW * seconds.max(1))
}

fn title(status: &HostStatus, port: Option<&ObservedPort<'_>>) -> String {
    let cpu = status.cpu.as_ref().map_or("a server", |cpu| cpu.name.as_str());
    match port {
        Some(port) => format!("{cpu}, {}", port.name()),
        None => cpu.to_owned(),
    }
}

/// The platform: the one that the user names, or the nearest known one of the same vendor.
fn platform(
    seen: &ObservedMachine<'_>,
    request: &ObserveRequest,
    findings: &mut Findings,
) -> PlatformRoom {
    let own_cores = seen.status.sockets.iter().map(|socket| socket.cores).min();
    // Of a platform that is not known here: what this machine has.
    let of_machine = PlatformRoom { cores: own_cores.unwrap_or(1), has_engines: true };
    if let Some(named) = &request.platform {
        findings.add("platform", named.as_str(), ValueOrigin::Stated, "--platform");
        return of_machine;
    }
    let Some(cpu) = &seen.status.cpu else {
        findings.ask("platform", format!("the CPU's model cannot be read; `{MEASURE}`"));
        return of_machine;
    };
    let processor = processor_of(cpu);
    let donor = DonorPlatform::nearest(&processor);
    if !donor.is_of_its_vendor(&processor) {
        findings.ask(
            "platform",
            format!(
                "caches of {} are not modelled and no platform is known; `{MEASURE}`",
                cpu.name
            ),
        );
        return of_machine;
    }
    let facts = donor.facts();
    let source = format!(
        "the nearest known platform: {}{}",
        donor.because,
        compare_llc(seen, &facts, findings)
    );
    findings.add("platform", donor.platform.as_str(), ValueOrigin::Assumed, source);
    let cores = facts.get("cpu").and_then(|cpu| cpu.get("cores")?.get("value")?.as_integer());
    let cores = cores.and_then(|cores| usize::try_from(cores).ok());
    PlatformRoom { cores: cores.unwrap_or(1), has_engines: facts.contains_key("dsa") }
}

/// What measures the platform of a machine that none is known for.
const MEASURE: &str = "skipline-host calibrate --out this-host.toml` measures one; then `observe --platform \
                       this-host.toml";

fn processor_of(cpu: &CpuModel) -> Processor {
    Processor {
        vendor: cpu.vendor.clone(),
        family: cpu.family,
        model: cpu.model,
        stepping: cpu.stepping,
        name: cpu.name.clone(),
        virtual_machine: cpu.virtual_machine,
        socket_cores: 1,
        caches: Vec::new(),
    }
}

/// Asks for a platform whose LLC is that of the machine, if the chosen one has another; returns what is to be said
/// of both.
fn compare_llc(seen: &ObservedMachine<'_>, facts: &toml::Table, findings: &mut Findings) -> String {
    let caches = seen.status.sockets.iter().flat_map(|socket| &socket.caches);
    let Some(own) = caches.map(|cache| (cache.size_bytes, u64::from(cache.ways))).next() else {
        return String::new();
    };
    let (kib, ways) = (own.0 >> 10, own.1);
    match llc_of(facts) {
        Some(other) if other != own => {
            findings.ask(
                "platform",
                format!(
                    "this LLC has {kib} KiB in {ways} ways, that of the platform {} KiB in {}; `{MEASURE}`",
                    other.0 >> 10,
                    other.1
                ),
            );
            "; its LLC differs".into()
        }
        _ => format!("; its LLC has {kib} KiB in {ways} ways, too"),
    }
}

/// Size in bytes and ways of a platform's LLC.
fn llc_of(facts: &toml::Table) -> Option<(u64, u64)> {
    let number = |key: &str| {
        let value = facts.get("llc")?.get(key)?.get("value")?.as_integer()?;
        u64::try_from(value).ok()
    };
    let ways = number("ways")?;
    Some((number("slices")? * number("sets_per_slice")? * ways * units::LINE_BYTES, ways))
}
