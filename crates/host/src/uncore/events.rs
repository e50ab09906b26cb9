//! Tables of events, one for each generation, as data.

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

/// The events of a generation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventTable {
    /// Names by which generations refer to it.
    pub names: Vec<String>,
    /// The unit with one box for each slice of the last-level cache.
    pub slice_unit: Option<String>,
    /// Whether part N of an I/O stack is its root port with device number N.
    #[serde(default)]
    pub parts_are_devices: bool,
    /// What can be measured.
    #[serde(default)]
    pub metric: Vec<EventMetric>,
}

/// Something measured by events of one unit, in one group.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventMetric {
    /// `pcie_write`, `pcie_partial_write`, `pcie_read`, `dram`, `iio`, `dsa_bytes` or `dsa_requests`.
    pub name: String,
    /// The unit, without the number of a box.
    pub unit: String,
    /// Bytes of one count.
    pub bytes: u64,
    /// The events.
    pub events: Vec<TableEvent>,
    /// Where the encoding was read.
    pub source: String,
    /// The kernel's files that say the same, or `not` and why there are none.
    pub checked: String,
    /// `seen` in the source, or recalled from `memory`.
    pub confidence: String,
}

/// One event of a metric.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableEvent {
    /// What it counts.
    pub role: Role,
    /// The part of a stack, if the unit has several.
    #[serde(default)]
    pub part: u32,
    /// Fields by the kernel's names.
    pub fields: BTreeMap<String, u64>,
    /// Added to the second word as it is.
    #[serde(default)]
    pub config1: u64,
    /// The kernel's name of it. Where it has no name for the whole, the first has the code and the last
    /// the filter.
    #[serde(default)]
    pub kernel: Vec<String>,
}

impl TableEvent {
    /// What is added to the words as it is.
    #[must_use]
    pub fn raw_words(&self) -> EventWords {
        EventWords { config1: self.config1, ..EventWords::default() }
    }
}

/// What an event of a metric counts.
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
    /// What came in to a copy engine.
    Inbound,
    /// What went out of it.
    Outbound,
    /// Requests to its shared work queues.
    Shared,
    /// Requests to its dedicated work queues.
    Dedicated,
}

impl EventTable {
    /// The table of this name.
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

    /// The metrics of this name.
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
