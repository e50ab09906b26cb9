//! Rules of the kernel for writes to registers: lockdown, the msr driver's filter, taint.
//!
//! Source: Linux arch/x86/kernel/msr.c (`filter_write`, and `add_taint` after each write, since 5.9),
//! Documentation/admin-guide/tainted-kernels.rst (bit 2, S), Documentation/security/lockdown via
//! /sys/kernel/security/lockdown.

use crate::controls::ControlTarget;
use crate::root::Root;

const LOCKDOWN: &str = "sys/kernel/security/lockdown";
const ALLOW_WRITES: &str = "sys/module/msr/parameters/allow_writes";
const TAINTED: &str = "proc/sys/kernel/tainted";
/// TAINT_CPU_OUT_OF_SPEC.
const OUT_OF_SPECIFICATION: u64 = 1 << 2;

/// Settings of the kernel that decide whether registers can be written, and whether that taints it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelRules {
    /// Lockdown mode: `none`, `integrity` or `confidentiality`; `None` if the kernel does not report it.
    pub(crate) lockdown: Option<String>,
    /// The msr driver's `allow_writes`: `on`, `off` or `default`; `None` before Linux 5.9.
    allow_writes: Option<String>,
    /// Whether the taint flag that a write to a register sets is set already; `None` if not reported.
    is_tainted: Option<bool>,
}

impl KernelRules {
    /// Reads the settings; each that the kernel does not report is `None`.
    pub(crate) fn read(root: &Root) -> Self {
        let tainted = root.read_number(TAINTED).ok();
        Self {
            lockdown: lockdown(root),
            allow_writes: root.read_line(ALLOW_WRITES).ok(),
            is_tainted: tainted.map(|flags| flags & OUT_OF_SPECIFICATION != 0),
        }
    }

    /// Message why the kernel refuses writes to model-specific registers, with the remedy; `None` if it
    /// accepts them.
    pub(crate) fn msr_refusal(&self) -> Option<String> {
        self.register_refusal().or_else(|| {
            let off = self.allow_writes.as_deref() == Some("off");
            off.then(|| {
                format!(
                    "the msr driver refuses writes (msr.allow_writes is off); echo on > /{ALLOW_WRITES}, \
                     or boot with msr.allow_writes=on"
                )
            })
        })
    }

    /// Message why the kernel refuses writes to registers and to configuration space; `None` if it
    /// accepts them.
    pub(crate) fn register_refusal(&self) -> Option<String> {
        let mode = self.lockdown.as_deref().filter(|mode| *mode != "none")?;
        Some(format!(
            "the kernel is locked down ({mode}) and refuses writes to registers and PCI configuration; it \
             takes a boot without Secure Boot and without lockdown= on the command line"
        ))
    }

    /// Warnings about writes to these controls: a refusal, or the taint that they cause.
    pub(crate) fn notes<'t>(
        &self,
        targets: impl Iterator<Item = &'t ControlTarget>,
    ) -> Vec<String> {
        let (mut msr, mut port) = (false, false);
        for target in targets {
            msr |= matches!(target, ControlTarget::Msr { .. });
            port |= matches!(target, ControlTarget::Port { .. });
        }
        let refusal = match (msr, port) {
            (true, _) => self.msr_refusal(),
            (false, true) => self.register_refusal(),
            (false, false) => None,
        };
        let taints = msr && refusal.is_none() && self.allow_writes.is_some();
        refusal.into_iter().chain(taints.then(|| self.taint())).collect()
    }

    /// Message that a write to a register taints the kernel.
    fn taint(&self) -> String {
        let already = if self.is_tainted == Some(true) { "; it is set already" } else { "" };
        let logged = match self.allow_writes.as_deref() {
            Some("on") => "",
            _ => ", and its log names this program (msr.allow_writes is not on)",
        };
        format!(
            "a write to a model-specific register taints the kernel until the next boot (flag S, CPU out \
             of specification{already}){logged}"
        )
    }
}

/// Lockdown mode, which the file has in brackets: `none [integrity] confidentiality`.
fn lockdown(root: &Root) -> Option<String> {
    let text = root.read_line(LOCKDOWN).ok()?;
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(mode, _)| mode.to_owned())
}
