//! The real binary on described machines, grouped by the question that a test answers.

mod monitor;
mod on_machine;
mod restore;
mod status;
mod tune;
