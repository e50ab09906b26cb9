//! Do real programs work as they would with a device?
//!
//! Each test runs `skipline-dsa run` with a program: DPDK's tests, accel-config, or `dsa_client`, an example
//! of this crate ([`digest`] the command itself). A run has its own directory, so that tests see no runs but
//! their own.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod accel_config;
mod bench;
mod bounded_polling;
mod config;
mod dedicated_queue;
mod digest;
mod doctor;
mod dpdk;
mod event_log;
mod four_programs;
mod handlers;
mod list_and_stats;
mod misuse;
mod preloaded_libraries;
mod real_files;
mod recording;
mod reference_page;
mod refusals;
mod run_end;
mod runs;
mod shared_queue;
mod sweeps;
mod unprivileged;
mod what_programs_see;
mod without_namespaces;
mod would_help;
