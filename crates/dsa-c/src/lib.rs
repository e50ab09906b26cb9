//! The C library `libskipline_dsa`: operations of a data streaming accelerator for programs in other
//! languages.
//!
//! The interface is `include/skipline_dsa.h`, generated from these functions and kept beside them; the
//! man page is `skipline_dsa.3`. Here are only conversions: handles, structures with versions, negative
//! errnos, sentences for people. No panic leaves the library, and nothing is printed.
//!
//! - `boundary`: what every function does with its caller's pointers, errors and panics; `sized`:
//!   structures that say how large they are; `handles`: what handles stand for.
//! - `client`, `queues`, `statistics`: a client, its queues, its counts.
//! - `operation`: what is asked; `outcome`: what it came to; `run`: calls that wait for the end.
//! - `job`, `set`, `batch`: operations under way, several of them, lists of them.
//! - `raw`, `raw_job`, `drain`: descriptors that the program writes itself; the end of all of them.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod batch;
mod boundary;
mod client;
mod drain;
mod handles;
mod job;
mod operation;
mod outcome;
mod queues;
mod raw;
mod raw_job;
mod run;
mod set;
mod sized;
mod statistics;
