//! Schemas of keys that name files of facts.

use crate::text::files;
use facts::Kind;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// The schema of a key that names a platform.
pub(crate) fn platform(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": name_or_path(&files::names(Kind::Platform)) })
}

/// The schema of a key that may name a NIC.
pub(crate) fn nic(_: &mut SchemaGenerator) -> Schema {
    optional_name(&files::names(Kind::Nic))
}

/// The schema of a key that may name an SSD.
pub(crate) fn ssd(_: &mut SchemaGenerator) -> Schema {
    optional_name(&files::names(Kind::Ssd))
}

/// The schema of a key that may have one of these names, or a path.
pub(crate) fn optional_name(known: &[String]) -> Schema {
    let mut choices = name_or_path(known);
    choices.push(json!({ "type": "null" }));
    json_schema!({ "anyOf": choices, "default": null })
}

/// A file is known by its name if it is built in, else by its path.
fn name_or_path(known: &[String]) -> Vec<Value> {
    vec![
        json!({ "type": "string", "enum": known }),
        json!({ "type": "string", "pattern": r"[^/]\.toml$" }),
    ]
}

/// The values of a key that may be absent.
pub(crate) fn or_none(values: &[u32]) -> Vec<Option<u32>> {
    values.iter().copied().map(Some).chain([None]).collect()
}
