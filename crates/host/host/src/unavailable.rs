//! An item that could not be read or is not there: the reason, and the remedy.

use std::fmt;

use serde::Serialize;

use crate::error::{FileError, Problem};

/// An item that is unavailable here, with the reason and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unavailable {
    /// Name of the item, like "ways of I/O on socket 0".
    pub what: String,
    /// Why the item is unavailable.
    pub reason: String,
    /// A remedy for the user to apply; `None` if nothing is known to help.
    pub remedy: Option<String>,
}

impl Unavailable {
    /// An item that would be available after the remedy.
    #[must_use]
    pub fn new(
        what: impl Into<String>,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { what: what.into(), reason: reason.into(), remedy: Some(remedy.into()) }
    }

    /// An item without a remedy: this machine does not have it.
    #[must_use]
    pub fn without_remedy(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { what: what.into(), reason: reason.into(), remedy: None }
    }

    /// An item that an error made unavailable; the remedy is that of [`remedy`].
    #[must_use]
    pub fn from_error(what: impl Into<String>, error: &FileError) -> Self {
        let remedy = remedy(error);
        Self { what: what.into(), reason: error.to_string(), remedy: remedy.map(str::to_owned) }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.reason)?;
        match &self.remedy {
            Some(remedy) => write!(f, "\n  remedy: {remedy}"),
            None => Ok(()),
        }
    }
}

/// Remedy for an error of a file or register; `None` if nothing is known to help.
#[must_use]
pub fn remedy(error: &FileError) -> Option<&'static str> {
    let about = |part: &str| error.path.contains(part);
    match &error.problem {
        Problem::Missing if about("/msr") => Some(
            "modprobe msr; if that does nothing, the kernel lacks CONFIG_X86_MSR or the hypervisor hides it",
        ),
        Problem::Missing if about("resctrl") => Some("mount -t resctrl resctrl /sys/fs/resctrl"),
        Problem::NotPermitted if about("uncore") || about("perf_event") || about("amd_umc") => {
            Some(
                "run as root, or grant CAP_PERFMON, or set /proc/sys/kernel/perf_event_paranoid to 0",
            )
        }
        Problem::NotPermitted if about("/msr") => Some(
            "run as root; if it is, kernel lockdown (Secure Boot) forbids it: cat /sys/kernel/security/lockdown",
        ),
        Problem::NotPermitted | Problem::ShortRead { .. } => Some(
            "run as root; if it is, kernel lockdown (Secure Boot) or the hypervisor forbids it",
        ),
        Problem::Refused if about("/msr") => {
            Some("the CPU has no such register, or firmware or hypervisor refuse it")
        }
        Problem::NoAnswer if about("MSR") => {
            Some("the CPU, its firmware or a hypervisor hides the register; it is left alone")
        }
        Problem::NoAnswer => Some(
            "the device is powered off, hung or removed: wake or reset it, then echo 1 > /sys/bus/pci/rescan",
        ),
        Problem::ReadOnly => Some("mount it writable, or choose another directory"),
        _ => None,
    }
}
