//! Operations of a data streaming accelerator (DSA) for programs: on a device where it pays, on the CPU
//! where it does not, with the same results.
//!
//! Reading order:
//! - [`queues`]: the work queues of the system, from sysfs; [`nodes`]: the NUMA node of each CPU.
//! - The core, which any code may call, also a signal handler or an allocator: it allocates nothing, and no
//!   thread waits for another one. [`instructions`], [`portal_page`]: submission of a descriptor to a queue;
//!   [`record_slot`], [`wait`]: its completion record; [`drains`], [`lost_descriptor`]: a descriptor that
//!   does not end; [`queue_state`], [`clock`].
//! - [`portal`], `portals`: the open queues of a client; `abandoned_records`: descriptors whose jobs were
//!   dropped.
//! - [`operation`]: an operation of any size; `resume`, `page_in`: how it is divided into descriptors,
//!   and continued after a page fault; `cpu`: its execution on the CPU; `operation_run`: one operation
//!   from its first descriptor to its outcome.
//! - [`outcome`]: the result of an operation, and how many bytes device and CPU processed.
//! - [`options`], `shared`, [`client`]: queues, thresholds and statistics together; synchronous calls.
//! - [`copy_ring`]: bursts of copies on one queue, without a client.
//! - [`job`], [`owned_copy`], [`set`], [`batch`]: operations under way, sets and lists of them.
//! - [`thresholds`]: the sizes from which on a device is used; [`statistics`]: counts of operations by
//!   device, CPU and reason.
//! - [`error`], [`record_description`]: errors and completion records in sentences.
//!
//! The crate knows neither the simulator nor the software device: programs that `skipline-dsa run` starts
//! see that one as real hardware. Without any device the CPU executes all operations.
//!
//! ```
//! use dsa_client::client::{OffloadClient, Options};
//!
//! let client = OffloadClient::open(&Options::default())?;
//! let mut copied = [0; 5];
//! client.copy(b"lines", &mut copied)?;
//! assert_eq!(&copied, b"lines");
//! assert_eq!(client.crc32c(0, b"123456789")?, 0xe306_9283);
//! # Ok::<(), dsa_client::error::Error>(())
//! ```

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod abandoned_records;
pub mod batch;
pub mod client;
pub mod clock;
pub mod copy_ring;
mod cpu;
pub mod drains;
pub mod error;
mod forks;
pub mod instructions;
pub mod job;
pub mod lost_descriptor;
pub mod nodes;
pub mod operation;
mod operation_run;
pub mod options;
pub mod outcome;
pub mod owned_copy;
mod page_in;
pub mod portal;
pub mod portal_page;
mod portals;
pub mod queue_state;
pub mod queues;
pub mod record_description;
pub mod record_slot;
mod resume;
pub mod set;
mod shared;
pub mod statistics;
pub mod thresholds;
pub mod wait;
