//! The configuration of a machine's data streaming accelerators: read, changed and put back.
//!
//! Reading order:
//! - [`bus`]: the interface to the driver; [`sysfs`]: its implementation by the driver's files.
//! - [`machine`]: the devices of a machine, as a simulated driver in the same state.
//! - [`journal`]: the former configuration of devices, on the disk before anything is written; the lock.
//! - [`steps`]: one write after the other, each read back.
//! - [`change`]: a whole change: journal, steps, and the way back if a step fails.
//! - [`restore`]: puts the former configurations of the journal back.
//!
//! `idxd::config_file` finds the steps to a configuration, and the values of a file that are refused. A
//! kill at any point leaves a journal that names all devices that the change touches, each with the whole
//! of its former configuration; so putting it back needs to know nothing of how far the change has come.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

pub mod bus;
pub mod change;
pub mod journal;
pub mod machine;
pub mod restore;
pub mod steps;
pub mod sysfs;
