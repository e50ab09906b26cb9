//! Operations on this machine: real operands, done by queues that are found, or by the CPU.
//!
//! - [`memory`]: buffers in pages and nodes of choice, and their lines in or out of caches.
//! - [`operands`]: the operations on them, and what they must leave there.
//! - [`found`]: queues that fit the options.
//! - [`thread`]: what each thread does and measures; [`lane`]: descriptors in flight.
//! - [`clock`]: where the time goes.

mod clock;
mod found;
mod lane;
mod memory;
mod operands;
mod thread;

pub(crate) use found::kinds;
pub(crate) use thread::ask;
