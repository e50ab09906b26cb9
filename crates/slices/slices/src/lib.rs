//! Slices of the last-level cache of real machines: the slice function, recovered, compared and used.
//!
//! - [`recovery`]: learns a machine's slice function from a slice oracle (uncore counters, timing).
//! - [`TableFile`]: the function as a file, with the addresses for which it holds and the evidence;
//!   the simulator reads the same file.
//! - [`comparison`]: compares a known function with a machine by a few thousand questions.
//! - [`published`]: functions that others have published, by CPU model and number of slices.
//! - [`memory`]: hands out lines of huge pages by slice; where there is a Unix that maps them.
//! - [`spread_pool`]: chooses buffers of given pages by slice and set.
//! - [`set_index`]: recovers which bits choose the set within a slice, by eviction tests.
//! - [`nearest`]: slices by their latency from a core, and the best slice for several;
//!   [`LatencyFile`]: the latencies as a file.
//! - [`SliceMap`]: look-ups that refuse addresses which a table does not cover.
//!
//! The functions themselves are `address_map`'s: one implementation for simulator and machine.

pub mod comparison;
mod coverage;
mod evidence;
mod gf2;
mod latency_file;
mod mapped_page;
#[cfg(unix)]
pub mod memory;
pub mod nearest;
pub mod published;
pub mod recovery;
pub mod set_index;
mod short_form;
mod slice_map;
pub mod spread_pool;
pub mod table_file;

pub use coverage::{Coverage, CoverageLookup, CoveredAddresses};
pub use evidence::Evidence;
pub use latency_file::{LatencyFile, LatencyFileError, LatencyKind};
pub use mapped_page::{MappedPage, VirtualPage};
pub use short_form::ShortForm;
pub use slice_map::{NotCovered, SliceMap};
pub use table_file::TableFile;
