//! Packages of several dies: each die has a last-level cache and a register of ways of its own.
//!
//! Source: Cascade Lake-AP (Xeon Platinum 9200) has two dies in a package, which Linux lists as one
//! package with two last-level caches (Documentation/arch/x86/topology.rst). Sub-NUMA clustering leaves
//! one cache to a package: its clusters are NUMA nodes, not dies.

use crate::cpu::CpuSocket;

/// Checks that a socket has one die, so that one register of ways is that of its whole last-level cache.
///
/// # Errors
/// If it has several: a change of one die would be reported as one of the socket.
pub(crate) fn check_one_die(socket: &CpuSocket) -> Result<(), String> {
    check(
        socket,
        "a register of ways of its own; registers are reached by socket here, so all dies but one would \
         keep their ways",
    )
}

/// Checks that a socket has one die, so that its slices are those of one last-level cache.
///
/// # Errors
/// If it has several: a processor reaches the boxes of its own die only.
pub(crate) fn check_slices_of_one_die(socket: &CpuSocket) -> Result<(), String> {
    check(
        socket,
        "slices of its own; counters are reached by socket here, so lines of the other dies would get \
         slices of this one",
    )
}

fn check(socket: &CpuSocket, has_and_so: &str) -> Result<(), String> {
    match socket.caches.len() {
        0 | 1 => Ok(()),
        dies => Err(format!(
            "socket {} has {dies} dies, each with a last-level cache and {has_and_so}",
            socket.id
        )),
    }
}
