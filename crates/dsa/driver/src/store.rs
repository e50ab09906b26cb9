//! Writes to attributes: their effect, and the errors that refuse them [K sysfs.c].
//!
//! If several reasons refuse a write, the one that is tested first gives the error number. The order is
//! recalled from the kernel: the form of numbers is tested before the state; words, limits and switches are
//! tested after it; the range is tested last.

mod queue;

use crate::attributes::current_name;
use crate::device::LEAST_EVENT_LOG;
use crate::{BusNode, CommandStatus, Driver, Errno, HardwareAccess, IdxdDevice, parse};
use dsa::hardware::capabilities::grpcap;

/// Largest number of a traffic class.
pub(crate) const MOST_TRAFFIC_CLASS: u8 = 7;
/// Largest setting of a progress limit: an eighth.
pub(crate) const MOST_PROGRESS_LIMIT: u8 = 3;

impl Driver {
    /// Writes a text to an attribute.
    ///
    /// # Errors
    /// `ENOENT` if the node or the attribute does not exist, `EACCES` if it is read-only, otherwise the
    /// error with which the kernel refuses the write.
    pub fn write(
        &mut self,
        node: BusNode,
        attribute: &str,
        text: &str,
        hardware: &dyn HardwareAccess,
    ) -> Result<(), Errno> {
        let found = self.attribute(node, attribute).ok_or(Errno::ENOENT)?;
        if !found.writable {
            return Err(Errno::EACCES);
        }
        let attribute = current_name(attribute);
        let device = &mut self.devices[node.device()];
        if attribute != "cmd_status" && !device.is_configurable() {
            return Err(Errno::EPERM);
        }
        match node {
            BusNode::Device(_) => store_device(device, attribute, text),
            BusNode::Queue(_, queue) => queue::store(device, queue, attribute, text),
            BusNode::Group(_, group) => store_group(device, group, attribute, text),
            BusNode::Engine(_, engine) => {
                let group = group_id(device, text)?;
                device.engines[engine].group = group;
                Ok(())
            }
        }?;
        self.changed(node.device(), hardware);
        Ok(())
    }
}

fn require(holds: bool, errno: Errno) -> Result<(), Errno> {
    if holds { Ok(()) } else { Err(errno) }
}

/// Parses the number of a group; `None` for -1.
fn group_id(device: &IdxdDevice, text: &str) -> Result<Option<usize>, Errno> {
    match parse::signed(text)? {
        -1 => Ok(None),
        number => {
            let number = usize::try_from(number).map_err(|_| Errno::EINVAL)?;
            require(number < device.groups.len(), Errno::EINVAL)?;
            Ok(Some(number))
        }
    }
}

/// Converts a number, if it is at most `most`.
fn up_to<T: TryFrom<u64>>(number: u64, most: impl Into<u64>) -> Result<T, Errno> {
    require(number <= most.into(), Errno::EINVAL)?;
    T::try_from(number).map_err(|_| Errno::EINVAL)
}

fn store_device(device: &mut IdxdDevice, attribute: &str, text: &str) -> Result<(), Errno> {
    let can = device.part.capabilities;
    match attribute {
        "cmd_status" => device.command_status = CommandStatus::SUCCESS,
        "read_buffer_limit" => {
            let number = parse::unsigned(text)?;
            let settable = !device.is_on() && can.groups_have(grpcap::BUFFER_LIMIT);
            require(settable, Errno::EPERM)?;
            device.read_buffer_limit = up_to(number, can.read_buffers)?;
        }
        "event_log_size" => {
            let number = parse::unsigned(text)?;
            require(!device.is_on(), Errno::EPERM)?;
            require(number >= LEAST_EVENT_LOG.into(), Errno::EINVAL)?;
            device.event_log_size = up_to(number, u16::MAX)?;
        }
        _ => return Err(Errno::EACCES),
    }
    Ok(())
}

fn store_group(
    device: &mut IdxdDevice,
    number: usize,
    attribute: &str,
    text: &str,
) -> Result<(), Errno> {
    if attribute.ends_with("progress_limit") {
        // The state is not tested.
        let limit = up_to(parse::unsigned(text)?, MOST_PROGRESS_LIMIT)?;
        let group = &mut device.groups[number];
        match attribute {
            "desc_progress_limit" => group.desc_progress_limit = limit,
            _ => group.batch_progress_limit = limit,
        }
        return Ok(());
    }
    let value = parse::signed(text)?;
    require(!device.is_on(), Errno::EPERM)?;
    let free = device.free_read_buffers();
    let least_allowed = 4 * device.engines_of(number).count();
    let limited = device.read_buffer_limit > 0;
    let has_classes = device.part.tc_override || device.part.capabilities.version > 0x200;
    let group = &mut device.groups[number];
    let most_buffers = group.read_buffers_reserved + free;
    let natural = || u64::try_from(value).map_err(|_| Errno::EINVAL);
    match attribute {
        "read_buffers_reserved" => group.read_buffers_reserved = up_to(natural()?, most_buffers)?,
        "read_buffers_allowed" => {
            let allowed: u16 = up_to(natural()?, most_buffers)?;
            let least = least_allowed.max(group.read_buffers_reserved.into());
            require(usize::from(allowed) >= least, Errno::EINVAL)?;
            group.read_buffers_allowed = allowed;
        }
        "use_read_buffer_limit" => {
            let value = natural()?;
            require(limited, Errno::EPERM)?;
            group.use_read_buffer_limit = value != 0;
        }
        "traffic_class_a" | "traffic_class_b" => {
            require(has_classes, Errno::EPERM)?;
            let class = up_to(natural()?, MOST_TRAFFIC_CLASS)?;
            match attribute {
                "traffic_class_a" => group.traffic_class_a = class,
                _ => group.traffic_class_b = class,
            }
        }
        _ => return Err(Errno::EACCES),
    }
    Ok(())
}
