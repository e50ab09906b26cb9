//! Files of a run without namespaces: this library redirects their paths.
//!
//! A queue's file, and the present text of an attribute, come from the supervisor. All other files are below
//! the run's directory, where ordinary files show the configuration.
//!
//! - [`paths`]: the paths that belong to the run.
//! - [`calls`]: the functions of the C library that take a path.
//! - [`requests`]: requests to the supervisor.
//!
//! A program that makes such system calls itself, or calls other functions (`glob`, `chdir`), finds the
//! files of the machine.

mod calls;
pub mod paths;
mod requests;

use crate::run::CurrentRun;
use dsa_run::Identity;

/// Asks the supervisor for the queue of an open file, by its inode number; `None` for other files.
pub fn identify(run: &CurrentRun, number: u64) -> Option<Identity> {
    let answer = requests::send(run, &format!("identify {number}")).ok()?;
    Identity::from_bytes(&answer.bytes)
}
