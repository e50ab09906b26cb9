//! The progress of measurements, on standard error: a line that is overwritten on a terminal, else a line for
//! each measurement that is done, if there are several.

use std::io::{IsTerminal, Write};

/// Shows how many measurements are done.
pub struct ProgressDisplay {
    is_quiet: bool,
    is_terminal: bool,
    steps: usize,
    done: usize,
    shown_percent: Option<u32>,
}

impl ProgressDisplay {
    /// A display for this number of measurements; with `is_quiet` nothing is written.
    #[must_use]
    pub fn new(steps: usize, is_quiet: bool) -> Self {
        Self {
            is_quiet,
            is_terminal: std::io::stderr().is_terminal(),
            steps,
            done: 0,
            shown_percent: None,
        }
    }

    /// Shows that a share of the present measurement is done, 0 to 1; `what` names the measurement.
    pub fn update(&mut self, what: &str, share: f64) {
        if self.is_quiet || !self.is_terminal {
            return;
        }
        // A percentage: truncation and sign do not matter.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let percent = (share.clamp(0.0, 1.0) * 100.0) as u32;
        if self.shown_percent != Some(percent) {
            self.shown_percent = Some(percent);
            let (number, all) = (self.done + 1, self.steps);
            eprint!("\r\x1b[K{number} of {all}: {what}, {percent} %");
            let _ = std::io::stderr().flush();
        }
    }

    /// Counts the present measurement as done.
    pub fn finish_step(&mut self, what: &str) {
        self.done += 1;
        self.shown_percent = None;
        if self.is_quiet {
            return;
        }
        if self.is_terminal {
            eprint!("\r\x1b[K");
        } else if self.steps > 1 {
            eprintln!("{} of {}: {what}", self.done, self.steps);
        }
    }
}
