//! Plans: turn a request into controls with old and new value. Nothing is written here.

mod cache;
mod ddio;
mod ways;

use std::fmt;

use serde::Serialize;

use crate::controls::{ControlTarget, check_server};
use crate::cpu::{CpuModel, CpuSocket, Generation, Generations, PackageId, sockets};
use crate::error::FileError;
use crate::kernel_rules::KernelRules;
use crate::machine::Host;
use crate::offline::OfflineCpus;
use crate::pci::Tree;
use crate::root::Root;
use crate::unavailable::remedy;

pub use cache::IoAllocRequest;

/// A control with its old and new value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedChange {
    /// Control that is to be changed.
    pub target: ControlTarget,
    /// Name of the control in messages.
    pub place: String,
    /// Current value; `None` if it cannot be read before an earlier change of the plan.
    #[serde(serialize_with = "crate::hex::optional_value")]
    pub old: Option<u64>,
    /// Value that is requested for the control.
    #[serde(serialize_with = "crate::hex::value")]
    pub asked: u64,
    /// Mask of the bits that the change may touch.
    #[serde(serialize_with = "crate::hex::value")]
    pub owned: u64,
    /// Meaning of the old value.
    pub old_means: String,
    /// Meaning of the new value.
    pub new_means: String,
    /// Whether the value is only journalled and not written, because a later change of the plan loses it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_kept: bool,
}

/// Changes of controls that carry out a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TunePlan {
    /// Command of the user that the plan carries out.
    pub command: String,
    /// The changes, in the order in which they are written.
    pub changes: Vec<PlannedChange>,
    /// Warnings to show before the plan is applied.
    pub warnings: Vec<String>,
    /// Controls that the request concerns and that cannot be reached: they keep their settings.
    pub left_out: Vec<OmittedControl>,
}

/// A control that a plan omits, because it cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OmittedControl {
    /// Name of the control in messages.
    pub place: String,
    /// Reason why the control cannot be reached.
    pub reason: String,
}

impl fmt::Display for OmittedControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is left out: {}", self.place, self.reason)
    }
}

impl TunePlan {
    /// A plan; warnings about the kernel's rules for writes come last.
    pub(crate) fn new(
        root: &Root,
        command: String,
        changes: Vec<PlannedChange>,
        mut warnings: Vec<String>,
    ) -> Self {
        let writes = changes.iter().filter(|change| change.old != Some(change.asked));
        let targets = writes.map(|change| &change.target);
        warnings.extend(KernelRules::read(root).notes(targets));
        Self { command, changes, warnings, left_out: Vec::new() }
    }

    /// Joins several plans in their order; `None` if there are none.
    #[must_use]
    pub fn join(plans: Vec<Self>) -> Option<Self> {
        plans.into_iter().reduce(|mut all, next| {
            all.command += &format!(", {}", next.command);
            all.changes.extend(next.changes);
            all.left_out.extend(next.left_out);
            all.warnings.extend(next.warnings);
            all.warnings.dedup();
            all
        })
    }
}

/// Error of planning a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TunePlanError {
    /// the request is out of range or names something that does not exist
    #[error("{0}")]
    BadRequest(String),
    /// this machine has no such control
    #[error("{0}")]
    NoControl(String),
    /// the control, or a description of the machine, cannot be read
    #[error("{error}{}", .remedy.map(|remedy| format!("\n  remedy: {remedy}")).unwrap_or_default())]
    Unreadable {
        /// The file or register, and the reason.
        error: FileError,
        /// The remedy; `None` if none is known.
        remedy: Option<&'static str>,
    },
}

impl From<FileError> for TunePlanError {
    fn from(error: FileError) -> Self {
        let remedy = remedy(&error);
        Self::Unreadable { error, remedy }
    }
}

/// Planner of changes on a machine.
pub struct TunePlanner<'a> {
    host: &'a Host,
    cpu: CpuModel,
    generation: Option<Generation>,
    sockets: Vec<CpuSocket>,
    offline: OfflineCpus,
    allows_unknown_bits: bool,
    allows_any_mask: bool,
    allows_unmeasured: bool,
}

impl<'a> TunePlanner<'a> {
    /// Reads CPU model and sockets of the machine.
    ///
    /// # Errors
    /// If the CPU's model or its sockets cannot be read.
    pub fn new(host: &'a Host) -> Result<Self, TunePlanError> {
        let cpu = CpuModel::read(&host.root)?;
        let generation = Generations::built_in().find(&cpu).cloned();
        let sockets = sockets(&host.root)?;
        // Devices tell of a socket without CPUs; a machine without PCI functions has none.
        let tree = Tree::read(&host.root).unwrap_or_default();
        let offline = OfflineCpus::read(&host.root, &sockets, &tree);
        Ok(Self {
            host,
            cpu,
            generation,
            sockets,
            offline,
            allows_unknown_bits: false,
            allows_any_mask: false,
            allows_unmeasured: false,
        })
    }

    /// Sets whether MSR 0xc8b is changed although bits beside its ways are set, which no source
    /// describes. These bits keep their values. By default such a register is refused.
    #[must_use]
    pub fn keep_unknown_bits(self, allows_unknown_bits: bool) -> Self {
        Self { allows_unknown_bits, ..self }
    }

    /// Sets whether MSR 0xc8b may get masks of ways that no public source has tried. By default they are
    /// refused.
    #[must_use]
    pub fn allow_any_mask(self, allows_any_mask: bool) -> Self {
        Self { allows_any_mask, ..self }
    }

    /// Sets whether root ports are switched although no measurement of their switch is published. By
    /// default they are refused.
    #[must_use]
    pub fn allow_unmeasured(self, allows_unmeasured: bool) -> Self {
        Self { allows_unmeasured, ..self }
    }

    /// The CPU generation; `None` if it is not in the table.
    #[must_use]
    pub fn generation(&self) -> Option<&Generation> {
        self.generation.as_ref()
    }

    /// The sockets of the machine.
    #[must_use]
    pub fn sockets(&self) -> &[CpuSocket] {
        &self.sockets
    }

    /// The CPU generation.
    ///
    /// # Errors
    /// If the CPU is not in the table, or is not one of the generation's servers.
    fn known_generation(&self, control: &str) -> Result<&Generation, TunePlanError> {
        let machine = if self.cpu.virtual_machine { " (a virtual machine)" } else { "" };
        let known = self.generation.as_ref().ok_or_else(|| {
            TunePlanError::NoControl(format!(
                "{control} is refused: \"{}\"{machine}, {} family {:#x} model {:#x} stepping {}, is not in \
                 the table of generations; what is missing is a public source for its registers",
                self.cpu.name, self.cpu.vendor, self.cpu.family, self.cpu.model, self.cpu.stepping,
            ))
        })?;
        match check_server(self.host, &self.cpu, known) {
            Ok(()) => Ok(known),
            Err(reason) => Err(TunePlanError::NoControl(format!("{control} is refused: {reason}"))),
        }
    }

    fn selected_sockets(
        &self,
        socket: Option<PackageId>,
    ) -> Result<Vec<&CpuSocket>, TunePlanError> {
        let wanted: Vec<_> =
            self.sockets.iter().filter(|s| socket.is_none_or(|wanted| s.id == wanted)).collect();
        if wanted.is_empty() {
            let known: Vec<_> = self.sockets.iter().map(|socket| socket.id.to_string()).collect();
            let asked = socket.unwrap_or_default();
            if let Some(hidden) = self.offline.socket_named(asked) {
                let remedy = hidden.remedy().map(|remedy| format!("\n  remedy: {remedy}"));
                return Err(TunePlanError::NoControl(format!(
                    "--socket {asked}: no CPU of it is online: {}{}",
                    hidden.reason(),
                    remedy.unwrap_or_default()
                )));
            }
            return Err(TunePlanError::BadRequest(format!(
                "--socket {asked}: socket not found; this machine has {}",
                known.join(", ")
            )));
        }
        Ok(wanted)
    }
}
