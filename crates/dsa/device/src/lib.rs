//! A data streaming accelerator in software, bit for bit as Intel's (DSA specification 341204-006).
//!
//! Reading order:
//! - [`hardware`]: numbers that the device defines: opcodes, flags, status codes, layouts, capabilities.
//! - [`thread_variables`]: variables of a thread that signal handlers use.
//! - [`memory`]: the process's own memory, whose faults become records instead of crashes.
//! - [`descriptor`] and [`record`]: the request of 64 bytes and the completion record of 32 bytes.
//! - [`checks`]: the checks of a descriptor, in a fixed order.
//! - [`operations`]: the operations, one file for each kind.
//! - [`inject`]: faults, refusals, delays and resets on purpose.
//! - [`engine`]: a descriptor or a batch from its checks to its record.
//! - [`device`]: groups, work queues and engines as threads.
//! - [`log`]: the log of submitted descriptors, for a replay by the simulator.
//!
//! The crate is for Linux on x86-64, and empty elsewhere. Nothing here needs the real device, and nothing
//! traps: a program calls [`engine::SoftwareEngine::execute`], or submits to a queue of a
//! [`device::SoftwareDevice`].
//!
//! ```
//! use dsa::checks::QueueLimits;
//! use dsa::descriptor::Descriptor;
//! use dsa::engine::SoftwareEngine;
//! use dsa::hardware::capabilities::Capabilities;
//! use dsa::hardware::{Opcode, status};
//! use dsa::record::Record;
//!
//! let part = Capabilities::VERSION_1;
//! let mut record = Record::default();
//! let crc = Descriptor::of(Opcode::Crc)
//!     .with_first(b"123456789".as_ptr() as u64)
//!     .with_size(9)
//!     .recording((&raw mut record) as u64);
//! // SAFETY: the descriptors below read and write nothing but these two.
//! let engine = unsafe { SoftwareEngine::new(part) };
//! engine.execute(&crc, &QueueLimits::of(&part));
//! assert_eq!((record.status(), record.crc()), (status::SUCCESS, 0xe306_9283));
//!
//! // An address of no page ends in the record.
//! engine.execute(&crc.with_first(8), &QueueLimits::of(&part));
//! assert_eq!((record.status(), record.fault_address()), (status::PAGE_FAULT, 0));
//! ```

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

pub mod checks;
pub mod descriptor;
pub mod device;
pub mod engine;
pub mod hardware;
pub mod inject;
pub mod log;
pub mod memory;
pub mod operations;
pub mod record;
pub mod thread_variables;
