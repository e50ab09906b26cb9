//! The real binary on described machines, grouped by the question that a test answers.

mod calibrate;
mod dies;
mod doctor;
mod endings;
mod engines;
mod holding;
mod journals_of_boxes;
mod kernel_rules;
mod long_journals;
mod masks;
mod mishaps;
mod monitor;
mod on_machine;
mod other_parts;
mod owned_bits;
mod packages;
mod ports;
mod published_slices;
mod restore;
mod slice_boxes;
mod slice_distances;
mod slices;
mod state_directories;
mod status;
mod steering;
mod tune;
