//! Entries of the integrated I/O block: how many lines of devices may be in flight.
//!
//! Models: the IIO's write and read buffers; a line holds an entry until memory or LLC took it.
//! Source: "Understanding the host network" (SIGCOMM'24): 92 write entries, more than 164 read
//! entries on Cascade Lake.
//! Simplifies: one block for all root ports of a socket.

use crate::occupancy::Entries;
use units::Picos;

/// Sizes and latencies of the block.
#[derive(Clone, Debug)]
pub struct IioConfig {
    /// Lines of DMA writes in flight.
    pub write_entries: u32,
    /// Lines of DMA reads in flight.
    pub read_entries: u32,
    /// From a write's arrival until the LLC has taken it.
    pub llc_write: Picos,
    /// From a write's arrival until the memory controller has taken it, idle.
    pub dram_write: Picos,
    /// From the arrival of a write to memory until a core's read finds it: the home agent lets reads
    /// see it before the controller has confirmed that it has it.
    pub dram_visible: Picos,
    /// From a read's arrival until LLC data is there.
    pub llc_read: Picos,
    /// From a read's arrival until the memory controller has been asked, beyond which its latency
    /// counts.
    pub dram_read_extra: Picos,
}

impl IioConfig {
    /// For a machine that has no devices.
    #[must_use]
    pub fn without_devices() -> Self {
        Self {
            write_entries: 1,
            read_entries: 1,
            llc_write: Picos::ZERO,
            dram_write: Picos::ZERO,
            dram_visible: Picos::ZERO,
            llc_read: Picos::ZERO,
            dram_read_extra: Picos::ZERO,
        }
    }
}

/// The block.
#[derive(Clone, Debug)]
pub struct Iio {
    /// Parameters.
    pub config: IioConfig,
    /// Entries of DMA writes.
    pub writes: Entries,
    /// Entries of DMA reads.
    pub reads: Entries,
}

impl Iio {
    /// With all entries free.
    #[must_use]
    pub fn new(config: IioConfig) -> Self {
        let writes = Entries::new(config.write_entries);
        let reads = Entries::new(config.read_entries);
        Self { config, writes, reads }
    }

    /// Entry-time used by writes and reads together since the beginning.
    #[must_use]
    pub fn total_occupied(&self) -> Picos {
        self.writes.total_occupied() + self.reads.total_occupied()
    }
}
