//! Measurements on this machine: operations on real operands, by work queues of the system or by the CPU.
//!
//! - [`memory`]: buffers in pages and nodes of choice, and their lines in or out of caches.
//! - [`operands`]: the operations on them, and the results that they must have.
//! - [`queue_selection`]: queues of the system that fit the options.
//! - [`thread`]: the threads of a measurement; [`submission_lane`]: descriptors in flight.
//! - [`clock`]: the time of a thread by phase.

mod clock;
mod memory;
mod operands;
mod queue_selection;
mod submission_lane;
mod thread;

pub(crate) use queue_selection::queue_kinds;
pub(crate) use thread::measure;
