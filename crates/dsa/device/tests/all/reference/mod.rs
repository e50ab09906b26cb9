//! The contract of a data streaming accelerator, executed slowly: the judge of the engine.
//!
//! Written from `design/dsa.md` alone; "section n" is a section of it. Everything is done byte by byte and
//! bit by bit. One descriptor runs at a time, members of a batch in list order, and no page request service
//! exists that could make a page present. Addresses are 64 bits wide.
//!
//! `OPEN:` marks a place that the contract leaves open, with the reading chosen here.

mod batches;
mod checks;
mod crc;
mod descriptor;
mod dif;
mod faults;
mod memory;
mod operations;
mod records;
mod validity;

pub use descriptor::Settings;
pub use memory::{Memory, Rights};
pub use records::Outcome;

use descriptor::{Call, Descriptor};

/// Executes a descriptor (also a batch, whose members run in list order) and writes its record and those of
/// members.
pub fn execute(memory: &mut Memory, descriptor: &[u8; 64], settings: &Settings) -> Outcome {
    let descriptor = Descriptor { bytes: *descriptor };
    let privileged = descriptor.is_privileged();
    batches::run(memory, &Call { descriptor, settings, member: false, privileged }).0
}
