//! What can be seen and changed on this machine, and if not, why not and what would allow it.
//!
//! Every line is tried, not guessed: a register is read, an event opened, a plan made. Nothing is
//! written.

mod counters;
mod slices;

use serde::Serialize;

use crate::controls::{ControlTarget, check_one_die, check_server};
use crate::cpu::{CpuId, CpuModel, CpuSocket, Generation, Generations};
use crate::error::{FileError, Problem};
use crate::kernel_rules::KernelRules;
use crate::machine::Host;
use crate::pci::Tree;
use crate::resctrl::{Resctrl, absence};
use crate::status::HostStatus;
use crate::tune::{IoAllocRequest, TunePlan, TunePlanError, TunePlanner};
use crate::unavailable::Unavailable;

/// An offset beyond the part of configuration space that every user may read.
const PRIVILEGED_OFFSET: u16 = 0x40;

/// What is possible here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// The machine in words.
    pub machine: String,
    /// What can be seen.
    pub seen: Vec<DoctorCheck>,
    /// What can be changed.
    pub changed: Vec<DoctorCheck>,
    /// Changes in force, which a restore would put back.
    pub changes_pending: usize,
}

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorCheck {
    /// What it is.
    pub what: &'static str,
    /// Whether it works here, and what there is to know.
    #[serde(flatten)]
    pub finding: Finding,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "finding")]
pub enum Finding {
    /// It works.
    Yes {
        /// What to know about it.
        note: Option<String>,
    },
    /// It does not.
    No {
        /// Why.
        reason: String,
        /// What would allow it, if anything would.
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

/// Tries everything. `state` is the directory of the journal.
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
    // What a plan says first is about its control, and last what a switch leaves alone.
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

/// What was found, unless the kernel refuses what is planned.
fn unless_refused(
    refusal: Option<String>,
    planned: Result<Option<String>, Unavailable>,
) -> Result<Option<String>, Unavailable> {
    planned.and_then(|note| refusal.map_or(Ok(note), |reason| Err(Unavailable::absent("", reason))))
}

/// A plan that is possible wherever there is a register of ways.
fn plan_all_ways(planner: &TunePlanner<'_>) -> Result<TunePlan, TunePlanError> {
    let ways = planner.sockets().iter().find_map(CpuSocket::ways).unwrap_or(0);
    planner.ddio_ways(ways, None)
}

/// The reason and the remedy of a refusal.
fn from_plan_error(error: &TunePlanError) -> Unavailable {
    split_remedy(&error.to_string())
}

/// A message that may end with what helps.
fn split_remedy(text: &str) -> Unavailable {
    match text.split_once("\n  remedy: ") {
        Some((reason, remedy)) => Unavailable::new("", reason, remedy),
        None => Unavailable::absent("", text),
    }
}

fn machine(status: &HostStatus) -> String {
    let name = status.cpu.as_ref().map_or("unknown CPU", |cpu| cpu.name.as_str());
    let generation = status.generation.as_ref().map_or("generation not known", |g| g.name.as_str());
    format!("{name} · {generation} · {} socket(s)", status.sockets.len())
}

fn check_generation(host: &Host) -> Result<Option<String>, Unavailable> {
    let cpu = CpuModel::read(&host.root).map_err(|error| Unavailable::from_error("", &error))?;
    let generations = Generations::built_in();
    let generation = generations.find(&cpu).ok_or_else(|| {
        let model = format!("{} family {:#x} model {:#x}", cpu.vendor, cpu.family, cpu.model);
        Unavailable::absent("", format!("{model} is not in the table of generations"))
    })?;
    check_server(host, &cpu, generation).map_err(|reason| Unavailable::absent("", reason))?;
    Ok(Some(generation.io_path.clone()))
}

/// Whether the driver works, and the register of ways answers where the part has one.
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

fn check_configuration(host: &Host) -> Result<(), Unavailable> {
    let of = |error: &FileError| Unavailable::from_error("", error);
    let tree = Tree::read(&host.root).map_err(|error| of(&error))?;
    let Some(function) = tree.functions().next() else {
        return Err(Unavailable::absent("", "there are no PCI functions"));
    };
    host.config.read(function.bdf, PRIVILEGED_OFFSET).map(drop).map_err(|error| of(&error))
}

fn groups(host: &Host) -> Result<Option<String>, Unavailable> {
    match Resctrl::read(&host.root, host.control.as_ref()) {
        Ok(found) => Ok(Some(format!("{} group(s)", found.groups.len()))),
        Err(error) if error.problem == Problem::Missing => Err(absence(&host.root)),
        Err(error) => Err(Unavailable::from_error("", &error)),
    }
}
