//! Counters outside the cores (uncore): tables of events, boxes, and counting through perf.
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

/// Request to count one event on one box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterRequest {
    /// The box, like `uncore_cha_3`.
    pub unit: String,
    /// The kernel's type number of the box's event source.
    pub kind: u32,
    /// The logical CPU that reads the counter.
    pub cpu: CpuId,
    /// Encoding of the event.
    pub words: EventWords,
}

/// Count of one event in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// Number of occurrences, scaled to the whole window if the counter was shared.
    pub value: u64,
    /// Share of the window in which the counter ran, 0 to 1; less than 1 if it was shared.
    pub running_share: f64,
}

/// Counts of all groups in one window of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Counts of each group, in the order of the requests.
    pub groups: Vec<Vec<Count>>,
    /// Time in which the events were enabled: more than requested if the machine wakes up late.
    pub elapsed: Duration,
}

/// Backend that counts uncore events.
pub trait UncoreCounters {
    /// Starts events, which count until the result is dropped.
    ///
    /// # Errors
    /// If the kernel refuses an event.
    fn open(&self, requests: &[CounterRequest]) -> Result<Box<dyn RunningCounters>, FileError>;

    /// Counts for the time `window`. Events of one group count at the same times.
    ///
    /// # Errors
    /// If the kernel refuses an event.
    fn measure(
        &self,
        groups: &[Vec<CounterRequest>],
        window: Duration,
    ) -> Result<Window, FileError>;
}
