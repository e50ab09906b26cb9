//! Facts of a platform or of a separate device that a scenario replaces, for what-if questions.

use crate::text::error::{InputError, suggest};
use crate::text::files;
use facts::Kind;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Facts that a scenario replaces: dotted key, and value.
pub(crate) type ReplacedFacts = BTreeMap<String, serde_json::Value>;

/// Source of a replaced fact.
const SOURCE: &str = "the scenario's [hardware] table";

/// The facts of some tables.
pub(super) fn of_tables(replaced: &ReplacedFacts, tables: &[&str]) -> ReplacedFacts {
    let is_of = |key: &str| tables.contains(&key.split('.').next().unwrap_or_default());
    let chosen = replaced.iter().filter(|(key, _)| is_of(key));
    chosen.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Reads a file of facts with all that it inherits and some facts replaced; `interpret` converts it to
/// its type.
///
/// # Errors
/// If `interpret` fails. An error in a replaced fact is attributed to the scenario, one in an inherited
/// fact to the file that states it.
pub(super) fn read_with<V>(
    kind: Kind,
    file: &str,
    text: &str,
    replaced: &ReplacedFacts,
    interpret: impl FnOnce(Table) -> Result<V, InputError>,
) -> Result<V, InputError> {
    let resolved = files::with_inherited(kind, file, text)?;
    if resolved.is_part {
        let reason = "is a part: a file of what has it names it with `extends`".into();
        return Err(InputError::WrongValue { file: file.into(), key: "part".into(), reason });
    }
    let mut document = resolved.document;
    let origins = origins(&document);
    let replacing =
        replaced.iter().try_for_each(|(key, value)| replace(file, &mut document, key, value));
    let read = replacing.and_then(|()| interpret(document));
    read.map_err(|error| blame_origin(blame(error, replaced), file, &origins))
}

/// The files that state inherited facts, by dotted key.
fn origins(document: &Table) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (name, table) in document {
        for (key, fact) in table.as_table().into_iter().flatten() {
            if let Some(origin) = fact.get("origin").and_then(Value::as_str) {
                found.insert(format!("{name}.{key}"), origin.into());
            }
        }
    }
    found
}

/// Attributes the error to the file that states the fact, if `file` only inherits it.
fn blame_origin(
    mut error: InputError,
    file: &str,
    origins: &BTreeMap<String, String>,
) -> InputError {
    if let InputError::UnknownKey { file: at, key, .. }
    | InputError::WrongValue { file: at, key, .. }
    | InputError::OutOfRange { file: at, key, .. } = &mut error
        && at == file
    {
        let fact = key.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
        if let Some(origin) = origins.get(&fact) {
            *at = format!("{origin}, inherited by {file}");
        }
    }
    error
}

/// Attributes the error to the scenario, if it concerns a replaced fact.
fn blame(mut error: InputError, replaced: &ReplacedFacts) -> InputError {
    if let InputError::UnknownKey { file, key, .. }
    | InputError::WrongValue { file, key, .. }
    | InputError::OutOfRange { file, key, .. } = &mut error
    {
        let fact = key.strip_suffix(".value").unwrap_or(key);
        if replaced.contains_key(fact) || replaced.contains_key(key) {
            *key = format!("hardware.{fact}");
            file.push_str(", replaced by the scenario");
        }
    }
    error
}

/// Replaces the fact at the dotted `key` by `value`, or adds it if the file does not state it.
fn replace(
    file: &str,
    document: &mut Table,
    key: &str,
    value: &serde_json::Value,
) -> Result<(), InputError> {
    let wrong =
        |reason: String| InputError::WrongValue { file: file.into(), key: key.into(), reason };
    // Replaced facts are JSON, in which nan and inf are null; TOML has no other null.
    let value = Value::try_from(value)
        .map_err(|_| wrong("nan and inf are no facts: write a finite number".into()))?;
    let (parents, leaf) = key.rsplit_once('.').unwrap_or(("", key));
    let mut place = document;
    for parent in parents.split('.').filter(|part| !part.is_empty()) {
        let known: Vec<String> = place.keys().cloned().collect();
        place = place.get_mut(parent).and_then(Value::as_table_mut).ok_or_else(|| {
            // The facts of an SSD get here only if no tenant has one.
            wrong(if parent == "ssd" {
                "no SSD is used: name one with `ssd`".into()
            } else {
                format!("the file has no table `{parent}`; {}", suggest(parent, &known))
            })
        })?;
    }
    if place.contains_key("value") {
        return Err(wrong(format!(
            "a fact is replaced whole, with its source: write `hardware.{parents}`"
        )));
    }
    let fact = place.entry(leaf).or_insert_with(|| Value::Table(Table::new()));
    let is_group =
        fact.as_table().is_some_and(|table| !table.is_empty() && !table.contains_key("value"));
    if is_group {
        return Err(wrong("is a table of facts: write the key of one of them".into()));
    }
    let text = |text: &str| Value::String(text.into());
    *fact = match fact {
        // A plain key such as the title has no source of its own.
        Value::Table(_) => Value::Table(Table::from_iter([
            ("value".to_string(), value),
            ("source".to_string(), text(SOURCE)),
            ("confidence".to_string(), text("derived")),
        ])),
        _ => value,
    };
    Ok(())
}
