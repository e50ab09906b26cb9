//! The contents of a window: operations, uses of resources, packets, fill levels.
//!
//! Models: no hardware; these are records of what the model does.

use super::Event;
use units::{LineAddr, Picos, RootPortId};

/// Limits of a window, by packets, by a descriptor, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowRequest {
    /// Number of the first packet, among those that get a descriptor, and of packets. A window from packet 0
    /// begins at time zero.
    pub packets: Option<(u64, u64)>,
    /// Number of a descriptor of a copy engine: the window spans its life.
    pub descriptor: Option<u64>,
}

/// An operation, its end, and the packet whose line it concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedEvent {
    /// The operation.
    pub event: Event,
    /// Time at which the operation is complete. Operations of which nothing waits have their time here.
    pub done: Picos,
    /// Index of the packet in [`super::WatchWindow::packets`].
    pub packet: Option<u32>,
}

/// A resource that a request uses for a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpanPlace {
    /// The attachment of a root port, in the direction of memory.
    TowardsMemory(RootPortId),
    /// The attachment of a root port, in the direction of the device.
    TowardsDevice(RootPortId),
    /// IIO entries that DMA writes of a root port take.
    WriteEntries(RootPortId),
    /// IIO entries that DMA reads of a root port take.
    ReadEntries(RootPortId),
    /// The attachment of a root port, in the direction of memory, by requests for reads.
    ReadRequests(RootPortId),
    /// A read of a memory node.
    MemoryRead(usize),
    /// A write of a memory node.
    MemoryWrite(usize),
}

/// The use of a resource by a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceSpan {
    /// Resource that is used.
    pub place: SpanPlace,
    /// First line of the request.
    pub first: LineAddr,
    /// Bytes that are moved; on a link with the overhead of its TLPs.
    pub bytes: u64,
    /// Time from which the request uses or waits for the resource.
    pub start: Picos,
    /// Time until which it does.
    pub end: Picos,
}

/// A span with the packet whose line it concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedSpan {
    /// The use of the resource.
    pub span: ResourceSpan,
    /// Index of the packet in [`super::WatchWindow::packets`].
    pub packet: Option<u32>,
}

/// A packet of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketLife {
    /// Number of the packet among those of its port that get a descriptor.
    pub sequence: u64,
    /// First line of its data.
    pub first: LineAddr,
    /// Number of lines of its data.
    pub lines: u64,
    /// The card that received it, when it was on the wire, and when its last line was visible.
    pub received: Option<(RootPortId, Picos, Picos)>,
    /// The card that sent it, when the card began to read it, and when it left for the wire.
    pub sent: Option<(RootPortId, Picos, Picos)>,
}

/// Fill levels of a device's queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLevels {
    /// Buffers that software has posted and the device has not filled.
    pub buffers_posted: usize,
    /// Packets that the device has delivered and software has not read.
    pub packets_unseen: usize,
    /// Packets that software has handed to the device and the device has not read.
    pub packets_to_send: usize,
}

/// Fill levels at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelSample {
    /// Time of the sample.
    pub time: Picos,
    /// Bytes that each agent holds in the LLCs.
    pub occupancy_bytes: Vec<u64>,
    /// Levels of each device.
    pub devices: Vec<QueueLevels>,
}
