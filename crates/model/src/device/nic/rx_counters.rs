//! What the receive side of a port counts.
//!
//! Models: the counters by which a card tells what became of packets.
//! Source: Linux and DPDK mlx5 drivers; DPDK mlx5 guide for the drop counters.
//! Simplifies: nothing is counted per queue.

use units::Picos;

/// What the receive side has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxCounters {
    /// Packets that arrived on the wire.
    pub offered_packets: u64,
    /// Bytes of them.
    pub offered_bytes: u64,
    /// Packets written into host memory.
    pub packets: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Dropped because their queue had no descriptor (rx_out_of_buffer).
    pub dropped_no_descriptor: u64,
    /// Dropped because the internal buffer was full (rx_discards_phy).
    pub dropped_buffer_full: u64,
    /// PAUSE frames sent, those that end a pause included.
    pub pause_frames: u64,
    /// Time for which the wire was silent because of them, of pauses that have ended.
    pub paused: Picos,
    /// Time during which a queue whose packet came next had no more free descriptors than the
    /// driver refills at once: the ring is full of packets that wait for the core.
    pub ring_full: Picos,
}

impl RxCounters {
    /// Takes an earlier reading off, so that what is left happened since.
    pub fn subtract(&mut self, earlier: &Self) {
        self.offered_packets -= earlier.offered_packets;
        self.offered_bytes -= earlier.offered_bytes;
        self.packets -= earlier.packets;
        self.bytes -= earlier.bytes;
        self.dropped_no_descriptor -= earlier.dropped_no_descriptor;
        self.dropped_buffer_full -= earlier.dropped_buffer_full;
        self.pause_frames -= earlier.pause_frames;
        self.paused = self.paused - earlier.paused;
        self.ring_full = self.ring_full - earlier.ring_full;
    }
}
