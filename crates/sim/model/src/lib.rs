//! The hardware: caches, root complex, links, memory and devices, as timed calls.
//!
//! Reading order, along the path of a received packet: [`traffic`] (arrivals), [`device`] (the NIC),
//! [`root_complex`] (link, IIO, DDIO), [`fabric`] (where devices and cores meet), [`llc`],
//! [`private_caches`] (L1, L2 and their prefetchers), [`dram`]; above the fabric [`mod@core`] (a core
//! as its software sees it), [`software`], and [`machine`], which steps them all. [`replacement`]
//! chooses victims for every cache, [`occupancy`] models contention, and [`attribution`], [`tracer`]
//! and [`miss_kinds`] observe it. [`independent_levels`] models the caches that need no time.
//!
//! Modules use only those below them: caches, links and memory do not depend on the fabric, and the
//! fabric does not depend on software or devices (tests/all/sources.rs).
//!
//! Deliberately absent: input and output, clocks, globals, unsafe code, dynamic dispatch per line.

pub mod attribution;
pub mod core;
pub mod counters;
pub mod cxl;
pub mod device;
mod divisor;
pub mod dram;
pub mod fabric;
pub mod independent_levels;
pub mod latency_histogram;
pub mod llc;
pub mod machine;
pub mod mesh;
pub mod miss_kinds;
pub mod occupancy;
pub mod private_caches;
pub mod reading;
mod recency;
pub mod replacement;
pub mod root_complex;
mod schedule;
pub mod software;
mod times_by_size;
pub mod tracer;
pub mod traffic;
pub mod upi;
