//! Memory in chosen slices.
//!
//! - [`LineAllocator`] allocates lines of huge pages by the slice that they are in. It touches no
//!   memory: the caller has mapped the pages and passes their virtual addresses.
//! - [`SliceMemory`] maps the pages, and allocates objects, lines and buffers for owners whose slices
//!   are disjoint.
//! - [`SpreadPool`] chooses buffers of given pages by slice and set, so that none of the sets gets many
//!   more lines than others.
//!
//! If the kernel gives no huge pages or hides physical addresses, both can allocate memory regardless of
//! slices, and report the reason.

mod address_space;
mod allocation_error;
mod batches;
mod buffers;
mod fallible_list;
mod free_lists;
mod growth;
mod huge_pages;
mod lines;
mod memory_request;
mod nodes;
mod objects;
mod owners;
mod page_location;
mod pagemap;
mod pages_unavailable;
mod reallocation;
mod slice_memory;

pub use crate::mapped_page::{MappedPage, VirtualPage};
pub use crate::spread_pool::{SpreadError, SpreadPool, SpreadRequest};
pub use allocation_error::AllocationError;
pub use buffers::LINKED_BYTES;
pub use huge_pages::HugePages;
pub use lines::{AllocatedLine, LineAllocator, LineStatistics};
pub use memory_request::{MemoryError, MemoryRequest};
pub use nodes::{NodeError, online_nodes};
pub use owners::{ClaimError, MemoryStatistics, SliceOwner};
pub use page_location::{PlacementError, locate};
pub use pagemap::{OWN as OWN_PAGEMAP, PhysicalAddressError, PhysicalAddresses, ProcPagemap};
pub use pages_unavailable::PagesUnavailable;
pub use slice_memory::SliceMemory;
