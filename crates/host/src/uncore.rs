//! Counters outside the cores: which events, on which boxes, counted together.
//!
//! Source of encodings: `data/events/*.toml`; of formats: the kernel's own `format` files.

mod events;
mod format;
mod frequency;
mod perf;
mod units;

use std::time::Duration;

use crate::error::FileError;

pub use events::{EventTable, Metric, Role, TableEvent};
pub use format::{EventWords, FormatError, Formats};
pub use frequency::{FrequencyRange, frequency};
pub use perf::PerfEvents;
pub use units::{UncoreBox, boxes, count_boxes};

/// One event on one box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterRequest {
    /// The box, like `uncore_cha_3`.
    pub unit: String,
    /// The kernel's number for it.
    pub kind: u32,
    /// The logical CPU that reads it.
    pub cpu: u32,
    /// The encoding.
    pub words: EventWords,
}

/// What was counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// Occurrences, scaled to the whole window if the counter was shared.
    pub value: u64,
    /// Which part of the window the counter ran.
    pub running_share: f64,
}

/// Counts events outside the cores.
pub trait UncoreCounters {
    /// Counts for `window`. Requests of one group run at the same times.
    ///
    /// # Errors
    /// If the kernel refuses an event.
    fn measure(
        &self,
        groups: &[Vec<CounterRequest>],
        window: Duration,
    ) -> Result<Vec<Vec<Count>>, FileError>;
}
