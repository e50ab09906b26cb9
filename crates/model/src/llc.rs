//! The last-level cache of a socket: slices, way masks, replacement, directory.
//!
//! [`slice`] holds lines and who put them there; [`directory`] knows lines that only cores hold;
//! [`replacement`] chooses victims for every cache of the machine.

pub mod directory;
pub mod replacement;
pub mod slice;

pub use directory::{Directory, Sharers};
pub use slice::{Evicted, LineInfo, Llc, LlcConfig};
