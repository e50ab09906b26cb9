//! PCI functions: headers, capabilities, links, and the way up to the root port.
//!
//! Source: PCI Express base specification (type 0 and 1 headers, capability 0x10).

mod capabilities;
mod devices;
mod function;
mod link;
mod tree;

pub use capabilities::{Capability, capability_at};
pub(crate) use devices::device_names;
pub use function::{FunctionKind, PciFunction};
pub use link::{LinkStatus, PortType, express};
pub use tree::{Tree, TreeError};
