//! What is asked of the driver, and written to it.

use crate::machine::MachineError;
use idxd::seen::Attributes;
use idxd::{CommandStatus, DriverName, Errno, Node};

/// The devices of a machine, by their driver.
pub trait Bus: Attributes {
    /// Numbers of the devices; others that the bus has are none of them.
    ///
    /// # Errors
    /// If there is no such bus.
    fn numbers(&self) -> Result<Vec<usize>, MachineError>;

    /// Whether the module lets traffic classes be written on all parts.
    fn tc_override(&self) -> bool;

    /// Writes an attribute, in one call.
    ///
    /// # Errors
    /// What the kernel refuses it with.
    fn write(&self, node: Node, attribute: &str, text: &str) -> Result<(), Errno>;

    /// Binds a device or a queue to a driver, which enables it.
    ///
    /// # Errors
    /// As [`Bus::write`].
    fn bind(&self, driver: DriverName, node: Node) -> Result<(), Errno>;

    /// Unbinds it, which disables it.
    ///
    /// # Errors
    /// As [`Bus::write`].
    fn unbind(&self, driver: DriverName, node: Node) -> Result<(), Errno>;

    /// The processes that have a queue open, where the kernel names them.
    fn processes(&self, queue: Node) -> Vec<u32>;

    /// An attribute as messages name it.
    fn shown(&self, node: Node, attribute: &str) -> String;

    /// What identifies the time since the devices were last unconfigured: the boot.
    ///
    /// # Errors
    /// If it cannot be read.
    fn boot(&self) -> Result<String, MachineError>;
}

/// Users of a queue.
///
/// # Errors
/// If that cannot be read, or is no number.
pub fn clients(bus: &dyn Bus, queue: Node) -> Result<u64, Errno> {
    bus.read(queue, "clients")?.parse().map_err(|_| Errno::EINVAL)
}

/// Why the device's last command failed; nothing where the register does not say.
#[must_use]
pub fn command_status(bus: &dyn Bus, device: usize) -> Option<CommandStatus> {
    let text = bus.read(Node::Device(device), "cmd_status").ok()?;
    let digits = text.strip_prefix("0x").unwrap_or(&text);
    let status = CommandStatus(u32::from_str_radix(digits, 16).ok()?);
    (status != CommandStatus::SUCCESS).then_some(status)
}
