//! The C library `libskipline_dsa`: operations of a data streaming accelerator for programs in other
//! languages.
//!
//! The interface is `include/skipline_dsa.h`, generated from these functions and kept beside them; the
//! man page is `skipline_dsa.3`. This crate only converts: handles, structures with versions, negative
//! errnos, sentences for people. No panic leaves the library, and nothing is printed.
//!
//! - `boundary`: handling of the caller's pointers, of errors and of panics in every function; `sized`:
//!   structures that state their size; `handles`: the tables behind handles.
//! - `client`, `queues`, `statistics`: a client, its queues, its counts.
//! - `operation`, `outcome`: an operation and its outcome, in C; `run`: calls that wait for the end.
//! - `job`, `set`, `batch`: operations under way, sets and lists of them.
//! - `ring`: bursts of copies on one queue, without a client.
//! - `raw`, `raw_job`: descriptors that the program writes itself; `drain`: the end of all descriptors.

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
mod ring;
mod run;
mod set;
mod sized;
mod statistics;
