//! A driver in the state that the attributes of a machine show, to find which changes that machine would
//! accept.
//!
//! The attributes do not show the modes that a device has and whether it has a limit of read buffers (all
//! known devices have them), PASIDs of the kernel's queues, and open files. They show the whole state of
//! a queue.

use crate::device::LEAST_EVENT_LOG;
use crate::{
    BusNode, DeviceState, Driver, DriverName, Errno, IdxdDevice, IdxdGroup, IdxdQueue, Part,
    QueueType, WorkQueueMode, parse,
};
use dsa::hardware::capabilities::{Capabilities, gencap, grpcap, wqcap};
use thiserror::Error;

/// Access to the attributes of a machine.
pub trait Attributes {
    /// Reads the text of an attribute, without its newline.
    ///
    /// # Errors
    /// `ENOENT` if this kernel or device does not have it, or the kernel's error.
    fn read(&self, node: BusNode, attribute: &str) -> Result<String, Errno>;

    /// The driver that a device or a queue is bound to; `None` if it is not bound.
    ///
    /// # Errors
    /// The kernel's error.
    fn bound(&self, node: BusNode) -> Result<Option<DriverName>, Errno>;
}

/// An attribute that cannot be read or parsed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FromSysfsError {
    /// The attribute cannot be read.
    #[error("{0}/{1}: {2}")]
    Unread(BusNode, String, Errno),
    /// The attribute has a text that the driver does not write.
    #[error("{node}/{attribute} holds {text:?}; the driver writes {allowed}")]
    Unknown {
        /// Node of the attribute.
        node: BusNode,
        /// Name of the attribute.
        attribute: String,
        /// Text of the attribute.
        text: String,
        /// Texts that the driver writes.
        allowed: &'static str,
    },
}

/// Makes a node of the device with this number.
type Example = fn(usize) -> BusNode;

/// Attributes that some kernels or devices do not have, with an example of each kind of node.
const OPTIONAL: [(Example, &[&str]); 3] = [
    (|it| BusNode::Device(it), &["event_log_size"]),
    (
        |it| BusNode::Queue(it, 0),
        &["driver_name", "enqcmds_retries", "ats_disable", "prs_disable", "op_config"],
    ),
    (|it| BusNode::Group(it, 0), &["desc_progress_limit", "batch_progress_limit"]),
];

impl Driver {
    /// Reads the devices with these numbers from the attributes of a machine. `tc_override` is the
    /// parameter of the module.
    ///
    /// # Errors
    /// The first attribute that cannot be read or parsed.
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
    let exists = |node, name| machine.read(node, name) != Err(Errno::ENOENT);
    let mut gen_cap = own.hexadecimal("gen_cap")?;
    if !exists(own.node, "event_log_size") {
        gen_cap &= !(3 << gencap::EVENT_LOG_SHIFT);
    }
    // The driver uses this attribute, which firmware may have locked.
    gen_cap &= !gencap::CONFIGURABLE;
    gen_cap |= if own.text("configurable")? == "1" { gencap::CONFIGURABLE } else { 0 };
    let queue = |name| exists(BusNode::Queue(number, 0), name);
    let mut queue_features = wqcap::SHARED | wqcap::DEDICATED | wqcap::PRIORITY | wqcap::OCCUPANCY;
    for (name, feature) in
        [("ats_disable", wqcap::ATS), ("prs_disable", wqcap::PRS), ("op_config", wqcap::OPERATIONS)]
    {
        queue_features |= if queue(name) { feature } else { 0 };
    }
    let mut group_features = grpcap::BUFFER_CONTROL | grpcap::BUFFER_LIMIT;
    if exists(BusNode::Group(number, 0), "desc_progress_limit") {
        group_features |= grpcap::PROGRESS_LIMIT;
    }
    let op_cap = own.text("op_cap")?;
    let operations = parse::operations(&op_cap);
    Ok(Part {
        user_pasid: own.text("pasid_enabled")? == "1",
        // A machine without NUMA does not have a node number.
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

    /// The text; `None` if the kernel does not have the attribute, or the attribute does not have a value
    /// now.
    fn optional_text(&self, name: &str) -> Result<Option<String>, FromSysfsError> {
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

    /// A number; `otherwise` on kernels that do not have the attribute.
    fn number_or<T: TryFrom<u64>>(&self, name: &str, otherwise: T) -> Result<T, FromSysfsError> {
        if self.optional_text(name)?.is_none() { Ok(otherwise) } else { self.number(name) }
    }

    fn switch(&self, name: &str) -> Result<bool, FromSysfsError> {
        Ok(self.optional_text(name)?.is_some_and(|text| text != "0"))
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
        queue.driver_name = self.optional_text("driver_name")?.unwrap_or_default();
        queue.most_transfer_bytes = self.number("max_transfer_size")?;
        queue.most_batch = self.number("max_batch_size")?;
        queue.enqcmds_retries = self.number_or("enqcmds_retries", queue.enqcmds_retries)?;
        if let Some(text) = self.optional_text("op_config")? {
            let operations = parse::operations(&text);
            queue.operations =
                operations.map_err(|_| self.unknown("op_config", text, "words in hexadecimal"))?;
        }
        Ok(())
    }
}
