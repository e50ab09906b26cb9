//! Steps from the present configuration of devices to another one, each tried on a copy of the driver.
//!
//! First nodes are disabled: queues that change, and a device if a value changes that it reads only when
//! it is enabled. Then values are written, then nodes are enabled.

use super::apply::{ApplyError, ORDER, SUMS, bind, set};
use super::whole_devices::{is_unset, queue_driver};
use super::{NodeSettings, SavedConfig};
use crate::{BusNode, Driver, DriverName, IdleHardware, WorkQueueMode};
use std::collections::BTreeSet;
use std::fmt;

/// A step: one write to a file of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigStep {
    /// Disable: a queue drains, and loses its configuration but size and group; a device loses all.
    Unbind {
        /// A device or a queue.
        node: BusNode,
        /// The driver to unbind from.
        driver: DriverName,
    },
    /// Write an attribute.
    Write {
        /// Node of the attribute.
        node: BusNode,
        /// Name of the attribute.
        attribute: &'static str,
        /// Text before the write.
        from: String,
        /// Text that is written and read back.
        to: String,
    },
    /// Enable.
    Bind {
        /// A device or a queue.
        node: BusNode,
        /// The driver to bind to.
        driver: DriverName,
    },
}

impl ConfigStep {
    /// Node that the step changes.
    #[must_use]
    pub fn node(&self) -> BusNode {
        match self {
            Self::Unbind { node, .. } | Self::Write { node, .. } | Self::Bind { node, .. } => *node,
        }
    }
}

impl fmt::Display for ConfigStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unbind { node, driver } => write!(f, "disable {node} (unbind from {driver})"),
            Self::Write { node, attribute, from, to } => {
                write!(f, "{node}/{attribute}: {from:?} -> {to:?}")
            }
            Self::Bind { node, driver } => write!(f, "enable {node} (bind to {driver})"),
        }
    }
}

/// Steps to a configuration, and the driver after them.
#[derive(Clone, Debug)]
pub struct ConfigPlan {
    /// The steps, in order.
    pub steps: Vec<ConfigStep>,
    /// All steps that the driver would refuse.
    pub refusals: Vec<ApplyError>,
    /// The driver after the steps.
    pub after: Driver,
}

impl SavedConfig {
    /// Plans the steps from the present configuration of a driver to this one, which has to be complete: the
    /// `configuration` of [`super::AcceptedConfig`].
    #[must_use]
    pub fn plan(&self, driver: &Driver) -> ConfigPlan {
        let mut planner = Planner {
            plan: ConfigPlan { steps: Vec::new(), refusals: Vec::new(), after: driver.clone() },
            unseen: driver.nodes().filter(|node| is_dedicated(driver, *node)).collect(),
        };
        for number in self.devices() {
            let own: Vec<&NodeSettings> =
                self.entries.iter().filter(|entry| entry.node.device() == number).collect();
            planner.device(number, &own);
        }
        planner.plan
    }
}

struct Planner {
    plan: ConfigPlan,
    /// Dedicated queues: their number of retries can be read only when they are shared.
    unseen: BTreeSet<BusNode>,
}

fn is_dedicated(driver: &Driver, node: BusNode) -> bool {
    match node {
        BusNode::Queue(device, queue) => {
            driver.devices[device].queues[queue].mode == WorkQueueMode::Dedicated
        }
        _ => false,
    }
}

impl Planner {
    fn now(&self, node: BusNode, attribute: &str) -> Option<String> {
        let text = self.plan.after.read(node, attribute, &IdleHardware).ok()?;
        Some(text.trim_end_matches('\n').to_owned())
    }

    fn differs(&self, entry: &NodeSettings, attribute: &str, text: &str) -> bool {
        // Once set, the name can be changed but not removed.
        let is_kept = attribute == "driver_name" && text.is_empty();
        !is_kept && self.now(entry.node, attribute).as_deref() != Some(text)
    }

    fn device(&mut self, number: usize, own: &[&NodeSettings]) {
        let device = BusNode::Device(number);
        if self.must_be_off(number, own) {
            for queue in 0..self.plan.after.devices[number].queues.len() {
                self.unbind(BusNode::Queue(number, queue));
            }
            self.unbind(device);
        } else {
            let changed = |entry: &&&NodeSettings| {
                let is_queue = matches!(entry.node, BusNode::Queue(..));
                let mut settings = entry.settings.iter();
                // Retries may change in any state.
                let any = settings.any(|(attribute, text)| {
                    *attribute != "enqcmds_retries" && self.differs(entry, attribute, text)
                });
                is_queue && (any || entry.enabled == Some(false))
            };
            let changed: Vec<BusNode> =
                own.iter().filter(changed).map(|entry| entry.node).collect();
            changed.into_iter().for_each(|queue| self.unbind(queue));
        }
        self.clear(own);
        for attribute in ORDER {
            for entry in own {
                self.write_wanted(entry, attribute);
            }
        }
        for entry in own.iter().filter(|entry| entry.enabled == Some(true)) {
            match entry.node {
                BusNode::Device(_) => self.bind(DriverName::Idxd, entry.node),
                BusNode::Queue(device, queue) => {
                    if let Some(driver) = queue_driver(&self.plan.after, device, queue) {
                        self.bind(driver, entry.node);
                    }
                }
                BusNode::Group(..) | BusNode::Engine(..) => {}
            }
        }
    }

    /// Whether a value changes that a device reads when it is enabled: settings of groups, sizes, its own
    /// limits. The driver does not refuse all of these writes on an enabled device.
    fn must_be_off(&self, number: usize, own: &[&NodeSettings]) -> bool {
        own.iter().any(|entry| {
            let halted = entry.node == BusNode::Device(number)
                && self.plan.after.devices[number].state == crate::DeviceState::Halted;
            let mut settings = entry.settings.iter();
            halted
                || match entry.node {
                    BusNode::Device(_) if entry.enabled == Some(false) => true,
                    BusNode::Queue(..) => settings.any(|(attribute, text)| {
                        ["size", "group_id"].contains(attribute)
                            && self.differs(entry, attribute, text)
                    }),
                    _ => settings.any(|(attribute, text)| self.differs(entry, attribute, text)),
                }
        })
    }

    /// Clears values before others are written: values whose sum would exceed a limit in between, and
    /// values that can be cleared only by a detour.
    fn clear(&mut self, own: &[&NodeSettings]) {
        for attribute in SUMS {
            let changes = |entry: &&&NodeSettings| {
                // Buffers that a group is allowed may be reserved by others only once that is written.
                let buffers =
                    (attribute == "read_buffers_reserved").then_some("read_buffers_allowed");
                let mut names = [attribute].into_iter().chain(buffers);
                names.any(|it| entry.get(it).is_some_and(|text| self.differs(entry, it, text)))
            };
            let is_changed = own.iter().any(|entry| changes(&entry));
            for entry in own.iter().filter(|_| is_changed) {
                if entry.get(attribute).is_some() {
                    self.write(entry.node, attribute, "0");
                }
            }
        }
        for attribute in ["group_id", "read_buffers_allowed"] {
            own.iter().for_each(|entry| self.write_wanted(entry, attribute));
        }
        for entry in own {
            // A dedicated queue has no threshold, and a queue of another type no name.
            if self.must_be_unset(entry, "threshold") {
                self.write(entry.node, "mode", "dedicated");
            }
            if self.must_be_unset(entry, "name") {
                let is_none = self.now(entry.node, "type").as_deref() == Some("none");
                self.write(entry.node, "type", if is_none { "user" } else { "none" });
            }
            // Without a limit the bit cannot be written.
            let limited = "use_read_buffer_limit";
            if entry.get(limited) == Some("0") && self.differs(entry, limited, "0") {
                let device = BusNode::Device(entry.node.device());
                if self.now(device, "read_buffer_limit").as_deref() == Some("0") {
                    self.write(device, "read_buffer_limit", "1");
                }
                self.write(entry.node, limited, "0");
            }
        }
    }

    /// Whether an attribute is set that has to become unset.
    fn must_be_unset(&self, entry: &NodeSettings, attribute: &str) -> bool {
        let text = entry.get(attribute).filter(|text| is_unset(attribute, text));
        text.is_some_and(|text| self.differs(entry, attribute, text))
    }

    fn write_wanted(&mut self, entry: &NodeSettings, attribute: &'static str) {
        if let Some(text) = entry.get(attribute).filter(|text| !is_unset(attribute, text)) {
            self.write(entry.node, attribute, text);
        }
    }

    /// Writes an attribute, if it does not have the text yet.
    fn write(&mut self, node: BusNode, attribute: &'static str, text: &str) {
        let Some(from) = self.now(node, attribute) else { return };
        let is_seen = attribute != "enqcmds_retries" || !self.unseen.contains(&node);
        if from == text && is_seen {
            return;
        }
        match set(&mut self.plan.after, &IdleHardware, node, attribute, text) {
            Ok(()) => {
                let to = text.to_owned();
                self.plan.steps.push(ConfigStep::Write { node, attribute, from, to });
            }
            Err(refusal) => self.plan.refusals.push(refusal),
        }
    }

    fn unbind(&mut self, node: BusNode) {
        let Some(driver) = self.plan.after.bound(node) else { return };
        match self.plan.after.unbind(driver, &node.to_string(), &IdleHardware) {
            Ok(()) => {
                // Disabling has set the driver's defaults.
                self.unseen
                    .retain(|queue| *queue != node && BusNode::Device(queue.device()) != node);
                self.plan.steps.push(ConfigStep::Unbind { node, driver });
            }
            Err(errno) => self.plan.refusals.push(ApplyError {
                node,
                attribute: "unbind".to_owned(),
                value: driver.name().to_owned(),
                errno,
                allowed: None,
                status: None,
            }),
        }
    }

    fn bind(&mut self, driver: DriverName, node: BusNode) {
        if self.plan.after.bound(node).is_some() {
            return;
        }
        match bind(&mut self.plan.after, &IdleHardware, driver, node) {
            Ok(()) => self.plan.steps.push(ConfigStep::Bind { node, driver }),
            Err(refusal) => self.plan.refusals.push(refusal),
        }
    }
}
