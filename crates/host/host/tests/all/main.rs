//! The crate on described and hostile trees: one program, one module per question.

mod boots;
mod calibrate;
mod capabilities;
mod crash_and_restore;
mod described_machines;
mod documented_controls;
mod fuzz_corpus;
mod generated;
mod generated_histories;
mod generated_machines;
mod generated_observations;
mod generated_plans;
mod hostile_trees;
mod kernel_sources;
mod machines;
mod measured_changes;
mod readers;
mod steering;
mod watched;
