//! Changes of configurations on a machine in memory: one program, one module per question.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod failures;
mod histories;
mod journals;
mod memory;
