//! What steers a machine while it runs: a schedule of changes, a feedback loop on DDIO ways.

pub mod dynamic_ways;
pub mod schedule;
