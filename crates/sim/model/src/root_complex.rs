//! The path of a device into the memory system: link, root-complex buffer, DDIO policy.

mod associative;
pub mod attachment;
pub mod buffer;
pub mod ddio;
pub mod iio;
pub mod iommu;
pub mod line_placement;
pub mod mmio;
pub mod pcie_link;
