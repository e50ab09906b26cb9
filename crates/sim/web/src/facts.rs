//! Facts of a page beside a run: built-in files, keys with their ranges, metrics, exports.

use crate::report::CheckedScenario;
use crate::request::PageRequest;
use crate::session::refused;
use scenario::{builtin, metrics, schema};
use serde_json::json;

/// Calls a function of this module by its name; `None` if it has no answer.
#[must_use]
pub fn by_name(name: &str, argument: &str) -> Option<String> {
    match name {
        "catalogue" => Some(catalogue()),
        "file" => file(argument),
        "schema" => schema(argument),
        "metrics" => Some(metrics()),
        "toml_file" => toml_file(argument),
        "platform" => Some(platform(argument)),
        "checked" => Some(checked(argument)),
        "changed_text" => Some(changed_text(argument)),
        _ => None,
    }
}

/// Names that a page offers, and the version of the simulator.
#[must_use]
pub fn catalogue() -> String {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "files": builtin::files(),
        "platforms": builtin::platform_names(),
        "nics": builtin::nic_names(),
        "ssds": builtin::ssd_names(),
    })
    .to_string()
}

/// The text of a built-in file; `None` if there is none of that name.
#[must_use]
pub fn file(path: &str) -> Option<String> {
    builtin::file(path).map(String::from)
}

/// The JSON schema of "scenario", "platform" or "result": each key with its meaning, default and range.
#[must_use]
pub fn schema(kind: &str) -> Option<String> {
    schema::for_kind(kind).map(|schema| schema.to_string())
}

/// The metrics of results, each with unit, group, label and meaning.
#[must_use]
pub fn metrics() -> String {
    serde_json::to_string(&metrics::reference()).unwrap_or_default()
}

/// A built-in file of TOML as JSON; `None` if there is none of that name.
#[must_use]
pub fn toml_file(path: &str) -> Option<String> {
    let table: toml::Table = builtin::file(path)?.parse().ok()?;
    serde_json::to_string(&table).ok()
}

/// The facts of a platform with their sources, as JSON, or the refusal: of a built-in one by name, of another one
/// by its path.
#[must_use]
pub fn platform(name: &str) -> String {
    match builtin::platform(builtin::BY_COMMAND, name) {
        Ok(platform) => serde_json::to_string(&platform).unwrap_or_default(),
        Err(error) => refused(error.into()),
    }
}

/// The scenario of a request with every default filled in, and its platform; or the refusal.
#[must_use]
pub fn checked(request: &str) -> String {
    match PageRequest::read(request).and_then(|request| request.job()) {
        Ok(job) => serde_json::to_string(&CheckedScenario::new(&job)).unwrap_or_default(),
        Err(error) => refused(error),
    }
}

/// The scenario of a request with its settings in it, as TOML in `text`, or the refusal.
#[must_use]
pub fn changed_text(request: &str) -> String {
    match PageRequest::read(request).and_then(|request| request.changed_text()) {
        Ok(text) => json!({ "text": text }).to_string(),
        Err(error) => refused(error),
    }
}
