//! Does a program get of a device, of the CPU, and of both in turn what it asked for?
//!
//! Tests that need devices run themselves below `skipline-dsa run` ([`inside::run`]): there the software
//! device is what a real one is elsewhere.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(unsafe_code)]

mod batches;
mod descriptors;
mod devices;
mod forks;
mod inside;
mod jobs;
mod judges;
mod random_calls;
mod trouble;
mod without_devices;
mod wrong_uses;
