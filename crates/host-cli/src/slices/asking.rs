//! Questions to the machine: progress, Ctrl-C, and machines that never answer.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ::slices::recovery::{Answer, SliceOracle};
use host::error::FileError;
use host::probe_memory::ProbeMemoryError;
use units::SliceId;

/// Why no more answers come.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Ctrl-C
    #[error("interrupted")]
    Stopped,
    /// nothing ever stands out
    #[error(
        "no slice stood out in the first {0} questions; nothing counts here, or others keep all slices busy"
    )]
    Silent(u64),
    /// a counter cannot be read
    #[error("{0}")]
    Counter(#[from] FileError),
    /// the thread cannot be moved
    #[error("{0}")]
    Memory(#[from] ProbeMemoryError),
}

/// Questions without one answer after which a machine is taken for silent.
const SILENCE: u64 = 2000;

/// An oracle of the recovery over any way to ask.
pub struct Asking<A> {
    ask: A,
    slices: u32,
    stop: Arc<AtomicBool>,
    asked: u64,
    answered: u64,
    most: u64,
    line: ProgressLine,
}

impl<A: FnMut(u64) -> Result<Option<u16>, AskError>> Asking<A> {
    pub fn new(ask: A, slices: u32, most: u64, stop: Arc<AtomicBool>) -> Self {
        Self { ask, slices, stop, asked: 0, answered: 0, most, line: ProgressLine::new() }
    }

    /// Questions asked.
    pub fn asked(&self) -> u64 {
        self.asked
    }
}

impl<A: FnMut(u64) -> Result<Option<u16>, AskError>> SliceOracle for Asking<A> {
    type Error = AskError;

    fn slices(&self) -> u32 {
        self.slices
    }

    fn ask(&mut self, physical_address: u64) -> Result<Answer, AskError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(AskError::Stopped);
        }
        if self.answered == 0 && self.asked >= SILENCE {
            return Err(AskError::Silent(self.asked));
        }
        self.asked += 1;
        let (asked, most) = (self.asked, self.most);
        self.line
            .show(|| format!("asking: {asked} questions, at most {most} (Ctrl-C leaves no table)"));
        let answer = (self.ask)(physical_address)?;
        self.answered += u64::from(answer.is_some());
        Ok(answer.map_or(Answer::Unclear, |slice| Answer::Slice(SliceId(slice))))
    }
}

/// How far it is, on a terminal only and a few times a second.
pub struct ProgressLine {
    shown: bool,
    next: Instant,
}

impl ProgressLine {
    pub fn new() -> Self {
        Self { shown: std::io::stderr().is_terminal(), next: Instant::now() }
    }

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
