//! From one TOML table to the keys of the machine and of each tenant.

use super::{MachineKeys, Scenario, Tenant};
use crate::document;
use crate::error::{InputError, suggest};
use schemars::schema_for;
use toml::{Table, Value};

/// Reads the table of a scenario file.
pub(super) fn scenario(file: &str, table: Table) -> Result<Scenario, InputError> {
    let of_machine = keys(&schema_for!(MachineKeys).to_value());
    let of_tenant = keys(&schema_for!(Tenant).to_value());
    let (mut machine, mut main, mut tenants) = (Table::new(), Table::new(), Vec::new());
    for (key, value) in table {
        match key.as_str() {
            "tenant" => tenants = tables(file, &key, value)?,
            "co_runner" | "event" => {
                let all = tables(file, &key, value)?.into_iter().map(Value::Table).collect();
                machine.insert(key, Value::Array(all));
            }
            "hardware" => {
                let mut facts = Table::new();
                flatten(file, "", value, &mut facts)?;
                machine.insert(key, Value::Table(facts));
            }
            name if of_machine.iter().any(|known| known == name) => {
                machine.insert(key, value);
            }
            name if of_tenant.iter().any(|known| known == name) => {
                main.insert(key, value);
            }
            _ => {
                let all: Vec<String> = [of_machine, of_tenant].concat();
                return Err(InputError::UnknownKey {
                    file: file.into(),
                    known: suggest(&key, &all),
                    key,
                });
            }
        }
    }
    let machine = document::interpret(file, machine)?;
    let tenant = tenants
        .into_iter()
        .enumerate()
        .map(|(number, own)| tenant(file, number, own, &main))
        .collect::<Result<_, _>>()?;
    Ok(Scenario { machine, main: document::interpret(file, main)?, tenant })
}

/// A tenant with what it inherits from the main one.
fn tenant(file: &str, number: usize, own: Table, main: &Table) -> Result<Tenant, InputError> {
    let place = format!("{file}, tenant {number}");
    if !own.contains_key("name") {
        let (key, reason) = ("name".into(), "is missing: results are told apart by it".into());
        return Err(InputError::WrongValue { file: place, key, reason });
    }
    let mut whole = main.clone();
    lay_over(&mut whole, own);
    document::interpret(&place, whole)
}

fn lay_over(table: &mut Table, own: Table) {
    for (key, value) in own {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(inherited)), Value::Table(own)) => lay_over(inherited, own),
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}

/// One table, or an array of them.
fn tables(file: &str, key: &str, value: Value) -> Result<Vec<Table>, InputError> {
    let of = |value| match value {
        Value::Table(table) => Ok(table),
        _ => Err(InputError::WrongValue {
            file: file.into(),
            key: key.into(),
            reason: format!("expected a table [[{key}]]"),
        }),
    };
    match value {
        Value::Array(entries) => entries.into_iter().map(of).collect(),
        value => of(value).map(|table| vec![table]),
    }
}

/// Nested tables as dotted keys.
fn flatten(file: &str, path: &str, value: Value, out: &mut Table) -> Result<(), InputError> {
    match value {
        Value::Table(table) => table.into_iter().try_for_each(|(key, value)| {
            let path = if path.is_empty() { key } else { format!("{path}.{key}") };
            flatten(file, &path, value, out)
        }),
        _ if path.is_empty() => Err(InputError::WrongValue {
            file: file.into(),
            key: "hardware".into(),
            reason: "expected a table of platform keys".into(),
        }),
        value => {
            out.insert(path.into(), value);
            Ok(())
        }
    }
}

fn keys(schema: &serde_json::Value) -> Vec<String> {
    let properties = schema["properties"].as_object();
    properties.map(|known| known.keys().cloned().collect()).unwrap_or_default()
}
