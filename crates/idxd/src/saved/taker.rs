//! A driver without configuration is given one, value by value: all that it refuses, and what it then
//! has.

use super::apply::{ApplyError, ORDER, bind, set};
use super::complete::{driver_of, is_unset};
use super::{Entry, Saved, allowed, blame};
use crate::{CommandStatus, Driver, DriverName, Errno, Idle, Node};

/// A driver that is given a configuration, and what it refuses.
pub(super) struct Taker {
    pub driver: Driver,
    pub refusals: Vec<ApplyError>,
}

impl Taker {
    /// Gives it all values, then enables what is to be.
    pub fn take(&mut self, wanted: &Saved) {
        for attribute in ORDER {
            for entry in &wanted.entries {
                let Some(text) = entry.get(attribute) else { continue };
                self.write(entry.node, attribute, text);
            }
        }
        let on: Vec<&Entry> =
            wanted.entries.iter().filter(|entry| wanted.is_wanted(entry)).collect();
        for entry in on.iter().filter(|entry| matches!(entry.node, Node::Device(_))) {
            if !self.is_spoiled(entry.node) {
                self.bind(DriverName::Idxd, entry.node, wanted);
            }
        }
        for entry in on {
            let Node::Queue(device, _) = entry.node else { continue };
            let is_own = |refusal: &ApplyError| refusal.node == entry.node;
            if self.driver.devices[device].is_on() && !self.refusals.iter().any(is_own) {
                self.bind_queue(entry.node, wanted);
            } else if !self.driver.devices[device].is_on() && !self.is_spoiled(Node::Device(device))
            {
                self.refuse_queue_of_a_device_that_is_off(entry);
            }
        }
    }

    fn write(&mut self, node: Node, attribute: &str, text: &str) {
        let now = self.driver.read(node, attribute, &Idle);
        let is_same = now.is_ok_and(|now| now.trim_end_matches('\n') == text);
        // A threshold follows from a mode and a size, which have said already what they are refused for.
        let follows = attribute == "threshold"
            && self.refusals.iter().any(|refusal| {
                refusal.node == node && ["mode", "size"].contains(&refusal.attribute.as_str())
            });
        if is_same || is_unset(attribute, text) || follows {
            return;
        }
        if let Err(refusal) = set(&mut self.driver, &Idle, node, attribute, text) {
            self.refusals.push(refusal);
        }
    }

    /// Whether something was refused that the device as a whole needs.
    fn is_spoiled(&self, device: Node) -> bool {
        let own = self.refusals.iter().filter(|refusal| refusal.node.device() == device.device());
        own.into_iter().any(|refusal| match refusal.node {
            Node::Queue(..) => ["group_id", "size", "dev"].contains(&refusal.attribute.as_str()),
            _ => true,
        })
    }

    fn bind_queue(&mut self, node: Node, wanted: &Saved) {
        let Node::Queue(device, queue) = node else { return };
        match driver_of(&self.driver, device, queue) {
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

    fn bind(&mut self, to: DriverName, node: Node, wanted: &Saved) {
        let Err(mut refusal) = bind(&mut self.driver, &Idle, to, node) else { return };
        // The status says which key is to blame.
        let device = &self.driver.devices[node.device()];
        let of_device = matches!(node, Node::Device(_));
        let blame =
            refusal.status.filter(|_| of_device).and_then(|it| blame::of_device(device, node, it));
        if let Some(blame) = blame {
            let (value, allowed) = (blame.value, Some(blame.allowed));
            let (node, attribute) = (blame.node, blame.attribute.to_owned());
            refusal = ApplyError { node, attribute, value, allowed, ..refusal };
        } else if let Some(attribute) = refusal.status.and_then(blame::of_queue) {
            let entry = wanted.entries.iter().find(|entry| entry.node == node);
            let now = self.driver.read(node, attribute, &Idle).unwrap_or_default();
            let stated = entry.and_then(|entry| entry.get(attribute)).map(str::to_owned);
            refusal.value = stated.unwrap_or_else(|| now.trim_end().to_owned());
            attribute.clone_into(&mut refusal.attribute);
            refusal.allowed = allowed::range(device, node, attribute);
        }
        self.refusals.push(refusal);
    }

    fn refuse_queue_of_a_device_that_is_off(&mut self, entry: &Entry) {
        let device = Node::Device(entry.node.device());
        let is_told = self.refusals.iter().any(|refusal| refusal.node == device);
        if !is_told {
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
