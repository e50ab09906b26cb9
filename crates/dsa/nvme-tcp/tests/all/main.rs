//! Are PDUs found in any stream of bytes, and are their digests those that others compute?
//!
//! Tests that need devices run themselves below `skipline-dsa run` ([`inside::run`]).

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(unsafe_code)]

#[path = "../../../client/tests/all/inside.rs"]
mod inside;

mod dice;
mod isal;
mod on_devices;
mod streams;
