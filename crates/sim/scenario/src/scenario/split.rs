//! Splits one TOML table into the keys of the machine and of each tenant.

use super::{MachineKeys, Scenario, Tenant};
use crate::facts::platform::Platform;
use crate::kinds::DeviceClass;
use crate::kinds::co_runner::CoRunnerKeys;
use crate::kinds::memory_kernel::MemoryKernelKeys;
use crate::text::document;
use crate::text::error::{InputError, suggest};
use crate::text::key_groups::names;
use std::collections::BTreeSet;
use toml::{Table, Value};

/// Reads the table of a scenario file.
pub(super) fn scenario(file: &str, table: Table) -> Result<Scenario, InputError> {
    let of_machine = names::<MachineKeys>();
    let of_tenant = names::<Tenant>();
    refuse_device_tables(file, &table)?;
    let (mut machine, mut main, mut tenants) = (Table::new(), Table::new(), Vec::new());
    for (key, value) in table {
        match key.as_str() {
            "tenant" => tenants = tables(file, &key, value)?,
            "co_runner" | "event" => {
                let all = tables(file, &key, value)?;
                if key == "co_runner" {
                    check_kernels(file, &all)?;
                }
                let all = all.into_iter().map(Value::Table).collect();
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
                let known = if names::<Platform>().contains(&key) {
                    format!("facts of the platform are replaced below `hardware`: hardware.{key}")
                } else {
                    suggest(&key, &[of_machine, of_tenant].concat())
                };
                return Err(InputError::UnknownKey { file: file.into(), known, key });
            }
        }
    }
    let machine = document::interpret(file, machine)?;
    let tenant = tenants
        .into_iter()
        .enumerate()
        .map(|(number, own)| tenant(file, number, own, &main))
        .collect::<Result<_, _>>()?;
    let stated = dotted_keys(&main);
    let main = Tenant::read(file, main, stated)?;
    Ok(Scenario { machine, main, tenant, overridden: Vec::new(), testbed: None })
}

/// Refuses a key such as `nic.tx_rate_gbps`: a scenario names its devices, and states changes of their
/// facts elsewhere.
///
/// # Errors
/// Names the table for such changes.
pub(super) fn refuse_device_key(file: &str, key: &str) -> Result<(), InputError> {
    let with_files = || DeviceClass::ALL.into_iter().filter(|kind| kind.files().is_some());
    let is_device = |part: &str| with_files().any(|kind| kind.key() == part);
    let parts: Vec<&str> = key.split('.').collect();
    let place = parts.iter().position(|part| is_device(part));
    let Some(place) = place.filter(|&place| parts[0] != "hardware" && place + 1 < parts.len())
    else {
        return Ok(());
    };
    let (name, fact) = (parts[place], parts[place..].join("."));
    let reason = format!(
        "`{name}` is the name of a device; write `hardware.{fact}`, which replaces this fact for every \
         {name} of the run, or name a changed copy of the device's file: {name} = \"mine.toml\""
    );
    Err(InputError::WrongValue { file: file.into(), key: key.into(), reason })
}

fn refuse_device_tables(file: &str, table: &Table) -> Result<(), InputError> {
    for (key, value) in table {
        for inner in value.as_table().into_iter().flat_map(Table::keys) {
            refuse_device_key(file, &format!("{key}.{inner}"))?;
        }
    }
    Ok(())
}

/// Refuses invalid memory kernels of co-runners. serde's flatten, which embeds each in its co-runner,
/// would ignore unknown keys and not name the wrong key.
fn check_kernels(file: &str, co_runners: &[Table]) -> Result<(), InputError> {
    let known = names::<CoRunnerKeys>();
    let of_kernel = names::<MemoryKernelKeys>();
    for (number, co_runner) in co_runners.iter().enumerate() {
        if let Some(key) = co_runner.keys().find(|key| !known.contains(key)) {
            let (key, known) = (format!("co_runner.{number}.{key}"), suggest(key, &known));
            return Err(InputError::UnknownKey { file: file.into(), key, known });
        }
        let kernel = co_runner.iter().filter(|(key, _)| of_kernel.contains(key));
        let kernel = kernel.map(|(key, value)| (key.clone(), value.clone())).collect();
        document::interpret::<MemoryKernelKeys>(file, kernel).map_err(|error| match error {
            InputError::WrongValue { file, key, reason } => {
                let key = format!("co_runner.{number}.{key}");
                InputError::WrongValue { file, key, reason }
            }
            other => other,
        })?;
    }
    Ok(())
}

/// Keys that a tenant does not inherit: what they are without being stated follows from the tenant's own
/// cores, or from the platform.
const OWN: [&str; 3] = ["ddio_ways", "nic_socket", "core_way_mask"];

/// A tenant with what it inherits from the main one.
fn tenant(file: &str, number: usize, own: Table, main: &Table) -> Result<Tenant, InputError> {
    let place = format!("{file}, tenant {number}");
    if !own.contains_key("name") {
        let (key, reason) = ("name".into(), "is missing: results are told apart by it".into());
        return Err(InputError::WrongValue { file: place, key, reason });
    }
    refuse_device_tables(&place, &own)?;
    let stated = dotted_keys(&own);
    let mut whole = main.clone();
    OWN.iter().for_each(|key| drop(whole.remove(*key)));
    lay_over(&mut whole, own);
    Tenant::read(&place, whole, stated)
}

/// Whether a tenant beside the main one has the main one's value of a key.
pub(crate) fn inherits(tenant: &Tenant, key: &str) -> bool {
    !OWN.contains(&key) && key != "name" && !tenant.stated.contains(key)
}

/// All keys of a table, those of tables in it as `table.key`.
fn dotted_keys(table: &Table) -> BTreeSet<String> {
    let of_entry = |(key, value): (&String, &Value)| match value {
        Value::Table(inner) => {
            dotted_keys(inner).into_iter().map(|inner| format!("{key}.{inner}")).collect()
        }
        _ => vec![key.clone()],
    };
    table.iter().flat_map(of_entry).collect()
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
