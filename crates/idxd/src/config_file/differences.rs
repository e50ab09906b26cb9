//! Where two configurations of the same devices differ.

use super::{NodeSettings, SavedConfig, keys};
use crate::BusNode;
use std::fmt;

/// A difference of two configurations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Of what.
    pub node: BusNode,
    /// The attribute, or `state`.
    pub attribute: String,
    /// The text before; `None` where the attribute had no value.
    pub from: Option<String>,
    /// The text after.
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
    /// Where this configuration reads otherwise than another one of the same devices.
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
                // Once it is set it can be changed, and not taken away.
                let is_kept = key.name == "driver_name" && to.as_deref() == Some("");
                // Only shared queues have it.
                let is_none = key.name == "enqcmds_retries" && (from.is_none() || to.is_none());
                if !is_kept && !is_none {
                    differ(key.name, from, to);
                }
            }
        }
        all
    }
}
