//! Controllers of a running machine: a schedule of changes, and feedback loops on ways of the LLC.

pub mod schedule;
pub mod way_steering;
