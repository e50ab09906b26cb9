//! JSON schemas for editors and scripts.

use crate::platform::Platform;
use crate::result::RunResult;
use crate::scenario::Scenario;
use schemars::generate::SchemaSettings;
use schemars::schema_for;
use serde_json::Value;

/// The schema of "scenario", "platform" or "result"; `None` for anything else.
#[must_use]
pub fn of(kind: &str) -> Option<Value> {
    let mut schema = match kind {
        "scenario" => schema_for!(Scenario).to_value(),
        "platform" => schema_for!(Platform).to_value(),
        // Of what is written: what may be left out of a file is there.
        "result" => {
            let generator = SchemaSettings::default().for_serialize().into_generator();
            generator.into_root_schema_for::<RunResult>().to_value()
        }
        _ => return None,
    };
    refuse_unknown_keys(&mut schema);
    Some(schema)
}

/// Closes every table of the schema: what reads a file refuses keys that it does not know, too.
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
