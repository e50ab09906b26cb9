//! What can be seen and changed on this machine, and if not, why not and what would allow it.
//!
//! Every line is tried, not guessed: a register is read, an event opened, a plan made. Nothing is
//! written.

mod measured;
mod slices;

use serde::Serialize;

use crate::controls::{Target, check_one_die, check_server};
use crate::cpu::{CpuId, CpuModel, Generation, Generations, Socket};
use crate::error::{FileError, Problem};
use crate::kernel::KernelRules;
use crate::machine::Host;
use crate::pci::Tree;
use crate::resctrl::{Resctrl, absence};
use crate::status::Status;
use crate::tune::{IoAllocRequest, Plan, PlanError, Planner};
use crate::unread::Unread;

/// An offset beyond the part of configuration space that every user may read.
const PRIVILEGED_OFFSET: u16 = 0x40;

/// What is possible here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// The machine in words.
    pub machine: String,
    /// What can be seen.
    pub seen: Vec<Check>,
    /// What can be changed.
    pub changed: Vec<Check>,
    /// Changes in force, which a restore would put back.
    pub changes_pending: usize,
}

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
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
    fn of(result: Result<Option<String>, Unread>) -> Self {
        match result {
            Ok(note) => Self::Yes { note },
            Err(Unread { reason, remedy, .. }) => Self::No { reason, remedy },
        }
    }
}

/// Tries everything. `state` is the directory of the journal.
#[must_use]
pub fn examine(host: &Host, state: &str) -> Examination {
    let status = Status::read(host, state);
    let check = |what, result| Check { what, finding: Finding::of(result) };
    let rules = KernelRules::read(&host.root);
    let planner = Planner::new(host);
    let planned = |plan: &dyn Fn(&Planner<'_>) -> Result<Plan, PlanError>| {
        let plan = planner.as_ref().map_err(Clone::clone).and_then(plan);
        plan.map(|plan| plan.warnings).map_err(|error| unread(&error))
    };
    // What a plan says first is about its control, and last what a switch leaves alone.
    let ways = planned(&all_ways).map(|notes| notes.first().cloned());
    let ports = planned(&|p| p.ddio(false, None)).map(|notes| notes.last().cloned());
    let [events, engines] = measured::events_and_engines(host);
    let means = slices::means(host);
    let io_alloc = planned(&|p| p.io_alloc(IoAllocRequest::On)).map(|notes| notes.first().cloned());
    Examination {
        machine: machine(&status),
        seen: vec![
            check("this part", known_server(host)),
            check("registers", a_register(host)),
            check("PCI configuration", configuration(host).map(|()| None)),
            check("hits and misses", events),
            check("copy engines", engines),
            check("groups and occupancy", groups(host)),
            check("slices", slices::look_ups(&means)),
            check("addresses of lines", slices::addresses(host)),
        ],
        changed: vec![
            check("ways of I/O", unless(rules.refuses_msr(), ways)),
            check("DDIO of root ports", unless(rules.refuses_registers(), ports)),
            check("allocation for I/O", io_alloc),
            check("masks of groups", groups(host)),
            check("counters of slices", slices::written(means, rules.refuses_msr())),
        ],
        changes_pending: status.changes_pending,
    }
}

/// What was found, unless the kernel refuses what is planned.
fn unless(
    refusal: Option<String>,
    planned: Result<Option<String>, Unread>,
) -> Result<Option<String>, Unread> {
    planned.and_then(|note| refusal.map_or(Ok(note), |reason| Err(Unread::absent("", reason))))
}

/// A plan that is possible wherever there is a register of ways.
fn all_ways(planner: &Planner<'_>) -> Result<Plan, PlanError> {
    let ways = planner.sockets().iter().find_map(Socket::ways).unwrap_or(0);
    planner.ddio_ways(ways, None)
}

/// The reason and the remedy of a refusal.
fn unread(error: &PlanError) -> Unread {
    split_remedy(&error.to_string())
}

/// A message that may end with what helps.
fn split_remedy(text: &str) -> Unread {
    match text.split_once("\n  remedy: ") {
        Some((reason, remedy)) => Unread::new("", reason, remedy),
        None => Unread::absent("", text),
    }
}

fn machine(status: &Status) -> String {
    let name = status.cpu.as_ref().map_or("unknown CPU", |cpu| cpu.name.as_str());
    let generation = status.generation.as_ref().map_or("generation not known", |g| g.name.as_str());
    format!("{name} · {generation} · {} socket(s)", status.sockets.len())
}

fn known_server(host: &Host) -> Result<Option<String>, Unread> {
    let cpu = CpuModel::read(&host.root).map_err(|error| Unread::of("", &error))?;
    let generations = Generations::built_in();
    let generation = generations.of(&cpu).ok_or_else(|| {
        let model = format!("{} family {:#x} model {:#x}", cpu.vendor, cpu.family, cpu.model);
        Unread::absent("", format!("{model} is not in the table of generations"))
    })?;
    check_server(host, &cpu, generation).map_err(|reason| Unread::absent("", reason))?;
    Ok(Some(generation.io_path.clone()))
}

/// Whether the driver works, and the register of ways answers where the part has one.
fn a_register(host: &Host) -> Result<Option<String>, Unread> {
    let of = |error: &FileError| Unread::of("", error);
    let sockets = crate::cpu::sockets(&host.root).unwrap_or_default();
    let cpu = sockets.first().map_or(CpuId(0), Socket::first_cpu);
    host.registers.detect(cpu).map_err(|error| of(&error))?;
    let model = CpuModel::read(&host.root).map_err(|error| of(&error))?;
    let generations = Generations::built_in();
    let is_server = |known: &&Generation| check_server(host, &model, known).is_ok();
    let generation = generations.of(&model).filter(is_server);
    let Some(register) = generation.and_then(|known| known.ways_register.as_ref()) else {
        return Ok(None);
    };
    for socket in sockets.iter().filter(|socket| check_one_die(socket).is_ok()) {
        let (cpu, address) = (socket.first_cpu(), register.msr);
        let target = Target::Msr { socket: socket.id, cpu, address };
        target.read(host).map_err(|error| of(&error))?;
    }
    Ok(None)
}

fn configuration(host: &Host) -> Result<(), Unread> {
    let of = |error: &FileError| Unread::of("", error);
    let tree = Tree::read(&host.root).map_err(|error| of(&error))?;
    let Some(function) = tree.functions().next() else {
        return Err(Unread::absent("", "there are no PCI functions"));
    };
    host.config.read(function.bdf, PRIVILEGED_OFFSET).map(drop).map_err(|error| of(&error))
}

fn groups(host: &Host) -> Result<Option<String>, Unread> {
    match Resctrl::read(&host.root, host.control.as_ref()) {
        Ok(found) => Ok(Some(format!("{} group(s)", found.groups.len()))),
        Err(error) if error.problem == Problem::Missing => Err(absence(&host.root)),
        Err(error) => Err(Unread::of("", &error)),
    }
}
