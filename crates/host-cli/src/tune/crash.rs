//! Kills the process in the middle of a change, to test that `restore` copes.
//!
//! `SKIPLINE_CRASH_AFTER=journalled|written|read-back|recorded` kills this process (SIGKILL) after that
//! step. Only with `--root`: on the running machine the variable has no meaning.

use std::ops::ControlFlow;

use host::tune::ChangeStep;
use rustix::process::{Signal, getpid, kill_process};

/// The variable that names the step.
pub const VARIABLE: &str = "SKIPLINE_CRASH_AFTER";

/// What to do at each step.
pub fn as_told(machine_is_real: bool) -> impl FnMut(ChangeStep) -> ControlFlow<()> {
    let wanted = if machine_is_real { None } else { std::env::var(VARIABLE).ok() };
    move |step| {
        let name = match step {
            ChangeStep::Journalled => "journalled",
            ChangeStep::Written => "written",
            ChangeStep::ReadBack => "read-back",
            ChangeStep::Recorded => "recorded",
        };
        if wanted.as_deref() == Some(name) && kill_process(getpid(), Signal::KILL).is_ok() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
