//! Memory that slices are probed with: huge pages of this process whose physical address is known.
//!
//! | module | what it is |
//! | --- | --- |
//! | `huge_pages` | huge pages of the running machine |
//! | `loads` | loads, flushes and timed loads of single lines |

mod huge_pages;
mod loads;

use crate::cpu::CpuId;
use crate::error::FileError;
use crate::unavailable::remedy;

pub use huge_pages::HugePageSource;

/// Size of a huge page that slices are probed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbePageSize {
    /// 2 MiB.
    TwoMiB,
    /// 1 GiB.
    OneGiB,
}

impl ProbePageSize {
    /// Number of address bits within a page: 21 or 30.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::TwoMiB => 21,
            Self::OneGiB => 30,
        }
    }

    /// Size of a page in bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        1 << self.bits()
    }

    /// Size of a page in KiB, as the kernel's directories name it.
    #[must_use]
    pub fn kib(self) -> u64 {
        self.bytes() >> 10
    }

    fn text(self) -> &'static str {
        match self {
            Self::TwoMiB => "2 MiB",
            Self::OneGiB => "1 GiB",
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::TwoMiB => "as root: echo 64 > /proc/sys/vm/nr_hugepages",
            Self::OneGiB => {
                "hugepagesz=1G hugepages=4 on the kernel's command line, or take pages of 2 MiB"
            }
        }
    }
}

/// A huge page, identified by its physical address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbePage {
    /// Physical address of the page's first byte.
    pub start: u64,
    /// Size of the page.
    pub size: ProbePageSize,
}

impl ProbePage {
    /// Whether a physical address lies in the page.
    #[must_use]
    pub fn holds(&self, physical_address: u64) -> bool {
        physical_address >> self.size.bits() == self.start >> self.size.bits()
    }
}

/// Error of mapping huge pages, or of moving the thread that accesses them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeMemoryError {
    /// the system gives no huge page
    #[error(
        "no huge page of {} is available ({free} free)\n  remedy: {}",
        size.text(), size.remedy()
    )]
    NoPages {
        /// Size of the pages.
        size: ProbePageSize,
        /// Number of free pages that the kernel reports.
        free: u64,
    },
    /// all huge pages are memory of another socket
    #[error(
        "all huge pages of {} that are free are memory of node {node}, and slice numbers belong to the \
         socket of node {wanted}\n  remedy: as root: echo 64 > \
         /sys/devices/system/node/node{wanted}/hugepages/hugepages-{}kB/nr_hugepages",
        size.text(), size.kib()
    )]
    OtherSocket {
        /// Size of the pages.
        size: ProbePageSize,
        /// The NUMA node that has free pages.
        node: u32,
        /// The NUMA node of the socket.
        wanted: u32,
    },
    /// the kernel hides physical addresses
    #[error(
        "the kernel hides physical addresses from this process (/proc/self/pagemap)\n  remedy: run as \
         root, or grant CAP_SYS_ADMIN"
    )]
    Hidden,
    /// a page is not contiguous or not aligned in physical memory
    #[error("the huge page at virtual address {0:#x} is not contiguous or not aligned")]
    NotHuge(u64),
    /// the thread cannot be moved
    #[error("the system does not let this process run on processor {cpu}: {reason}")]
    NotPinned {
        /// The processor.
        cpu: CpuId,
        /// Error text of the system.
        reason: String,
    },
    /// a file cannot be read
    #[error("{error}{}", remedy(.error).map(|remedy| format!("\n  remedy: {remedy}")).unwrap_or_default())]
    File {
        /// The file, and the reason.
        #[from]
        error: FileError,
    },
}

/// Backend that maps huge pages with known physical addresses.
pub trait MemorySource {
    /// Maps at most `most` huge pages from the memory of a processor's socket, and moves this thread to
    /// that processor.
    ///
    /// # Errors
    /// If no page is free, or the kernel hides physical addresses.
    fn map(
        &self,
        size: ProbePageSize,
        most: usize,
        cpu: CpuId,
    ) -> Result<Box<dyn ProbeMemory>, ProbeMemoryError>;
}

/// Memory whose lines can be loaded, flushed and timed by physical address. An address outside its pages
/// is the caller's mistake, and panics.
pub trait ProbeMemory {
    /// The mapped pages, in the order of their addresses.
    fn pages(&self) -> &[ProbePage];

    /// Moves this thread to another processor.
    ///
    /// # Errors
    /// If the system refuses.
    fn move_to(&mut self, cpu: CpuId) -> Result<(), ProbeMemoryError>;

    /// Loads the line at an address and flushes it from all caches, `times` times.
    fn load_and_flush(&mut self, physical_address: u64, times: u32);

    /// Loads the line at an address.
    fn load(&mut self, physical_address: u64);

    /// Times one load of the line, wherever it is, in cycles of the time stamp counter.
    fn load_cycles(&mut self, physical_address: u64) -> f64;

    /// Times one load of the line in cycles of the time stamp counter, after lines of the same sets
    /// evicted its copies from L1 and L2.
    fn llc_load_cycles(&mut self, physical_address: u64) -> f64;
}
