//! Do programs that are not changed get what the C library would have given them?
//!
//! Tests run a program below `skipline-dsa run` with the library preloaded: programs of packages
//! ([`programs`]), or this test program itself ([`inside`]).

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(unsafe_code)]

mod built;
mod exact;
mod functions;
mod inside;
mod neighbours;
mod programs;
mod settings;
mod trouble;
