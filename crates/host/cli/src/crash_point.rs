//! Kills this process in the middle of a change, to test that `restore` puts the old values back.
//!
//! `SKIPLINE_CRASH_AFTER=journalled|written|read-back|recorded` kills this process (SIGKILL) after that
//! step. Only with `--root`: on the running machine the variable has no meaning.

use std::ops::ControlFlow;

use host::tune::ChangeStep;
use rustix::process::{Signal, getpid, kill_process};

/// Environment variable that names the step after which this process is killed.
pub const VARIABLE: &str = "SKIPLINE_CRASH_AFTER";

/// The function that a change calls after each of its steps; it kills this process after the step that
/// the variable names.
pub fn step_hook(machine_is_real: bool) -> impl FnMut(ChangeStep) -> ControlFlow<()> {
    let crash_step = if machine_is_real { None } else { std::env::var(VARIABLE).ok() };
    move |step| {
        let name = match step {
            ChangeStep::Journalled => "journalled",
            ChangeStep::Written => "written",
            ChangeStep::ReadBack => "read-back",
            ChangeStep::Recorded => "recorded",
        };
        if crash_step.as_deref() == Some(name) && kill_process(getpid(), Signal::KILL).is_ok() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
