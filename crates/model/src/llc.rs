//! The last-level cache of a socket: slices, way masks, directory.
//!
//! [`slice`] holds lines and who put them there; [`directory`] knows lines that only cores hold;
//! [`latency`] how far a slice is from a core.

pub mod directory;
pub mod latency;
pub mod slice;

pub use directory::{Directory, Sharers};
pub use latency::LlcLatency;
pub use slice::{Evicted, Inclusion, LineInfo, Llc, LlcConfig};
