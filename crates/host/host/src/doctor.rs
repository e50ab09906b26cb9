//! Examines what can be read and changed on this machine; where something cannot, the reason and the
//! remedy.
//!
//! Every check is a trial, not a guess: a register is read, an event opened, a plan made. Nothing is
//! written.

mod counters;
mod slices;

use serde::Serialize;

use crate::controls::{ControlTarget, check_one_die, check_server};
use crate::cpu::{CpuId, CpuModel, CpuSocket, Generation, Generations, common_llc_ways};
use crate::error::{FileError, Problem};
use crate::kernel_rules::KernelRules;
use crate::machine::Host;
use crate::pci::Tree;
use crate::resctrl::{Resctrl, absence_reason};
use crate::status::HostStatus;
use crate::tune::{IoAllocRequest, TunePlan, TunePlanError, TunePlanner};
use crate::unavailable::Unavailable;

/// An offset beyond the part of configuration space that every user may read.
const PRIVILEGED_OFFSET: u16 = 0x40;

/// Results of all checks of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// CPU model, generation and number of sockets, for messages.
    pub machine: String,
    /// Checks of reading: registers, events, groups, slices.
    pub seen: Vec<DoctorCheck>,
    /// Checks of changing: ways, switches, masks, counters.
    pub changed: Vec<DoctorCheck>,
    /// Number of changes in force, which a restore would undo.
    pub changes_pending: usize,
}

/// A check and its finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorCheck {
    /// Name of the checked thing, like "registers".
    pub what: &'static str,
    /// Whether the checked thing works here, with a note or the reason.
    #[serde(flatten)]
    pub finding: Finding,
}

/// Finding of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "finding")]
pub enum Finding {
    /// The checked thing works.
    Yes {
        /// Additional information, if there is any.
        note: Option<String>,
    },
    /// The checked thing does not work.
    No {
        /// The reason.
        reason: String,
        /// The remedy; `None` if none is known.
        remedy: Option<String>,
    },
}

impl Finding {
    fn from_result(result: Result<Option<String>, Unavailable>) -> Self {
        match result {
            Ok(note) => Self::Yes { note },
            Err(Unavailable { reason, remedy, .. }) => Self::No { reason, remedy },
        }
    }
}

/// Runs all checks. `state` is the directory of the journal, below the root.
#[must_use]
pub fn examine(host: &Host, state: &str) -> Examination {
    let status = HostStatus::read(host, state);
    let check = |what, result| DoctorCheck { what, finding: Finding::from_result(result) };
    let rules = KernelRules::read(&host.root);
    let planner = TunePlanner::new(host);
    let planned = |plan: &dyn Fn(&TunePlanner<'_>) -> Result<TunePlan, TunePlanError>| {
        let plan = planner.as_ref().map_err(Clone::clone).and_then(plan);
        plan.map(|plan| plan.warnings).map_err(|error| from_plan_error(&error))
    };
    // The first warning of a plan is about its control; the last is about writes that a switch does not
    // affect.
    let ways = planned(&plan_all_ways).map(|notes| notes.first().cloned());
    let ports = planned(&|p| p.ddio(false, None)).map(|notes| notes.last().cloned());
    let [events, engines] = counters::events_and_engines(host);
    let means = slices::find_method(host);
    let io_alloc = planned(&|p| p.io_alloc(IoAllocRequest::On)).map(|notes| notes.first().cloned());
    Examination {
        machine: machine(&status),
        seen: vec![
            check("this part", check_generation(host)),
            check("registers", check_registers(host)),
            check("PCI configuration", check_configuration(host).map(|()| None)),
            check("hits and misses", events),
            check("copy engines", engines),
            check("groups and occupancy", groups(host)),
            check("slices", slices::look_ups(&means)),
            check("addresses of lines", slices::addresses(host)),
        ],
        changed: vec![
            check("ways of I/O", unless_refused(rules.msr_refusal(), ways)),
            check("DDIO of root ports", unless_refused(rules.register_refusal(), ports)),
            check("allocation for I/O", io_alloc),
            check("masks of groups", groups(host)),
            check("counters of slices", slices::writable_counters(means, rules.msr_refusal())),
        ],
        changes_pending: status.changes_pending,
    }
}

/// The result of a plan, or the reason why the kernel refuses its writes.
fn unless_refused(
    refusal: Option<String>,
    planned: Result<Option<String>, Unavailable>,
) -> Result<Option<String>, Unavailable> {
    planned.and_then(|note| {
        refusal.map_or(Ok(note), |reason| Err(Unavailable::without_remedy("", reason)))
    })
}

/// A plan that is possible wherever the machine has a register of ways: all ways for I/O.
fn plan_all_ways(planner: &TunePlanner<'_>) -> Result<TunePlan, TunePlanError> {
    // Caches that differ are the plan's own reason for a refusal.
    let ways = common_llc_ways(planner.sockets()).unwrap_or(0);
    planner.ddio_ways(ways, None)
}

/// Reason and remedy of a refused plan.
fn from_plan_error(error: &TunePlanError) -> Unavailable {
    split_remedy(&error.to_string())
}

/// Splits a message into the reason and the remedy, if it has one.
fn split_remedy(text: &str) -> Unavailable {
    match text.split_once("\n  remedy: ") {
        Some((reason, remedy)) => Unavailable::new("", reason, remedy),
        None => Unavailable::without_remedy("", text),
    }
}

/// CPU model, generation and number of sockets, for messages.
fn machine(status: &HostStatus) -> String {
    let name = status.cpu.as_ref().map_or("unknown CPU", |cpu| cpu.name.as_str());
    let generation = status.generation.as_ref().map_or("generation not known", |g| g.name.as_str());
    format!("{name} · {generation} · {} socket(s)", status.sockets.len())
}

/// Checks that the CPU is a server of a known generation; the note describes its I/O path.
fn check_generation(host: &Host) -> Result<Option<String>, Unavailable> {
    let cpu = CpuModel::read(&host.root).map_err(|error| Unavailable::from_error("", &error))?;
    let generations = Generations::built_in();
    let generation = generations.find(&cpu).ok_or_else(|| {
        let model = format!("{} family {:#x} model {:#x}", cpu.vendor, cpu.family, cpu.model);
        Unavailable::without_remedy("", format!("{model} is not in the table of generations"))
    })?;
    check_server(host, &cpu, generation)
        .map_err(|reason| Unavailable::without_remedy("", reason))?;
    Ok(Some(generation.io_path.clone()))
}

/// Checks that the driver works, and that the register of ways answers if the CPU has one.
fn check_registers(host: &Host) -> Result<Option<String>, Unavailable> {
    let of = |error: &FileError| Unavailable::from_error("", error);
    let sockets = crate::cpu::sockets(&host.root).unwrap_or_default();
    let cpu = sockets.first().map_or(CpuId(0), CpuSocket::first_cpu);
    host.registers.detect(cpu).map_err(|error| of(&error))?;
    let model = CpuModel::read(&host.root).map_err(|error| of(&error))?;
    let generations = Generations::built_in();
    let is_server = |known: &&Generation| check_server(host, &model, known).is_ok();
    let generation = generations.find(&model).filter(is_server);
    let Some(register) = generation.and_then(|known| known.ways_register.as_ref()) else {
        return Ok(None);
    };
    for socket in sockets.iter().filter(|socket| check_one_die(socket).is_ok()) {
        let (cpu, address) = (socket.first_cpu(), register.msr);
        let target = ControlTarget::Msr { socket: socket.id, cpu, address };
        target.read(host).map_err(|error| of(&error))?;
    }
    Ok(None)
}

/// Checks that configuration space beyond 64 bytes can be read.
fn check_configuration(host: &Host) -> Result<(), Unavailable> {
    let of = |error: &FileError| Unavailable::from_error("", error);
    let tree = Tree::read(&host.root).map_err(|error| of(&error))?;
    let Some(function) = tree.functions().next() else {
        return Err(Unavailable::without_remedy("", "there are no PCI functions"));
    };
    host.config.read(function.bdf, PRIVILEGED_OFFSET).map(drop).map_err(|error| of(&error))
}

fn groups(host: &Host) -> Result<Option<String>, Unavailable> {
    match Resctrl::read(&host.root, host.control.as_ref()) {
        Ok(found) => Ok(Some(format!("{} group(s)", found.groups.len()))),
        Err(error) if error.problem == Problem::Missing => Err(absence_reason(&host.root)),
        Err(error) => Err(Unavailable::from_error("", &error)),
    }
}
