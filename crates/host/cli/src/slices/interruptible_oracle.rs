//! A slice oracle that shows its progress, and that ends on Ctrl-C and on machines that never answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::slices::recovery::{OracleAnswer, SliceOracle};
use host::error::FileError;
use host::probe_memory::ProbeMemoryError;
use units::SliceId;

use crate::progress_line::ProgressLine;

/// Error of an oracle that gives no more answers.
#[derive(Debug, thiserror::Error)]
pub enum OracleError {
    /// Ctrl-C was pressed.
    #[error("interrupted")]
    Stopped,
    /// No slice ever had clearly the most look-ups.
    #[error(
        "no slice stood out in the first {0} questions; the counters do not count, or other programs keep all \
         slices busy"
    )]
    Silent(u64),
    /// A counter cannot be read.
    #[error("{0}")]
    Counter(#[from] FileError),
    /// The thread cannot be moved to the processor of the oracle.
    #[error("{0}")]
    Memory(#[from] ProbeMemoryError),
}

/// Questions without one clear answer after which the oracle gives up.
const MOST_UNANSWERED: u64 = 2000;

/// An oracle over a function that finds the slice of a physical address, or `None` if none stands out.
pub struct InterruptibleOracle<A> {
    query: A,
    slices: u32,
    stop: Arc<AtomicBool>,
    questions: u64,
    answered: u64,
    most: u64,
    line: ProgressLine,
}

impl<A: FnMut(u64) -> Result<Option<u16>, OracleError>> InterruptibleOracle<A> {
    /// An oracle for a socket of so many slices. `most` questions are shown as the limit; `stop` ends it.
    pub fn new(query: A, slices: u32, most: u64, stop: Arc<AtomicBool>) -> Self {
        Self { query, slices, stop, questions: 0, answered: 0, most, line: ProgressLine::new() }
    }

    /// Number of questions so far.
    pub fn questions(&self) -> u64 {
        self.questions
    }
}

impl<A: FnMut(u64) -> Result<Option<u16>, OracleError>> SliceOracle for InterruptibleOracle<A> {
    type Error = OracleError;

    fn slices(&self) -> u32 {
        self.slices
    }

    fn ask(&mut self, physical_address: u64) -> Result<OracleAnswer, OracleError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(OracleError::Stopped);
        }
        if self.answered == 0 && self.questions >= MOST_UNANSWERED {
            return Err(OracleError::Silent(self.questions));
        }
        self.questions += 1;
        let (questions, most) = (self.questions, self.most);
        self.line.show(|| {
            format!("asking: {questions} questions, at most {most} (Ctrl-C leaves no table)")
        });
        let answer = (self.query)(physical_address)?;
        self.answered += u64::from(answer.is_some());
        Ok(answer.map_or(OracleAnswer::Unclear, |slice| OracleAnswer::Slice(SliceId(slice))))
    }
}
