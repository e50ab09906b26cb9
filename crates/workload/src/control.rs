//! Controllers of a running machine: a schedule of changes, and a feedback loop on DDIO ways.

pub mod dynamic_ways;
pub mod schedule;
