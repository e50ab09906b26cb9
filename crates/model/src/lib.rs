//! The hardware: caches, root complex, links, memory and devices, as timed calls.
//!
//! Reading order, along the way of a received packet: [`traffic`] (what arrives),
//! [`device`] (the NIC), [`root_complex`] (link, IIO, DDIO), [`fabric`] (where devices and cores
//! meet), [`llc`], [`mod@core`], [`dram`]; [`replacement`] chooses victims for every cache and
//! [`machine`] steps them all, with the [`software`] on its cores. [`occupancy`] is how contention works, [`attribution`], [`tracer`]
//! and [`miss_kinds`] are how it can be watched. [`independent_levels`] is the part of it that needs no
//! time.
//!
//! Deliberately absent: input and output, clocks, globals, unsafe code, dynamic dispatch per line.

pub mod attribution;
pub mod core;
pub mod counters;
pub mod cxl;
pub mod device;
pub mod dram;
pub mod fabric;
pub mod independent_levels;
pub mod llc;
pub mod machine;
pub mod mesh;
pub mod miss_kinds;
pub mod occupancy;
mod recency;
pub mod replacement;
pub mod root_complex;
mod schedule;
pub mod software;
mod times_by_size;
pub mod tracer;
pub mod traffic;
pub mod upi;
