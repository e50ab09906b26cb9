//! The way of a device into the memory system: link, root complex buffer, DDIO policy.

pub mod ddio;
pub mod iio;
pub mod pcie_link;
