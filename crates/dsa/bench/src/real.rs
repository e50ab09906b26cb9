//! Measurements on this machine: operations on real operands, by work queues of the system or by the CPU.
//!
//! - [`memory`]: buffers in pages and nodes of choice, and their lines in or out of caches.
//! - [`operands`]: the operations on them, and the results that they must have.
//! - [`queue_selection`]: queues of the system that fit the options.
//! - [`rounds`]: how often a thread goes over its descriptors.
//! - [`thread`]: the threads of a measurement; [`submission_lane`]: descriptors in flight.
//! - [`clock`]: the time of a thread by phase; [`thread_counts`]: the result of all threads.

mod clock;
mod memory;
mod operands;
mod queue_selection;
mod rounds;
mod submission_lane;
mod thread;
mod thread_counts;

pub(crate) use queue_selection::queue_kinds;
pub(crate) use thread::measure;
