//! The library as C programs see it: one program, one module per question.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[path = "../../../client/tests/all/inside.rs"]
#[allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "of what runs tests below it, the command is asked for"
)]
mod inside;
mod on_devices;
mod programs;
mod sanitizers;
