//! Line-by-line stories: what happened to chosen lines, in order.
//!
//! Models: nothing; it watches. The tracer is a type parameter of the fabric, so that runs without
//! a trace carry no trace code.

use crate::attribution::AgentId;
use units::{LineAddr, Picos};

/// What an agent did to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Full-line DMA write (ItoM).
    DmaWriteFull,
    /// Partial-line DMA write: read for ownership and merge.
    DmaWritePartial,
    /// DMA read (PCIRdCur).
    DmaRead,
    /// Demand load.
    Load,
    /// Demand store.
    Store,
    /// Prefetch by software or by the L2 prefetcher.
    Prefetch,
    /// A victim of L2 moves into the LLC.
    L2Victim,
    /// The line leaves the LLC.
    LlcEviction,
}

/// Where the line was found, or what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// In the core's own L1D.
    L1,
    /// In the core's own L2.
    L2,
    /// In the LLC: the way after the operation.
    LlcHit(u32),
    /// In another core's private caches.
    OtherCore(u8),
    /// Nowhere: allocated in this LLC way.
    LlcAllocated(u32),
    /// Nowhere: served by or written to DRAM.
    Dram,
}

/// A line that had to leave because of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushedOut {
    /// Which line.
    pub line: LineAddr,
    /// Whose content it was.
    pub owner: AgentId,
    /// Whether it went to DRAM.
    pub dirty: bool,
    /// Whether it had been used since it was put there.
    pub consumed: bool,
}

/// One operation on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it began.
    pub time: Picos,
    /// Who did it.
    pub agent: AgentId,
    /// To which line.
    pub line: LineAddr,
    /// What.
    pub operation: Operation,
    /// Where the line was.
    pub found: Found,
    /// What left for it.
    pub pushed_out: Option<PushedOut>,
}

/// Receives events. `WATCHING` is false for the tracer that compiles to nothing.
pub trait Tracer {
    /// Whether events are wanted at all.
    const WATCHING: bool;
    /// Takes an event.
    fn record(&mut self, event: Event);
    /// From now on, the lines `first .. first + lines` are of interest.
    fn watch(&mut self, first: LineAddr, lines: u64);
}

/// No trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTrace;

impl Tracer for NoTrace {
    const WATCHING: bool = false;
    #[inline]
    fn record(&mut self, _event: Event) {}
    #[inline]
    fn watch(&mut self, _first: LineAddr, _lines: u64) {}
}

/// Keeps the events of the watched lines.
#[derive(Clone, Debug, Default)]
pub struct WatchLines {
    watched: Vec<std::ops::Range<u64>>,
    /// What happened, in the order in which it was simulated.
    pub events: Vec<Event>,
}

impl WatchLines {
    /// The first line that was watched, if any.
    #[must_use]
    pub fn first_watched(&self) -> Option<LineAddr> {
        self.watched.first().map(|range| LineAddr(range.start))
    }
}

impl Tracer for WatchLines {
    const WATCHING: bool = true;

    fn record(&mut self, event: Event) {
        if self.watched.iter().any(|range| range.contains(&event.line.0)) {
            self.events.push(event);
        }
    }

    fn watch(&mut self, first: LineAddr, lines: u64) {
        self.watched.push(first.0..first.0 + lines);
    }
}
