//! The embedded files: is each fact stated once, in the file that it belongs to?

use facts::{Kind, Resolved, builtin, resolve};
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

fn kind_of(path: &str) -> Option<Kind> {
    let folders =
        [("platforms/", Kind::Platform), ("devices/ssd/", Kind::Ssd), ("devices/", Kind::Nic)];
    folders.into_iter().find_map(|(folder, kind)| path.starts_with(folder).then_some(kind))
}

/// Files other than those of software, with all that they inherit.
fn resolved() -> impl Iterator<Item = (String, Resolved)> {
    builtin::files().into_iter().filter_map(|path| {
        let kind = kind_of(&path)?;
        let text = builtin::file(&path).expect("is there");
        let resolved = resolve(kind, &path, text, &builtin::find);
        Some((path.clone(), resolved.unwrap_or_else(|error| panic!("{path}: {error}"))))
    })
}

fn document(path: &str) -> Table {
    builtin::file(path).expect("is there").parse().expect("is TOML")
}

/// Facts that a file states itself, by table and key.
fn stated(path: &str) -> Vec<(String, Table)> {
    let mut found = Vec::new();
    for (name, table) in document(path) {
        for (key, fact) in table.as_table().into_iter().flatten() {
            if let Some(fact) = fact.as_table() {
                found.push((format!("{name}.{key}"), fact.clone()));
            }
        }
    }
    found
}

fn text<'f>(fact: &'f Value, key: &str) -> &'f str {
    fact.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[test]
fn what_a_file_states_although_it_would_inherit_it_has_evidence_of_its_own() {
    let mut copies = Vec::new();
    for (path, resolved) in resolved() {
        for fact in resolved.restated {
            let (own, inherited) = (&fact.own, &fact.inherited);
            let as_sure = text(own, "confidence") == text(inherited, "confidence");
            let source = text(own, "source");
            let is_copy = source == text(inherited, "source") || source.starts_with("assumed");
            if as_sure && is_copy {
                copies.push(format!("{path}: {}: {source}", fact.key));
            }
        }
    }
    assert!(copies.is_empty(), "remove them:\n{}", copies.join("\n"));
}

#[test]
fn no_two_files_state_the_same_fact() {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in builtin::files() {
        for (key, mut fact) in stated(&path) {
            fact.remove("confidence");
            fact.remove("measured_on");
            files.entry(format!("{key} = {fact:?}")).or_default().push(path.clone());
        }
    }
    assert!(files.len() > 400, "{} facts", files.len());
    let twice: Vec<_> = files.into_iter().filter(|(_, paths)| paths.len() > 1).collect();
    assert!(twice.is_empty(), "let one file extend the other, or both a part: {twice:#?}");
}

#[test]
fn what_is_assumed_as_elsewhere_is_inherited_from_there() {
    for path in builtin::files() {
        for (key, fact) in stated(&path) {
            let source = text(&Value::Table(fact), "source").to_string();
            assert!(!source.starts_with("assumed as on the"), "{path}: {key}: {source}");
        }
    }
}

#[test]
fn whatever_a_fact_was_measured_on_has_that_name() {
    // No file describes pcie-bench's server.
    let mut names = BTreeSet::from(["a Broadwell E5-2630 v4".to_owned()]);
    let named = builtin::files();
    names.extend(
        named.iter().filter_map(|path| Some(document(path).get("name")?.as_str()?.to_string())),
    );
    let mut measured = 0;
    for path in builtin::files() {
        for (key, fact) in stated(&path) {
            if let Some(name) = fact.get("measured_on").and_then(Value::as_str) {
                assert!(names.contains(name), "{path}: {key}: {name} is none of {names:?}");
                measured += 1;
            }
        }
    }
    assert!(measured > 10, "{measured}");
}

#[test]
fn every_machine_and_device_has_a_name_of_its_own_and_parts_have_none() {
    let mut names = BTreeSet::new();
    for path in builtin::files() {
        let document = document(&path);
        let has = |key| document.contains_key(key);
        let is_part = path.contains("/parts/") || path.starts_with("software/");
        assert_eq!(
            (has("part"), has("title"), has("name")),
            (is_part, !is_part, !is_part),
            "{path}"
        );
        let extended = document.get("extends").and_then(Value::as_str);
        let describes_again = extended.is_some_and(|file| {
            let parent = format!("{}/{file}.toml", path.rsplit_once('/').expect("a folder").0);
            builtin::file(&parent)
                .is_some_and(|_| self::document(&parent).get("name") == document.get("name"))
        });
        let name = document.get("name").filter(|_| !describes_again).map(ToString::to_string);
        assert!(name.is_none_or(|name| names.insert(name)), "{path}: its name is another's, too");
    }
}

/// Keys that a software file states.
fn costs(folder: &str) -> Vec<(String, String)> {
    let files = builtin::files().into_iter().filter(|path| path.starts_with(folder));
    files
        .flat_map(|path| stated(&path).into_iter().map(move |(key, _)| (key, path.clone())))
        .collect()
}

#[test]
fn no_platform_states_what_an_application_costs() {
    let costs = costs("software/");
    let of_machines: Vec<_> =
        builtin::files().into_iter().filter(|path| path.starts_with("platforms/")).collect();
    for (key, software) in costs.iter().filter(|(key, _)| !key.starts_with("software.")) {
        for path in &of_machines {
            let states = stated(path).iter().any(|(stated, _)| stated == key);
            assert!(!states, "{path} states {key}, which {software} does for every machine");
        }
    }
}

#[test]
fn every_packet_server_has_the_costs_of_every_software_file() {
    let costs = costs("software/packets/");
    let mut servers = 0;
    for (path, resolved) in resolved().filter(|(path, _)| path.starts_with("platforms/")) {
        if resolved.is_part || !resolved.document.contains_key("nic") {
            continue;
        }
        servers += 1;
        for (key, software) in &costs {
            let (table, key) = key.split_once('.').expect("table and key");
            let fact = resolved.document.get(table).and_then(|facts| facts.get(key));
            let fact = fact.unwrap_or_else(|| panic!("{path} lacks {table}.{key} of {software}"));
            let is_own = fact.get("origin").is_none();
            assert!(is_own || text(fact, "origin") == software, "{path}: {table}.{key}");
        }
    }
    assert_eq!(servers, 9);
}
