//! Differences between two configurations of the same devices.

use super::{NodeSettings, SavedConfig, keys};
use crate::BusNode;
use std::fmt;

/// An attribute, or the state of a node, that differs between two configurations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Node of the attribute.
    pub node: BusNode,
    /// Name of the attribute, or `state`.
    pub attribute: String,
    /// Text in the first configuration; `None` if the attribute does not have a value.
    pub from: Option<String>,
    /// Text in the second configuration; `None` if the attribute does not have a value.
    pub to: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |text: &Option<String>| {
            text.clone()
                .map_or("nothing".into(), |it| if it.is_empty() { "\"\"".to_owned() } else { it })
        };
        let Self { node, attribute, from, to } = self;
        write!(f, "{node}: {attribute} {} -> {}", shown(from), shown(to))
    }
}

impl SavedConfig {
    /// Lists the differences from this configuration to `after`, one of the same devices.
    #[must_use]
    pub fn differences(&self, after: &Self) -> Vec<Difference> {
        let mut all = Vec::new();
        for entry in &after.entries {
            let before = self.entries.iter().find(|other| other.node == entry.node);
            let state = |entry: &NodeSettings| {
                entry.enabled.map(|on| if on { "enabled" } else { "disabled" }.to_owned())
            };
            let mut differ = |attribute: &str, from: Option<String>, to: Option<String>| {
                if from != to {
                    let (node, attribute) = (entry.node, attribute.to_owned());
                    all.push(Difference { node, attribute, from, to });
                }
            };
            differ("state", before.and_then(state), state(entry));
            for key in keys::for_node(entry.node).iter().filter(|key| key.is_set()) {
                let of = |entry: &NodeSettings| entry.get(key.name).map(str::to_owned);
                let (from, to) = (before.and_then(of), of(entry));
                // Once set, the name can be changed but not removed.
                let is_kept = key.name == "driver_name" && to.as_deref() == Some("");
                // Only shared queues have the attribute.
                let is_none = key.name == "enqcmds_retries" && (from.is_none() || to.is_none());
                if !is_kept && !is_none {
                    differ(key.name, from, to);
                }
            }
        }
        all
    }
}
