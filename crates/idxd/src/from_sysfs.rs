//! A driver in the state that the attributes of a machine show, to ask it what that machine would take.
//!
//! Not to be seen are the modes that a device has and whether it has a limit of read buffers (all known
//! parts have them), PASIDs of the kernel's queues, and open files. Of a queue's state all is seen.

use crate::device::LEAST_EVENT_LOG;
use crate::{
    BusNode, DeviceState, Driver, DriverName, Errno, IdxdDevice, IdxdGroup, IdxdQueue, Part,
    QueueType, WorkQueueMode, parse,
};
use dsa::hardware::capabilities::{Capabilities, gencap, grpcap, wqcap};
use thiserror::Error;

/// A machine whose attributes can be read.
pub trait Attributes {
    /// The text of an attribute, without its newline.
    ///
    /// # Errors
    /// `ENOENT` if this kernel or part does not have it, or what the kernel says.
    fn read(&self, node: BusNode, attribute: &str) -> Result<String, Errno>;

    /// The driver that a device or a queue is bound to.
    ///
    /// # Errors
    /// What the kernel says.
    fn bound(&self, node: BusNode) -> Result<Option<DriverName>, Errno>;
}

/// An attribute that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FromSysfsError {
    /// It cannot be read.
    #[error("{0}/{1}: {2}")]
    Unread(BusNode, String, Errno),
    /// It has a text that the driver does not write.
    #[error("{node}/{attribute} holds {text:?}; the driver writes {allowed}")]
    Unknown {
        /// Of what.
        node: BusNode,
        /// The attribute.
        attribute: String,
        /// What it holds.
        text: String,
        /// What the driver writes there.
        allowed: &'static str,
    },
}

/// A node of a device.
type Example = fn(usize) -> BusNode;

/// The attributes that some kernels or parts do not have, by an example of each kind of node.
const OPTIONAL: [(Example, &[&str]); 3] = [
    (|it| BusNode::Device(it), &["event_log_size"]),
    (
        |it| BusNode::Queue(it, 0),
        &["driver_name", "enqcmds_retries", "ats_disable", "prs_disable", "op_config"],
    ),
    (|it| BusNode::Group(it, 0), &["desc_progress_limit", "batch_progress_limit"]),
];

impl Driver {
    /// The devices of some numbers; `tc_override` is the parameter of the module.
    ///
    /// # Errors
    /// The first attribute that cannot be read or understood.
    pub fn from_sysfs(
        numbers: &[usize],
        machine: &dyn Attributes,
        tc_override: bool,
    ) -> Result<Self, FromSysfsError> {
        let last = numbers.iter().max().map_or(0, |number| number + 1);
        let mut driver = Self::new(vec![Part::gap(); last]);
        for &number in numbers {
            let mut part = Part { tc_override, ..part(number, machine)? };
            for (node, names) in OPTIONAL {
                let is_missing =
                    |name: &&&str| machine.read(node(number), name) == Err(Errno::ENOENT);
                part.without.extend(names.iter().filter(is_missing));
            }
            let mut device = IdxdDevice::new(part);
            NodeReader { machine, node: BusNode::Device(number) }.fill_device(&mut device)?;
            driver.devices[number] = device;
        }
        Ok(driver)
    }
}

fn part(number: usize, machine: &dyn Attributes) -> Result<Part, FromSysfsError> {
    let own = NodeReader { machine, node: BusNode::Device(number) };
    let is_there = |node, name| machine.read(node, name) != Err(Errno::ENOENT);
    let mut gen_cap = own.hexadecimal("gen_cap")?;
    if !is_there(own.node, "event_log_size") {
        gen_cap &= !(3 << gencap::EVENT_LOG_SHIFT);
    }
    // The driver goes by this attribute, which firmware may have locked.
    gen_cap &= !gencap::CONFIGURABLE;
    gen_cap |= if own.text("configurable")? == "1" { gencap::CONFIGURABLE } else { 0 };
    let queue = |name| is_there(BusNode::Queue(number, 0), name);
    let mut queue_features = wqcap::SHARED | wqcap::DEDICATED | wqcap::PRIORITY | wqcap::OCCUPANCY;
    for (name, feature) in
        [("ats_disable", wqcap::ATS), ("prs_disable", wqcap::PRS), ("op_config", wqcap::OPERATIONS)]
    {
        queue_features |= if queue(name) { feature } else { 0 };
    }
    let mut group_features = grpcap::BUFFER_CONTROL | grpcap::BUFFER_LIMIT;
    if is_there(BusNode::Group(number, 0), "desc_progress_limit") {
        group_features |= grpcap::PROGRESS_LIMIT;
    }
    let op_cap = own.text("op_cap")?;
    let operations = parse::operations(&op_cap);
    Ok(Part {
        user_pasid: own.text("pasid_enabled")? == "1",
        // A machine without NUMA has no such number.
        numa_node: own.text("numa_node")?.parse().unwrap_or(-1),
        ..Part::new(Capabilities {
            version: own.fitting(own.hexadecimal("version")?, "version")?,
            gen_cap,
            op_cap: operations
                .map_err(|_| own.unknown("op_cap", op_cap, "words in hexadecimal"))?,
            work_queues: own.number("max_work_queues")?,
            queue_entries: own.number("max_work_queues_size")?,
            groups: own.number("max_groups")?,
            engines: own.number("max_engines")?,
            read_buffers: own.number("max_read_buffers")?,
            queue_features,
            group_features,
            dsa_caps: [0; 3],
        })
    })
}

/// Reads the attributes of a node.
struct NodeReader<'a> {
    machine: &'a dyn Attributes,
    node: BusNode,
}

impl NodeReader<'_> {
    fn at(&self, node: BusNode) -> Self {
        NodeReader { machine: self.machine, node }
    }

    fn text(&self, name: &str) -> Result<String, FromSysfsError> {
        let read = self.machine.read(self.node, name);
        read.map_err(|errno| FromSysfsError::Unread(self.node, name.to_owned(), errno))
    }

    /// The text, or nothing where the kernel has no such attribute, or no value now.
    fn maybe(&self, name: &str) -> Result<Option<String>, FromSysfsError> {
        match self.machine.read(self.node, name) {
            Ok(text) => Ok(Some(text)),
            Err(Errno::ENOENT | Errno::EOPNOTSUPP | Errno::ENXIO) => Ok(None),
            Err(errno) => Err(FromSysfsError::Unread(self.node, name.to_owned(), errno)),
        }
    }

    fn unknown(&self, name: &str, text: String, allowed: &'static str) -> FromSysfsError {
        FromSysfsError::Unknown { node: self.node, attribute: name.to_owned(), text, allowed }
    }

    fn fitting<T: TryFrom<u64>>(&self, number: u64, name: &str) -> Result<T, FromSysfsError> {
        let narrow = T::try_from(number);
        narrow.map_err(|_| self.unknown(name, number.to_string(), "a smaller number"))
    }

    fn hexadecimal(&self, name: &str) -> Result<u64, FromSysfsError> {
        let text = self.text(name)?;
        let digits = text.strip_prefix("0x").unwrap_or(&text);
        let number = u64::from_str_radix(digits, 16);
        number.map_err(|_| self.unknown(name, text.clone(), "a hexadecimal number"))
    }

    fn number<T: TryFrom<u64>>(&self, name: &str) -> Result<T, FromSysfsError> {
        let text = self.text(name)?;
        let number = text.parse::<u64>();
        let number = number.map_err(|_| self.unknown(name, text, "a whole number"))?;
        self.fitting(number, name)
    }

    /// A number that some kernels do not have.
    fn number_or<T: TryFrom<u64>>(&self, name: &str, otherwise: T) -> Result<T, FromSysfsError> {
        if self.maybe(name)?.is_none() { Ok(otherwise) } else { self.number(name) }
    }

    fn switch(&self, name: &str) -> Result<bool, FromSysfsError> {
        Ok(self.maybe(name)?.is_some_and(|text| text != "0"))
    }

    fn group(&self, groups: usize) -> Result<Option<usize>, FromSysfsError> {
        let text = self.text("group_id")?;
        if text == "-1" {
            return Ok(None);
        }
        let number = text.parse().ok().filter(|number| *number < groups);
        number.map(Some).ok_or_else(|| self.unknown("group_id", text, "-1 or a group's number"))
    }

    fn class(&self, name: &str) -> Result<i8, FromSysfsError> {
        let text = self.text(name)?;
        text.parse().map_err(|_| self.unknown(name, text, "-1 or a traffic class"))
    }

    fn bound(&self) -> Result<Option<DriverName>, FromSysfsError> {
        let bound = self.machine.bound(self.node);
        bound.map_err(|errno| FromSysfsError::Unread(self.node, "driver".to_owned(), errno))
    }

    fn fill_device(&self, device: &mut IdxdDevice) -> Result<(), FromSysfsError> {
        let number = self.node.device();
        let state = self.text("state")?;
        device.state = match state.as_str() {
            "enabled" => DeviceState::Enabled,
            "disabled" => DeviceState::Disabled,
            "halted" => DeviceState::Halted,
            _ => return Err(self.unknown("state", state, "enabled, disabled or halted")),
        };
        device.bound = self.bound()?.is_some();
        device.read_buffer_limit = self.number_or("read_buffer_limit", 0)?;
        device.event_log_size = self.number_or("event_log_size", LEAST_EVENT_LOG)?;
        let groups = device.groups.len();
        for (index, queue) in device.queues.iter_mut().enumerate() {
            self.at(BusNode::Queue(number, index)).fill_queue(queue, groups)?;
        }
        for (index, group) in device.groups.iter_mut().enumerate() {
            self.at(BusNode::Group(number, index)).fill_group(group)?;
        }
        for (index, engine) in device.engines.iter_mut().enumerate() {
            engine.group = self.at(BusNode::Engine(number, index)).group(groups)?;
        }
        Ok(())
    }

    fn fill_group(&self, group: &mut IdxdGroup) -> Result<(), FromSysfsError> {
        group.read_buffers_reserved = self.number("read_buffers_reserved")?;
        group.read_buffers_allowed = self.number("read_buffers_allowed")?;
        group.use_read_buffer_limit = self.switch("use_read_buffer_limit")?;
        group.traffic_class_a = self.class("traffic_class_a")?;
        group.traffic_class_b = self.class("traffic_class_b")?;
        group.desc_progress_limit = self.number_or("desc_progress_limit", 0)?;
        group.batch_progress_limit = self.number_or("batch_progress_limit", 0)?;
        Ok(())
    }

    fn fill_queue(&self, queue: &mut IdxdQueue, groups: usize) -> Result<(), FromSysfsError> {
        queue.enabled = self.text("state")? == "enabled";
        queue.bound = self.bound()?;
        queue.group = self.group(groups)?;
        let mode = self.text("mode")?;
        queue.mode = match mode.as_str() {
            "shared" => WorkQueueMode::Shared,
            "dedicated" => WorkQueueMode::Dedicated,
            _ => return Err(self.unknown("mode", mode, "shared or dedicated")),
        };
        let kind = self.text("type")?;
        queue.kind = match kind.as_str() {
            "none" => QueueType::None,
            "kernel" => QueueType::Kernel,
            "user" => QueueType::User,
            _ => return Err(self.unknown("type", kind, "none, kernel or user")),
        };
        queue.size = self.number("size")?;
        queue.priority = self.number("priority")?;
        queue.threshold = self.number_or("threshold", 0)?;
        queue.block_on_fault = self.switch("block_on_fault")?;
        queue.ats_disable = self.switch("ats_disable")?;
        queue.prs_disable = self.switch("prs_disable")?;
        queue.name = self.text("name")?;
        queue.driver_name = self.maybe("driver_name")?.unwrap_or_default();
        queue.most_transfer_bytes = self.number("max_transfer_size")?;
        queue.most_batch = self.number("max_batch_size")?;
        queue.enqcmds_retries = self.number_or("enqcmds_retries", queue.enqcmds_retries)?;
        if let Some(text) = self.maybe("op_config")? {
            let operations = parse::operations(&text);
            queue.operations =
                operations.map_err(|_| self.unknown("op_config", text, "words in hexadecimal"))?;
        }
        Ok(())
    }
}
