//! The library in each program of `skipline-dsa run`: portals that work without a device.
//!
//! A work queue's file is empty, so that each access to its mapped page raises SIGBUS; instructions that
//! the CPU lacks raise SIGILL. A handler does what the instruction would have done: it gives the 64
//! bytes to a queue of the device in this process ([`dsa::device`]), and goes on behind it.
//!
//! Reading order:
//! - [`handler`]: the signal handler; [`signals`]: the program's own actions and masks.
//! - [`emulate`]: an instruction that trapped; [`context`]: the registers that it sees.
//! - [`portals`]: which page is which queue.
//! - [`engines`]: the queues' engines, threads of this process; [`cpus`]: where they may run.
//! - [`files`]: calls of the C library about a queue's file.
//! - [`plain`]: files of a run without namespaces.
//! - [`cpuid`]: a CPU that says that it has the instructions.
//! - [`descriptor_log`]: the log of descriptors.
//!
//! Without `skipline-dsa run`, which names its directory in the environment, all of it does nothing but
//! pass calls on.
//!
//! Limits: it needs a dynamically linked program that calls the C library to map a queue's file and to
//! change signals; a program that makes such system calls itself is not seen. A signal of the three that
//! is sent, and not raised by an instruction, reaches a thread that has blocked it.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(unsafe_code)]

mod context;
mod cpuid;
mod cpus;
mod descriptor_log;
mod emulate;
mod engines;
mod files;
mod fork;
mod handler;
mod leaked;
mod libc_functions;
mod plain;
mod portals;
mod run;
mod signals;
mod thread_locals;

/// Runs before the program's own code.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

/// Runs behind the program's own code, if it ends by itself.
#[used]
#[unsafe(link_section = ".fini_array")]
static FINISH: extern "C" fn() = engines::finish;

extern "C" fn start() {
    if run::join() {
        cpus::note();
        emulate::prepare();
        context::learn_layout();
        handler::install();
        fork::prepare();
        cpuid::trap();
    }
}
