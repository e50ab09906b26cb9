//! A testbed: what all experiments on one machine and its load share, each value with its source.
//!
//! A scenario that names one takes its platform and its settings where it states none itself. A setting
//! that would not act on the scenario's application is left out, so that packets and copies may share a
//! testbed.

use super::{Scenario, split};
use crate::facts::platform::FittedParameter;
use crate::facts::schema::optional_name;
use crate::scenario::inert::stated_inert;
use crate::text::error::{InputError, suggest};
use crate::text::sourced::{Confidence, Sourced};
use crate::text::{document, files};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use toml::{Table, Value};

/// The key by which a scenario names its testbed.
pub(super) const KEY: &str = "testbed";
const PLATFORM: &str = "platform";
/// Keys that are a scenario's own.
const OWN: [&str; 9] = [
    KEY,
    PLATFORM,
    "title",
    "question",
    "application",
    "tenant",
    "co_runner",
    "event",
    "controller",
];

/// A file of a testbed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
struct TestbedFile {
    title: String,
    platform: String,
    #[serde(default)]
    measurements: Vec<String>,
    #[serde(default)]
    settings: BTreeMap<String, serde_json::Value>,
}

/// A setting that experiments share.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TestbedSetting {
    /// Dotted key of the scenario.
    pub key: String,
    /// Value of the setting.
    pub value: serde_json::Value,
    /// Where it was read, or how it was chosen.
    pub source: String,
    /// How much the value can be trusted.
    pub confidence: Confidence,
    /// The measurements that chose a fitted value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fitted_on: Option<String>,
}

/// The testbeds that variants of one scenario name, each of which is read once.
#[derive(Debug, Default)]
pub(super) struct TestbedFiles {
    known: BTreeMap<String, Testbed>,
}

impl TestbedFiles {
    /// The testbed that the scenario `file` names.
    ///
    /// # Errors
    /// As [`named_testbed`].
    fn read(&mut self, file: &str, named: &str) -> Result<Testbed, InputError> {
        if let Some(known) = self.known.get(named) {
            return Ok(known.clone());
        }
        let read = named_testbed(file, named)?;
        self.known.insert(named.into(), read.clone());
        Ok(read)
    }
}

/// A testbed as a scenario uses it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Testbed {
    /// Name, or path of its file.
    pub name: String,
    /// Machine and load in one line.
    pub title: String,
    /// Name of the platform.
    pub platform: String,
    /// The start of `fitted_on` where this testbed's own measurements chose a value.
    pub measurements: Vec<String>,
    /// The settings that its experiments share; in a result those that act in it.
    pub settings: Vec<TestbedSetting>,
}

impl Testbed {
    /// Reads a testbed from TOML; `file` is its name in messages.
    ///
    /// # Errors
    /// If the text is invalid, or a setting is unknown, of the wrong kind, or without its source.
    pub fn read(name: &str, file: &str, text: &str) -> Result<Self, InputError> {
        let read: TestbedFile = document::interpret(file, document::parse(file, text)?)?;
        let mut settings = Vec::new();
        for (key, value) in read.settings {
            collect(file, &key, value, &mut settings)?;
        }
        let TestbedFile { title, platform, measurements, .. } = read;
        let testbed = Self { name: name.into(), title, platform, measurements, settings };
        testbed.check(file)?;
        Ok(testbed)
    }

    fn check(&self, file: &str) -> Result<(), InputError> {
        for setting in &self.settings {
            let first = setting.key.split('.').next().unwrap_or_default();
            if OWN.contains(&first) {
                let reason = "is the scenario's own, not its testbed's; leave it out";
                return Err(wrong(file, &setting.key, reason));
            }
        }
        // With keys and values as a scenario's, errors name this file.
        let (whole, _) = self.under(&Table::new(), &BTreeSet::new());
        split::scenario(file, whole).map(drop)
    }

    /// A scenario's table with what it takes from the testbed, and the dotted keys that it takes.
    fn under(&self, own: &Table, left_out: &BTreeSet<String>) -> (Table, BTreeSet<String>) {
        let mut whole = own.clone();
        whole.entry(PLATFORM).or_insert_with(|| Value::String(self.platform.clone()));
        let mut taken = BTreeSet::new();
        for setting in self.settings.iter().filter(|setting| !left_out.contains(&setting.key)) {
            if let Ok(value) = Value::try_from(&setting.value)
                && insert(&mut whole, &setting.key, value)
            {
                taken.insert(setting.key.clone());
            }
        }
        (whole, taken)
    }

    /// The parameters among the settings that were chosen by fitting.
    pub(crate) fn fitted(&self) -> impl Iterator<Item = FittedParameter> + '_ {
        self.settings.iter().filter_map(|setting| {
            let (key, value) = (setting.key.clone(), setting.value.clone());
            let fitted_on = setting.fitted_on.clone()?;
            Some(FittedParameter { key, value, fitted_on, is_elsewhere: false })
        })
    }
}

/// Reads the table of a scenario file over that of the testbed which it names, if it does.
pub(super) fn scenario(
    file: &str,
    table: Table,
    testbeds: &mut TestbedFiles,
) -> Result<Scenario, InputError> {
    let Some(named) = table.get(KEY) else {
        return split::scenario(file, table);
    };
    let named = named.as_str().ok_or_else(|| wrong(file, KEY, "expected a name or a path"))?;
    let mut testbed = testbeds.read(file, named)?;
    let mut left_out = placed_otherwise(&table, &testbed);
    loop {
        let (whole, taken) = testbed.under(&table, &left_out);
        let mut scenario = split::scenario(file, whole)?;
        let found = stated_inert(&scenario).into_iter();
        let inert: Vec<String> = found
            .filter(|it| it.tenant == 0)
            .map(|it| it.key)
            .filter(|key| taken.contains(key))
            .collect();
        if inert.is_empty() {
            testbed.settings.retain(|setting| taken.contains(&setting.key));
            scenario.testbed = Some(testbed);
            return Ok(scenario);
        }
        left_out.extend(inert);
    }
}

/// Settings that say where in its pages a testbed's memory lies, if the scenario states other pages or another
/// machine: the place is one of that page, and was looked for on that machine.
fn placed_otherwise(table: &Table, testbed: &Testbed) -> BTreeSet<String> {
    const PAGES: [&str; 2] = ["page_size", "hardware.software.pages"];
    const PLACE: [&str; 2] = [PAGES[1], "hardware.software.memory_start_bytes"];
    let given = |key: &str| match key {
        PLATFORM => Some(serde_json::Value::from(testbed.platform.clone())),
        _ => testbed.settings.iter().find(|setting| setting.key == key).map(|it| it.value.clone()),
    };
    let differs = |key: &&str| {
        let own = stated(table, key).map(|own| serde_json::to_value(own).ok());
        own.is_some_and(|own| own != given(key))
    };
    let is_other = PAGES.iter().chain(&[PLATFORM]).any(differs);
    PLACE.into_iter().filter(|_| is_other).map(String::from).collect()
}

/// The value of a table at a dotted key.
fn stated<'t>(table: &'t Table, key: &str) -> Option<&'t Value> {
    match key.split_once('.') {
        None => table.get(key),
        Some((first, rest)) => stated(table.get(first)?.as_table()?, rest),
    }
}

/// Adds the settings below `key`: nested tables, of which those with a value are facts.
fn collect(
    file: &str,
    key: &str,
    value: serde_json::Value,
    found: &mut Vec<TestbedSetting>,
) -> Result<(), InputError> {
    let place = format!("settings.{key}");
    match value {
        serde_json::Value::Object(table) if !table.contains_key("value") => table
            .into_iter()
            .try_for_each(|(name, inner)| collect(file, &format!("{key}.{name}"), inner, found)),
        serde_json::Value::Object(_) => {
            let fact: Sourced<serde_json::Value> = serde_json::from_value(value)
                .map_err(|error| wrong(file, &place, &error.to_string()))?;
            let is_fitted = fact.confidence == Confidence::Fitted;
            if is_fitted != fact.fitted_on.is_some() {
                let reason =
                    "`fitted_on` says which measurements chose a fitted value, and only that";
                return Err(wrong(file, &place, reason));
            }
            let Sourced { value, source, confidence, fitted_on, .. } = fact;
            found.push(TestbedSetting { key: key.into(), value, source, confidence, fitted_on });
            Ok(())
        }
        _ => Err(wrong(file, &place, "expected { value = …, source = \"…\", confidence = \"…\" }")),
    }
}

/// Whether a value was inserted at a dotted key: not if the table states the key, or a value in place of
/// a table on the way to it.
fn insert(table: &mut Table, key: &str, value: Value) -> bool {
    match key.split_once('.') {
        None if table.contains_key(key) => false,
        None => table.insert(key.into(), value).is_none(),
        Some((first, rest)) => {
            let inner = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
            inner.as_table_mut().is_some_and(|inner| insert(inner, rest, value))
        }
    }
}

fn wrong(file: &str, key: &str, reason: &str) -> InputError {
    InputError::WrongValue { file: file.into(), key: key.into(), reason: reason.into() }
}

/// The testbed that `wanted` names: a path ending in .toml (relative to the scenario's folder, then to
/// the current one), or the name of a known one.
///
/// # Errors
/// If there is no such testbed, or its file is invalid.
pub fn named_testbed(scenario_file: &str, wanted: &str) -> Result<Testbed, InputError> {
    let path = files::testbed_path(scenario_file, wanted);
    let text = match inputs::texts::read_keys(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let reason = inputs::reason(&error);
            return Err(InputError::Unreadable { file: path.into(), reason, hint: String::new() });
        }
        Err(_) => files::file(&path).map(String::from),
    };
    let text = text.ok_or_else(|| InputError::OutOfRange {
        file: scenario_file.into(),
        key: "testbed".into(),
        value: wanted.into(),
        allowed: format!("no such file or name; {}", suggest(wanted, &files::testbed_names())),
    })?;
    Testbed::read(wanted, &path, &text)
}

/// The schema of a key that may name a testbed.
pub(super) fn schema(_: &mut SchemaGenerator) -> Schema {
    optional_name(&files::testbed_names())
}
