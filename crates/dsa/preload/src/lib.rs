//! `libskipline_dsa_preload.so`: executes large memcpy, memmove, memset and memcmp calls of unmodified
//! programs on a data streaming accelerator (DSA).
//!
//! Reading order:
//! - [`entry_points`]: the functions that programs call: a compare with a limit and a jump to the C
//!   library.
//! - [`next_functions`]: the functions of the C library behind these; [`start`]: the preparations before
//!   `main`.
//! - [`settings`]: the environment; [`functions`]: the functions that have settings.
//! - [`calls`]: a large call: the work of the device and of the CPU.
//! - [`process`]: the state of devices in one process, which children of a fork do not have;
//!   [`open_queue`], [`known_queues`], [`queue_opening`]: its queues; [`descriptors`]: one descriptor from
//!   its submission to its end, by the part of [`dsa_client`] that allocates nothing.
//! - [`thread_state`], [`excluded_callers`]: calls that stay with the C library, since this library or a
//!   software device made them.
//! - [`tuning`]: sizes and shares that follow measured times, for each of the [`size_classes`].
//! - [`counts`], [`report`]: counts of calls, and the report of them.
//!
//! A call may come from anywhere: a signal handler, an allocator that has taken its locks, a thread that
//! is cancelled, a constructor. So a call allocates nothing, takes no lock and keeps errno, and after
//! each failure the C library's function does the rest: a bad address raises its signal there. The
//! library prints only on request, and never ends its program.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(unsafe_code)]

mod calls;
mod counts;
mod descriptors;
mod entry_points;
mod excluded_callers;
mod functions;
mod known_queues;
mod next_functions;
mod open_queue;
mod process;
mod queue_opening;
mod report;
mod settings;
mod size_classes;
mod start;
mod thread_state;
mod tuning;

/// A constructor: runs before the code of the program.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = next_functions::resolve;

/// A destructor: runs after the code of the program, if the program exits normally.
#[used]
#[unsafe(link_section = ".fini_array")]
static FINISH: extern "C" fn() = report::at_exit;
