//! A line on standard error that shows the progress of a long command; on a terminal only.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// A progress line, redrawn at most five times a second and erased when this value is dropped.
pub struct ProgressLine {
    shown: bool,
    next: Instant,
}

impl ProgressLine {
    pub fn new() -> Self {
        Self { shown: std::io::stderr().is_terminal(), next: Instant::now() }
    }

    /// Shows the text, unless the line was redrawn less than 200 ms ago.
    pub fn show(&mut self, text: impl FnOnce() -> String) {
        const EVERY: Duration = Duration::from_millis(200);
        if self.shown && Instant::now() >= self.next {
            self.next = Instant::now() + EVERY;
            eprint!("\r\x1b[K{}", text());
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }
}
