//! Linux's driver for data streaming accelerators (idxd) as a state machine, without input, output or
//! threads.
//!
//! A server shows it as `/sys/bus/dsa` and `/dev/dsa`: each read of an attribute is a
//! [`Driver::read`], each write a [`Driver::write`] that the driver accepts or refuses with the kernel's
//! error number, and binding a name to a driver enables the device or queue of that name.
//!
//! Source: Linux `drivers/dma/idxd` (`sysfs.c`, `device.c`, `cdev.c`, `compat.c`) and its ABI document,
//! read for the rules; codes of `linux/idxd.h`; the device's own checks [S 9.2].
//!
//! Reading order:
//! - [`BusNode`]: devices, queues, groups and engines by name.
//! - [`IdxdDevice`], [`IdxdQueue`], [`IdxdGroup`], [`IdxdEngine`]: the state.
//! - [`Driver`]: all devices; what binding, opening and closing does.
//! - `attributes`, `show`, `store`: the attributes of each node, their texts, the effect of a write.
//! - `enable`: the checks of driver and device before they enable.
//! - [`CommandStatus`]: the codes of `cmd_status`, in words.
//! - [`config_file`]: the configuration files of accel-config, and the steps from one to another.
//! - [`from_sysfs`]: a driver in the state that the attributes of a machine show.
//!
//! ```
//! use dsa::hardware::capabilities::Capabilities;
//! use idxd::{BusNode, Driver, DriverName, Errno, IdleHardware, Part};
//!
//! let mut driver = Driver::new(vec![Part::new(Capabilities::VERSION_1)]);
//! let queue: BusNode = "wq0.0".parse().unwrap();
//! for (attribute, text) in [("group_id", "0\n"), ("mode", "dedicated\n"), ("size", "16\n")] {
//!     driver.write(queue, attribute, text, &IdleHardware).unwrap();
//! }
//! // No engine is in the group yet.
//! assert_eq!(driver.bind(DriverName::Idxd, "dsa0", &IdleHardware), Err(Errno::ENXIO));
//! driver.write("engine0.0".parse().unwrap(), "group_id", "0\n", &IdleHardware).unwrap();
//! driver.bind(DriverName::Idxd, "dsa0", &IdleHardware).unwrap();
//! assert_eq!(driver.read(BusNode::Device(0), "state", &IdleHardware).unwrap(), "enabled\n");
//! // The size of a queue is fixed while its device is on.
//! assert_eq!(driver.write(queue, "size", "8\n", &IdleHardware), Err(Errno::EPERM));
//! ```

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod attributes;
mod command_status;
pub mod config_file;
mod device;
mod driver;
mod enable;
mod errno;
mod files;
pub mod from_sysfs;
mod group;
mod hardware;
mod node;
mod parse;
mod queue;
mod show;
mod store;

pub use attributes::{Attribute, former_name};
pub use command_status::CommandStatus;
pub use device::{DeviceState, IdxdDevice, Part};
pub use driver::{Driver, DriverName};
pub use errno::Errno;
pub use files::{CDEV_MAJOR, Client};
pub use group::{IdxdEngine, IdxdGroup};
pub use hardware::{HardwareAccess, IdleHardware};
pub use node::{BadName, BusNode};
pub use queue::{IdxdQueue, QueueType, WorkQueueMode};
