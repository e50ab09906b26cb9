//! Units of the simulator: newtypes for time, data, cache geometry and component ids; conversions into
//! narrower types; packets and memory references, which readers of recordings hand to replays.
//!
//! This crate models no hardware. Inside a component plain integers with the unit in their name are
//! fine; values that cross a boundary between components have one of these types.

mod cache;
mod data;
mod ids;
pub mod narrow;
mod packet;
mod reference;
mod time;

pub use cache::{LINE_BYTES, LineAddr, SetIndex, SliceId, WayMask};
pub use data::{Bytes, GbitPerSec};
pub use ids::{ById, CoreId, Id, RootPortId, SocketCore, SocketId};
pub use packet::{CapturedPacket, FlowAddresses, FlowPorts, FlowTuple, WIRE_OVERHEAD_BYTES};
pub use reference::{Reference, ReferenceKind};
pub use time::{Cycles, Gigahertz, Picos};
