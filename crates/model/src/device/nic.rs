//! A network interface like the ConnectX-5: rings in host memory, a receive port, send queues.
//!
//! Models: descriptors, completions and doorbell records as real cache lines; descriptor prefetch;
//! completion compression; multi-packet send work requests; per-queue limits of outstanding reads.
//! Source: DPDK mlx5 guide and driver (completions of 64 B, 8 compressed into
//! one, send completion every 32 packets, enhanced multi-packet write of up to 32 packets).
//! Simplifies: flow control is off; a packet without a descriptor is dropped at once, as
//! rx_out_of_buffer counts it (DEVIATIONS.md, 8).

pub mod card;
pub mod egress;
pub mod rings;
pub mod rx;
pub mod tx;

use units::{GbitPerSec, Picos};

/// Parameters of a NIC.
#[derive(Clone, Debug)]
pub struct NicConfig {
    /// Rate of the wire in each direction.
    pub line_rate: GbitPerSec,
    /// Received bytes that wait for the link at most.
    pub rx_buffer_bytes: u64,
    /// From the end of a frame on the wire until its first DMA write.
    pub rx_pipeline: Picos,
    /// Receive descriptors that a queue holds ready on the chip.
    pub rx_descriptors_prefetched: u32,
    /// Receive descriptors read by one DMA read.
    pub rx_descriptors_per_fetch: u32,
    /// Packets that one completion line may report.
    pub packets_per_completion: u32,
    /// How long a completion waits for more packets to report.
    pub completion_gather: Picos,
    /// From the doorbell until the send queue sees it.
    pub doorbell: Picos,
    /// What the NIC itself adds to the latency of a DMA read: scheduling, tags, reassembly.
    pub read_pipeline: Picos,
    /// From a packet's data in the NIC to the wire.
    pub tx_pipeline: Picos,
    /// Entries of a send queue: a packet takes one, each of its read requests another.
    pub tx_queue_entries: u32,
    /// Packets per send completion.
    pub tx_packets_per_completion: u32,
}
