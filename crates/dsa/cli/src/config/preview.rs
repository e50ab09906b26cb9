//! The preview of a change of the present devices: refusals, changes and steps, as text and as JSON.

use super::ConfigContext;
use crate::failure::CommandFailure;
use dsa_config::machine::{InUse, MachineDevices, disturbed_queues};
use idxd::config_file::{AdjustedValue, ApplyError, ConfigStep, Difference, SavedConfig};
use inputs::texts::{KEYS_LIMIT_BYTES, read_once};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// The refusals, changes and steps to which a configuration leads on the present devices.
pub struct ChangePreview {
    /// The name of the file in messages.
    pub file: String,
    /// The configuration that the devices would get.
    pub wanted: SavedConfig,
    refused: Vec<ApplyError>,
    becomes: Vec<AdjustedValue>,
    changes: Vec<Difference>,
    steps: Vec<ConfigStep>,
    in_use: Vec<InUse>,
}

/// Reads a configuration of accel-config from a file, or from standard input (`-`).
///
/// # Errors
/// If the file cannot be read, is not valid, or names no device.
pub fn read(path: &Path) -> Result<SavedConfig, CommandFailure> {
    let bad = |error: &dyn std::fmt::Display| {
        CommandFailure::bad_input(format!("{}: {error}", path.display()))
    };
    let named = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    let text = read_once(named, KEYS_LIMIT_BYTES).map_err(|error| bad(&error))?;
    let saved = SavedConfig::parse(&text).map_err(|error| bad(&error))?;
    for name in saved.passed_over() {
        eprintln!("{}: {name}: not a DSA device; left as it is", path.display());
    }
    if saved.devices().is_empty() {
        return Err(bad(
            &"it names no device; allowed is a list of devices, like [{\"dev\":\"dsa0\"}]",
        ));
    }
    Ok(saved)
}

impl ChangePreview {
    /// The preview of a file.
    ///
    /// # Errors
    /// If the configuration of the devices cannot be read.
    pub fn for_file(
        path: &Path,
        file: &SavedConfig,
        context: &ConfigContext,
    ) -> Result<Self, CommandFailure> {
        let machine = context.read_machine()?;
        let taken = file.accepted_by(&machine.driver);
        Self::for_configuration(path.display().to_string(), &machine, context, taken.configuration)
            .map(|preview| Self { refused: taken.refusals, becomes: taken.changed, ..preview })
    }

    /// The preview of a configuration of which the devices accept every value; `file` is its name in
    /// messages.
    ///
    /// # Errors
    /// If the configuration of the devices cannot be read.
    pub fn for_configuration(
        file: String,
        machine: &MachineDevices,
        context: &ConfigContext,
        wanted: SavedConfig,
    ) -> Result<Self, CommandFailure> {
        let plan = wanted.plan(&machine.driver);
        let in_use = disturbed_queues(&context.bus, &plan.steps)
            .map_err(|error| super::machine_failure(&error))?;
        let changes = machine.configuration(&wanted.devices()).differences(&wanted);
        let (refused, becomes, steps) = (plan.refusals, Vec::new(), plan.steps);
        Ok(Self { file, wanted, refused, becomes, changes, steps, in_use })
    }

    /// Whether nothing would change: the devices have the configuration already.
    pub fn changes_nothing(&self) -> bool {
        self.refused.is_empty() && self.changes.is_empty()
    }

    /// Whether the change may be made. With `disturbs` queues that programs have open may be disabled.
    ///
    /// # Errors
    /// With code 2 if a value is refused, with code 3 if a queue is in use.
    pub fn verdict(&self, disturbs: bool) -> Result<(), CommandFailure> {
        if !self.refused.is_empty() {
            return Err(CommandFailure::silent(2));
        }
        if self.in_use.is_empty() || disturbs { Ok(()) } else { Err(CommandFailure::silent(3)) }
    }

    /// The preview as text, with the steps only if `shows_steps`.
    pub fn text(&self, shows_steps: bool, disturbs: bool) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        for refusal in &self.refused {
            let _ = writeln!(text, "{}: {}", self.file, refusal_text(refusal));
        }
        if !self.refused.is_empty() {
            let count = self.refused.len();
            let _ = writeln!(text, "{count} value(s) would be refused; nothing was written.");
            return text;
        }
        for one in &self.becomes {
            let _ = writeln!(text, "note: {}: {one}", self.file);
        }
        if self.changes.is_empty() {
            let _ = writeln!(text, "{}: the devices have it already.", self.file);
            return text;
        }
        let _ = writeln!(text, "{} value(s) change:", self.changes.len());
        for change in &self.changes {
            let _ = writeln!(text, "  {change}");
        }
        if shows_steps {
            let _ = writeln!(text, "{} step(s):", self.steps.len());
            for step in &self.steps {
                let _ = writeln!(text, "  {step}");
            }
        }
        for in_use in &self.in_use {
            let consequence = if disturbs {
                "it is disabled nevertheless"
            } else {
                "refused: end them, or add --even-if-in-use"
            };
            let _ = writeln!(text, "{in_use}; {consequence}");
        }
        text
    }

    /// The preview as JSON; `written` says whether the change was made.
    pub fn json(&self, written: bool) -> Value {
        let refused: Vec<Value> = self
            .refused
            .iter()
            .map(|it| {
                json!({
                    "node": it.node.to_string(), "key": it.attribute, "value": it.value,
                    "error": it.errno.to_string(), "allowed": it.allowed,
                    "cmd_status": it.status.map(|status| status.to_string()),
                })
            })
            .collect();
        let becomes = self.becomes.iter().map(|it| {
            json!({
                "node": it.node.to_string(), "key": it.attribute, "asked": it.asked,
                "becomes": it.becomes,
            })
        });
        let changes = self.changes.iter().map(|it| {
            json!({
                "node": it.node.to_string(), "key": it.attribute, "from": it.from, "to": it.to,
            })
        });
        let in_use = self.in_use.iter().map(|it| {
            json!({
                "queue": it.queue.to_string(), "clients": it.clients, "processes": it.processes,
            })
        });
        json!({
            "schema_version": 1, "file": self.file, "written": written, "refused": refused,
            "becomes": becomes.collect::<Vec<_>>(), "changes": changes.collect::<Vec<_>>(),
            "in_use": in_use.collect::<Vec<_>>(),
            "steps": self.steps.iter().map(ConfigStep::to_string).collect::<Vec<_>>(),
        })
    }
}

/// The text of a refusal: key, value, what is allowed, and why.
fn refusal_text(refusal: &ApplyError) -> String {
    let ApplyError { node, attribute, value, errno, allowed, status } = refusal;
    let mut text = format!("{node}: {attribute} = {value:?}");
    let _ = match allowed {
        Some(allowed) => write!(text, "; allowed is {allowed}"),
        None => Ok(()),
    };
    let _ = match status {
        Some(status) => write!(text, " ({errno}; {status})"),
        None => write!(text, " ({errno})"),
    };
    text
}
