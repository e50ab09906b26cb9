//! `libskipline_dsa_preload.so`: memcpy, memmove, memset and memcmp of programs that are not changed, on a
//! data streaming accelerator (DSA) from a size on.
//!
//! Reading order:
//! - [`entry`]: the functions that programs call: a compare with a limit and a jump to the C library.
//! - [`next`]: the functions behind these; [`start`]: what happens before `main`.
//! - [`settings`]: the environment.
//! - [`calls`]: a call of a size that pays: what the device does, what the CPU does.
//! - [`process`]: what a process has of devices, and a child of a fork has not; [`portals`]: its queues;
//!   [`descriptors`]: one descriptor from its submission to its end; [`lost`]: one that does not end.
//! - [`local`], [`callers`]: calls that stay with the C library, since this library is at work.
//! - [`tuning`]: sizes and shares that follow what calls take.
//! - [`counts`], [`report`]: where calls were done, told if asked.
//!
//! A call may come from anywhere: a signal handler, an allocator that holds its locks, a thread that is
//! cancelled, a constructor. So a call allocates nothing, takes no lock, keeps errno, and each failure
//! leads to the C library's function, which does what is left: a bad address raises its signal there.
//! The library never prints unless it is asked to, and never ends its program.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(unsafe_code)]

mod callers;
mod calls;
mod clock;
mod counts;
mod descriptors;
mod entry;
mod functions;
mod local;
mod lost_descriptor;
mod next;
mod open_queue;
mod portals;
mod process;
mod queue_opening;
mod report;
mod settings;
mod size_classes;
mod start;
mod tuning;

/// Runs before the program's own code.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = next::resolve;

/// Runs behind the program's own code, if it ends by itself.
#[used]
#[unsafe(link_section = ".fini_array")]
static FINISH: extern "C" fn() = report::at_exit;
