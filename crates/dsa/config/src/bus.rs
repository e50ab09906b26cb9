//! The interface to the driver of a machine: reads, writes, binding.

use idxd::from_sysfs::{Attributes, FromSysfsError};
use idxd::{BusNode, CommandStatus, DriverName, Errno};
use thiserror::Error;

/// Reason why the devices of a machine cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MachineError {
    /// The bus does not exist, as the driver is not loaded.
    #[error(
        "{0} does not exist: the driver idxd is not loaded\n  remedy: sudo modprobe idxd; `skipline-dsa \
         doctor` says what else a device needs, `skipline-dsa run -- PROGRAM` needs none"
    )]
    NoDriver(String),
    /// The bus does not have a DSA.
    #[error(
        "{0} has no DSA: the driver idxd is loaded and has found none\n  remedy: `skipline-dsa doctor` \
         says what a device needs; accelerators are switched on in the firmware"
    )]
    NoDevice(String),
    /// This user may not write the file.
    #[error("no right to write {0}\n  remedy: run it as root (sudo skipline-dsa config ...)")]
    NoRight(String),
    /// The file system is read-only, as in containers.
    #[error(
        "{0} is on a file system that is read-only, as /sys is in containers\n  remedy: run it outside \
         of the container, or in one that has /sys writable"
    )]
    ReadOnly(String),
    /// A file cannot be read or written.
    #[error("{0}: {1}")]
    Unread(String, Errno),
    /// An attribute has a text that the driver does not write.
    #[error("{0}; this driver is not known, and nothing was written")]
    FromSysfs(#[from] FromSysfsError),
}

/// The driver of the devices of a machine.
pub trait Bus: Attributes {
    /// Numbers of the DSA devices of the bus, without other accelerators.
    ///
    /// # Errors
    /// If the bus does not exist or has no DSA.
    fn numbers(&self) -> Result<Vec<usize>, MachineError>;

    /// Whether the module allows traffic classes to be written on all devices (`tc_override`).
    fn tc_override(&self) -> bool;

    /// Writes an attribute, in one call.
    ///
    /// # Errors
    /// The error with which the kernel refuses the write.
    fn write(&self, node: BusNode, attribute: &str, text: &str) -> Result<(), Errno>;

    /// Binds a device or a queue to a driver, which enables it.
    ///
    /// # Errors
    /// As [`Bus::write`].
    fn bind(&self, driver: DriverName, node: BusNode) -> Result<(), Errno>;

    /// Unbinds a device or a queue from a driver, which disables it.
    ///
    /// # Errors
    /// As [`Bus::write`].
    fn unbind(&self, driver: DriverName, node: BusNode) -> Result<(), Errno>;

    /// PIDs of the processes that have a queue open; empty if the kernel does not list them.
    fn processes(&self, queue: BusNode) -> Vec<u32>;

    /// Name of an attribute for messages, such as its path.
    fn shown(&self, node: BusNode, attribute: &str) -> String;

    /// Identifier of the boot. A boot unconfigures the devices.
    ///
    /// # Errors
    /// If it cannot be read.
    fn boot(&self) -> Result<String, MachineError>;
}

/// Number of clients of a queue.
///
/// # Errors
/// If the attribute cannot be read, or is not a number.
pub fn clients(bus: &dyn Bus, queue: BusNode) -> Result<u64, Errno> {
    bus.read(queue, "clients")?.parse().map_err(|_| Errno::EINVAL)
}

/// Reason why the device's last command failed; `None` if it succeeded or the reason cannot be read.
#[must_use]
pub fn command_status(bus: &dyn Bus, device: usize) -> Option<CommandStatus> {
    let text = bus.read(BusNode::Device(device), "cmd_status").ok()?;
    let digits = text.strip_prefix("0x").unwrap_or(&text);
    let status = CommandStatus(u32::from_str_radix(digits, 16).ok()?);
    (status != CommandStatus::SUCCESS).then_some(status)
}
