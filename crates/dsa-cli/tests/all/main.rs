//! Do real programs get what they would get of a device?
//!
//! Each test runs `skipline-dsa run` with a program: DPDK's tests, accel-config, or `dsa_client`, an example
//! of this crate ([`digest`] the command itself). A run has its own directory, so that tests see no runs but
//! theirs.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod accel_config;
mod bench;
mod config;
mod dedicated_queue;
mod digest;
mod dpdk;
mod ends;
mod event_log;
mod four_programs;
mod handlers;
mod observing;
mod recording;
mod refusals;
mod rough;
mod runs;
mod shared_queue;
mod unprivileged;
mod without_namespaces;
