//! What the fabric counts: plain integers that only grow; rates are differences of two readings.
//!
//! Models: the CHA's TOR_INSERTS events (ItoM, RFO, PCIRdCur; hit and miss) and core events.
//! Source: Intel uncore performance monitoring guides (TOR_INSERTS); partial writes are an event of their own.
//! Simplifies: nothing.

use crate::reading;

/// Lines counted as the CHA's TOR_INSERTS events count them, and by where loads were served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// One line of one agent's request; look-ups further down are not counted again.
    pub line_ops: u64,
    /// Full-line DMA writes (ItoM) that found their line in the LLC.
    pub pcie_write_hits: u64,
    /// Full-line DMA writes (ItoM) that did not.
    pub pcie_write_misses: u64,
    /// Partial-line DMA writes (RFO) that found their line in the LLC.
    pub pcie_partial_write_hits: u64,
    /// Partial-line DMA writes (RFO) that did not.
    pub pcie_partial_write_misses: u64,
    /// DMA reads (PCIRdCur) served by the LLC or a core's cache.
    pub pcie_read_hits: u64,
    /// DMA reads (PCIRdCur) served by DRAM.
    pub pcie_read_misses: u64,
    /// Lines allocated in the LLC by devices.
    pub llc_io_allocations: u64,
    /// Directory entries pushed out, which invalidate core copies.
    pub directory_evictions: u64,
    /// Lines newer than memory that left the LLC for it.
    pub llc_writebacks: u64,
    /// Reads and writes of lines whose memory belongs to another socket.
    pub remote_lines: u64,
}

impl Counters {
    /// Counts a line that a device wrote, as a whole or in part.
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
    /// Writes that found their line in the LLC.
    pub write_hits: u64,
    /// Writes that did not.
    pub write_misses: u64,
    /// Reads served by a cache.
    pub read_hits: u64,
    /// Reads served by memory.
    pub read_misses: u64,
}

reading!(PortCounters { write_hits, write_misses, read_hits, read_misses });

/// What one core's private caches did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreCounters {
    /// Demand loads and stores.
    pub accesses: u64,
    /// Demand accesses that L1D did not hold.
    pub l1_misses: u64,
    /// Modified lines that left L1D.
    pub l1_writebacks: u64,
    /// Instruction fetches.
    pub fetches: u64,
    /// Instruction fetches that L1I did not hold.
    pub fetch_misses: u64,
    /// Demand accesses and fetches that L2 did not hold.
    pub l2_misses: u64,
    /// Those of them that were loads.
    pub l2_load_misses: u64,
    /// Modified lines from L1D that L2 did not hold: they are allocated there.
    pub l2_victim_misses: u64,
    /// Those of them that had to come from memory.
    pub l2_victims_from_memory: u64,
    /// Modified lines that left L2.
    pub l2_writebacks: u64,
    /// Demand accesses and fetches that no cache held.
    pub llc_misses: u64,
    /// Modified lines from L2 that the LLC did not hold, where levels are independent.
    pub llc_victim_misses: u64,
    /// Demand loads served neither by L1D, L2 nor the LLC.
    pub llc_load_misses: u64,
    /// Prefetches (software or L2) served neither by L2 nor the LLC.
    pub llc_prefetch_misses: u64,
    /// Those of them that the prefetchers of L2 made.
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

/// Looks of a process that watches cache sets, by what it said and by what devices had done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeCounts {
    /// A device had placed a line, and it was noticed.
    pub true_positives: u64,
    /// It was not noticed.
    pub false_negatives: u64,
    /// No device had, but something was noticed.
    pub false_positives: u64,
    /// Nothing happened, nothing was noticed.
    pub true_negatives: u64,
}

impl ProbeCounts {
    /// Counts a look.
    pub fn count(&mut self, has_io: bool, detected: bool) {
        *match (has_io, detected) {
            (true, true) => &mut self.true_positives,
            (true, false) => &mut self.false_negatives,
            (false, true) => &mut self.false_positives,
            (false, false) => &mut self.true_negatives,
        } += 1;
    }

    /// Looks at sets in which a device had placed a line.
    #[must_use]
    pub fn with_io(&self) -> u64 {
        self.true_positives + self.false_negatives
    }

    /// Looks at sets in which none had.
    #[must_use]
    pub fn without_io(&self) -> u64 {
        self.false_positives + self.true_negatives
    }

    /// All looks.
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
