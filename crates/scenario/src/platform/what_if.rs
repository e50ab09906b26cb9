//! Facts of a platform, or of a device beside it, replaced by a scenario, for what-if questions.

use crate::input::document;
use crate::input::error::{InputError, suggest};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Facts that a scenario replaces: dotted key, and value.
pub type ReplacedFacts = BTreeMap<String, serde_json::Value>;

/// What a replaced fact says of its source.
const SOURCE: &str = "the scenario's [hardware] table";

/// The facts of some tables.
pub(super) fn of_tables(replaced: &ReplacedFacts, tables: &[&str]) -> ReplacedFacts {
    let is_of = |key: &str| tables.contains(&key.split('.').next().unwrap_or_default());
    let chosen = replaced.iter().filter(|(key, _)| is_of(key));
    chosen.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Reads a file of facts with some of them replaced; `interpret` makes of it what it describes.
///
/// # Errors
/// Those of `interpret`; what is wrong with a replaced fact is the scenario's fault, and says so.
pub(super) fn read_with<V>(
    file: &str,
    text: &str,
    replaced: &ReplacedFacts,
    interpret: impl FnOnce(Table) -> Result<V, InputError>,
) -> Result<V, InputError> {
    let mut document = document::parse(file, text, &[])?;
    let replacing =
        replaced.iter().try_for_each(|(key, value)| replace(file, &mut document, key, value));
    replacing.and_then(|()| interpret(document)).map_err(|error| blame(error, replaced))
}

/// The same error, of the scenario if it is about a fact that this replaces.
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

/// Puts `value` in the place of the fact at the dotted `key`; a fact that the file does not state is
/// added.
fn replace(
    file: &str,
    document: &mut Table,
    key: &str,
    value: &serde_json::Value,
) -> Result<(), InputError> {
    let wrong =
        |reason: String| InputError::WrongValue { file: file.into(), key: key.into(), reason };
    // As JSON, in which replaced facts are kept, nan and inf are null; TOML has no other null.
    let value = Value::try_from(value)
        .map_err(|_| wrong("nan and inf are no facts: write a finite number".into()))?;
    let (parents, leaf) = key.rsplit_once('.').unwrap_or(("", key));
    let mut place = document;
    for parent in parents.split('.').filter(|part| !part.is_empty()) {
        let known: Vec<String> = place.keys().cloned().collect();
        place = place.get_mut(parent).and_then(Value::as_table_mut).ok_or_else(|| {
            // The facts of an SSD come here only if nobody has one.
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
