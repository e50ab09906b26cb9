//! Files of a run without namespaces, which this library finds in the kernel's place.
//!
//! A queue's file, and the present text of an attribute, come from the supervisor. All else that such
//! paths are asked for is found below the run's directory, where ordinary files show the configuration.
//!
//! - [`paths`]: which paths these are.
//! - [`calls`]: the functions of the C library that take them.
//! - [`requests`]: the supervisor.
//!
//! A program that makes such system calls itself, or takes other functions (`glob`, `chdir`), finds what
//! the machine has.

mod calls;
mod paths;
mod requests;

use crate::run::CurrentRun;
use dsa_run::Identity;

/// Which queue an open file is.
pub fn identify(run: &CurrentRun, number: u64) -> Option<Identity> {
    let answer = requests::ask(run, &format!("identify {number}")).ok()?;
    Identity::from_bytes(&answer.bytes)
}
