//! Does a program get the right results from a device, from the CPU, and from both in turn?
//!
//! Tests that need devices run themselves below `skipline-dsa run` ([`inside::run`]): there they see the
//! software device as a real one.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(unsafe_code)]

mod batches;
mod descriptors;
mod devices;
mod forks;
mod inside;
mod jobs;
mod random_calls;
mod reference_results;
mod trouble;
mod without_allocation;
mod without_devices;
mod wrong_uses;
