//! Kills the process in the middle of a change, to test that the journal has the former configuration.
//!
//! `SKIPLINE_DSA_CRASH_AFTER=N` kills this process (SIGKILL) at the N-th point of a change or a restore,
//! from 0. Only with --root and in a run: for devices of the machine the variable has no meaning.

use dsa_config::steps::Point;
use rustix::process::{Signal, getpid, kill_process};
use std::ops::ControlFlow;

const VARIABLE: &str = "SKIPLINE_DSA_CRASH_AFTER";

/// Watches the points of a change, and kills the process at the one that the environment names, if
/// `is_stand_in`.
pub fn kill_at_point(is_stand_in: bool) -> impl FnMut(Point) -> ControlFlow<()> {
    let setting = std::env::var(VARIABLE).ok().filter(|_| is_stand_in);
    let mut remaining: Option<u32> = setting.and_then(|text| text.parse().ok());
    move |_| {
        if remaining == Some(0) && kill_process(getpid(), Signal::KILL).is_ok() {
            return ControlFlow::Break(());
        }
        remaining = remaining.map(|points| points.saturating_sub(1));
        ControlFlow::Continue(())
    }
}
