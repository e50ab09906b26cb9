//! What is asked of the driver, and written to it.

use idxd::from_sysfs::{Attributes, FromSysfsError};
use idxd::{BusNode, CommandStatus, DriverName, Errno};
use thiserror::Error;

/// Why the devices of a machine cannot be read, or written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MachineError {
    /// There is no such bus.
    #[error(
        "{0} is not there: the driver idxd is not loaded\n  remedy: sudo modprobe idxd; `skipline-dsa \
         doctor` says what else a device needs, `skipline-dsa run -- PROGRAM` needs none"
    )]
    NoDriver(String),
    /// The bus has no device of this kind.
    #[error(
        "{0} has no DSA: the driver idxd is loaded and has found none\n  remedy: `skipline-dsa doctor` \
         says what a device needs; accelerators are switched on in the firmware"
    )]
    NoDevice(String),
    /// Another user's file.
    #[error("no right to write {0}\n  remedy: run it as root (sudo skipline-dsa config ...)")]
    NoRight(String),
    /// As in containers.
    #[error(
        "{0} is on a file system that is read-only, as /sys is in containers\n  remedy: run it outside \
         of the container, or in one that has /sys writable"
    )]
    ReadOnly(String),
    /// The system refuses.
    #[error("{0}: {1}")]
    Unread(String, Errno),
    /// An attribute is none that the driver writes.
    #[error("{0}; this driver is not known, and nothing was written")]
    FromSysfs(#[from] FromSysfsError),
}

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
    fn write(&self, node: BusNode, attribute: &str, text: &str) -> Result<(), Errno>;

    /// Binds a device or a queue to a driver, which enables it.
    ///
    /// # Errors
    /// As [`Bus::write`].
    fn bind(&self, driver: DriverName, node: BusNode) -> Result<(), Errno>;

    /// Unbinds it, which disables it.
    ///
    /// # Errors
    /// As [`Bus::write`].
    fn unbind(&self, driver: DriverName, node: BusNode) -> Result<(), Errno>;

    /// The processes that have a queue open, where the kernel names them.
    fn processes(&self, queue: BusNode) -> Vec<u32>;

    /// An attribute as messages name it.
    fn shown(&self, node: BusNode, attribute: &str) -> String;

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
pub fn clients(bus: &dyn Bus, queue: BusNode) -> Result<u64, Errno> {
    bus.read(queue, "clients")?.parse().map_err(|_| Errno::EINVAL)
}

/// Why the device's last command failed; nothing where the register does not say.
#[must_use]
pub fn command_status(bus: &dyn Bus, device: usize) -> Option<CommandStatus> {
    let text = bus.read(BusNode::Device(device), "cmd_status").ok()?;
    let digits = text.strip_prefix("0x").unwrap_or(&text);
    let status = CommandStatus(u32::from_str_radix(digits, 16).ok()?);
    (status != CommandStatus::SUCCESS).then_some(status)
}
