//! Changes controls, and restores their old values.
//!
//! A plan names every register with old and new value and writes nothing. It is applied with lock,
//! journal (on the disk before the write), write and read-back. A restore goes backwards through the
//! journal, also after a crash. `verify` measures whether a control has an effect.

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
pub use verify::{HitRates, Verdict, affected_sockets, measure_hit_rates, uncounted_port, verdict};

/// A finished step of a change. Tests let the machine crash after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeStep {
    /// The old value is on the disk.
    Journalled,
    /// The new value was written.
    Written,
    /// The value was read back.
    ReadBack,
    /// The value that was read back is on the disk.
    Recorded,
}

/// Callback that receives every finished step. `Break` stops everything there, as a crash would.
pub type Watch<'a> = &'a mut dyn FnMut(ChangeStep) -> ControlFlow<()>;

/// Callback that never stops a change.
pub fn ignore_steps(_: ChangeStep) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
