//! The ring of a pool, which all cores share: free objects outside the caches.
//!
//! Models: a FIFO of pointers in memory; if its calls cost, each takes the line with the head and tail of
//! its own end for itself, reads that of the other end, and computes.
//! Source: DPDK rte_ring (rte_ring_core.h, rte_ring_c11_pvt.h): producer and consumer have a line each
//! with head and tail; a call moves its head by compare-and-swap and reads the other end's tail.
//! Simplifies: cores do not wait for one another's copies, and no compare-and-swap fails. The calls of one
//! refill follow one another with no other core's in between, so that cores which call singly take the lines
//! from one another once for each refill only: what sharing costs them is a lower bound.

use crate::host_memory::{HostMemory, Region};
use model::core::Core;
use model::fabric::Fabric;
use model::tracer::Tracer;
use std::collections::VecDeque;
use units::{Cycles, LINE_BYTES, LineAddr};

/// Pointers to objects per line of a cache or ring.
const POINTERS_PER_LINE: u64 = LINE_BYTES / 8;
/// Lines between the heads of the two ends: DPDK keeps a line free against adjacent-line prefetches.
const BETWEEN_ENDS_LINES: u64 = 2;

/// The free objects of a pool outside the caches of cores: taken at the front, returned at the end.
#[derive(Debug)]
pub(super) struct PoolRing {
    fifo: VecDeque<u32>,
    pointers: Region,
    /// Lines of pointers, a power of two.
    pointer_lines: u64,
    /// Pointers taken and returned since time zero: the positions in the ring.
    taken: u64,
    given: u64,
    calls: Option<CallCosts>,
}

/// Cost of a call beside the lines of its pointers.
#[derive(Clone, Copy, Debug)]
struct CallCosts {
    work: Cycles,
    taking_end: LineAddr,
    giving_end: LineAddr,
}

impl PoolRing {
    /// A ring with all of `objects` objects.
    pub(super) fn new(objects: u32, memory: &mut HostMemory) -> Self {
        let entries = u64::from(objects.next_power_of_two());
        Self {
            fifo: (0..objects).collect(),
            pointers: memory.region(entries * 8),
            pointer_lines: entries / POINTERS_PER_LINE,
            taken: 0,
            given: 0,
            calls: None,
        }
    }

    /// Lets each call cost `work` and the lines of heads and tails.
    pub(super) fn count_calls(&mut self, work: Cycles, memory: &mut HostMemory) {
        let ends = memory.region((BETWEEN_ENDS_LINES + 1) * LINE_BYTES);
        let (taking_end, giving_end) = (ends.line(0), ends.line(BETWEEN_ENDS_LINES));
        self.calls = Some(CallCosts { work, taking_end, giving_end });
    }

    pub(super) fn len(&self) -> usize {
        self.fifo.len()
    }

    /// Moves `count` objects to `out`; moves none if it has fewer.
    pub(super) fn take<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        count: usize,
        out: &mut Vec<u32>,
    ) -> bool {
        if count > self.fifo.len() {
            return false;
        }
        if let Some(costs) = self.calls {
            costs.pay(core, fabric, costs.taking_end, costs.giving_end);
        }
        self.touch(core, fabric, self.taken, count as u64);
        self.taken += count as u64;
        out.extend(self.fifo.drain(..count));
        true
    }

    /// Takes objects back.
    pub(super) fn give<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        objects: impl ExactSizeIterator<Item = u32>,
    ) {
        if let Some(costs) = self.calls {
            costs.pay(core, fabric, costs.giving_end, costs.taking_end);
        }
        let count = objects.len() as u64;
        self.touch(core, fabric, self.given, count);
        self.given += count;
        self.fifo.extend(objects);
    }

    fn touch<T: Tracer>(&self, core: &mut Core, fabric: &mut Fabric<T>, from: u64, count: u64) {
        for line in lines_of_pointers(from, count) {
            core.store(fabric, self.pointers.line(line % self.pointer_lines));
        }
    }
}

impl CallCosts {
    fn pay<T: Tracer>(
        self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        own_end: LineAddr,
        other_end: LineAddr,
    ) {
        // An atomic operation does not retire through the store buffer: the core waits for the line.
        let owned = core.store(fabric, own_end);
        core.wait_until(owned);
        core.load(fabric, other_end);
        core.compute(self.work);
    }
}

/// Lines that hold the pointers `from .. from + count` of an array.
pub(super) fn lines_of_pointers(from: u64, count: u64) -> std::ops::Range<u64> {
    from / POINTERS_PER_LINE..(from + count).div_ceil(POINTERS_PER_LINE)
}
