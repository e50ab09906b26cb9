//! Units of the simulator: newtypes for time, data and cache geometry.
//!
//! Nothing here knows hardware. Inside a component plain integers with the unit in their name are
//! fine; what crosses a boundary between components is one of these types.

mod cache;
mod data;
mod time;

pub use cache::{LINE_BYTES, LineAddr, SetIndex, SliceId, WayMask};
pub use data::{Bytes, GbitPerSec};
pub use time::{Cycles, Gigahertz, Picos};
