//! Turns a request into registers with old and new value: nothing is written here.

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
use crate::root::Root;
use crate::unavailable::remedy;

pub use cache::IoAllocRequest;

/// One register with its old and new value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedChange {
    /// The control.
    pub target: ControlTarget,
    /// Its name in messages.
    pub place: String,
    /// The value now; nothing if it cannot be read before an earlier change of the plan.
    #[serde(serialize_with = "crate::hex::known")]
    pub old: Option<u64>,
    /// The value asked for.
    #[serde(serialize_with = "crate::hex::value")]
    pub asked: u64,
    /// The bits that the change may touch.
    #[serde(serialize_with = "crate::hex::value")]
    pub owned: u64,
    /// What the old value means.
    pub old_means: String,
    /// What the new value means.
    pub new_means: String,
    /// Nothing is written: a later change of the plan loses this value, so it is journalled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_kept: bool,
}

/// What would be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TunePlan {
    /// The request, as the user gave it.
    pub command: String,
    /// The changes, in the order in which they are written.
    pub changes: Vec<PlannedChange>,
    /// What the user should know first.
    pub warnings: Vec<String>,
    /// Controls that the request is about and that cannot be reached: they keep their settings.
    pub left_out: Vec<OmittedControl>,
}

/// A control that a change does not reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OmittedControl {
    /// Its name in messages.
    pub place: String,
    /// Why.
    pub reason: String,
}

impl fmt::Display for OmittedControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is left out: {}", self.place, self.reason)
    }
}

impl TunePlan {
    /// A plan, with what the kernel's rules mean for it said last.
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

    /// Several plans as one, in their order; nothing for none.
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

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TunePlanError {
    /// the request is out of range or names something that does not exist
    #[error("{0}")]
    BadRequest(String),
    /// this machine has no such control
    #[error("{0}")]
    NoControl(String),
    /// the control cannot be read
    #[error("{error}{}", .remedy.map(|remedy| format!("\n  remedy: {remedy}")).unwrap_or_default())]
    Unreadable {
        /// Why.
        error: FileError,
        /// What helps.
        remedy: Option<&'static str>,
    },
}

impl From<FileError> for TunePlanError {
    fn from(error: FileError) -> Self {
        let remedy = remedy(&error);
        Self::Unreadable { error, remedy }
    }
}

/// Knows the machine and makes plans.
pub struct TunePlanner<'a> {
    host: &'a Host,
    cpu: CpuModel,
    generation: Option<Generation>,
    sockets: Vec<CpuSocket>,
    allows_unknown_bits: bool,
    allows_any_mask: bool,
    allows_unmeasured: bool,
}

impl<'a> TunePlanner<'a> {
    /// Finds out which machine this is.
    ///
    /// # Errors
    /// If the CPU's model or its sockets cannot be read.
    pub fn new(host: &'a Host) -> Result<Self, TunePlanError> {
        let cpu = CpuModel::read(&host.root)?;
        let generation = Generations::built_in().find(&cpu).cloned();
        let sockets = sockets(&host.root)?;
        Ok(Self {
            host,
            cpu,
            generation,
            sockets,
            allows_unknown_bits: false,
            allows_any_mask: false,
            allows_unmeasured: false,
        })
    }

    /// The same, but MSR 0xc8b is changed also if bits beside its ways are set, which no source describes.
    /// These bits keep their values.
    #[must_use]
    pub fn keep_unknown_bits(self, allows_unknown_bits: bool) -> Self {
        Self { allows_unknown_bits, ..self }
    }

    /// The same, but MSR 0xc8b takes masks of ways that no public source has tried.
    #[must_use]
    pub fn allow_any_mask(self, allows_any_mask: bool) -> Self {
        Self { allows_any_mask, ..self }
    }

    /// The same, but root ports are switched also where no measurement of their switch is published.
    #[must_use]
    pub fn allow_unmeasured(self, allows_unmeasured: bool) -> Self {
        Self { allows_unmeasured, ..self }
    }

    /// The generation, if it is known.
    #[must_use]
    pub fn generation(&self) -> Option<&Generation> {
        self.generation.as_ref()
    }

    /// The sockets.
    #[must_use]
    pub fn sockets(&self) -> &[CpuSocket] {
        &self.sockets
    }

    /// The generation, or a refusal that names the model and what is missing.
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
            return Err(TunePlanError::BadRequest(format!(
                "--socket {asked}: there is no such socket; this machine has {}",
                known.join(", ")
            )));
        }
        Ok(wanted)
    }
}
