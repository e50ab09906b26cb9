//! Operations of a data streaming accelerator (DSA) for programs: on a device where it pays, on the CPU
//! where it does not, with the same results.
//!
//! Reading order:
//! - [`queues`]: which work queues the system has, from sysfs.
//! - [`nodes`]: which of them are near.
//! - [`instructions`], [`portal`]: how a descriptor gets to one; [`record_slot`]: where its end shows.
//! - [`operation`]: what is asked, of any size; `work`: how it is divided, resumed behind page faults,
//!   moved to the CPU, and put together to one answer.
//! - [`outcome`]: what it came to, and who did it.
//! - [`client`], `shared`: queues, thresholds and statistics together; synchronous calls.
//! - [`job`], [`set`], [`batch`]: operations under way, several of them, and lists of them.
//! - [`thresholds`]: from which size a device pays; [`statistics`]: where operations were done, and why.
//! - [`error`], [`words`]: what went wrong, in sentences.
//!
//! It knows neither the simulator nor the software device: that one looks like a real one, to programs
//! that `skipline-dsa run` starts. Without any device all is done by the CPU.
//!
//! ```
//! use dsa_client::client::{Client, Options};
//!
//! let client = Client::open(&Options::default())?;
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
mod cpu;
mod drains;
pub mod error;
mod forks;
pub mod instructions;
pub mod job;
mod lost_descriptor;
pub mod nodes;
pub mod operation;
pub mod options;
pub mod outcome;
pub mod owned_copy;
pub mod portal;
mod portals;
pub mod queues;
pub mod record_slot;
mod resume;
pub mod set;
mod shared;
pub mod statistics;
pub mod thresholds;
mod touch;
pub mod wait;
pub mod words;
mod work;
