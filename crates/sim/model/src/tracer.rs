//! Traces of lines: the operations on the lines of a packet or descriptor, in order.
//!
//! The tracer is a type parameter of the fabric, so that runs without a trace carry no trace code.

mod descriptor;
mod line;
mod misses;
mod packet;
mod timeline;
mod watch;
mod window;

pub use descriptor::{DescriptorLines, DescriptorPhase, LineRole, WatchDescriptor};
pub use line::WatchLine;
pub use misses::WatchMisses;
pub use packet::WatchPacket;
pub use timeline::{
    LevelSample, PacketLife, QueueLevels, ResourceSpan, SpanPlace, TimedEvent, TimedSpan,
    WindowRequest,
};
pub use watch::Watch;
pub use window::WatchWindow;

use crate::attribution::AgentId;
use crate::miss_kinds::AccessCounts;
use units::{CoreId, LineAddr, Picos, RootPortId, SocketId};

/// The operation of an agent on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineOperation {
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
    /// L2 evicts a line into the LLC.
    L2Victim,
    /// A line from memory or another core is also allocated in the LLC.
    LlcFill,
    /// The root-complex buffer writes back a line that a device wrote.
    IoWriteBack,
    /// The LLC evicts the line.
    LlcEviction,
    /// The cores' copies are invalidated because the snoop filter has no free entry for the line.
    DirectoryEviction,
}

/// Where the line was found, or where it went.
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
    /// Missed every cache: allocated in this LLC way.
    LlcAllocated(u32),
    /// A device's write of a line that the LLC lacks and a core of the socket holds: a hit, moved to this way
    /// of the LLC.
    MovedToLlc(u32),
    /// Missed every cache: served by or written to DRAM of the same socket.
    Dram,
    /// Missed every cache: served by or written to DRAM of another socket.
    RemoteDram,
    /// Missed every cache: served by or written to CXL memory.
    Cxl,
    /// In a cache of another socket.
    OtherSocket(SocketId),
    /// In the root complex's own buffer.
    RootComplexBuffer,
    /// Hit as Shared in the core's own cache, which may now write it.
    Upgraded,
    /// Dropped: memory has the same content.
    Nowhere,
}

impl Found {
    /// Whether the access missed every cache.
    #[inline]
    #[must_use]
    pub fn is_memory(self) -> bool {
        matches!(self, Self::Dram | Self::RemoteDram | Self::Cxl)
    }
}

/// A victim of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushedOut {
    /// Line that was pushed out.
    pub line: LineAddr,
    /// The agent that wrote its content.
    pub owner: AgentId,
    /// Whether the line was written back to DRAM.
    pub dirty: bool,
    /// Whether the line was used since its allocation.
    pub consumed: bool,
}

/// One operation on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time at which the operation starts.
    pub time: Picos,
    /// The agent that operates on the line.
    pub agent: AgentId,
    /// Line that the operation concerns.
    pub line: LineAddr,
    /// Operation that the event records.
    pub operation: LineOperation,
    /// The place where the line was found, or went.
    pub found: Found,
    /// The line that the operation evicted.
    pub pushed_out: Option<PushedOut>,
}

/// Receives events. `WATCHING` is false for the tracer that compiles to nothing.
pub trait Tracer {
    /// Whether events are recorded.
    const WATCHING: bool;
    /// Records an operation on a line, in the order of simulation.
    fn record(&mut self, event: Event);
    /// A packet has a descriptor: it occupies the lines `first .. first + lines` from now on.
    fn packet_arrives(&mut self, first: LineAddr, lines: u64);
    /// The packet that arrived last is chained: it occupies these lines too.
    #[inline]
    fn packet_continues(&mut self, _first: LineAddr, _lines: u64) {}
    /// The packet with data at `first` has left the host's memory.
    fn packet_leaves(&mut self, first: LineAddr);
    /// Software begins to fill in a descriptor of a copy engine. `key` is a line that only this descriptor
    /// uses until it is reaped: its completion record, or its entry in a ring.
    #[inline]
    fn descriptor_begins(&mut self, _key: LineAddr, _time: Picos, _lines: &[DescriptorLines]) {}
    /// A descriptor has passed a phase; of several times the last one counts.
    #[inline]
    fn descriptor_phase(&mut self, _key: LineAddr, _phase: DescriptorPhase, _time: Picos) {}
    /// Time zero: what was recorded before filled the caches.
    #[inline]
    fn clock_starts(&mut self) {}
    /// The operation on `line` that was recorded last is done at `done`.
    #[inline]
    fn operation_ends(&mut self, _agent: AgentId, _line: LineAddr, _done: Picos) {}
    /// A resource was in use for a span of time.
    #[inline]
    fn span(&mut self, _span: ResourceSpan) {}
    /// The card at `port` took a packet with data at `first` off the wire at `from`; its last line is
    /// visible at `until`.
    #[inline]
    fn packet_received(
        &mut self,
        _port: RootPortId,
        _first: LineAddr,
        _from: Picos,
        _until: Picos,
    ) {
    }
    /// The card at `port` began to read a packet with data at `first` at `from`, and has it at `until`.
    #[inline]
    fn packet_sent(&mut self, _port: RootPortId, _first: LineAddr, _from: Picos, _until: Picos) {}
    /// Whether it wants samples of fill levels, now or later.
    #[inline]
    fn wants_levels(&self) -> bool {
        false
    }
    /// Whether it wants a sample at a time.
    #[inline]
    fn levels_are_due(&self, _now: Picos) -> bool {
        false
    }
    /// Receives fill levels.
    #[inline]
    fn sample_levels(&mut self, _sample: LevelSample) {}
    /// Kinds of LLC misses of each agent so far; empty if it does not count them.
    fn miss_counts(&self) -> &[AccessCounts] {
        &[]
    }
    /// Kinds of misses of each device's writes in the ways of devices so far; empty if it does not count
    /// them.
    fn device_write_counts(&self) -> &[AccessCounts] {
        &[]
    }
}

/// The tracer that records nothing and compiles to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTrace;

impl Tracer for NoTrace {
    const WATCHING: bool = false;
    #[inline]
    fn record(&mut self, _event: Event) {}
    #[inline]
    fn packet_arrives(&mut self, _first: LineAddr, _lines: u64) {}
    #[inline]
    fn packet_leaves(&mut self, _first: LineAddr) {}
}
