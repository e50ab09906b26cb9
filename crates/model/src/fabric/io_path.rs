//! Device -> link -> root complex -> LLC or DRAM.
//!
//! Models: full-line DMA writes (ItoM), partial ones (read for ownership and merge) and DMA reads
//! (PCIRdCur), with DDIO on or off.
//! Source: ATC'20 (write update and write allocate, reads without allocation).
//! Simplifies: a burst's lines reach the LLC in address order.

use super::Fabric;
use crate::attribution::AgentId;
use crate::llc::LineInfo;
use crate::root_complex::ddio::Ddio;
use crate::tracer::{Found, Operation, Tracer};
use units::{LINE_BYTES, LineAddr, Picos, SetIndex, WayMask};

/// When a DMA write has got how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaDone {
    /// The last line has an IIO entry: the device may send what follows.
    pub accepted: Picos,
    /// Every line can be seen by cores.
    pub visible: Picos,
}

/// Lines of a burst that are handled together.
const BURST_LINES: usize = 64;

/// For how long the lines of a burst hold IIO entries.
#[derive(Clone, Copy, Default)]
struct Held {
    /// All lines together.
    entry_time: Picos,
    /// The longest of them.
    longest: Picos,
}

/// A core or the LLC had the line, or nobody.
enum WriteOutcome {
    /// It was in the LLC.
    Hit,
    /// It was not; a core's modified copy may have had the rest of a partial line.
    Allocated { rest_from_core: bool },
    /// DDIO is off.
    ToDram,
}

impl<T: Tracer> Fabric<T> {
    /// Device `link` writes `bytes` from the start of `first` on.
    pub fn dma_write(&mut self, link: usize, first: LineAddr, bytes: u64, now: Picos) -> DmaDone {
        let agent = self.device_agent(link);
        let on_link = self.links[link].config().write_bytes(bytes);
        let arrival = self.links[link].send_up(now, on_link);
        let full_lines = bytes / LINE_BYTES;
        let held = self.each_line(first, bytes, |fabric, i, line, set| {
            fabric.write_line(agent, line, set, i < full_lines, arrival)
        });
        let waited = self.iio.writes.admit(arrival, held.entry_time);
        // Lines that wait for entries hold back the link, so the device waits as long.
        DmaDone { accepted: now + waited, visible: arrival + waited + held.longest }
    }

    /// Device `link` reads `bytes` from the start of `first` on; returns when the last completion
    /// has arrived.
    pub fn dma_read(&mut self, link: usize, first: LineAddr, bytes: u64, now: Picos) -> Picos {
        let agent = self.device_agent(link);
        let on_link = self.links[link].config().read_request_bytes(bytes);
        let arrival = self.links[link].request_up(now, on_link);
        let held = self.each_line(first, bytes, |fabric, _, line, set| {
            fabric.read_line(agent, line, set, arrival)
        });
        let data = arrival + self.iio.reads.admit(arrival, held.entry_time) + held.longest;
        let completions = self.links[link].config().completion_bytes(bytes);
        self.links[link].send_down(data, completions)
    }

    /// Calls `serve` for each line of a burst with the line's number, address and set; adds up for
    /// how long the lines hold their IIO entries.
    ///
    /// The sets of up to [`BURST_LINES`] lines are computed and prefetched before the first look-up:
    /// the host's cache misses then overlap instead of following one another.
    #[inline]
    fn each_line(
        &mut self,
        first: LineAddr,
        bytes: u64,
        mut serve: impl FnMut(&mut Self, u64, LineAddr, SetIndex) -> Picos,
    ) -> Held {
        let lines = bytes.div_ceil(LINE_BYTES);
        let mut held = Held::default();
        let mut sets = [SetIndex(0); BURST_LINES];
        let mut served = 0;
        while served < lines {
            let burst = &mut sets[..((lines - served) as usize).min(BURST_LINES)];
            for (set, line) in burst.iter_mut().zip(served..) {
                *set = self.llc.set_of(first.step(line));
                self.llc.prefetch(*set);
                self.directory.prefetch_signature(*set);
            }
            for (&mut set, i) in burst.iter_mut().zip(served..) {
                let hold = serve(self, i, first.step(i), set);
                held.entry_time += hold;
                held.longest = held.longest.max(hold);
            }
            served += burst.len() as u64;
        }
        held
    }

    /// Writes a line that arrives at `now`; returns how long it holds its IIO entry.
    #[inline]
    fn write_line(
        &mut self,
        agent: AgentId,
        line: LineAddr,
        set: SetIndex,
        full: bool,
        now: Picos,
    ) -> Picos {
        self.counters.line_ops += 1;
        let outcome = match self.ddio {
            Ddio::Ways(mask) => self.write_into_llc(agent, set, line, full, mask, now),
            Ddio::Off => self.write_to_dram(agent, set, line, full, now),
        };
        let hit = matches!(outcome, WriteOutcome::Hit);
        *match (full, hit) {
            (true, true) => &mut self.counters.pcie_write_hits,
            (true, false) => &mut self.counters.pcie_write_misses,
            (false, true) => &mut self.counters.pcie_partial_write_hits,
            (false, false) => &mut self.counters.pcie_partial_write_misses,
        } += 1;
        // The rest of a partial line is read first if no cache had it, then merged.
        let has_rest =
            full || hit || matches!(outcome, WriteOutcome::Allocated { rest_from_core: true });
        let merged = if has_rest { now } else { self.dram.read(now) };
        let end = match outcome {
            WriteOutcome::Hit | WriteOutcome::Allocated { .. } => {
                merged + self.iio.config.llc_write
            }
            WriteOutcome::ToDram => {
                self.dram.write(merged).max(merged + self.iio.config.dram_write)
            }
        };
        end - now
    }

    fn write_into_llc(
        &mut self,
        agent: AgentId,
        set: SetIndex,
        line: LineAddr,
        full: bool,
        mask: WayMask,
        now: Picos,
    ) -> WriteOutcome {
        let info = LineInfo { owner: agent, dirty: true, consumed: false };
        let operation = write_operation(full);
        if let Some(way) = self.llc.find(set, line) {
            if self.llc.is_inclusive_way(way) {
                let holders = self.llc.sharers(set, way);
                self.invalidate_cores(line, holders);
                self.llc.set_sharers(set, way, crate::llc::Sharers::NONE);
            }
            self.llc.update(set, way, info);
            self.trace(now, agent, operation, line, Found::LlcHit(way), None);
            return WriteOutcome::Hit;
        }
        let rest_from_core = self.drop_core_copies(set, line);
        let (way, evicted) = self.llc.allocate(set, line, info, mask);
        self.counters.llc_io_allocations += 1;
        self.trace(now, agent, operation, line, Found::LlcAllocated(way), evicted.as_ref());
        if let Some(evicted) = evicted {
            self.evict(agent, set, evicted, now);
        }
        WriteOutcome::Allocated { rest_from_core }
    }

    fn write_to_dram(
        &mut self,
        agent: AgentId,
        set: SetIndex,
        line: LineAddr,
        full: bool,
        now: Picos,
    ) -> WriteOutcome {
        let way = self.llc.find(set, line);
        let newer_than_dram = match way.and_then(|way| self.llc.take(set, way)) {
            Some(stale) => self.invalidate_cores(line, stale.sharers) || stale.info.dirty,
            None => self.drop_core_copies(set, line),
        };
        // A full line overwrites the old content; a partial one needs the rest of it in DRAM.
        if !full && newer_than_dram {
            self.dram.write(now);
        }
        self.trace(now, agent, write_operation(full), line, Found::Dram, None);
        WriteOutcome::ToDram
    }

    /// A line that only cores hold leaves them, because a device writes it; says whether one of them
    /// had it modified.
    fn drop_core_copies(&mut self, set: SetIndex, line: LineAddr) -> bool {
        let holders = self.directory.sharers(set, line);
        if holders.is_empty() {
            return false;
        }
        self.directory.record(set, line, crate::llc::Sharers::NONE);
        self.invalidate_cores(line, holders)
    }

    /// Reads a line for a request that arrives at `now`; returns how long it holds its IIO entry.
    #[inline]
    fn read_line(&mut self, agent: AgentId, line: LineAddr, set: SetIndex, now: Picos) -> Picos {
        self.counters.line_ops += 1;
        let from_llc = self.iio.config.llc_read;
        if let Some(way) = self.llc.find(set, line) {
            let info = LineInfo { consumed: true, ..self.llc.info(set, way) };
            self.llc.update(set, way, info);
            self.counters.pcie_read_hits += 1;
            let holders = self.llc.sharers(set, way);
            if let Some(core) = self.modified_by(line, holders) {
                self.trace(now, agent, Operation::DmaRead, line, Found::OtherCore(core), None);
                return from_llc + self.core_path.snoop_extra();
            }
            self.trace(now, agent, Operation::DmaRead, line, Found::LlcHit(way), None);
            return from_llc;
        }
        if let Some(core) = self.directory.sharers(set, line).cores().next() {
            self.counters.pcie_read_hits += 1;
            self.trace(now, agent, Operation::DmaRead, line, Found::OtherCore(core), None);
            return from_llc + self.core_path.snoop_extra();
        }
        self.counters.pcie_read_misses += 1;
        self.trace(now, agent, Operation::DmaRead, line, Found::Dram, None);
        self.dram.read(now) + self.iio.config.dram_read_extra - now
    }
}

fn write_operation(full: bool) -> Operation {
    if full { Operation::DmaWriteFull } else { Operation::DmaWritePartial }
}
