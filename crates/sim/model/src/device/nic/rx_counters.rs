//! Counters of the receive side of a port.
//!
//! Models: the counters by which a card reports the fate of packets.
//! Source: Linux and DPDK mlx5 drivers; DPDK mlx5 guide for the drop counters.
//! Simplifies: nothing is counted per queue.

use crate::reading;
use units::Picos;

/// Counters of the receive side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxCounters {
    /// Number of packets that arrived on the wire.
    pub offered_packets: u64,
    /// Bytes of the offered packets.
    pub offered_bytes: u64,
    /// Number of packets written into host memory.
    pub packets: u64,
    /// Number of buffers that they fill: a chained packet fills several.
    pub buffers: u64,
    /// Bytes of the packets written.
    pub bytes: u64,
    /// Dropped because their queue had no descriptor (rx_out_of_buffer).
    pub dropped_no_descriptor: u64,
    /// Dropped because the internal buffer was full (rx_discards_phy).
    pub dropped_buffer_full: u64,
    /// PAUSE frames sent, including those that end a pause.
    pub pause_frames: u64,
    /// Time for which PAUSE kept the wire silent, over pauses that have ended.
    pub paused: Picos,
    /// Time before packets whose queue had no more free descriptors than the driver refills at once, or
    /// that were dropped without one: the ring is full of packets that wait for the core.
    pub ring_full: Picos,
}

impl RxCounters {
    /// Number of packets that were dropped, for whatever reason.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped_no_descriptor + self.dropped_buffer_full
    }
}

reading!(RxCounters {
    offered_packets,
    offered_bytes,
    packets,
    buffers,
    bytes,
    dropped_no_descriptor,
    dropped_buffer_full,
    pause_frames,
    paused,
    ring_full
});
