//! Changing a control and getting it back.
//!
//! A plan names every register with old and new value and writes nothing. Applying it goes through
//! lock, journal (on the disk before the write), write and read-back; restoring goes backwards through
//! the journal, also after a crash. Whether a control *does* something is a matter of `verify`.

mod apply;
mod around;
mod journal;
mod plan;
mod restore;
mod verify;

use std::ops::ControlFlow;

pub use apply::{Applied, ApplyError, Outcome, apply};
pub use around::{Around, Measured, apply_measured};
pub use journal::{DEFAULT_STATE, Entry, Journal, StateDirectory, StateError, journals_elsewhere};
pub use plan::{Change, IoAllocRequest, LeftOut, Plan, PlanError, Planner};
pub(crate) use restore::restore_command;
pub use restore::{RestoreOptions, Restored, Restoring, preview, restore};
pub use verify::{HitRates, Verdict, measure_hit_rates, touched_sockets, verdict};

/// A point between the steps of a change, where a test lets the machine crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
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
pub type Watch<'a> = &'a mut dyn FnMut(Step) -> ControlFlow<()>;

/// Stops nowhere.
pub fn never(_: Step) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
