//! Trial of a configuration on an unconfigured driver, value by value, to find all refusals and the result.

use super::apply::{ApplyError, ORDER, bind, set};
use super::whole_devices::{is_unset, queue_driver};
use super::{NodeSettings, SavedConfig, allowed_values, refused_key};
use crate::{BusNode, CommandStatus, Driver, DriverName, Errno, IdleHardware};

/// An unconfigured driver that a configuration is tried on, and its refusals.
pub(super) struct TrialDriver {
    pub driver: Driver,
    pub refusals: Vec<ApplyError>,
}

impl TrialDriver {
    /// Writes all values, then enables the nodes that have to be enabled.
    pub fn try_all(&mut self, wanted: &SavedConfig) {
        for attribute in ORDER {
            for entry in &wanted.entries {
                let Some(text) = entry.get(attribute) else { continue };
                self.write(entry.node, attribute, text);
            }
        }
        let on: Vec<&NodeSettings> =
            wanted.entries.iter().filter(|entry| wanted.is_wanted(entry)).collect();
        for entry in on.iter().filter(|entry| matches!(entry.node, BusNode::Device(_))) {
            if !self.has_refused_device(entry.node) {
                self.bind(DriverName::Idxd, entry.node, wanted);
            }
        }
        for entry in on {
            let BusNode::Queue(device, _) = entry.node else { continue };
            let is_own = |refusal: &ApplyError| refusal.node == entry.node;
            if self.driver.devices[device].is_on() && !self.refusals.iter().any(is_own) {
                self.bind_queue(entry.node, wanted);
            } else if !self.driver.devices[device].is_on()
                && !self.has_refused_device(BusNode::Device(device))
            {
                self.refuse_queue_of_disabled_device(entry);
            }
        }
    }

    fn write(&mut self, node: BusNode, attribute: &str, text: &str) {
        let now = self.driver.read(node, attribute, &IdleHardware);
        let is_same = now.is_ok_and(|now| now.trim_end_matches('\n') == text);
        // A threshold depends on mode and size, whose refusals are listed already.
        let follows = attribute == "threshold"
            && self.refusals.iter().any(|refusal| {
                refusal.node == node && ["mode", "size"].contains(&refusal.attribute.as_str())
            });
        if is_same || is_unset(attribute, text) || follows {
            return;
        }
        if let Err(refusal) = set(&mut self.driver, &IdleHardware, node, attribute, text) {
            self.refusals.push(refusal);
        }
    }

    /// Whether a value was refused that the device as a whole needs.
    fn has_refused_device(&self, device: BusNode) -> bool {
        let own = self.refusals.iter().filter(|refusal| refusal.node.device() == device.device());
        own.into_iter().any(|refusal| match refusal.node {
            BusNode::Queue(..) => ["group_id", "size", "dev"].contains(&refusal.attribute.as_str()),
            _ => true,
        })
    }

    fn bind_queue(&mut self, node: BusNode, wanted: &SavedConfig) {
        let BusNode::Queue(device, queue) = node else { return };
        match queue_driver(&self.driver, device, queue) {
            Some(to) => self.bind(to, node, wanted),
            None => {
                let name = self.driver.devices[device].queues[queue].driver_name.clone();
                self.refusals.push(ApplyError {
                    node,
                    attribute: "driver_name".to_owned(),
                    value: name,
                    errno: Errno::ENODEV,
                    allowed: Some("user, dmaengine, for a queue that is to be enabled".to_owned()),
                    status: Some(CommandStatus::DRIVER_NO_DRIVER_NAME),
                });
            }
        }
    }

    fn bind(&mut self, to: DriverName, node: BusNode, wanted: &SavedConfig) {
        let Err(mut refusal) = bind(&mut self.driver, &IdleHardware, to, node) else { return };
        // The status names the key that caused the refusal.
        let device = &self.driver.devices[node.device()];
        let of_device = matches!(node, BusNode::Device(_));
        let refused = refusal
            .status
            .filter(|_| of_device)
            .and_then(|it| refused_key::for_device(device, node, it));
        if let Some(key) = refused {
            let (value, allowed) = (key.value, Some(key.allowed));
            let (node, attribute) = (key.node, key.attribute.to_owned());
            refusal = ApplyError { node, attribute, value, allowed, ..refusal };
        } else if let Some(attribute) = refusal.status.and_then(refused_key::for_queue) {
            let entry = wanted.entries.iter().find(|entry| entry.node == node);
            let now = self.driver.read(node, attribute, &IdleHardware).unwrap_or_default();
            let stated = entry.and_then(|entry| entry.get(attribute)).map(str::to_owned);
            refusal.value = stated.unwrap_or_else(|| now.trim_end().to_owned());
            attribute.clone_into(&mut refusal.attribute);
            refusal.allowed = allowed_values::range(device, node, attribute);
        }
        self.refusals.push(refusal);
    }

    fn refuse_queue_of_disabled_device(&mut self, entry: &NodeSettings) {
        let device = BusNode::Device(entry.node.device());
        let is_listed = self.refusals.iter().any(|refusal| refusal.node == device);
        if !is_listed {
            self.refusals.push(ApplyError {
                node: entry.node,
                attribute: "state".to_owned(),
                value: "enabled".to_owned(),
                errno: Errno::ENXIO,
                allowed: Some(format!("disabled, or {device} enabled as well")),
                status: None,
            });
        }
    }
}
