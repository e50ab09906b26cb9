//! Completes a file to configurations of whole devices, and finds the values that an unconfigured device
//! accepts.

use super::apply::ApplyError;
use super::trial::TrialDriver;
use super::{NodeSettings, SavedConfig};
use crate::queue::DEFAULT_RETRIES;
use crate::{BusNode, Driver, DriverName, Errno, IdxdDevice};
use std::collections::BTreeSet;
use std::fmt;

/// A value that a device changes when it accepts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdjustedValue {
    /// Node of the attribute.
    pub node: BusNode,
    /// Name of the attribute.
    pub attribute: String,
    /// Value in the file.
    pub asked: String,
    /// Value that the attribute has afterwards.
    pub becomes: String,
}

impl fmt::Display for AdjustedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, attribute, asked, becomes } = self;
        write!(f, "{node}: {attribute} = {asked:?} becomes {becomes:?}")
    }
}

/// Result of a file on unconfigured devices.
#[derive(Clone, Debug)]
pub struct AcceptedConfig {
    /// The whole configuration of each device that the file names, without the refused values.
    pub configuration: SavedConfig,
    /// Values of the file that are refused.
    pub refusals: Vec<ApplyError>,
    /// The values that the devices change.
    pub changed: Vec<AdjustedValue>,
}

impl SavedConfig {
    /// Numbers of the devices that the file names, in order.
    #[must_use]
    pub fn devices(&self) -> Vec<usize> {
        let numbers = self.entries.iter().map(|entry| entry.node.device());
        numbers.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The configuration that some devices of a driver have now.
    #[must_use]
    pub fn from_devices(driver: &Driver, numbers: &[usize]) -> Self {
        let mut saved = Self::from_driver(driver);
        saved.entries.retain(|entry| numbers.contains(&entry.node.device()));
        saved
    }

    /// The configuration that some devices of a driver have after they are disabled.
    #[must_use]
    pub fn unconfigured(driver: &Driver, numbers: &[usize]) -> Self {
        Self::from_devices(&reset(driver, numbers), numbers)
    }

    /// Finds the configuration that each device of the file would have. Values that the file does not
    /// have are as after a disable. Finds all refusals, except those that follow from another one.
    #[must_use]
    pub fn accepted_by(&self, driver: &Driver) -> AcceptedConfig {
        let nodes: BTreeSet<BusNode> = driver.nodes().collect();
        let (known, unknown) =
            self.entries.iter().cloned().partition(|entry| nodes.contains(&entry.node));
        let unknown: Vec<NodeSettings> = unknown;
        let known = Self { entries: known, ..Self::default() };
        let devices = known.devices();
        let mut trial = TrialDriver {
            driver: reset(driver, &devices),
            refusals: unknown.iter().map(|entry| unknown_node(driver, entry)).collect(),
        };
        let wanted = known.for_kernel_of(driver);
        trial.try_all(&wanted);
        let configuration = Self::from_devices(&trial.driver, &devices);
        let changed = wanted.changed_in(&configuration, &trial.refusals);
        AcceptedConfig { configuration, refusals: trial.refusals, changed }
    }

    /// Adapts the file to the kernel of a driver. Kernels before 6.7 did not have `driver_name`, nor do
    /// their files: the name follows from the type. Attributes that an older kernel does not have are
    /// removed if they have the value that it uses anyway.
    fn for_kernel_of(&self, driver: &Driver) -> Self {
        let mut named = self.clone();
        for entry in &mut named.entries {
            if driver.attribute(entry.node, "enqcmds_retries").is_none() {
                let kernels = DEFAULT_RETRIES.to_string();
                entry.settings.retain(|(attribute, text)| {
                    *attribute != "enqcmds_retries" || *text != kernels
                });
            }
            let has_names = driver.attribute(entry.node, "driver_name").is_some();
            let name = match entry.get("type") {
                Some("user") => DriverName::User,
                Some("kernel") => DriverName::Dmaengine,
                _ => continue,
            };
            if has_names && entry.get("driver_name").is_none() {
                entry.settings.push(("driver_name", name.name().to_owned()));
            }
            // A file of a newer kernel has the name that this kernel uses anyway.
            if !has_names && entry.get("driver_name") == Some(name.name()) {
                entry.settings.retain(|(attribute, _)| *attribute != "driver_name");
            }
        }
        named
    }

    fn changed_in(&self, taken: &Self, refusals: &[ApplyError]) -> Vec<AdjustedValue> {
        let mut changed = Vec::new();
        for entry in &self.entries {
            let Some(after) = taken.entries.iter().find(|other| other.node == entry.node) else {
                continue;
            };
            for (attribute, asked) in &entry.settings {
                let is_refused = refusals
                    .iter()
                    .any(|refusal| refusal.node == entry.node && refusal.attribute == *attribute);
                let becomes = after.get(attribute).filter(|becomes| becomes != asked);
                if let (Some(becomes), false) = (becomes, is_refused) {
                    let (attribute, asked) = ((*attribute).to_owned(), asked.clone());
                    let (node, becomes) = (entry.node, becomes.to_owned());
                    changed.push(AdjustedValue { node, attribute, asked, becomes });
                }
            }
        }
        changed
    }

    /// The same configuration without defaults: without queues as they are after a disable, and without
    /// texts that cannot be written. accel-config accepts such a file; it would stop at a threshold of 0.
    #[must_use]
    pub fn without_defaults(&self, driver: &Driver) -> Self {
        let unconfigured = Self::unconfigured(driver, &self.devices());
        // A disable keeps the name of the driver, so the comparison ignores it.
        let nameless = |entry: &NodeSettings| {
            let settings =
                entry.settings.iter().filter(|(attribute, _)| *attribute != "driver_name");
            (entry.node, settings.cloned().collect::<Vec<_>>(), entry.enabled)
        };
        let unconfigured: Vec<_> = unconfigured.entries.iter().map(nameless).collect();
        let mut entries = self.entries.clone();
        entries.retain(|entry| {
            let is_queue = matches!(entry.node, BusNode::Queue(..));
            !is_queue || !unconfigured.contains(&nameless(entry))
        });
        for entry in &mut entries {
            entry.settings.retain(|(attribute, text)| !is_unset(attribute, text));
        }
        Self { entries, ..Self::default() }
    }
}

/// Whether this is the text of an attribute that was never set, which a write cannot restore.
pub(super) fn is_unset(attribute: &str, text: &str) -> bool {
    match attribute {
        "threshold" => text == "0",
        "name" | "driver_name" => text.is_empty(),
        _ => false,
    }
}

/// The driver with some devices as after a boot.
fn reset(driver: &Driver, numbers: &[usize]) -> Driver {
    let mut driver = driver.clone();
    for &number in numbers {
        if let Some(device) = driver.devices.get_mut(number) {
            *device = IdxdDevice::new(device.part.clone());
        }
    }
    driver
}

fn unknown_node(driver: &Driver, entry: &NodeSettings) -> ApplyError {
    let is_device = matches!(entry.node, BusNode::Device(_));
    let like = driver.nodes().filter(|node| {
        let own = std::mem::discriminant(node) == std::mem::discriminant(&entry.node);
        own && (is_device || node.device() == entry.node.device())
    });
    let names: Vec<String> = like.map(|node| node.to_string()).collect();
    let allowed = match names.as_slice() {
        [] => "none of it here".to_owned(),
        [only] => only.clone(),
        [first, .., last] if !is_device => format!("{first} to {last}"),
        all => all.join(", "),
    };
    ApplyError {
        node: entry.node,
        attribute: "dev".to_owned(),
        value: entry.node.to_string(),
        errno: Errno::ENODEV,
        allowed: Some(allowed),
        status: None,
    }
}

/// The driver to bind a queue to when it is enabled; `None` if its type or `driver_name` does not name one.
pub(super) fn queue_driver(driver: &Driver, device: usize, queue: usize) -> Option<DriverName> {
    let own = &driver.devices[device];
    let state = &own.queues[queue];
    if own.part.without.contains(&"driver_name") {
        return match state.kind {
            crate::QueueType::User => Some(DriverName::User),
            crate::QueueType::Kernel => Some(DriverName::Dmaengine),
            crate::QueueType::None => None,
        };
    }
    match state.driver_name.parse() {
        Ok(to @ (DriverName::User | DriverName::Dmaengine)) => Some(to),
        _ => None,
    }
}
