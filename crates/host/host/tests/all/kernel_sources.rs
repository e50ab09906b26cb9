//! Do the tables of events say what the kernel's own tables say?

use std::collections::BTreeMap;

use host::uncore::{EventMetric, EventTable, TableEvent};
use serde::Deserialize;

/// Entries of the kernel, copied by a program from its files.
const KERNEL: &str = include_str!("kernel_events.toml");
const TABLES: [&str; 7] =
    ["haswell", "skylake", "ice-lake", "sapphire-rapids", "granite-rapids", "zen", "dsa"];

#[derive(Deserialize)]
struct Kernel {
    event: Vec<KernelEvent>,
}

#[derive(Clone, Default, Deserialize)]
struct KernelEvent {
    table: String,
    name: String,
    file: String,
    #[serde(flatten)]
    words: BTreeMap<String, u64>,
}

/// The kernel's word for a field of the tool's tables, and the value that means nothing.
const WORDS: [(&str, &str); 7] = [
    ("event", "event"),
    ("umask", "umask"),
    ("filter_opc", "opc"),
    ("filter_tid", "tid"),
    ("ch_mask", "port"),
    ("fc_mask", "fc"),
    ("rdwrmask", "rw"),
];
const CODE: [&str; 2] = ["event", "umask"];

fn named<'k>(kernel: &'k Kernel, table: &str, name: &str) -> &'k KernelEvent {
    let found = kernel.event.iter().find(|event| event.table == table && event.name == name);
    found.unwrap_or_else(|| panic!("{table}: the kernel has no {name}"))
}

/// Fields of an event by the kernel's entries: the code from the first, all others from the last.
fn expected(kernel: &Kernel, table: &str, event: &TableEvent) -> Option<BTreeMap<String, u64>> {
    let [first, last] = [event.kernel.first()?, event.kernel.last()?];
    let mut words = named(kernel, table, last).words.clone();
    for (word, value) in &named(kernel, table, first).words {
        if CODE.contains(&word.as_str()) {
            words.insert(word.clone(), *value);
        }
    }
    Some(words)
}

fn words(event: &TableEvent) -> BTreeMap<String, u64> {
    let mut words: BTreeMap<String, u64> = WORDS
        .iter()
        .filter_map(|(field, word)| Some(((*word).to_owned(), *event.fields.get(*field)?)))
        .collect();
    if event.config1 != 0 {
        words.insert("config1".into(), event.config1);
    }
    words
}

fn table(name: &str) -> EventTable {
    let name = if name == "zen" { "zen5" } else { name };
    EventTable::named(name).expect("a table")
}

#[test]
fn every_event_that_the_kernel_names_is_encoded_as_there() {
    let kernel: Kernel = toml::from_str(KERNEL).expect("the kernel's entries");
    let mut compared = 0;
    for name in TABLES {
        for metric in table(name).metric {
            for event in &metric.events {
                let Some(expected) = expected(&kernel, name, event) else { continue };
                assert_eq!(words(event), expected, "{name}: {} {:?}", metric.name, event.kernel);
                compared += 1;
            }
        }
    }
    assert!(compared >= 70, "{compared} events were compared");
}

#[test]
fn what_the_kernel_does_not_name_is_said_to_be_unchecked() {
    let kernel: Kernel = toml::from_str(KERNEL).expect("the kernel's entries");
    let is_named =
        |metric: &EventMetric| metric.events.iter().all(|event| !event.kernel.is_empty());
    let mut unchecked = Vec::new();
    for name in TABLES {
        for metric in table(name).metric {
            if !is_named(&metric) {
                assert!(metric.checked.contains("not"), "{name}: {}", metric.checked);
                unchecked.push(format!("{name}: {}", metric.name));
                continue;
            }
            for event in metric.events.iter().flat_map(|event| &event.kernel) {
                let file = &named(&kernel, name, event).file;
                assert!(metric.checked.contains(file), "{name}: {event} is in {file}");
            }
        }
    }
    unchecked.dedup();
    assert_eq!(unchecked, ["dsa: dsa_bytes", "dsa: dsa_requests"]);
}

#[test]
fn every_part_with_hits_counts_partial_writes_too() {
    for name in ["haswell", "skylake", "ice-lake", "sapphire-rapids", "granite-rapids"] {
        let found = table(name).metrics("pcie_partial_write").count();
        assert_eq!(found, 1, "{name}");
    }
}
