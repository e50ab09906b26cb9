//! The last-level cache of a socket: slices, way masks, directory.
//!
//! [`slice`] holds the lines, [`line_info`] their owners, [`inclusion`] their effect on the private
//! caches; [`directory`] lists the holders of lines that only cores hold; [`latency`] gives the latency
//! from a core to a slice.

pub mod config;
pub mod directory;
pub mod inclusion;
pub mod latency;
pub mod line_info;
pub mod slice;

pub use config::LlcConfig;
pub use directory::{Directory, Sharers};
pub use inclusion::Inclusion;
pub use latency::LlcLatency;
pub use line_info::{Evicted, LineInfo};
pub use slice::Llc;
