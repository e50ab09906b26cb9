//! Units of the simulator: newtypes for time, data, cache geometry, and numbers of components;
//! conversions into narrower types.
//!
//! Nothing here knows hardware. Inside a component plain integers with the unit in their name are
//! fine; what crosses a boundary between components is one of these types.

mod cache;
mod data;
mod ids;
pub mod narrow;
mod time;

pub use cache::{LINE_BYTES, LineAddr, SetIndex, SliceId, WayMask};
pub use data::{Bytes, GbitPerSec};
pub use ids::{ById, CoreId, Id, RootPortId, SocketCore, SocketId};
pub use time::{Cycles, Gigahertz, Picos};
