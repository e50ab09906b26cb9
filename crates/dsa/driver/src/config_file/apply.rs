//! Applies a configuration to a driver.

use super::{NodeSettings, SavedConfig, allowed_values};
use crate::{BusNode, CommandStatus, Driver, DriverName, Errno, HardwareAccess, IdxdDevice};
use std::fmt;

/// A step of a configuration that the driver refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyError {
    /// Node of the step.
    pub node: BusNode,
    /// Name of the attribute, or `bind`.
    pub attribute: String,
    /// The text that was written.
    pub value: String,
    /// The error number of the refusal.
    pub errno: Errno,
    /// Allowed values, if the value is not one of them.
    pub allowed: Option<String>,
    /// The device's `cmd_status`, if that has the reason of the refusal.
    pub status: Option<CommandStatus>,
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, attribute, value, errno, allowed, status } = self;
        write!(f, "{node}: {attribute} = {value:?} was refused: {errno}")?;
        if let Some(allowed) = allowed {
            write!(f, "; allowed is {allowed}")?;
        }
        status.map_or(Ok(()), |status| write!(f, "; {status}"))
    }
}

impl std::error::Error for ApplyError {}

/// The order of writes: engines before the read buffers that they need, the type before the name that a
/// new type clears, the mode and the size before the threshold that they bound.
pub(super) const ORDER: &[&str] = &[
    "group_id",
    "read_buffer_limit",
    "event_log_size",
    "read_buffers_reserved",
    "read_buffers_allowed",
    "use_read_buffer_limit",
    "traffic_class_a",
    "traffic_class_b",
    "desc_progress_limit",
    "batch_progress_limit",
    "mode",
    "enqcmds_retries",
    "type",
    "size",
    "threshold",
    "priority",
    "name",
    "driver_name",
    "max_transfer_size",
    "max_batch_size",
    "op_config",
    "ats_disable",
    "prs_disable",
    "block_on_fault",
];

/// Attributes whose sum over several nodes is limited. All that change are 0 in between, so that the
/// limit is not exceeded.
pub(super) const SUMS: [&str; 2] = ["size", "read_buffers_reserved"];

impl SavedConfig {
    /// Configures devices, then enables the nodes that are enabled in the file. If the file does not have the
    /// state, a queue with a type, a name and a group is enabled, and a device with such a queue.
    ///
    /// Attributes that have the wanted value already are not written.
    ///
    /// # Errors
    /// The first refusal. Earlier writes stay.
    pub fn apply(
        &self,
        driver: &mut Driver,
        hardware: &dyn HardwareAccess,
    ) -> Result<(), ApplyError> {
        for NodeSettings { node, .. } in &self.entries {
            if !driver.has(*node) {
                let (attribute, value) = ("dev".to_owned(), node.to_string());
                let errno = Errno::ENODEV;
                let (allowed, status) = (None, None);
                return Err(ApplyError { node: *node, attribute, value, errno, allowed, status });
            }
        }
        for attribute in SUMS {
            self.write_all(driver, hardware, attribute, Some("0"))?;
        }
        for attribute in ORDER {
            self.write_all(driver, hardware, attribute, None)?;
        }
        self.complete_driver_names(driver, hardware)?;
        for entry in self.entries.iter().filter(|entry| self.is_wanted(entry)) {
            if let BusNode::Device(_) = entry.node {
                bind(driver, hardware, DriverName::Idxd, entry.node)?;
            }
        }
        for entry in self.entries.iter().filter(|entry| self.is_wanted(entry)) {
            if let BusNode::Queue(..) = entry.node {
                bind_queue(driver, hardware, entry.node)?;
            }
        }
        Ok(())
    }

    /// Writes an attribute of all nodes for which it differs: the saved text, or `instead`.
    fn write_all(
        &self,
        driver: &mut Driver,
        hardware: &dyn HardwareAccess,
        attribute: &str,
        instead: Option<&str>,
    ) -> Result<(), ApplyError> {
        for entry in &self.entries {
            let Some(text) = entry.get(attribute) else { continue };
            // An attribute that was never set has this text, and cannot be set back to it.
            let unset = match attribute {
                "threshold" => text == "0",
                "name" | "driver_name" => text.is_empty(),
                _ => false,
            };
            let now = driver.read(entry.node, attribute, hardware);
            if unset || now.is_ok_and(|now| now.trim_end_matches('\n') == text) {
                continue;
            }
            set(driver, hardware, entry.node, attribute, instead.unwrap_or(text))?;
        }
        Ok(())
    }

    /// Adds missing driver names by the type of the queue: kernels before 6.7 did not have `driver_name`,
    /// nor do their files.
    fn complete_driver_names(
        &self,
        driver: &mut Driver,
        hardware: &dyn HardwareAccess,
    ) -> Result<(), ApplyError> {
        for entry in self.entries.iter().filter(|entry| entry.get("driver_name").is_none()) {
            let name = match entry.get("type") {
                Some("user") => DriverName::User,
                Some("kernel") => DriverName::Dmaengine,
                _ => continue,
            };
            let now = driver.read(entry.node, "driver_name", hardware);
            if now.is_ok_and(|now| now.trim_end() != name.name()) {
                set(driver, hardware, entry.node, "driver_name", name.name())?;
            }
        }
        Ok(())
    }

    /// Whether a device or a queue is to be enabled.
    pub(super) fn is_wanted(&self, entry: &NodeSettings) -> bool {
        let device = entry.node.device();
        match entry.node {
            BusNode::Device(_) => entry.enabled.unwrap_or_else(|| {
                let mut queues = self.entries.iter().filter(|it| it.node.device() == device);
                queues.any(|it| matches!(it.node, BusNode::Queue(..)) && wants_queue(it))
            }),
            BusNode::Queue(..) => {
                let own = |it: &&NodeSettings| it.node == BusNode::Device(device);
                let off = self.entries.iter().find(own).is_some_and(|it| it.enabled == Some(false));
                !off && wants_queue(entry)
            }
            BusNode::Group(..) | BusNode::Engine(..) => false,
        }
    }
}

fn wants_queue(entry: &NodeSettings) -> bool {
    let has_type = entry.get("type").is_some_and(|kind| kind != "none");
    let has_name = entry.get("name").is_some_and(|name| !name.is_empty());
    entry.enabled.unwrap_or(has_type && has_name && entry.group().is_some())
}

/// Writes a value. If it is refused, the error has the allowed values.
pub(super) fn set(
    driver: &mut Driver,
    hardware: &dyn HardwareAccess,
    node: BusNode,
    attribute: &str,
    text: &str,
) -> Result<(), ApplyError> {
    driver.write(node, attribute, text, hardware).map_err(|errno| {
        let device = &driver.devices()[node.device()];
        let allowed = match errno {
            Errno::EINVAL => allowed_values::range(device, node, attribute),
            _ if is_off(device, node) => {
                allowed_values::only(device, node, attribute).map(str::to_owned)
            }
            // The value may be allowed, but not in this state.
            _ => None,
        };
        let (attribute, value) = (attribute.to_owned(), text.to_owned());
        ApplyError { node, attribute, value, errno, allowed, status: None }
    })
}

fn bind_queue(
    driver: &mut Driver,
    hardware: &dyn HardwareAccess,
    node: BusNode,
) -> Result<(), ApplyError> {
    let name = driver.read(node, "driver_name", hardware).unwrap_or_default();
    let name = name.trim_end();
    let to = match name.parse() {
        Ok(to @ (DriverName::User | DriverName::Dmaengine)) => to,
        _ => {
            let (attribute, value) = ("driver_name".to_owned(), name.to_owned());
            let status = Some(CommandStatus::DRIVER_NO_DRIVER_NAME);
            let (errno, allowed) = (Errno::ENODEV, None);
            return Err(ApplyError { node, attribute, value, errno, allowed, status });
        }
    };
    bind(driver, hardware, to, node)
}

pub(super) fn bind(
    driver: &mut Driver,
    hardware: &dyn HardwareAccess,
    to: DriverName,
    node: BusNode,
) -> Result<(), ApplyError> {
    if driver.bound(node).is_some() {
        return Ok(());
    }
    // A refusal without a code leaves `cmd_status` as it is, so it is cleared first.
    set(driver, hardware, BusNode::Device(node.device()), "cmd_status", "1")?;
    driver.bind(to, &node.to_string(), hardware).map_err(|errno| {
        let after = driver.devices[node.device()].command_status;
        let has_reason = after != CommandStatus::SUCCESS;
        let (attribute, value) = ("bind".to_owned(), to.name().to_owned());
        let status = has_reason.then_some(after);
        ApplyError { node, attribute, value, errno, allowed: None, status }
    })
}

/// Whether the state of a node allows writes to its attributes.
fn is_off(device: &IdxdDevice, node: BusNode) -> bool {
    let is_queue_on = match node {
        BusNode::Queue(_, queue) => device.queues[queue].enabled,
        _ => false,
    };
    !device.is_on() && !is_queue_on
}
