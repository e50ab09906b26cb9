//! The configuration of a machine's data streaming accelerators: read, changed and put back.
//!
//! Reading order:
//! - [`bus`]: what is asked of the driver and written to it; [`sysfs`]: the same by its files.
//! - [`machine`]: its devices, as a driver of ours in the same state.
//! - [`journal`]: what devices had before, on the disk before anything is written; the lock.
//! - [`steps`]: one write after the other, each read back.
//! - [`change`]: a whole change: journal, steps, and back where one fails.
//! - [`restore`]: what the journal says is put back.
//!
//! Which steps lead to a configuration, and what is refused of a file, says `idxd::config_file`. A kill at any
//! point leaves a journal that names all devices that the change touches, each with the whole of its
//! former configuration; so putting it back needs to know nothing of how far the change has come.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

pub mod bus;
pub mod change;
pub mod journal;
pub mod machine;
pub mod restore;
pub mod steps;
pub mod sysfs;
