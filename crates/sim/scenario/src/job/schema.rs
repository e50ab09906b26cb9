//! JSON schemas for editors and scripts.

use crate::facts::platform::Platform;
use crate::run::result::RunResult;
use crate::scenario::{Scenario, version};
use schemars::generate::SchemaSettings;
use schemars::schema_for;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The schema of "scenario", "platform" or "result"; `None` for anything else.
#[must_use]
pub fn for_kind(kind: &str) -> Option<Value> {
    let mut schema = match kind {
        "scenario" => scenario_file(schema_for!(Scenario).to_value()),
        "platform" => platform_file(schema_for!(Platform).to_value()),
        // The result as written: keys that a file may omit are present.
        "result" => {
            let generator = SchemaSettings::default().for_serialize().into_generator();
            generator.into_root_schema_for::<RunResult>().to_value()
        }
        _ => return None,
    };
    refuse_unknown_keys(&mut schema);
    Some(schema)
}

/// The schema of a scenario file: a testbed names a platform, too.
fn scenario_file(mut schema: Value) -> Value {
    take_required(&mut schema);
    schema["anyOf"] = json!([names("platform"), names("testbed")]);
    schema["properties"][version::KEY] = json!({
        "description": "Version of the format of the file. The present one if it is not stated.",
        "const": version::CURRENT,
        "default": version::CURRENT,
    });
    schema
}

/// Tables whose facts come from the machine's card, if it names one.
const OF_CARD: [&str; 2] = ["nic", "pcie"];
/// Tables whose facts come from the files of software/, if the machine serves packets.
const OF_SOFTWARE: [&str; 2] = ["software", "applications"];

/// The schema of a platform file: the keys that name other files, and the keys required without them.
fn platform_file(mut schema: Value) -> Value {
    let texts = json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] });
    let text = json!({ "type": "string" });
    let mut required = take_required(&mut schema);
    required.retain(|key| key != "title");
    let tables: Vec<(String, String)> = tables_of(&schema);
    let mut whole = serde_json::Map::new();
    // A core's caches share a definition.
    let mut needed_by: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, definition) in tables {
        let table = &mut schema["$defs"][&definition];
        let needed = needed_by.entry(definition).or_insert_with(|| take_required(table));
        table["properties"]["extends"] = texts.clone();
        table["properties"]["because"] = text.clone();
        if !OF_SOFTWARE.contains(&&*key) {
            whole.insert(key, json!({ "anyOf": [names("extends"), { "required": needed }] }));
        }
    }
    let of_card: serde_json::Map<_, _> =
        OF_CARD.iter().filter_map(|key| Some(((*key).to_string(), whole.remove(*key)?))).collect();
    schema["required"] = json!(["title"]);
    for (key, kind) in [
        ("extends", &texts),
        ("without", &texts),
        ("name", &text),
        ("card", &text),
        ("because", &text),
    ] {
        schema["properties"][key] = kind.clone();
    }
    schema["allOf"] = json!([
        { "anyOf": [names("extends"), { "required": required, "properties": whole }] },
        { "anyOf": [names("extends"), names("card"), { "properties": of_card }] },
    ]);
    schema
}

fn names(key: &str) -> Value {
    json!({ "required": [key] })
}

fn take_required(schema: &mut Value) -> Vec<String> {
    let required = schema.as_object_mut().and_then(|schema| schema.remove("required"));
    required.and_then(|keys| serde_json::from_value(keys).ok()).unwrap_or_default()
}

/// The tables of a file, each with the name of its definition. Tables of one kind share a definition.
fn tables_of(schema: &Value) -> Vec<(String, String)> {
    let definition = |property: &Value| {
        let place = property["anyOf"].get(0).unwrap_or(property);
        Some(place["$ref"].as_str()?.rsplit('/').next()?.to_string())
    };
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.filter_map(|(key, property)| Some((key.clone(), definition(property)?))).collect()
}

/// Closes every table of the schema, since readers of files refuse unknown keys too.
fn refuse_unknown_keys(schema: &mut Value) {
    match schema {
        Value::Object(place) => {
            if place.contains_key("properties") && place.get("type") == Some(&"object".into()) {
                place.entry("additionalProperties").or_insert(false.into());
            }
            place.values_mut().for_each(refuse_unknown_keys);
        }
        Value::Array(places) => places.iter_mut().for_each(refuse_unknown_keys),
        _ => {}
    }
}
