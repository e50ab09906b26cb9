//! Memory in chosen slices.
//!
//! - [`LineAllocator`] hands out the lines of huge pages by the slice that they are in. It touches no
//!   memory: pages come with the virtual address at which their owner mapped them.
//! - [`SliceMemory`] maps the pages, and hands out objects, lines and buffers to owners whose slices
//!   are disjoint.
//!
//! Where the kernel gives no huge pages or hides physical addresses, both can hand out memory
//! regardless of slices, and say so.

mod address_space;
mod allocation_error;
mod batches;
mod buffers;
mod free_lists;
mod growth;
mod huge_pages;
mod lines;
mod mapped;
mod nodes;
mod objects;
mod open;
mod owners;
mod pagemap;
mod pages_unavailable;
mod reserved;
mod resize;
mod slice_memory;

pub use allocation_error::AllocationError;
pub use buffers::LINKED_BYTES;
pub use huge_pages::HugePages;
pub use lines::{Line, LineAllocator, LineStatistics};
pub use mapped::{MappedPage, PlacementError, VirtualPage, locate};
pub use nodes::{NodeError, online_nodes};
pub use open::{MemoryError, MemoryRequest};
pub use owners::{ClaimError, MemoryStatistics, Owner};
pub use pagemap::{OWN as OWN_PAGEMAP, PhysicalAddressError, PhysicalAddresses, ProcPagemap};
pub use pages_unavailable::PagesUnavailable;
pub use slice_memory::SliceMemory;
