//! A network interface: rings in host memory, a receive port, send queues.
//!
//! Models: descriptors, completions and doorbell records as real cache lines in the formats of several
//! cards; descriptor prefetch on both sides; completion compression and write-back; inlining; limits of
//! outstanding reads per queue and of packet rates per queue and port; an internal buffer with PAUSE.
//! Source: DPDK mlx5 guide and driver (completions of 64 B, 8 compressed into one, send completion every
//! 32 packets, enhanced multi-packet write of up to 32 packets); others at each file.
//! Simplifies: with flow control off, a packet without a descriptor waits for one that is on its way, if
//! there is room for it to wait, or is dropped at once, as rx_out_of_buffer counts it (DEVIATIONS.md, 8).

mod as_device;
pub mod card;
pub mod egress;
pub mod formats;
mod internal_buffer;
pub mod pace;
pub mod pause;
pub mod rings;
pub mod rx;
mod rx_counters;
mod rx_queue;
mod shared_reads;
pub mod steering;
pub mod tx;

use crate::root_complex::mmio::MmioPath;
use pace::Pace;
use pause::PauseConfig;
use units::{Bytes, GbitPerSec, Picos};

/// Parameters of a NIC.
#[derive(Clone, Debug)]
pub struct NicConfig {
    /// Rate of the wire in each direction.
    pub line_rate: GbitPerSec,
    /// Received bytes that wait for the link, or for a descriptor, at most.
    pub rx_buffer_bytes: u64,
    /// Part of them that may wait for descriptors on their way; with flow control all may.
    pub rx_wait_bytes: u64,
    /// When the port sends PAUSE. Without it, it never does, and packets wait only for descriptors that
    /// are on their way.
    pub flow_control: Option<PauseConfig>,
    /// Entries of the RSS indirection table.
    pub rss_indirection_entries: u32,
    /// Least time between packets of a queue, in each direction.
    pub queue_packet_gap: Picos,
    /// How fast the port takes packets, in each direction.
    pub port_pace: Pace,
    /// What the transmitter reaches on the wire.
    pub tx_rate: GbitPerSec,
    /// What may be read ahead of the wire, in bytes on it: queues share what it lets through.
    pub tx_buffer: Bytes,
    /// Packets that find more than so many in front of them in their queue, not yet given back by the
    /// driver, are written to memory past DDIO. None: no packet is.
    pub bypass_backlog: Option<u32>,
    /// A packet's last line is written as a whole.
    pub pads_tail: bool,
    /// From the end of a frame on the wire until its first DMA write.
    pub rx_pipeline: Picos,
    /// Receive descriptors that a queue holds ready on the chip.
    pub rx_descriptors_prefetched: u32,
    /// When no more than this part of a ring is known to be posted or on the chip, the doorbell record
    /// is read for more. None: when all that is known to be posted has been fetched.
    pub doorbell_read_ring_part: Option<u32>,
    /// Receive descriptors read by one DMA read.
    pub rx_descriptors_per_fetch: u32,
    /// Packets that one completion, or write of neighbouring completions, reports at most.
    pub packets_per_completion: u32,
    /// How long a completion waits for more packets to report.
    pub completion_gather: Picos,
    /// How doorbells reach the card.
    pub doorbell: MmioPath,
    /// What the NIC itself adds to the latency of a DMA read: scheduling, tags, reassembly.
    pub read_pipeline: Picos,
    /// From a packet's data in the NIC to the wire.
    pub tx_pipeline: Picos,
    /// Payload that all send queues together may have asked for and not got, if that is limited.
    pub port_read_bytes: Option<Bytes>,
    /// Entries of a send queue: a packet takes one, each of its read requests another.
    pub tx_queue_entries: u32,
    /// Bytes of requests that a send queue has on the chip or under way before it stops fetching more.
    pub tx_request_bytes_ahead: u64,
    /// Packets per send completion.
    pub tx_packets_per_completion: u32,
}
