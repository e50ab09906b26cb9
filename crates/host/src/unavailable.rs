//! What could not be read: the reason, and what helps.

use std::fmt;

use serde::Serialize;

use crate::error::{FileError, Problem};

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unavailable {
    /// What it is.
    pub what: String,
    /// Why not.
    pub reason: String,
    /// What helps, if anything does.
    pub remedy: Option<String>,
}

impl Unavailable {
    /// With a remedy.
    #[must_use]
    pub fn new(
        what: impl Into<String>,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { what: what.into(), reason: reason.into(), remedy: Some(remedy.into()) }
    }

    /// Without one: this machine does not have it.
    #[must_use]
    pub fn absent(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { what: what.into(), reason: reason.into(), remedy: None }
    }

    /// The reason and remedy of an error.
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

/// What helps against an error.
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
