//! A data streaming accelerator in software, bit for bit as Intel's (DSA specification 341204-006).
//!
//! Reading order:
//! - [`hardware`]: what the device defines: opcodes, flags, status codes, layouts, capabilities.
//! - [`descriptor`] and [`record`]: 64 bytes that ask, 32 bytes that answer.
//! - [`checks`]: what a descriptor may say, in a fixed order.
//! - [`memory`]: the process's own memory, whose faults become records instead of crashes.
//! - [`operations`]: one file for each kind.
//! - [`engine`]: a descriptor or a batch from its checks to its record.
//! - [`device`]: groups, work queues and engines as threads.
//!
//! Nothing here needs the real device, and nothing traps: a program calls [`engine::Engine::execute`],
//! or submits to a queue of a [`device::Device`].

pub mod checks;
pub mod descriptor;
pub mod device;
pub mod engine;
pub mod hardware;
pub mod memory;
pub mod operations;
pub mod record;
