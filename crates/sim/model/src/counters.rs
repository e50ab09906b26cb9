//! Counters of the fabric: plain integers that only grow; rates are differences of two readings.
//!
//! Models: the CHA's TOR_INSERTS events (ItoM, RFO, PCIRdCur; hit and miss) and core events.
//! Source: Intel uncore performance monitoring guides (TOR_INSERTS); partial writes are a separate
//! event.

use crate::reading;

/// Lines by the CHA's TOR_INSERTS events, and loads by the level that served them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// One line of one agent's request; look-ups at further levels are not counted again.
    pub line_ops: u64,
    /// Full-line DMA writes (ItoM) that hit the LLC.
    pub pcie_write_hits: u64,
    /// Full-line DMA writes (ItoM) that missed the LLC.
    pub pcie_write_misses: u64,
    /// Partial-line DMA writes (RFO) that hit the LLC.
    pub pcie_partial_write_hits: u64,
    /// Partial-line DMA writes (RFO) that missed the LLC.
    pub pcie_partial_write_misses: u64,
    /// DMA reads (PCIRdCur) served by the LLC or a core's cache.
    pub pcie_read_hits: u64,
    /// DMA reads (PCIRdCur) served by DRAM.
    pub pcie_read_misses: u64,
    /// Number of lines that devices allocated in the LLC.
    pub llc_io_allocations: u64,
    /// Evicted directory entries; each eviction invalidates the cores' copies.
    pub directory_evictions: u64,
    /// Number of lines newer than memory that the LLC wrote back.
    pub llc_writebacks: u64,
    /// Number of reads and writes of lines whose home is another socket.
    pub remote_lines: u64,
}

impl Counters {
    /// Counts a line that a device wrote, full or partial.
    #[inline(always)]
    pub fn count_write(&mut self, full: bool, hit: bool) {
        *match (full, hit) {
            (true, true) => &mut self.pcie_write_hits,
            (true, false) => &mut self.pcie_write_misses,
            (false, true) => &mut self.pcie_partial_write_hits,
            (false, false) => &mut self.pcie_partial_write_misses,
        } += 1;
    }

    /// Counts a line that a device read.
    #[inline(always)]
    pub fn count_read(&mut self, hit: bool) {
        if hit {
            self.pcie_read_hits += 1;
        } else {
            self.pcie_read_misses += 1;
        }
    }
}

reading!(Counters {
    line_ops,
    pcie_write_hits,
    pcie_write_misses,
    pcie_partial_write_hits,
    pcie_partial_write_misses,
    pcie_read_hits,
    pcie_read_misses,
    llc_io_allocations,
    directory_evictions,
    llc_writebacks,
    remote_lines
});

/// Full-line writes and reads of the device on one root port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Number of writes that hit the LLC.
    pub write_hits: u64,
    /// Number of writes that missed the LLC.
    pub write_misses: u64,
    /// Number of reads served by a cache.
    pub read_hits: u64,
    /// Number of reads served by memory.
    pub read_misses: u64,
}

reading!(PortCounters { write_hits, write_misses, read_hits, read_misses });

/// Counters of one core's private caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreCounters {
    /// Number of demand loads and stores.
    pub accesses: u64,
    /// Number of demand accesses that missed L1D.
    pub l1_misses: u64,
    /// Number of modified lines that L1D wrote back.
    pub l1_writebacks: u64,
    /// Number of instruction fetches.
    pub fetches: u64,
    /// Number of instruction fetches that missed L1I.
    pub fetch_misses: u64,
    /// Number of demand accesses and fetches that missed L2.
    pub l2_misses: u64,
    /// Demand loads that missed L2.
    pub l2_load_misses: u64,
    /// Number of write-backs from L1D that missed L2 and allocated there.
    pub l2_victim_misses: u64,
    /// Number of write-backs among these whose line was fetched from memory.
    pub l2_victims_from_memory: u64,
    /// Number of modified lines that L2 wrote back.
    pub l2_writebacks: u64,
    /// Number of demand accesses and fetches that missed every cache.
    pub llc_misses: u64,
    /// Number of write-backs from L2 that missed the LLC, where levels are independent.
    pub llc_victim_misses: u64,
    /// Demand loads that missed L1D, L2 and the LLC.
    pub llc_load_misses: u64,
    /// Prefetches (software or L2) that missed L2 and the LLC.
    pub llc_prefetch_misses: u64,
    /// Prefetches among these that the L2 prefetchers issued.
    pub l2_prefetcher_misses: u64,
}

reading!(CoreCounters {
    accesses,
    l1_misses,
    l1_writebacks,
    fetches,
    fetch_misses,
    l2_misses,
    l2_load_misses,
    l2_victim_misses,
    l2_victims_from_memory,
    l2_writebacks,
    llc_misses,
    llc_victim_misses,
    llc_load_misses,
    llc_prefetch_misses,
    l2_prefetcher_misses
});

/// Probes of cache sets by a watching process, by its verdict and by what devices did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeCounts {
    /// A device placed a line, and the process detected it.
    pub true_positives: u64,
    /// A device placed a line, and the process did not detect it.
    pub false_negatives: u64,
    /// No device placed a line, but the process detected one.
    pub false_positives: u64,
    /// No device placed a line, and the process detected none.
    pub true_negatives: u64,
}

impl ProbeCounts {
    /// Counts a probe: whether a device placed a line, and whether the process detected one.
    pub fn count(&mut self, has_io: bool, detected: bool) {
        *match (has_io, detected) {
            (true, true) => &mut self.true_positives,
            (true, false) => &mut self.false_negatives,
            (false, true) => &mut self.false_positives,
            (false, false) => &mut self.true_negatives,
        } += 1;
    }

    /// Probes of sets in which a device placed a line.
    #[must_use]
    pub fn with_io(&self) -> u64 {
        self.true_positives + self.false_negatives
    }

    /// Probes of sets in which no device placed a line.
    #[must_use]
    pub fn without_io(&self) -> u64 {
        self.false_positives + self.true_negatives
    }

    /// Number of all probes, whatever their outcome.
    #[must_use]
    pub fn probes(&self) -> u64 {
        self.with_io() + self.without_io()
    }
}

reading!(ProbeCounts { true_positives, false_negatives, false_positives, true_negatives });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Reading;

    #[test]
    fn looks_are_counted_by_what_was_said_and_by_what_was_so() {
        let mut counts = ProbeCounts::default();
        for (has_io, detected) in [(true, true), (true, true), (true, false), (false, true)] {
            counts.count(has_io, detected);
        }
        let earlier = counts;
        counts.count(false, false);
        assert_eq!((counts.with_io(), counts.without_io(), counts.probes()), (3, 2, 5));
        assert_eq!((counts.true_positives, counts.false_positives), (2, 1));
        let since = counts.since(&earlier);
        assert_eq!(since, ProbeCounts { true_negatives: 1, ..ProbeCounts::default() });
        assert_eq!(since.plus(&earlier), counts);
    }
}
