//! Kills the process in the middle of a change, to test that the journal has what was before.
//!
//! `SKIPLINE_DSA_CRASH_AFTER=N` kills this process (SIGKILL) at the N-th point of a change or a restore,
//! from 0. Only with --root and in a run: for devices of the machine the variable has no meaning.

use dsa_config::steps::Point;
use rustix::process::{Signal, getpid, kill_process};
use std::ops::ControlFlow;

const VARIABLE: &str = "SKIPLINE_DSA_CRASH_AFTER";

/// What to do at each point.
pub fn as_told(is_stand_in: bool) -> impl FnMut(Point) -> ControlFlow<()> {
    let told = std::env::var(VARIABLE).ok().filter(|_| is_stand_in);
    let mut left: Option<u32> = told.and_then(|text| text.parse().ok());
    move |_| {
        if left == Some(0) && kill_process(getpid(), Signal::KILL).is_ok() {
            return ControlFlow::Break(());
        }
        left = left.map(|left| left.saturating_sub(1));
        ControlFlow::Continue(())
    }
}
