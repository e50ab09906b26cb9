//! Meaning of an inherited fact: it holds for every subject that contains the component, for another
//! description of the same machine, or is assumed from another machine.

use crate::file::FactFile;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// An entry of a table, the file that states it, and how inheritance has changed it.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    pub(crate) entry: Value,
    pub(crate) origin: String,
    /// Whether the fact's source already names the subject from which it is assumed.
    pub(crate) is_assumed: bool,
}

/// Facts by table and key.
pub(crate) type Tables = BTreeMap<String, BTreeMap<String, Fact>>;

impl Fact {
    pub(crate) fn new(entry: Value, file: &FactFile) -> Self {
        Self { entry, origin: file.path.clone(), is_assumed: false }
    }

    /// The fact of `parent` as `heir` inherits it.
    pub(crate) fn inherited(
        self,
        parent: &FactFile,
        heir: &FactFile,
        because: Option<&str>,
    ) -> Self {
        // Another description of the same machine: what was measured on it still was.
        let is_same = heir.name.is_some() && heir.name == parent.name;
        if parent.is_part {
            self.inherited_from_component(heir)
        } else if is_same {
            self
        } else {
            self.assumed_as_on(parent.called(), because)
        }
    }

    /// The fact of a component that `heir` contains. What was measured on one machine is assumed on
    /// others.
    pub(crate) fn inherited_from_component(self, heir: &FactFile) -> Self {
        let measured_on = self.entry.get("measured_on").and_then(Value::as_str).map(String::from);
        match measured_on {
            Some(name) if !heir.is_part && heir.name.as_deref() != Some(&name) => {
                self.assumed_as_on(&name, None)
            }
            _ => self,
        }
    }

    /// The same value as a guess: it was not measured on the machine that it is assumed for.
    fn assumed_as_on(mut self, name: &str, because: Option<&str>) -> Self {
        let value = self.entry.get("value").filter(|_| !self.is_assumed).cloned();
        let Some(value) = value else { return self };
        let fitted_on = self.entry.get("fitted_on").cloned();
        let fitted = if fitted_on.is_some() { ", fitted there" } else { "" };
        let because = because.map(|because| format!("; {because}")).unwrap_or_default();
        let source = format!("assumed as on {name}{fitted}{because}");
        let text = |text: &str| Value::String(text.into());
        let mut entry = Table::from_iter([
            ("value".to_string(), value),
            ("source".to_string(), text(&source)),
            ("confidence".to_string(), text("memory")),
        ]);
        // A guess, but one that measurements of another machine chose: readers are told of them.
        if let Some(fitted_on) = fitted_on {
            entry.insert("fitted_on".into(), fitted_on);
        }
        self.entry = Value::Table(entry);
        self.is_assumed = true;
        self
    }

    /// The entry as readers of the file see it; an inherited one names the file that states it.
    pub(crate) fn into_entry(mut self, heir: &FactFile) -> Value {
        if let Value::Table(entry) = &mut self.entry {
            entry.remove("measured_on");
            if self.origin != heir.path {
                entry.insert("origin".into(), Value::String(self.origin));
            }
        }
        self.entry
    }
}
