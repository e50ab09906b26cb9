//! Facts of a platform replaced by a scenario, for what-if questions.

use crate::error::InputError;
use toml::{Table, Value};

/// What a replaced fact says of its source.
const SOURCE: &str = "the scenario's [hardware] table";

/// Puts `value` in the place of the fact at the dotted `key`; a fact that the file does not state is
/// added.
///
/// # Errors
/// If the key leads through a fact, or the value is none that TOML knows.
pub(super) fn replace(
    file: &str,
    document: &mut Table,
    key: &str,
    value: &serde_json::Value,
) -> Result<(), InputError> {
    let wrong = |reason: String| InputError::WrongValue {
        file: format!("{file}, replaced by the scenario"),
        key: format!("hardware.{key}"),
        reason,
    };
    let value = Value::try_from(value).map_err(|error| wrong(error.to_string()))?;
    let (parents, leaf) = key.rsplit_once('.').unwrap_or(("", key));
    let mut place = document;
    for parent in parents.split('.').filter(|part| !part.is_empty()) {
        place = place
            .get_mut(parent)
            .and_then(Value::as_table_mut)
            .ok_or_else(|| wrong(format!("the platform has no table `{parent}`")))?;
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
