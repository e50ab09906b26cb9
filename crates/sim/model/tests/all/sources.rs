//! Rules for the sources: every component says what it models, from which source, and what it
//! simplifies, if anything.

use std::fs;
use std::path::{Path, PathBuf};

/// Files without a component: maps of the crate, observers, and interfaces between components.
const NOT_COMPONENTS: [&str; 8] = [
    "lib.rs",
    "tracer.rs",
    "invariants.rs",
    "device.rs",
    "as_device.rs",
    "queues.rs",
    "latency_histogram.rs",
    "reading.rs",
];
/// Components that need no source: what they keep or report is defined by this model alone.
const WITHOUT_SOURCE: [&str; 6] = [
    "attribution.rs",
    "fabric/contents.rs",
    "fabric/observe.rs",
    "fabric/resources.rs",
    "replacement/ages.rs",
    "replacement/order.rs",
];
/// Shorter files are folders' tables of contents.
const LEAST_LINES: usize = 20;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn sources(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("is readable").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("is readable");
            found.push((path, text));
        }
    }
}

fn all_sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for name in ["sim/model", "sim/workload", "base/address-map", "sim/tag-array"] {
        sources(&root().join("crates").join(name).join("src"), &mut found);
    }
    found
}

#[test]
fn a_component_of_the_model_names_its_source() {
    let mut found = Vec::new();
    let folder = root().join("crates/sim/model/src");
    sources(&folder, &mut found);
    let components = found.iter().filter(|(path, text)| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        !NOT_COMPONENTS.contains(&name) && text.lines().count() >= LEAST_LINES
    });
    let mut seen = 0;
    for (path, text) in components {
        assert!(text.contains("//! Models: "), "{} does not say what it models", path.display());
        let name = path.strip_prefix(&folder).ok().and_then(Path::to_str).unwrap_or_default();
        let needs_source =
            !text.contains("//! Models: no hardware") && !WITHOUT_SOURCE.contains(&name);
        let has_source = text.contains("//! Source: ");
        assert!(has_source || !needs_source, "{} names no source", path.display());
        for ritual in ["//! Source: none", "//! Simplifies: nothing."] {
            assert!(!text.contains(ritual), "{}: leave out `{ritual}`", path.display());
        }
        seen += 1;
    }
    assert!(seen >= 20, "only {seen} components were found");
}

#[test]
fn every_document_that_code_cites_is_there() {
    let mut cited = 0;
    for (path, text) in all_sources() {
        for word in text.split(|c: char| !(c.is_alphanumeric() || "._/-".contains(c))) {
            if let Some(document) = word.strip_suffix(".md").map(|name| format!("{name}.md")) {
                assert!(root().join(&document).is_file(), "{}: {document}", path.display());
                cited += 1;
            }
        }
    }
    assert!(cited >= 9, "only {cited} citations were found");
}

#[test]
fn every_deviation_that_code_refers_to_is_explained() {
    let explained = fs::read_to_string(root().join("DEVIATIONS.md")).expect("is there");
    let mut referred = 0;
    for (path, text) in all_sources() {
        for (at, _) in text.match_indices("DEVIATIONS.md, ") {
            let rest = &text[at + "DEVIATIONS.md, ".len()..];
            let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
            let heading = format!("\n## {number}. ");
            assert!(explained.contains(&heading), "{}: {number}", path.display());
            referred += 1;
        }
    }
    assert!(referred >= 9, "only {referred} references were found");
}

/// The code of a file without its comments and its own tests.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let tests = text.find("#[cfg(test)]").unwrap_or(text.len());
    text[..tests].lines().filter(|line| !line.trim_start().starts_with("//"))
}

#[test]
fn inclusion_is_decided_in_its_own_file() {
    let mut found = Vec::new();
    sources(&root().join("crates/sim/model/src"), &mut found);
    let names_a_policy = |text: &str| {
        let policies = ["Inclusion::", "Inclusive", "ExclusiveVictim", "Nine"];
        code(text).any(|line| policies.iter().any(|policy| line.contains(policy)))
    };
    let naming: Vec<_> = found.iter().filter(|(_, text)| names_a_policy(text)).collect();
    let [(path, _)] = naming.as_slice() else {
        let paths: Vec<_> = naming.iter().map(|(path, _)| path).collect();
        panic!("policies are named in {paths:?}");
    };
    assert!(path.ends_with("llc/inclusion.rs"), "{}", path.display());
}
