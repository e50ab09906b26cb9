//! What a file comes to on the devices that there are: refusals, changes, steps; as text and as JSON.

use super::Context;
use crate::failure::Failure;
use dsa_config::machine::{InUse, Machine, disturbed};
use idxd::saved::{ApplyError, Becomes, Difference, Saved, Step};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// What a file comes to.
pub struct Foreseen {
    /// The file, as messages name it.
    pub file: String,
    /// The configuration that devices get.
    pub wanted: Saved,
    refused: Vec<ApplyError>,
    becomes: Vec<Becomes>,
    changes: Vec<Difference>,
    steps: Vec<Step>,
    in_use: Vec<InUse>,
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Saved, Failure> {
    let bad =
        |error: &dyn std::fmt::Display| Failure::bad_input(format!("{}: {error}", path.display()));
    let text = match path.to_str() {
        Some("-") => std::io::read_to_string(std::io::stdin()),
        _ => std::fs::read_to_string(path),
    };
    let saved = Saved::parse(&text.map_err(|error| bad(&error))?).map_err(|error| bad(&error))?;
    if saved.devices().is_empty() {
        return Err(bad(
            &"it names no device; allowed is a list of devices, like [{\"dev\":\"dsa0\"}]",
        ));
    }
    Ok(saved)
}

impl Foreseen {
    /// On the devices as they are.
    pub fn of(path: &Path, file: &Saved, context: &Context) -> Result<Self, Failure> {
        let machine = context.machine()?;
        let taken = file.taken_by(&machine.driver);
        Self::to(path.display().to_string(), &machine, context, taken.configuration)
            .map(|foreseen| Self { refused: taken.refusals, becomes: taken.changed, ..foreseen })
    }

    /// To a configuration that the devices take.
    pub fn to(
        file: String,
        machine: &Machine,
        context: &Context,
        wanted: Saved,
    ) -> Result<Self, Failure> {
        let plan = wanted.plan(&machine.driver);
        let in_use =
            disturbed(&context.bus, &plan.steps).map_err(|error| super::of_machine(&error))?;
        let changes = machine.configuration(&wanted.devices()).differences(&wanted);
        let (refused, becomes, steps) = (plan.refusals, Vec::new(), plan.steps);
        Ok(Self { file, wanted, refused, becomes, changes, steps, in_use })
    }

    /// Whether nothing would change.
    pub fn is_so_already(&self) -> bool {
        self.refused.is_empty() && self.changes.is_empty()
    }

    /// How the command ends: the file is refused, or programs are in the way.
    pub fn ending(&self, disturbs: bool) -> Result<(), Failure> {
        if !self.refused.is_empty() {
            return Err(Failure::told(2));
        }
        if self.in_use.is_empty() || disturbs { Ok(()) } else { Err(Failure::told(3)) }
    }

    /// For people; steps are for those who are about to take them.
    pub fn text(&self, shows_steps: bool, disturbs: bool) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        for refusal in &self.refused {
            let _ = writeln!(text, "{}: {}", self.file, words(refusal));
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
            let way = if disturbs {
                "it is disabled all the same"
            } else {
                "refused: end them, or add --even-if-in-use"
            };
            let _ = writeln!(text, "{in_use}; {way}");
        }
        text
    }

    /// For programs.
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
            "steps": self.steps.iter().map(Step::to_string).collect::<Vec<_>>(),
        })
    }
}

/// A refusal that is foretold: key, value, what is allowed, and why.
fn words(refusal: &ApplyError) -> String {
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
