//! The library in each program of `skipline-dsa run`: portals that work without a device.
//!
//! A work queue's file is empty, so that each access to its mapped page raises SIGBUS; instructions that
//! the CPU lacks raise SIGILL. A handler emulates the instruction: it submits the 64 bytes to a queue of the
//! device in this process ([`dsa::device`]), and resumes behind it.
//!
//! Reading order:
//! - [`handler`]: the signal handler; [`signals`]: the program's own actions and masks.
//! - [`emulate`]: emulation of an instruction that trapped; [`context`]: its registers.
//! - [`portals`]: the mapped pages and their queues; [`found_portals`]: those that were mapped unseen.
//! - [`engines`]: the queues' engines, threads of this process; [`cpus`]: the CPUs that they run on.
//! - [`files`]: calls of the C library about a queue's file; [`file_status`]: its status; [`identities`]: the
//!   queue of a file.
//! - [`without_namespaces`]: files of a run without namespaces.
//! - [`cpuid`]: CPUID that reports the instructions.
//! - [`fork`]: forked children.
//! - [`descriptor_log`]: the log of descriptors.
//! - [`engine_stacks`]: stacks for descriptors that the submitting thread executes.
//! - [`private_libc`]: the C library's functions, whatever the program has in their place.
//!
//! Without `skipline-dsa run`, which sets the path of its directory in the environment, the library only
//! passes calls on.
//!
//! Limits: the program has to be dynamically linked, and to call the C library to map a queue's file and to
//! change signals; system calls that it makes itself are not seen. One of the three signals that is sent, not
//! raised by an instruction, reaches a thread that has blocked it.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(unsafe_code)]

mod context;
mod cpuid;
mod cpus;
mod descriptor_log;
mod emulate;
mod engine_stacks;
mod engines;
mod file_status;
mod files;
mod fork;
mod found_portals;
mod handler;
mod identities;
mod leaked;
mod libc_functions;
mod portals;
mod private_libc;
mod run;
mod signals;
mod thread_locals;
mod without_namespaces;

/// Runs before the program's own code.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = run_constructor;

/// Runs behind the program's own code, if it ends by itself.
#[used]
#[unsafe(link_section = ".fini_array")]
static FINISH: extern "C" fn() = engines::finish;

extern "C" fn run_constructor() {
    // A library whose constructor came before may have called one of the functions here.
    if run::construct().is_some() {
        handler::install();
    }
}

#[unsafe(no_mangle)]
extern "C" fn skipline_dsa_trap_start() {
    if run::join() {
        cpus::store_initial();
        emulate::prepare();
        context::learn_layout();
        handler::install();
        fork::prepare();
        cpuid::trap();
    }
}
