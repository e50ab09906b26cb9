//! Line-by-line stories: what happened to the lines of a packet, in order.
//!
//! Models: nothing; it watches. The tracer is a type parameter of the fabric, so that runs without
//! a trace carry no trace code.

mod line;
mod misses;
mod packet;
mod watch;

pub use line::WatchLine;
pub use misses::WatchMisses;
pub use packet::WatchPacket;
pub use watch::Watch;

use crate::attribution::AgentId;
use units::{CoreId, LineAddr, Picos, SocketId};

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
    /// Instruction fetch.
    Fetch,
    /// A victim of L2 moves into the LLC.
    L2Victim,
    /// A line from memory, or from another core, is placed in the LLC too.
    LlcFill,
    /// A line that a device has written leaves the root-complex buffer.
    IoWriteBack,
    /// The line leaves the LLC.
    LlcEviction,
    /// The line leaves the cores because the snoop filter has no room for it.
    DirectoryEviction,
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
    OtherCore(CoreId),
    /// Nowhere: allocated in this LLC way.
    LlcAllocated(u32),
    /// Nowhere: served by or written to DRAM of the same socket.
    Dram,
    /// Nowhere: served by or written to DRAM of another socket.
    RemoteDram,
    /// Nowhere: served by or written to CXL memory.
    Cxl,
    /// In a cache of another socket.
    OtherSocket(SocketId),
    /// In the root complex's own buffer.
    RootComplexBuffer,
    /// In the core's own cache, but shared: it may write it now.
    Upgraded,
    /// It is dropped: memory has the same content.
    Nowhere,
}

impl Found {
    /// Whether no cache had it.
    #[inline]
    #[must_use]
    pub fn is_memory(self) -> bool {
        matches!(self, Self::Dram | Self::RemoteDram | Self::Cxl)
    }
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
    /// Packet `sequence` lies in the lines `first .. first + lines` from now on.
    fn packet_arrives(&mut self, sequence: u64, first: LineAddr, lines: u64);
    /// Packet `sequence` has left the host's memory.
    fn packet_leaves(&mut self, sequence: u64);
}

/// No trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTrace;

impl Tracer for NoTrace {
    const WATCHING: bool = false;
    #[inline]
    fn record(&mut self, _event: Event) {}
    #[inline]
    fn packet_arrives(&mut self, _sequence: u64, _first: LineAddr, _lines: u64) {}
    #[inline]
    fn packet_leaves(&mut self, _sequence: u64) {}
}
