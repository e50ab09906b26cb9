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

/// Size of a huge page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbePageSize {
    /// 2 MiB.
    TwoMiB,
    /// 1 GiB.
    OneGiB,
}

impl ProbePageSize {
    /// Address bits within a page.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::TwoMiB => 21,
            Self::OneGiB => 30,
        }
    }

    /// Bytes of a page.
    #[must_use]
    pub fn bytes(self) -> u64 {
        1 << self.bits()
    }

    /// As the kernel's directories have it.
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

/// A huge page by its physical address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbePage {
    /// Physical address of its first byte.
    pub start: u64,
    /// Its size.
    pub size: ProbePageSize,
}

impl ProbePage {
    /// Whether a physical address is in it.
    #[must_use]
    pub fn holds(&self, physical_address: u64) -> bool {
        physical_address >> self.size.bits() == self.start >> self.size.bits()
    }
}

/// Why there is no memory to ask about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeMemoryError {
    /// the system gives no huge page
    #[error(
        "no huge page of {} is available ({free} free)\n  remedy: {}",
        size.text(), size.remedy()
    )]
    NoPages {
        /// Their size.
        size: ProbePageSize,
        /// Free ones, as the kernel says.
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
        /// Their size.
        size: ProbePageSize,
        /// The node that has them.
        node: u32,
        /// The node of the socket.
        wanted: u32,
    },
    /// the kernel hides physical addresses
    #[error(
        "the kernel hides physical addresses from this process (/proc/self/pagemap)\n  remedy: run as \
         root, or grant CAP_SYS_ADMIN"
    )]
    Hidden,
    /// a page is not where it should be
    #[error("the huge page at virtual address {0:#x} is not contiguous or not aligned")]
    NotHuge(u64),
    /// the thread cannot be moved
    #[error("the system does not let this process run on processor {cpu}: {reason}")]
    NotPinned {
        /// The processor.
        cpu: CpuId,
        /// The system's words.
        reason: String,
    },
    /// a file cannot be read
    #[error("{error}{}", remedy(.error).map(|remedy| format!("\n  remedy: {remedy}")).unwrap_or_default())]
    File {
        /// Why.
        #[from]
        error: FileError,
    },
}

/// Gives memory to ask about.
pub trait MemorySource {
    /// At most `most` huge pages, and this thread on a processor of the socket that is asked.
    ///
    /// # Errors
    /// If there is no page, or the kernel does not say where they are.
    fn map(
        &self,
        size: ProbePageSize,
        most: usize,
        cpu: CpuId,
    ) -> Result<Box<dyn ProbeMemory>, ProbeMemoryError>;
}

/// Memory whose lines can be loaded, flushed and timed by physical address. Addresses in none of its
/// pages are the caller's mistake, and panic.
pub trait ProbeMemory {
    /// The pages, by address.
    fn pages(&self) -> &[ProbePage];

    /// Goes to another processor.
    ///
    /// # Errors
    /// If the system refuses.
    fn move_to(&mut self, cpu: CpuId) -> Result<(), ProbeMemoryError>;

    /// Loads the line and flushes it, `times` times.
    fn load_and_flush(&mut self, physical_address: u64, times: u32);

    /// Cycles of the time stamp counter of one load of the line, after its copies in L1 and L2 were
    /// pushed out by lines of the same sets.
    fn llc_load_cycles(&mut self, physical_address: u64) -> f64;
}
