//! Entries of the integrated I/O block: the limit on lines of devices in flight.
//!
//! Models: the IIO's write and read buffers; a line holds an entry until memory or LLC has taken it.
//! Source: "Understanding the host network" (SIGCOMM'24): 92 write entries, more than 164 read
//! entries on Cascade Lake.
//! Simplifies: one block for all root ports of a socket.

use crate::occupancy::Entries;
use units::Picos;

/// Entries and latencies of an integrated I/O block.
#[derive(Clone, Debug)]
pub struct IioConfig {
    /// Most lines of DMA writes in flight.
    pub write_entries: u32,
    /// Most lines of DMA reads in flight.
    pub read_entries: u32,
    /// Time from a write's arrival until the LLC has taken it.
    pub llc_write: Picos,
    /// Time from a write's arrival until the memory controller has taken it, idle.
    pub dram_write: Picos,
    /// Time from the arrival of a write to memory until a core's read finds it: the home agent
    /// exposes it to reads before the controller has confirmed it.
    pub dram_visible: Picos,
    /// Time from a read's arrival until LLC data arrives.
    pub llc_read: Picos,
    /// Time from a read's arrival until the request reaches the memory controller, whose latency is
    /// added.
    pub dram_read_extra: Picos,
}

impl IioConfig {
    /// The configuration of a machine without devices.
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

/// The integrated I/O block of a socket, or the entries of one device on the mesh.
#[derive(Clone, Debug)]
pub struct Iio {
    /// Limits and latencies of the block.
    pub config: IioConfig,
    /// Entries that hold lines of DMA writes in flight.
    pub writes: Entries,
    /// Entries that hold lines of DMA reads in flight.
    pub reads: Entries,
}

impl Iio {
    /// A block with all entries free.
    #[must_use]
    pub fn new(config: IioConfig) -> Self {
        let writes = Entries::new(config.write_entries);
        let reads = Entries::new(config.read_entries);
        Self { config, writes, reads }
    }

    /// Entry-time used by writes and reads together since time zero.
    #[must_use]
    pub fn total_occupied(&self) -> Picos {
        self.writes.total_occupied() + self.reads.total_occupied()
    }
}
