//! The last-level cache of a socket: slices, way masks, directory.
//!
//! [`slice`] holds lines, [`line_info`] who put them there, [`config`] what that means for cores; [`directory`] knows lines that only cores hold;
//! [`latency`] how far a slice is from a core.

pub mod config;
pub mod directory;
pub mod latency;
pub mod line_info;
pub mod slice;

pub use config::{Inclusion, LlcConfig};
pub use directory::{Directory, Sharers};
pub use latency::LlcLatency;
pub use line_info::{Evicted, LineInfo};
pub use slice::Llc;
