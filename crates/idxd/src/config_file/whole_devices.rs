//! From what a file says to whole devices, and what a device that is off and unconfigured makes of them.

use super::apply::ApplyError;
use super::trial::TrialDriver;
use super::{NodeSettings, SavedConfig};
use crate::queue::DEFAULT_RETRIES;
use crate::{BusNode, Driver, DriverName, Errno, IdxdDevice};
use std::collections::BTreeSet;
use std::fmt;

/// What a device makes of a value, where that is not what the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdjustedValue {
    /// Of what.
    pub node: BusNode,
    /// The attribute.
    pub attribute: String,
    /// As the file has it.
    pub asked: String,
    /// As it reads afterwards.
    pub becomes: String,
}

impl fmt::Display for AdjustedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, attribute, asked, becomes } = self;
        write!(f, "{node}: {attribute} = {asked:?} becomes {becomes:?}")
    }
}

/// What devices would be if they took a file.
#[derive(Clone, Debug)]
pub struct AcceptedConfig {
    /// The whole configuration of each device that the file names, as it would read; without what is
    /// refused.
    pub configuration: SavedConfig,
    /// What is refused, each by itself.
    pub refusals: Vec<ApplyError>,
    /// What becomes something else.
    pub changed: Vec<AdjustedValue>,
}

impl SavedConfig {
    /// The numbers of the devices that it names, in order.
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

    /// The configuration that devices have after they were disabled.
    #[must_use]
    pub fn unconfigured(driver: &Driver, numbers: &[usize]) -> Self {
        Self::from_devices(&reset(driver, numbers), numbers)
    }

    /// What each device that the file names would be: all that the file does not say of it is as after a
    /// disable. Every refusal is found, but for those that follow from another one.
    #[must_use]
    pub fn taken_by(&self, driver: &Driver) -> AcceptedConfig {
        let there: BTreeSet<BusNode> = driver.nodes().collect();
        let (known, unknown) =
            self.entries.iter().cloned().partition(|entry| there.contains(&entry.node));
        let unknown: Vec<NodeSettings> = unknown;
        let known = Self { entries: known };
        let devices = known.devices();
        let mut taker = TrialDriver {
            driver: reset(driver, &devices),
            refusals: unknown.iter().map(|entry| nothing_of_that_name(driver, entry)).collect(),
        };
        let wanted = known.of_this_kernel(driver);
        taker.take(&wanted);
        let configuration = Self::from_devices(&taker.driver, &devices);
        let changed = wanted.changed_in(&configuration, &taker.refusals);
        AcceptedConfig { configuration, refusals: taker.refusals, changed }
    }

    /// Kernels before 6.7 had no `driver_name`, and files of theirs have none: the type says which. What
    /// older kernels cannot be told is left out where they do it anyway.
    fn of_this_kernel(&self, driver: &Driver) -> Self {
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
            // A file of a newer kernel says what this one goes by anyway.
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

    /// Without what says nothing: queues as they are after a disable, and texts that cannot be written.
    /// accel-config takes such a file; it stops where it is to write a threshold of 0.
    #[must_use]
    pub fn without_defaults(&self, driver: &Driver) -> Self {
        let unconfigured = Self::unconfigured(driver, &self.devices());
        // The name of a driver stays where all else is gone.
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
        Self { entries }
    }
}

/// Whether an attribute that was never set reads so, and cannot be set back to it by a write.
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

fn nothing_of_that_name(driver: &Driver, entry: &NodeSettings) -> ApplyError {
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

/// The driver that a queue is bound to when it is enabled.
pub(super) fn driver_of(driver: &Driver, device: usize, queue: usize) -> Option<DriverName> {
    let own = &driver.devices[device];
    let there = &own.queues[queue];
    if own.part.without.contains(&"driver_name") {
        return match there.kind {
            crate::QueueType::User => Some(DriverName::User),
            crate::QueueType::Kernel => Some(DriverName::Dmaengine),
            crate::QueueType::None => None,
        };
    }
    match there.driver_name.parse() {
        Ok(to @ (DriverName::User | DriverName::Dmaengine)) => Some(to),
        _ => None,
    }
}
