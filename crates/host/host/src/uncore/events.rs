//! Tables of uncore events, one for each CPU generation, as data.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::format::EventWords;

const TABLES: [&str; 7] = [
    include_str!("../../data/events/haswell.toml"),
    include_str!("../../data/events/skylake.toml"),
    include_str!("../../data/events/ice-lake.toml"),
    include_str!("../../data/events/sapphire-rapids.toml"),
    include_str!("../../data/events/granite-rapids.toml"),
    include_str!("../../data/events/zen.toml"),
    include_str!("../../data/events/dsa.toml"),
];

/// The events of a CPU generation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventTable {
    /// Names by which generations refer to the table.
    pub names: Vec<String>,
    /// The unit with one box for each slice of the last-level cache; `None` if no such unit is known.
    pub slice_unit: Option<String>,
    /// Whether part N of an I/O stack is its root port with device number N.
    #[serde(default)]
    pub parts_are_devices: bool,
    /// The metrics that the events measure.
    #[serde(default)]
    pub metric: Vec<EventMetric>,
}

/// A metric: events of one unit that are counted in one group.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventMetric {
    /// `pcie_write`, `pcie_partial_write`, `pcie_read`, `dram`, `iio`, `dsa_bytes` or `dsa_requests`.
    pub name: String,
    /// The unit, without the number of a box.
    pub unit: String,
    /// Number of bytes that one count stands for.
    pub bytes: u64,
    /// Events by which the metric is counted.
    pub events: Vec<TableEvent>,
    /// Source of the encoding.
    pub source: String,
    /// Files of the kernel with the same encoding, or `not` and the reason.
    pub checked: String,
    /// `seen` in the source, or recalled from `memory`.
    pub confidence: String,
}

/// One event of a metric.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableEvent {
    /// The kind of occurrence that the event counts.
    pub role: Role,
    /// Part of the I/O stack, like a root port; 0 if the unit has no parts.
    #[serde(default)]
    pub part: u32,
    /// Values of the event's fields, by the kernel's names.
    pub fields: BTreeMap<String, u64>,
    /// Bits that are added to perf's second configuration word.
    #[serde(default)]
    pub config1: u64,
    /// The kernel's names of the event. If no name stands for the whole encoding, the first has the event
    /// code and the last the filter.
    #[serde(default)]
    pub kernel: Vec<String>,
}

impl TableEvent {
    /// Bits that are added to perf's configuration words beside the fields.
    #[must_use]
    pub fn raw_words(&self) -> EventWords {
        EventWords { config1: self.config1, ..EventWords::default() }
    }
}

/// Kind of occurrence that an event of a metric counts.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Hits.
    Hit,
    /// Misses.
    Miss,
    /// Hits and misses.
    All,
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Data read by a copy engine (inbound).
    Inbound,
    /// Data written by a copy engine (outbound).
    Outbound,
    /// Requests to shared work queues of a copy engine.
    Shared,
    /// Requests to dedicated work queues of a copy engine.
    Dedicated,
}

impl EventTable {
    /// Parses the built-in table with a name; `None` if there is no such table.
    ///
    /// # Panics
    /// If a built-in table is malformed, which a test excludes.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let tables = TABLES.iter().map(|text| {
            toml::from_str::<Self>(text).expect("the built-in tables of events are well-formed")
        });
        tables.into_iter().find(|table| table.names.iter().any(|known| known == name))
    }

    /// Iterates over the metrics with a name.
    pub fn metrics<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a EventMetric> {
        self.metric.iter().filter(move |metric| metric.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Generations;

    #[test]
    fn every_generation_finds_the_table_that_it_names() {
        for generation in Generations::built_in().all() {
            if let Some(name) = &generation.events {
                assert!(EventTable::named(name).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn every_metric_says_where_it_was_read() {
        for name in ["haswell", "skylake", "ice-lake", "sapphire-rapids", "granite-rapids", "zen5"]
        {
            for metric in EventTable::named(name).into_iter().flat_map(|table| table.metric) {
                assert!(!metric.source.is_empty() && !metric.events.is_empty(), "{name}");
                assert!(["seen", "memory"].contains(&metric.confidence.as_str()), "{name}");
            }
        }
    }
}
