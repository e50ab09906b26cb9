//! JSON schemas for editors and scripts.

use crate::platform::Platform;
use crate::result::RunResult;
use crate::scenario::Scenario;
use schemars::schema_for;

/// The schema of "scenario", "platform" or "result"; `None` for anything else.
#[must_use]
pub fn of(kind: &str) -> Option<serde_json::Value> {
    match kind {
        "scenario" => Some(schema_for!(Scenario).to_value()),
        "platform" => Some(schema_for!(Platform).to_value()),
        "result" => Some(schema_for!(RunResult).to_value()),
        _ => None,
    }
}
