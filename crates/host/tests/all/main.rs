//! The crate on described and hostile trees: one program, one module per question.

mod calibrate;
mod capabilities;
mod crash_and_restore;
mod described_machines;
mod documented_controls;
mod hostile_trees;
mod watched;
