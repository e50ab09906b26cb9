//! Counters outside the cores: which events, on which boxes, counted together.
//!
//! Source of encodings: `data/events/*.toml`; of formats: the kernel's own `format` files.

mod events;
mod format;
mod frequency;
mod perf;
mod running_counters;
mod uncore_box;

use std::time::Duration;

use crate::cpu::CpuId;
use crate::error::FileError;

pub use events::{EventMetric, EventTable, Role, TableEvent};
pub use format::{EventWords, FormatError, Formats};
pub use frequency::{ClockError, FrequencyRange, frequency};
pub use perf::PerfEvents;
pub use running_counters::RunningCounters;
pub use uncore_box::{UncoreBox, boxes, count_boxes};

/// One event on one box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterRequest {
    /// The box, like `uncore_cha_3`.
    pub unit: String,
    /// The kernel's number for it.
    pub kind: u32,
    /// The logical CPU that reads it.
    pub cpu: CpuId,
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

/// Counts of one window, group by group.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Counts in the order of the requests.
    pub groups: Vec<Vec<Count>>,
    /// How long the events were really enabled: a busy machine wakes up late.
    pub elapsed: Duration,
}

/// Counts events outside the cores.
pub trait UncoreCounters {
    /// Lets events count from now on, until the result is dropped.
    ///
    /// # Errors
    /// If the kernel refuses an event.
    fn open(&self, requests: &[CounterRequest]) -> Result<Box<dyn RunningCounters>, FileError>;

    /// Counts for `window`. Requests of one group run at the same times.
    ///
    /// # Errors
    /// If the kernel refuses an event.
    fn measure(
        &self,
        groups: &[Vec<CounterRequest>],
        window: Duration,
    ) -> Result<Window, FileError>;
}
