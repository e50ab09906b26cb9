//! Changing a control and getting it back.
//!
//! A plan names every register with old and new value and writes nothing. Applying it goes through
//! lock, journal (on the disk before the write), write and read-back; restoring goes backwards through
//! the journal, also after a crash. Whether a control *does* something is a matter of `verify`.

mod apply;
mod journal;
mod measured_change;
mod plan;
mod restore;
mod verify;

use std::ops::ControlFlow;

pub use apply::{AppliedChange, ChangeOutcome, TuneApplyError, apply};
pub use journal::{
    ChangeRecord, DEFAULT_STATE, Journal, StateDirectory, StateError, other_journal_directories,
};
pub use measured_change::{HitRateResult, MeasuredChange, apply_measured};
pub use plan::{
    IoAllocRequest, OmittedControl, PlannedChange, TunePlan, TunePlanError, TunePlanner,
};
pub(crate) use restore::restore_command;
pub use restore::{RestoreOptions, RestoreOutcome, RestoredControl, preview, restore};
pub use verify::{HitRates, Verdict, affected_sockets, measure_hit_rates, verdict};

/// A point between the steps of a change, where a test lets the machine crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeStep {
    /// The old value is on the disk.
    Journalled,
    /// The new value was written.
    Written,
    /// It was read back.
    ReadBack,
    /// What was read back is on the disk.
    Recorded,
}

/// Told of every step; `Break` stops everything there, as a crash would.
pub type Watch<'a> = &'a mut dyn FnMut(ChangeStep) -> ControlFlow<()>;

/// Stops nowhere.
pub fn ignore_steps(_: ChangeStep) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
